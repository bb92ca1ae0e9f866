//! The addresses of a host. After lost connections the name is looked up again, because a failover
//! may have moved it.

use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;
use dyno_core::db::DbError;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_gettime, timerfd_settime,
};

use super::lost;
use crate::channel::Loss;

/// How long one of several addresses may take to answer before the next is tried.
const PROBE_MS_MAX: u64 = 3_000;

/// How names are resolved.
#[derive(Clone)]
pub(super) struct Resolver {
    /// Resolves a name, and blocks meanwhile. Every look-up but the first runs on its own thread.
    pub(super) look_up: LookUp,
    /// How long a result is used even if connections are lost, because a session that cannot
    /// connect retries often.
    pub(super) fresh: Duration,
    /// How long an attempt to connect waits for a look-up before it uses the previous result.
    pub(super) patience: Duration,
}

/// The addresses of a host and port, in the order to try them.
type LookUp = Arc<dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync>;

impl Default for Resolver {
    /// The system's resolver.
    fn default() -> Self {
        Self {
            look_up: Arc::new(|host, port| Ok((host, port).to_socket_addrs()?.collect())),
            fresh: Duration::from_secs(1),
            patience: Duration::from_secs(2),
        }
    }
}

/// A host and its addresses.
pub(super) struct Host {
    name: String,
    port: u16,
    resolver: Resolver,
    /// Whether the name is an address.
    literal: bool,
    /// Whether connections were lost since the last look-up.
    suspect: AtomicBool,
    known: Mutex<Known>,
}

/// What the look-ups have found.
struct Known {
    /// The addresses in the resolver's order.
    all: Vec<SocketAddr>,
    /// The address that answered last, or the one after an address that did not answer.
    preferred: usize,
    /// When `all` was looked up.
    since: Nanos,
    /// Set while a look-up is running.
    pending: Option<Timer>,
}

impl Host {
    /// Looks up a host, and finds the first of its addresses that answers. Errors name `endpoint`.
    pub(super) fn find(
        name: &str,
        port: u16,
        endpoint: &str,
        timeout: Duration,
        resolver: &Resolver,
    ) -> Result<Self, DbError> {
        let found = (resolver.look_up)(name, port).map_err(|error| {
            lost(format!(
                "cannot find the address of host '{name}' (for {endpoint}): {error}; check the \
                 name and this host's resolver"
            ))
        })?;
        let all = distinct(found);
        if all.is_empty() {
            return Err(lost(format!(
                "host '{name}' (for {endpoint}) has no address"
            )));
        }
        let preferred = match all.as_slice() {
            [_] => 0,
            // If none of them answers now, a session that connects later reports the error of the
            // first.
            addresses => first_to_answer(addresses, timeout).unwrap_or(0),
        };
        Ok(Self {
            name: name.to_owned(),
            port,
            resolver: resolver.clone(),
            literal: name.parse::<IpAddr>().is_ok(),
            suspect: AtomicBool::new(false),
            known: Mutex::new(Known {
                all,
                preferred,
                since: Clock.now(),
                pending: None,
            }),
        })
    }

    /// Whether the address may change.
    pub(super) fn may_change(&self) -> bool {
        !self.literal || self.known().all.len() > 1
    }

