//! Check 28: other load on the host during part of the measurement.

use dyno_core::catalogue::names;

use crate::check::{Check, CheckResult, doubt_if, thresholds};
use crate::view::View;
use crate::{machine, text};

pub(super) const OTHER_LOAD: Check = Check {
    number: 28,
    name: "other-load",
    title: "Other processes busy for part of the measurement",
    rule: "Doubt if other processes used {0} % of the host's CPUs in {1} samples in a row, or in \
           {1} and a tenth of all. From {2} % of all samples on, `other-processes` reports it.",
    thresholds: &[LOADED, SAMPLES, ALL],
    make: other_load,
};

thresholds! {
    LOADED = 25.0, "percent of the host", "CPU of other processes":
        "half a core of two, enough to affect the rate";
    SAMPLES = 3.0, "count", "samples in a row": "a single one is a timer job, such as log rotation";
    ALL = 80.0, "percent of all", "samples that count as permanent load":
        "load in four of five samples is permanent, even if it pauses for seconds";
}

/// The CPU use of other processes by sample.
struct Load {
    /// In percent of the host.
    largest: f64,
    samples: usize,
    /// Samples above the threshold.
    loaded: usize,
    /// Length of the longest sequence of such samples, and when it starts.
    longest: (usize, f64),
}

impl Load {
    fn of(view: &View) -> Option<Self> {
        let (points, cpus) = (view.points(names::HOST_OTHERS_CPU), view.cpus()?);
        let shares = points
            .iter()
            .map(|(at_s, cores)| (*at_s, cores / cpus * 100.0));
        let mut load = Self {
            largest: 0.0,
            samples: points.len(),
            loaded: 0,
            longest: (0, 0.0),
        };
        let mut row = (0, 0.0);
        for (at_s, share) in shares {
            load.largest = load.largest.max(share);
            if share < LOADED.value {
                row.0 = 0;
                continue;
            }
            load.loaded += 1;
            row = (row.0 + 1, if row.0 == 0 { at_s } else { row.1 });
            if row.0 > load.longest.0 {
                load.longest = row;
            }
        }
        (!points.is_empty()).then_some(load)
    }

    fn is_much(&self) -> bool {
        let many = self.loaded as f64 >= SAMPLES.value && self.loaded * 10 >= self.samples;
        self.longest.0 as f64 >= SAMPLES.value || many
    }

    fn is_always(&self) -> bool {
        self.loaded as f64 * 100.0 >= ALL.value * self.samples as f64
    }
}

/// Whether this check reports other processes, which were not active all the time.
pub(crate) fn for_a_part(view: &View) -> bool {
    Load::of(view).is_some_and(|load| load.is_much() && !load.is_always())
}

fn other_load(view: &View) -> CheckResult {
    let Some(load) = Load::of(view) else {
        return CheckResult::not_checked(format!("{}.", view.why_not(names::HOST_OTHERS)));
    };
    let much = load.is_much();
    if much && load.is_always() && machine::others_are_many(view) {
        return CheckResult::not_checked(
            "Other processes were busy all the time (see `other-processes`).",
        );
    }
    let named = machine::others_by_name(view);
    let named = named.map_or_else(String::new, |named| format!(": {named}"));
    let when = match much {
        true => format!(
            ", {} in a row from {}{named}",
            load.longest.0,
            text::seconds(load.longest.1),
        ),
        false => String::new(),
    };
    let (among, presumed) = match much {
        true => machine::server_among_others(view),
        false => (String::new(), String::new()),
    };
    CheckResult::of(
        doubt_if(much),
        format!(
            "Other processes used at most {} % of the host's CPUs; in {} of {} samples {} % or \
             more{when}{among}.{presumed}",
            text::plain(load.largest),
            load.loaded,
            load.samples,
            text::plain(LOADED.value)
        ),
        machine::against_others(view),
    )
    .with("largest share", load.largest, "percent of the host")
    .with("samples with other load", load.loaded as f64, "count")
    .with("most in a row", load.longest.0 as f64, "count")
}
