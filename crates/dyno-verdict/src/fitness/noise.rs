//! The noise of an idle host.

use dyno_core::finding::{Finding, Outcome};

use super::{Rule, number};
use crate::text;

/// The observations of a thread that only reads the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Noise {
    /// Duration of the observation, seconds.
    pub looked_s: f64,
    /// Gaps between two readings longer than 50 µs.
    pub gaps: u64,
    /// The longest gap, milliseconds.
    pub longest_ms: f64,
    /// The share of the time in such gaps, 0 to 1.
    pub share: f64,
}

/// A gap of this many milliseconds shows in a 99.9th percentile.
const LONGEST_MS_MAX: f64 = 5.0;
/// Gaps that take this share of the time take as large a share of every core from a load.
const SHARE_MAX: f64 = 0.02;

/// The finding about the noise.
pub fn noise(noise: &Noise) -> Finding {
    let rule = Rule {
        check: "host-noise",
        number: 28,
        rule: "A thread that only reads the clock is interrupted for at most 2 % of the time and 5 \
               ms at once.",
    };
    if noise.looked_s <= 0.0 {
        return rule.unknown("The host's noise was not measured.".to_owned());
    }
    let evidence = format!(
        "In {:.1} s a thread that only reads the clock was interrupted {} times, for {:.2} % of \
         the time, the longest for {}.",
        noise.looked_s,
        noise.gaps,
        noise.share * 100.0,
        text::ms(noise.longest_ms)
    );
    let loud = noise.longest_ms > LONGEST_MS_MAX || noise.share > SHARE_MAX;
    let mut finding = if loud {
        rule.finding(
            Outcome::Doubt,
            evidence,
            "look for what else runs here (top, steal time, timers, backups), or measure on a \
             dedicated host",
        )
    } else {
        rule.pass(evidence)
    };
    finding.numbers = vec![
        number("share of the time away", noise.share, "ratio"),
        number("longest gap", noise.longest_ms, "ms"),
        number("largest share", SHARE_MAX, "ratio"),
        number("longest gap allowed", LONGEST_MS_MAX, "ms"),
    ];
    finding
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_judged_by_its_share_and_its_longest_gap() {
        let quiet = Noise {
            looked_s: 3.0,
            gaps: 12,
            longest_ms: 0.4,
            share: 0.001,
        };
        let longest_ms = 12.0;
        let share = 0.1;
        assert_eq!(noise(&quiet).outcome, Outcome::Pass);
        let seldom = Noise {
            longest_ms,
            ..quiet
        };
        assert_eq!(noise(&seldom).outcome, Outcome::Doubt);
        let often = Noise { share, ..quiet };
        assert_eq!(noise(&often).outcome, Outcome::Doubt);
        assert_eq!(noise(&Noise::default()).outcome, Outcome::NotChecked);
    }
}
