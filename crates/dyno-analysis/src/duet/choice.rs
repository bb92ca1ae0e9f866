//! Chooses the length of slices from a short pilot: short enough that noise reaches both sides
//! alike, long enough for the switch and the events.

/// Lengths of slices to choose from, in milliseconds. Up to 250, a whole number of blocks makes a
/// second, so that each interval of a run has the same share of slices.
const LENGTHS_MS: [f64; 7] = [25.0, 50.0, 125.0, 250.0, 500.0, 1_000.0, 2_500.0];
/// Slices are rarely longer than this if events take at most a few milliseconds.
const USUAL_MS_MAX: f64 = 125.0;
/// A slice is at least this many times as long as its cut.
const CUTS: f64 = 10.0;
/// At least this many times, if the duet is too short for such slices.
const CUTS_MIN: f64 = 3.0;
/// A slice has at least this many events on each side.
const EVENTS: f64 = 20.0;
/// The shortest cut, in milliseconds: about what waking the sessions takes.
const CUT_MS_MIN: f64 = 1.0;
/// The switch is over when the rate of events is within this share of the later rate.
const SETTLED: f64 = 0.1;
/// A window with this many events shows the rate to a tenth.
const WINDOW_EVENTS: f64 = 100.0;
/// The shortest window, in parts: the scheduler's turns make shorter ones uneven.
const WINDOW_MIN: usize = 3;
/// A window differs from the usual rate by more than this many standard deviations, or not at all.
const DEVIATIONS: f64 = 3.0;

/// What a pilot shows about one side.
#[derive(Clone, Debug, Default)]
pub struct Pilot {
    /// Ends of events in equal parts of the slices that follow the other side's, in each part of
    /// the pilot.
    pub profiles: Vec<Vec<u64>>,
    /// The length of such a slice, in milliseconds.
    pub slice_ms: f64,
    /// Events per second in its own slices.
    pub per_s: f64,
    /// The 95th percentile of its events, in milliseconds.
    pub p95_ms: f64,
}

/// A chosen length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The length of a slice.
    pub slice_ms: f64,
    /// The time after its start that is not counted.
    pub cut_ms: f64,
    /// How long a switch disturbs events, by the pilot.
    pub switch_ms: f64,
    /// The 95th percentile of the slower side's events.
    pub p95_ms: f64,
}

impl Choice {
    /// Whether the slices are long because a switch disturbs events for longer than they take.
    pub fn is_long_for_the_switch(&self) -> bool {
        self.slice_ms > USUAL_MS_MAX && self.switch_ms > self.p95_ms
    }
}

/// Why no length fits.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum NoChoice {
    /// A side had no event.
    #[error("side {0} finished no event in the pilot")]
    Nothing(&'static str),
    /// Events take too long, or there are too few.
    #[error(
        "events take {p95_ms:.0} ms (p95) and the slower side finishes {per_s:.1} per second, so \
         slices would have to be longer than {longest_s} s"
    )]
    TooLong {
        /// The 95th percentile of the slower side's events.
        p95_ms: f64,
        /// Its events per second.
        per_s: f64,
        /// The longest slice.
        longest_s: f64,
    },
}

/// Chooses the shortest slice that is long enough for both sides, but none above `longest_ms` if a
/// larger cut allows it. A switch takes at least `switch_ms`.
///
/// # Errors
/// No length is long enough, or a side finished no event.
pub fn choose(pilots: &[Pilot; 2], switch_ms: f64, longest_ms: f64) -> Result<Choice, NoChoice> {
    for (pilot, side) in pilots.iter().zip(["A", "B"]) {
        if pilot.per_s <= 0.0 {
            return Err(NoChoice::Nothing(side));
        }
    }
    let most = |of: fn(&Pilot) -> f64| pilots.iter().map(of).fold(0.0, f64::max);
    let (shown_ms, p95_ms) = (most(disturbed_ms), most(|pilot| pilot.p95_ms));
    let switch_ms = shown_ms.max(switch_ms);
    let per_s = pilots[0].per_s.min(pilots[1].per_s);
    // Rounded up to half a millisecond.
    let cut_ms = (2.0 * switch_ms.max(p95_ms).max(CUT_MS_MIN)).ceil() / 2.0;
    let least_ms = |cuts: f64| (cuts * cut_ms).max(EVENTS / per_s * 1e3);
    let fits = LENGTHS_MS
        .into_iter()
        .find(|length| *length >= least_ms(CUTS));
    let longest = LENGTHS_MS.into_iter().rfind(|length| *length <= longest_ms);
    let shorter = longest.filter(|length| *length >= least_ms(CUTS_MIN));
    let usual = fits.filter(|length| *length <= longest_ms);
    let Some(slice_ms) = usual.or(shorter).or(fits) else {
        return Err(NoChoice::TooLong {
            p95_ms,
            per_s,
            longest_s: LENGTHS_MS[LENGTHS_MS.len() - 1] / 1e3,
        });
    };
    Ok(Choice {
        slice_ms,
        cut_ms,
        switch_ms,
        p95_ms,
    })
}

/// How long a switch disturbs events. A disturbance from outside affects only a few parts of the
/// pilot, but a switch affects most of them. So the median of the parts counts if it is shorter
/// than the time from all parts together.
fn disturbed_ms(pilot: &Pilot) -> f64 {
    let each = pilot.profiles.iter().map(std::slice::from_ref);
    let each: Vec<f64> = each.map(|own| unsettled_ms(own, pilot.slice_ms)).collect();
    let whole_ms = unsettled_ms(&pilot.profiles, pilot.slice_ms);
    dyno_stats::median(&each).map_or(whole_ms, |usual| whole_ms.min(usual))
}

