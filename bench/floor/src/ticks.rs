//! How late a thread is that only polls the clock: a lower bound for any open loop on this core.

use std::io::{self, Write};

use dyno_core::Clock;

/// Polls for this many due times a second, and prints how late they were: the 99.9th percentile and
/// the maximum.
///
/// # Errors
/// The result cannot be written.
pub(super) fn watch(per_s: u64, seconds: u64) -> io::Result<()> {
    let count = per_s * seconds;
    let mut late_ns = Vec::with_capacity(count as usize);
    let begun_ns = Clock.now();
    let mut now_ns = begun_ns;
    for tick in 0..count {
        let due_ns = begun_ns + tick * 1_000_000_000 / per_s;
        while now_ns < due_ns {
            now_ns = Clock.now();
        }
        late_ns.push(now_ns - due_ns);
    }
    late_ns.sort_unstable();
    writeln!(
        io::stdout(),
        "{{\"ticks\":{count},\"p99.9_us\":{:.3},\"max_us\":{:.3}}}",
        of_a_thousand(&late_ns, 999) / 1e3,
        of_a_thousand(&late_ns, 1000) / 1e3
    )
}

/// The smallest value that at least `per_mille` thousandths of the values do not exceed.
fn of_a_thousand(sorted: &[u64], per_mille: usize) -> f64 {
    let at = (sorted.len() * per_mille).div_ceil(1000);
    sorted
        .get(at.saturating_sub(1))
        .map_or(0.0, |value| *value as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_value_that_so_many_do_not_exceed() {
        let values: Vec<u64> = (1..=2000).collect();
        assert_eq!(of_a_thousand(&values, 999), 1998.0);
        assert_eq!(of_a_thousand(&values, 1000), 2000.0);
        assert_eq!(of_a_thousand(&[], 999), 0.0);
    }
}
