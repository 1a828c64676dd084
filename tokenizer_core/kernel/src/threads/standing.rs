//! What a thread has from who started it: its process, how urgent it is, and the cores that it may run on.

/// As it was when it was asked for; threads of the same standing can do one another's work.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) process: u32,
    #[cfg(target_os = "linux")]
    policy: (u32, i32, u32),
    #[cfg(target_os = "linux")]
    cores: Vec<u8>,
}

impl Standing {
    /// `None` where the system does not say.
    #[cfg(target_os = "linux")]
    pub(crate) fn of_this_thread() -> Option<Self> {
        // SAFETY: zeros are a value of it, and the system writes no more than its size.
        let attributes = unsafe {
            let mut attributes: libc::sched_attr = std::mem::zeroed();
            let size = size_of_val(&attributes);
            let asked = libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0);
            (asked == 0).then_some(attributes)?
        };
        let policy = (attributes.sched_policy, attributes.sched_nice, attributes.sched_priority);
        let cores = affinity()?;
        // SAFETY: a set of cores is an array of integers.
        let cores = unsafe { std::slice::from_raw_parts((&raw const cores).cast::<u8>(), size_of_val(&cores)) };
        Some(Self { process: std::process::id(), policy, cores: cores.to_vec() })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn of_this_thread() -> Option<Self> {
        Some(Self { process: std::process::id() })
    }
}

/// How many cores this thread may run on, as far as the system says.
pub fn allowed_cores() -> usize {
    #[cfg(target_os = "linux")]
    if let Some(cores) = affinity() {
        // SAFETY: it only counts.
        return unsafe { libc::CPU_COUNT(&cores) } as usize;
    }
    usize::MAX
}

#[cfg(target_os = "linux")]
fn affinity() -> Option<libc::cpu_set_t> {
    // SAFETY: a set of no cores is zeros, and the system writes no more than its size.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        (libc::sched_getaffinity(0, size_of_val(&cores), &raw mut cores) == 0).then_some(cores)
    }
}
