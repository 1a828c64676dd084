//! Which instructions the kernel uses: the best that the machine has, or those that the environment variable
//! `TOKD_KERNEL` names.

use std::env;

use crate::error::{Code, Error, Result};

/// The environment variable that chooses a path by its name.
const VARIABLE: &str = "TOKD_KERNEL";

/// A set of instructions. All paths give the same pieces; only the speed differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// What every machine has.
    Portable,
    /// 32 bytes at a time, and BMI2.
    Avx2,
}

/// [`Path::Portable`] as a type, on which the traits are implemented that each path has its own code for.
pub(crate) struct Portable;

/// [`Path::Avx2`] as a type. Its functions enable all features that [`Path::is_available`] asks for.
#[cfg(target_arch = "x86_64")]
pub(crate) struct Avx2;

impl Path {
    /// All paths, the best first.
    const ALL: [Self; 2] = [Self::Avx2, Self::Portable];

    /// The paths that this machine has, the best first.
    pub fn available() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(|path| path.is_available())
    }

    /// The best path that this machine has.
    pub fn best() -> Self {
        Self::available().next().unwrap_or(Self::Portable)
    }

    /// The path that `TOKD_KERNEL` names; if it is unset or empty, the best that the machine has. Python code
    /// must hold the GIL for this call, as it does to change `os.environ`: the environment has no other lock.
    ///
    /// # Errors
    /// `invalid_option` for an unknown name, or a path that the machine lacks.
    pub fn chosen() -> Result<Self> {
        match env::var_os(VARIABLE) {
            Some(name) if !name.is_empty() => Self::of_name(&name.to_string_lossy()),
            _ => Ok(Self::best()),
        }
    }

    /// The path with the given name.
    ///
    /// # Errors
    /// As [`Self::chosen`].
    pub fn of_name(name: &str) -> Result<Self> {
        let names = |paths: &mut dyn Iterator<Item = Self>| paths.map(Self::name).collect::<Vec<_>>().join(", ");
        let Some(path) = Self::ALL.into_iter().find(|path| path.name() == name) else {
            let known = names(&mut Self::ALL.into_iter());
            let message =
                format!("{VARIABLE} is {name:?}, which is not a path of the kernel; set it to one of {known}");
            return Err(Error::new(Code::InvalidOption, message));
        };
        if !path.is_available() {
            let here = names(&mut Self::available());
            let message = format!("{VARIABLE} is {name:?}, but this machine has only {here}; set it to one of these");
            return Err(Error::new(Code::InvalidOption, message));
        }
        Ok(path)
    }

    /// The name that `TOKD_KERNEL` takes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
        }
    }

    /// Whether this machine has the instructions.
    #[cfg(target_arch = "x86_64")]
    pub fn is_available(self) -> bool {
        let scalar = || is_x86_feature_detected!("bmi1") && is_x86_feature_detected!("bmi2");
        let counts = || is_x86_feature_detected!("lzcnt") && is_x86_feature_detected!("popcnt");
        match self {
            Self::Portable => true,
            Self::Avx2 => is_x86_feature_detected!("avx2") && scalar() && counts(),
        }
    }

    /// Whether this machine has the instructions.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn is_available(self) -> bool {
        self == Self::Portable
    }
}
