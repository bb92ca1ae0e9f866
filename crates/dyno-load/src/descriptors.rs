//! Raises the limit on open files.

use thiserror::Error;

/// The process may not open enough files.
#[derive(Debug, Error, PartialEq, Eq)]
#[error(
    "{needed} file descriptors are needed (for connections, files and workers), but this process \
     may open only {allowed}; raise the hard limit (`ulimit -Hn {needed}` as root, or LimitNOFILE= \
     in systemd) or use fewer sessions"
)]
pub struct DescriptorError {
    /// Number of descriptors needed.
    pub needed: u64,
    /// The hard limit.
    pub allowed: u64,
}

/// Makes sure that the process may open `needed` files, and `useful` ones if the hard limit allows
/// it: raises the soft limit if it is too low.
///
/// # Errors
/// The hard limit is too low as well, or the limit cannot be changed.
pub fn ensure_descriptors(needed: u64, useful: u64) -> Result<(), DescriptorError> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a valid rlimit for the kernel to fill.
    let read = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    if read != 0 || limit.rlim_cur >= needed.max(useful) {
        // If the kernel does not report its limit, it cannot be raised.
        return Ok(());
    }
    let allowed = limit.rlim_cur;
    if limit.rlim_max < needed {
        return Err(DescriptorError {
            needed,
            allowed: limit.rlim_max,
        });
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: `limit` is a valid rlimit; the call changes only this process's own limit.
    let set = unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) };
    if set != 0 && allowed < needed {
        return Err(DescriptorError { needed, allowed });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_number_is_refused_with_the_limit() {
        assert_eq!(ensure_descriptors(8, 16), Ok(()));
        assert_eq!(ensure_descriptors(8, u64::MAX - 1), Ok(()));
        let error = ensure_descriptors(u64::MAX - 1, 0);
        // An unlimited hard limit would allow even that.
        if let Err(error) = error {
            assert_eq!(error.needed, u64::MAX - 1);
            assert!(error.to_string().contains(&error.allowed.to_string()));
        }
    }
}
