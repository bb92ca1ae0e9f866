//! Keeps the observers off the workers' CPUs.

use std::mem::{size_of, zeroed};

/// The CPUs that the calling thread may use; empty if the kernel does not report them.
pub(crate) fn allowed() -> Vec<usize> {
    // SAFETY: all zeros is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    // SAFETY: `set` is valid and has this size.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    if result != 0 {
        return Vec::new();
    }
    let has = |cpu: &usize| {
        // SAFETY: the number is below the set's size.
        unsafe { libc::CPU_ISSET(*cpu, &set) }
    };
    (0..libc::CPU_SETSIZE as usize).filter(has).collect()
}

/// Binds a thread (0: the calling one) to these CPUs.
pub(crate) fn bind(tid: i32, cpus: &[usize]) -> std::io::Result<()> {
    // SAFETY: all zeros is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { zeroed() };
    for cpu in cpus.iter().filter(|cpu| **cpu < libc::CPU_SETSIZE as usize) {
        // SAFETY: the number is below the set's size.
        unsafe { libc::CPU_SET(*cpu, &mut set) };
    }
    // SAFETY: `set` is valid and has this size.
    let result =
        unsafe { libc::sched_setaffinity(tid, size_of::<libc::cpu_set_t>(), &raw const set) };
    if result != 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(())
}

/// The CPUs that no worker last ran on, if the process may use more CPUs than there are workers.
pub(crate) fn beside(allowed: &[usize], workers: usize, used: &[usize]) -> Option<Vec<usize>> {
    if allowed.len() <= workers || used.is_empty() {
        return None;
    }
    let left = allowed.iter().filter(|cpu| !used.contains(cpu)).copied();
    let left: Vec<usize> = left.collect();
    (!left.is_empty()).then_some(left)
}

/// Formats CPUs as `0-3,7`.
pub(crate) fn list(cpus: &[usize]) -> String {
    let mut ranges: Vec<(usize, usize)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == *cpu => *last = *cpu,
            _ => ranges.push((*cpu, *cpu)),
        }
    }
    let ranges_text = ranges.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    ranges_text.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn observers_leave_the_workers_their_cpus() {
        let allowed = [0, 1, 2, 3];
        assert_eq!(beside(&allowed, 2, &[1, 3]), Some(vec![0, 2]));
        assert_eq!(beside(&allowed, 2, &[1, 1]), Some(vec![0, 2, 3]));
        // As many workers as CPUs: no CPU is free.
        assert_eq!(beside(&allowed, 4, &[1]), None);
        // It is not known yet where they run.
        assert_eq!(beside(&allowed, 2, &[]), None);
        assert_eq!(beside(&[0], 0, &[0]), None);
    }

    #[test]
    fn lists_are_short() {
        assert_eq!(list(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(list(&[]), "");
        assert!(!self::allowed().is_empty());
    }
}
