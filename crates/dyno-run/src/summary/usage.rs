//! The resources that this process and its host used during a measurement.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::{Nanos, process_usage, wall_time};
use dyno_load::ProcessUse;

/// Readings taken when the measurement began.
pub(crate) struct StartReadings {
    /// Seconds since the Unix epoch.
    pub(super) unix_s: f64,
    usage: Arc<Usage>,
    /// CPU time of the host at the end of the latest interval, because later work does not belong
    /// to the load.
    latest: Option<(u64, u64)>,
}

/// CPU times, filled in when the measurement begins.
#[derive(Default)]
struct Usage {
    user_us: AtomicU64,
    system_us: AtomicU64,
    host_busy: AtomicU64,
    host_total: AtomicU64,
}

impl StartReadings {
    /// Reads the CPU times at the instant `measured`, on a thread that sleeps until then.
    pub(crate) fn at(measured: Nanos) -> Self {
        let wait = Duration::from_nanos(measured.saturating_sub(Clock.now()));
        let usage = Arc::new(Usage::default());
        usage.read();
        if !wait.is_zero() {
            let late = Arc::clone(&usage);
            // Without this thread, the figures include the warm-up, which is acceptable.
            let _ = std::thread::Builder::new()
                .name("usage".to_owned())
                .spawn(move || {
                    std::thread::sleep(wait);
                    late.read();
                });
        }
        Self {
            unix_s: (wall_time() + wait).as_secs_f64(),
            usage,
            latest: None,
        }
    }

    /// An interval has ended.
    pub(crate) fn interval_ended(&mut self) {
        self.latest = host_cpu();
    }

    /// The resources that this process has used since then.
    pub(super) fn own_use(&self) -> ProcessUse {
        let now = process_usage();
        let seconds = |now: u64, then: &AtomicU64| {
            now.saturating_sub(then.load(Ordering::Relaxed)) as f64 / 1e6
        };
        ProcessUse {
            user_s: seconds(micros(now.ru_utime), &self.usage.user_us),
            system_s: seconds(micros(now.ru_stime), &self.usage.system_us),
            rss_max_bytes: now.ru_maxrss as u64 * 1024,
        }
    }

    /// The share of the host's CPU time that was used since then, up to the end of the latest
    /// interval, and how many ticks that was.
    pub(super) fn host_busy(&self) -> Option<(f64, f64)> {
        let (busy, total) = self.latest.or_else(host_cpu)?;
        let busy = busy.saturating_sub(self.usage.host_busy.load(Ordering::Relaxed)) as f64;
        let total = total.saturating_sub(self.usage.host_total.load(Ordering::Relaxed)) as f64;
        (total > 0.0).then(|| (busy / total, busy))
    }
}

impl Usage {
    fn read(&self) {
        let usage = process_usage();
        self.user_us
            .store(micros(usage.ru_utime), Ordering::Relaxed);
        self.system_us
            .store(micros(usage.ru_stime), Ordering::Relaxed);
        let (busy, total) = host_cpu().unwrap_or_default();
        self.host_busy.store(busy, Ordering::Relaxed);
        self.host_total.store(total, Ordering::Relaxed);
    }
}

fn micros(time: libc::timeval) -> u64 {
    time.tv_sec as u64 * 1_000_000 + time.tv_usec as u64
}

/// The busy and the total CPU time of the host since it started, in ticks (`/proc/stat`).
fn host_cpu() -> Option<(u64, u64)> {
    let stat = std::fs::read_to_string("/proc/stat").ok()?;
    let fields: Vec<u64> = stat
        .lines()
        .next()?
        .split_whitespace()
        .skip(1)
        .filter_map(|f| f.parse().ok())
        .collect();
    // user nice system idle iowait irq softirq steal (user and nice include guest times).
    let total: u64 = fields.iter().take(8).sum();
    let idle = fields.get(3)? + fields.get(4)?;
    Some((total - idle, total))
}
