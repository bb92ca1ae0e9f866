//! Measures how long a thread that only reads the clock is kept off the CPU.

use std::time::Duration;

use dyno_core::Clock;
use dyno_verdict::fitness::Noise;

/// Gaps from here on mean that something else had the CPU: reading the clock takes less than 0.1
/// µs.
const GAP_NS: u64 = 50_000;

/// Listens for this time on the calling thread, which keeps one core busy.
pub(super) fn listen(time: Duration) -> Noise {
    let begin = Clock.now();
    let end = begin + time.as_nanos() as u64;
    let (mut last, mut gaps, mut longest_ns, mut away_ns) = (begin, 0, 0, 0);
    while last < end {
        let now = Clock.now();
        let gap = now - last;
        if gap > GAP_NS {
            gaps += 1;
            longest_ns = gap.max(longest_ns);
            away_ns += gap;
        }
        last = now;
    }
    let looked_ns = (last - begin).max(1);
    Noise {
        looked_s: looked_ns as f64 / 1e9,
        gaps,
        longest_ms: longest_ns as f64 / 1e6,
        share: away_ns as f64 / looked_ns as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_measured_for_the_requested_time() {
        let noise = listen(Duration::from_millis(30));
        assert!(noise.looked_s >= 0.03, "{noise:?}");
        assert!((0.0..=1.0).contains(&noise.share), "{noise:?}");
        assert!(noise.longest_ms <= noise.looked_s * 1e3, "{noise:?}");
    }
}
