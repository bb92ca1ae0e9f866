//! The events limit: exact over all workers, without a shared counter per event.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of events that a worker takes at once.
const LEASE_MAX: u64 = 256;

/// Permissions to begin an event. Workers take leases that shrink towards the end, and return
/// unused ones.
#[derive(Debug)]
pub(crate) struct Quota {
    workers: u64,
    pool: Mutex<Pool>,
}

#[derive(Debug)]
struct Pool {
    left: u64,
    /// Workers with a partly unused lease, which may still return some of it.
    holders: u64,
}

/// The answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permission {
    /// One event may begin.
    Granted,
    /// None left now, but another worker may return some.
    Later,
    /// None left, and none will come.
    Exhausted,
}

impl Quota {
    /// `events` over all `workers`.
    pub(crate) fn new(events: u64, workers: usize) -> Self {
        let pool = Pool {
            left: events,
            holders: 0,
        };
        Self {
            workers: workers.max(1) as u64,
            pool: Mutex::new(pool),
        }
    }

    /// Takes one permission from the caller's lease, renewing it when it is used up.
    #[inline]
    pub(crate) fn take(&self, lease: &mut u64) -> Permission {
        if *lease > 1 {
            *lease -= 1;
            return Permission::Granted;
        }
        self.renew(lease)
    }

    /// Returns the rest of a lease.
    pub(crate) fn give_back(&self, lease: &mut u64) {
        if *lease > 0 {
            let mut pool = self.locked();
            pool.left += *lease;
            pool.holders -= 1;
            *lease = 0;
        }
    }

    #[cold]
    fn renew(&self, lease: &mut u64) -> Permission {
        let mut pool = self.locked();
        if *lease == 1 {
            *lease = 0;
            pool.holders -= 1;
            return Permission::Granted;
        }
        if pool.left == 0 {
            return match pool.holders {
                0 => Permission::Exhausted,
                _ => Permission::Later,
            };
        }
        // One is used at once. Towards the end leases shrink, so that no worker idles while another
        // keeps unused ones.
        let taken = (pool.left / (2 * self.workers)).clamp(1, LEASE_MAX);
        pool.left -= taken;
        *lease = taken - 1;
        pool.holders += u64::from(*lease > 0);
        Permission::Granted
    }

    fn locked(&self) -> MutexGuard<'_, Pool> {
        // Two integers: valid even if a thread panicked.
        self.pool.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn exactly_as_many_as_asked_for(
            events in 0u64..3000,
            workers in 1usize..9,
            order in proptest::collection::vec(any::<(u8, bool)>(), 1..200),
        ) {
            let quota = Quota::new(events, workers);
            let mut leases = vec![0; workers];
            let mut granted = 0;
            for (pick, leaves) in order.iter().cycle().take(40_000) {
                let lease = &mut leases[usize::from(*pick) % workers];
                if *leaves {
                    quota.give_back(lease);
                } else if quota.take(lease) == Permission::Granted {
                    granted += 1;
                }
            }
            for lease in &mut leases {
                quota.give_back(lease);
            }
            let mut last = 0;
            while quota.take(&mut last) == Permission::Granted {
                granted += 1;
            }
            prop_assert_eq!(granted, events);
            prop_assert_eq!(quota.take(&mut last), Permission::Exhausted);
        }
    }

    #[test]
    fn a_quota_is_used_up_only_when_nothing_can_be_returned() {
        let quota = Quota::new(8, 1);
        let (mut one, mut other) = (0, 0);
        assert_eq!(quota.take(&mut one), Permission::Granted);
        while quota.take(&mut other) == Permission::Granted {}
        assert_eq!(quota.take(&mut other), Permission::Later);
        quota.give_back(&mut one);
        assert_eq!(quota.take(&mut other), Permission::Granted);
    }
}
