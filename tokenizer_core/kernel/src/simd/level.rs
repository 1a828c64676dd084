//! The instruction sets: detection, the features of each, and the tokens that prove one. No other file names a feature.

use std::env;

use crate::error::{Code, Error, Result};

/// The environment variable that chooses a level by its name.
const VARIABLE: &str = "TOKD_KERNEL";

/// A set of instructions that this machine has. All levels give the same ids; only the speed differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SimdLevel {
    /// 32 bytes at a time, and BMI2.
    Avx2(Avx2),
    /// The instructions that every machine has.
    Portable,
}

/// Proof that every machine has the portable level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Portable;

/// Proof that this machine has AVX2, BMI1, BMI2, LZCNT and POPCNT: only detection makes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Avx2(());

impl Avx2 {
    /// The token, if the machine has the instructions.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn detect() -> Option<Self> {
        let has_all = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("bmi1")
            && is_x86_feature_detected!("bmi2")
            && is_x86_feature_detected!("lzcnt")
            && is_x86_feature_detected!("popcnt");
        has_all.then_some(Self(()))
    }

    /// The token, if the machine has the instructions.
    #[cfg(not(target_arch = "x86_64"))]
    pub(crate) fn detect() -> Option<Self> {
        None
    }

    /// Do `work` in a function that is compiled with the instructions.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn run<W: OnLevel<Self>>(self, work: W) -> W::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
        fn compiled<W: OnLevel<Avx2>>(level: Avx2, work: W) -> W::Output {
            work.run(level)
        }
        // SAFETY: the token proves that the machine has these.
        unsafe { compiled(self, work) }
    }
}

/// Work that is compiled for each level.
///
/// `run` and what it calls must be `#[inline(always)]`: a function or closure that is not inlined loses the features of
/// the level, and each instruction in it becomes a call.
pub(crate) trait OnLevel<L> {
    /// The result of the work.
    type Output;

    /// Do it with the instructions that the token proves.
    fn run(self, level: L) -> Self::Output;
}

impl SimdLevel {
    /// The levels that this machine has, the best first.
    pub fn available() -> impl Iterator<Item = Self> {
        Avx2::detect().map(Self::Avx2).into_iter().chain([Self::Portable])
    }

    /// The best level that this machine has.
    pub fn best() -> Self {
        Avx2::detect().map_or(Self::Portable, Self::Avx2)
    }

    /// The level that `TOKD_KERNEL` names; if it is unset or empty, the best that the machine has. Python code must
    /// hold the GIL for this call, as it does to change `os.environ`: the environment has no other lock.
    ///
    /// # Errors
    /// `invalid_option` for an unknown name, or a level that the machine lacks.
    pub fn chosen() -> Result<Self> {
        match env::var_os(VARIABLE) {
            Some(name) if !name.is_empty() => Self::of_name(&name.to_string_lossy()),
            _ => Ok(Self::best()),
        }
    }

    /// The level with the given name.
    ///
    /// # Errors
    /// As [`Self::chosen`].
    pub fn of_name(name: &str) -> Result<Self> {
        let level = match name {
            "portable" => Ok(Self::Portable),
            "avx2" => Avx2::detect().map(Self::Avx2).ok_or("this machine has only portable; set it to that"),
            _ => Err("which is not a level of the kernel; set it to one of avx2, portable"),
        };
        level.map_err(|why| Error::new(Code::InvalidOption, format!("{VARIABLE} is {name:?}, {why}")))
    }

    /// The name that `TOKD_KERNEL` takes.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2(_) => "avx2",
        }
    }

    /// Do `work` with the instructions of the level.
    #[cfg(target_arch = "x86_64")]
    #[inline(always)]
    pub(crate) fn run<T, W: OnLevel<Portable, Output = T> + OnLevel<Avx2, Output = T>>(self, work: W) -> T {
        match self {
            Self::Avx2(level) => level.run(work),
            Self::Portable => work.run(Portable),
        }
    }

    /// Do `work` with the instructions of the level, which is the portable one.
    #[cfg(not(target_arch = "x86_64"))]
    #[inline(always)]
    pub(crate) fn run<W: OnLevel<Portable>>(self, work: W) -> W::Output {
        work.run(Portable)
    }
}
