//! The division of a run among agents: see [`dyno_core::plan::Division`].

pub use dyno_core::plan::{Division, DivisionError, Shard};

/// The order in which agent `number`, from 1, uses the endpoints: each agent begins with a
/// different one.
pub fn endpoints(count: usize, number: u32) -> impl Iterator<Item = usize> {
    let first = (number as usize).saturating_sub(1);
    (0..count).map(move |index| (first + index) % count)
}

/// Whether arrivals at a constant rate over all agents are evenly spaced, given this error bound of
/// their clocks: not if it may change the order of two arrivals.
pub fn is_evenly_spaced(per_second: f64, bound_ns: u64) -> bool {
    bound_ns as f64 <= 0.5e9 / per_second
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_agent_begins_with_another_endpoint() {
        let order = |number| endpoints(3, number).collect::<Vec<_>>();
        assert_eq!(order(1), [0, 1, 2]);
        assert_eq!(order(2), [1, 2, 0]);
        assert_eq!(order(4), [0, 1, 2]);
        assert_eq!(endpoints(0, 5).count(), 0);
    }

    #[test]
    fn even_spacing_ends_at_half_a_gap() {
        assert!(is_evenly_spaced(1000.0, 500_000));
        assert!(!is_evenly_spaced(1000.0, 500_001));
    }
}
