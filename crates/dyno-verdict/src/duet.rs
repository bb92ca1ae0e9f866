//! Which checks of its sides concern the ratio of a duet.

/// Checks about what happens to both sides alike, such as how steady the machine is, and about
/// counters that a server or host keeps for both. Slices that follow one another within
/// milliseconds share the rest.
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