/// How long the rate of events after a switch differs from what it is in the second half of the
/// slice. Windows of the second halves show how much the rate varies anyway. With too few events to
/// tell, half of the slice.
fn unsettled_ms(profiles: &[Vec<u64>], slice_ms: f64) -> f64 {
    let half_ms = slice_ms / 2.0;
    let parts = profiles.iter().map(Vec::len).min().unwrap_or(0);
    let (early, later) = (0..parts / 2, parts / 2..parts);
    let usual = |profile: &Vec<u64>| mean_of(&profile[later.clone()]);
    let usual_sum: f64 = profiles.iter().map(usual).sum();
    let window = ((WINDOW_EVENTS / usual_sum).ceil() as usize).max(WINDOW_MIN);
    if usual_sum <= 0.0 || window > parts / 8 {
        return half_ms;
    }
    let squares = profiles.iter().flat_map(|profile| {
        let usual = usual(profile);
        let windows = profile[later.clone()].chunks_exact(window);
        windows.map(move |ends| (mean_of(ends) - usual).powi(2))
    });
    let squares: Vec<f64> = squares.collect();
    // The variance of the sum over all parts of the pilot, which vary independently.
    let variance = dyno_stats::mean(&squares).unwrap_or(0.0) * profiles.len() as f64;
    let settled = (SETTLED * usual_sum).max(DEVIATIONS * variance.sqrt());
    let sums: Vec<u64> = early
        .map(|at| profiles.iter().map(|profile| profile[at]).sum())
        .collect();
    let rates: Vec<f64> = sums.chunks_exact(window).map(mean_of).collect();
    let is_settled = |rates: &[f64]| rates.iter().all(|rate| (rate - usual_sum).abs() <= settled);
    let first = rates.windows(2).position(is_settled);
    first.map_or(half_ms, |at| (at * window) as f64 * slice_ms / parts as f64)
}

fn mean_of(counts: &[u64]) -> f64 {
    counts.iter().sum::<u64>() as f64 / counts.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: f64 = 10_000.0;

    /// 250 parts of 1 ms: nothing for `late` parts, then `each` ends per part.
    fn pilot(late: usize, each: u64, p95_ms: f64) -> Pilot {
        Pilot {
            profiles: vec![
                (0..250)
                    .map(|at| if at < late { 0 } else { each })
                    .collect();
                4
            ],
            slice_ms: 250.0,
            per_s: 10_000.0,
            p95_ms,
        }
    }

    #[test]
    fn quick_events_get_short_slices() {
        let found = choose(&[pilot(1, 100, 0.4), pilot(1, 120, 0.6)], 0.0, LONG).unwrap();
        assert_eq!(
            (found.slice_ms, found.cut_ms, found.switch_ms),
            (50.0, 3.0, 3.0)
        );
        let at_once = choose(&[pilot(0, 100, 0.4), pilot(0, 120, 0.6)], 0.0, LONG).unwrap();
        assert_eq!((at_once.slice_ms, at_once.cut_ms), (25.0, 1.0));
    }

    #[test]
    fn the_cut_covers_the_switch_and_the_events() {
        let switch = choose(&[pilot(1, 100, 0.4), pilot(12, 100, 0.4)], 0.0, LONG).unwrap();
        assert_eq!((switch.cut_ms, switch.slice_ms), (12.0, 125.0));
        let events = choose(&[pilot(0, 100, 4.2), pilot(0, 100, 0.4)], 0.0, LONG).unwrap();
        assert_eq!((events.cut_ms, events.slice_ms), (4.5, 50.0));
    }

    #[test]
    fn a_fast_beginning_is_part_of_the_switch() {
        let mut burst = pilot(0, 100, 0.4);
        burst.profiles.iter_mut().for_each(|own| own[..8].fill(300));
        assert!(
            choose(&[pilot(0, 100, 0.4), burst], 0.0, LONG)
                .unwrap()
                .cut_ms
                >= 7.0
        );
    }

    #[test]
    fn an_external_disturbance_is_not_attributed_to_the_switch() {
        let mut hit = pilot(1, 100, 0.4);
        hit.profiles[2][..120].fill(5);
        let found = choose(&[pilot(1, 100, 0.4), hit], 0.0, LONG).unwrap();
        assert_eq!(found.cut_ms, 3.0);
    }

    #[test]
    fn a_short_duet_gets_shorter_slices_if_the_cut_allows_it() {
        let slow = || pilot(12, 100, 0.4);
        let slice_ms = |longest_ms: f64| {
            let found = choose(&[slow(), slow()], 0.0, longest_ms);
            found.unwrap().slice_ms
        };
        assert_eq!((slice_ms(LONG), slice_ms(60.0)), (125.0, 50.0));
        // Too short for the cut of 12 ms.
        assert_eq!(slice_ms(30.0), 125.0);
    }

    #[test]
    fn rare_events_need_long_slices() {
        let mut rare = pilot(0, 100, 1.0);
        rare.per_s = 30.0;
        assert_eq!(
            choose(&[rare.clone(), rare], 0.0, LONG).unwrap().slice_ms,
            1_000.0
        );
    }

    #[test]
    fn events_that_are_too_long_have_no_slice() {
        let slow = Pilot {
            profiles: vec![vec![0; 250]],
            slice_ms: 250.0,
            per_s: 2.0,
            p95_ms: 900.0,
        };
        let error = choose(&[slow.clone(), slow], 0.0, LONG).unwrap_err();
        assert!(error.to_string().contains("longer than 2.5 s"), "{error}");
        let nothing = choose(&[pilot(1, 100, 1.0), Pilot::default()], 0.0, LONG);
        assert_eq!(nothing, Err(NoChoice::Nothing("B")));
    }
}