    /// The addresses, starting with the preferred one.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let known = self.known();
        let (before, from) = known.all.split_at(known.preferred);
        [from, before].concat()
    }

    /// Prefers an address that has answered.
    pub(super) fn prefer(&self, address: SocketAddr) {
        let mut known = self.known();
        if let Some(index) = known.all.iter().position(|other| *other == address) {
            known.preferred = index;
        }
    }

    /// Handles a lost connection to the address.
    #[cold]
    pub(super) fn lost(&self, address: SocketAddr, loss: Loss) {
        self.suspect.store(true, Ordering::Relaxed);
        let mut known = self.known();
        // Another attempt may have changed it already.
        if loss == Loss::Unreachable && known.all[known.preferred] == address {
            known.preferred = (known.preferred + 1) % known.all.len();
        }
    }

    /// After lost connections, looks up the name again on another thread. The returned timer
    /// becomes readable when the next attempt to connect can stop waiting.
    pub(super) fn look_up(host: &Arc<Self>) -> Option<Timer> {
        if host.literal || !host.suspect.load(Ordering::Relaxed) {
            return None;
        }
        let mut known = host.known();
        if let Some(timer) = &known.pending {
            return timer.share().filter(|timer| !timer.is_over());
        }
        let age = Clock.now().saturating_sub(known.since);
        if u128::from(age) < host.resolver.fresh.as_nanos() {
            return None;
        }
        let timer = Timer::new(host.resolver.patience)?;
        let shared = timer.share()?;
        let theirs = Arc::clone(host);
        let thread = thread::Builder::new().name("dyno-resolver".to_owned());
        // The thread needs this lock before it ends.
        thread.spawn(move || theirs.look_up_now()).ok()?;
        known.pending = Some(timer);
        Some(shared)
    }

    fn look_up_now(&self) {
        let found = (self.resolver.look_up)(&self.name, self.port);
        let mut known = self.known();
        // If the look-up failed, the known addresses stay as they are.
        known.replace(distinct(found.unwrap_or_default()));
        known.since = Clock.now();
        self.suspect.store(false, Ordering::Relaxed);
        if let Some(timer) = known.pending.take() {
            timer.end();
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // The value is consistent at all times.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Replaces the addresses, unless they are the same in another order, because some resolvers
    /// rotate them.
    fn replace(&mut self, found: Vec<SocketAddr>) {
        let same = found.len() == self.all.len();
        if found.is_empty() || (same && found.iter().all(|address| self.all.contains(address))) {
            return;
        }
        let preferred = self.all[self.preferred];
        let kept = found.iter().position(|address| *address == preferred);
        self.preferred = kept.unwrap_or(0);
        self.all = found;
    }
}

/// Removes repeated addresses: a resolver may return one for each entry in the hosts file.
fn distinct(found: Vec<SocketAddr>) -> Vec<SocketAddr> {
    let mut all = Vec::new();
    for address in found {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    all
}

/// The first address that answers. The addresses share the timeout of a single attempt to connect;
/// each gets an equal part of the time that remains.
pub(super) fn first_to_answer(addresses: &[SocketAddr], timeout: Duration) -> Option<usize> {
    let deadline = Clock.now() + timeout.as_nanos() as Nanos;
    // `localhost` is often ::1 first, but many servers listen only on 127.0.0.1.
    addresses.iter().enumerate().position(|(index, address)| {
        let left = deadline.saturating_sub(Clock.now());
        let share = Duration::from_nanos(left / (addresses.len() - index) as u64);
        let share = share.min(Duration::from_millis(PROBE_MS_MAX));
        !share.is_zero() && TcpStream::connect_timeout(address, share).is_ok()
    })
}

/// The end of a wait for several waiters, which is readable from then on.
pub(super) struct Timer(pub(super) OwnedFd);

impl Timer {
    fn new(wait: Duration) -> Option<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = Self(timerfd_create(TimerfdClockId::Monotonic, flags).ok()?);
        timer.set(wait).then_some(timer)
    }

    fn share(&self) -> Option<Self> {
        self.0.try_clone().ok().map(Self)
    }

    /// Makes the timer expire now.
    fn end(&self) {
        // If this fails, the wait ends when its time is up.
        self.set(Duration::from_nanos(1));
    }

    fn set(&self, wait: Duration) -> bool {
        let none = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let once = Itimerspec {
            it_interval: none,
            it_value: Timespec {
                tv_sec: wait.as_secs() as _,
                tv_nsec: wait.subsec_nanos().into(),
            },
        };
        timerfd_settime(&self.0, TimerfdTimerFlags::empty(), &once).is_ok()
    }

    pub(super) fn is_over(&self) -> bool {
        // A timer that has expired reads as one that is not set.
        timerfd_gettime(&self.0)
            .is_ok_and(|left| left.it_value.tv_sec == 0 && left.it_value.tv_nsec == 0)
    }
}
