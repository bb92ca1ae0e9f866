//! The checks of a side that concern the ratio of a duet.

/// Checks that do not concern the ratio: of conditions that reach both sides alike because their
/// slices alternate within milliseconds, and of counters that a server or host keeps for both.
const SHARED: [&str; 21] = [
    "schedule-lag",
    "idle-sessions",
    "samples",
    "same-host",
    "server-counters",
    "warm-up",
    "steady-state",
    "whole-cycles",
    "stalls",
    "latency-modes",
    "length",
    "other-load",
    "cpu-frequency",
    "host-resources",
    "disk",
    "network",
    "other-processes",
    "clock-steps",
    "growth",
    "observer-cost",
    "observers",
];

/// Whether a finding of this check about one side of a duet puts the ratio of the sides in doubt.
pub fn concerns_ratio(check: &str) -> bool {
    !SHARED.contains(&check)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks;

    #[test]
    fn shared_checks_exist() {
        for name in SHARED {
            assert!(checks().iter().any(|check| check.name == name), "{name}");
        }
        assert!(concerns_ratio("errors") && !concerns_ratio("length"));
    }
}
