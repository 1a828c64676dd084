//! What a thread inherits from the one that started it: its process, its scheduling policy and priority, and the cores
//! that it may run on.

/// The attributes of a thread at one moment; threads with equal ones can do one another's work.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Scheduling {
    pub(crate) process: u32,
    #[cfg(target_os = "linux")]
    policy: (u32, i32, u32),
    #[cfg(target_os = "linux")]
    cores: Vec<u8>,
}

impl Scheduling {
    /// `None` where the system does not say.
    #[cfg(target_os = "linux")]
    pub(crate) fn of_this_thread() -> Option<Self> {
        // SAFETY: the structure is plain integers, so zeros are a value of it; the system is given its size and writes
        // no more.
        let attributes = unsafe {
            let mut attributes: libc::sched_attr = std::mem::zeroed();
            let size = size_of_val(&attributes);
            let asked = libc::syscall(libc::SYS_sched_getattr, 0, &raw mut attributes, size, 0);
            (asked == 0).then_some(attributes)?
        };
        let policy = (attributes.sched_policy, attributes.sched_nice, attributes.sched_priority);
        let cores = affinity()?;
        // SAFETY: `cores` is an array of integers without padding, borrowed as bytes for this statement.
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
        // SAFETY: it only reads the set.
        return unsafe { libc::CPU_COUNT(&cores) } as usize;
    }
    usize::MAX
}

#[cfg(target_os = "linux")]
fn affinity() -> Option<libc::cpu_set_t> {
    // SAFETY: zeros are the empty set; the system is given the size of the set and writes no more.
    unsafe {
        let mut cores: libc::cpu_set_t = std::mem::zeroed();
        (libc::sched_getaffinity(0, size_of_val(&cores), &raw mut cores) == 0).then_some(cores)
    }
}
