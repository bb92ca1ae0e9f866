//! Tests the steadiness of a rate: how it begins, and whether it drifts and swings.

use dyno_stats::dips::{dips, spells};
use dyno_stats::{beginning, steady, trends};

use super::Source;

use super::cases::Asked::{AtLeast, AtMost};
use super::cases::Case;
use super::rates::Rates;

const BEGINNING: &str = "a beginning at 1 % that is off by 10 %";
const SWING: &str = "a slow swing of 20 %";
const DIPS: &str = "dips that recur";
const DRIFT: &str = "a drift at 1 % of 10 % or more";
const STEADY: &str = "no drift of 30 %, at 5 %";
const SPELLS: &str = "low spells that take 5 %";
const STEP: &str = "a step at 5 %";
const STEP_SURE: &str = "a step at 1 %";
const STEP_LARGE: &str = "a step at 1 % of 20 % or more";

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (seconds, phi, deviation) in LEVELS {
        let of = format!(
            "{seconds} s level, coefficient {phi}, deviation {} %",
            deviation * 100.0
        );
        let level = move |source: &mut _| Rates::level(source, seconds, phi, deviation).0;
        let asked = AtMost(if is_long_memory(seconds, phi) {
            0.035
        } else {
            0.02
        });
        cases.push(Case::new(BEGINNING, &of, asked, move |source| {
            begins_off(&level(source))
        }));
        cases.push(Case::new(DRIFT, &of, asked, move |source| {
            drifts(&level(source))
        }));
        if seconds >= 60 {
            cases.push(Case::new(DIPS, &of, AtMost(0.01), move |source| {
                dips(&level(source)).is_some()
            }));
        }
        if seconds >= 600 {
            cases.push(Case::new(SWING, &of, AtMost(0.02), move |source| {
                swings(&level(source))
            }));
        }
    }
    cases.push(Case::new(
        SWING,
        "3600 s of two levels, 60 % and all, each kept for 10 s",
        AtMost(0.02),
        |source| swings(&Rates::two_modes(source, 3600, 0.6, 10.0).0),
    ));
    cases.extend(cold_starts());
    cases.extend(recurring());
    cases.extend(steady_ones());
    cases.extend(steps());
    cases.extend(trending());
    cases.extend(falling());
    cases.extend(uneven());
    for (period, noise, least) in [
        (200.0, 0.04, 0.95),
        (450.0, 0.04, 0.95),
        (900.0, 0.04, 0.95),
        (900.0, 0.2, 0.95),
    ] {
        let of = format!(
            "3600 s that swing by 15 % either way every {period} s, noise {} %",
            noise * 100.0
        );
        cases.push(Case::new(SWING, of, AtLeast(least), move |source| {
            let phase = source.uniform();
            swings(
                &Rates::level(source, 3600, 0.0, noise)
                    .swing(period, 0.15, phase)
                    .0,
            )
        }));
    }
    cases
}

/// Levels that are recognised as such, and drifts that are mistaken for one.
fn steady_ones() -> Vec<Case> {
    let mut cases = Vec::new();
    for (seconds, phi, deviation, asked) in [
        (10, 0.3, 0.02, 0.95),
        (10, 0.3, 0.04, 0.9),
        (30, 0.3, 0.06, 0.95),
        (30, 0.4, 0.09, 0.7),
        (60, 0.3, 0.08, 0.95),
        (60, 0.6, 0.06, 0.6),
        (300, 0.8, 0.1, 0.5),
    ] {
        let of = format!(
            "{seconds} s level, coefficient {phi}, deviation {} %",
            deviation * 100.0
        );
        cases.push(Case::new(STEADY, of, AtLeast(asked), move |source| {
            is_steady(&Rates::level(source, seconds, phi, deviation).0)
        }));
    }
    for (seconds, phi, deviation) in LEVELS {
        let of = format!(
            "{seconds} s that drift by 30 %, coefficient {phi}, deviation {} %",
            deviation * 100.0
        );
        let most = if is_long_memory(seconds, phi) {
            0.12
        } else {
            0.06
        };
        cases.push(Case::new(STEADY, of, AtMost(most), move |source| {
            let rates = Rates::level(source, seconds, phi, deviation);
            is_steady(&rates.drift(0.3).0)
        }));
    }
    cases
}

/// Seconds, coefficient, relative deviation.
const LEVELS: [(usize, f64, f64); 11] = [
    (10, 0.0, 0.1),
    (10, 0.8, 0.1),
    (20, 0.5, 0.2),
    (30, 0.0, 0.2),
    (30, 0.8, 0.1),
    (60, 0.5, 0.2),
    (60, 0.9, 0.2),
    (300, 0.8, 0.3),
    (900, 0.9, 0.2),
    (3600, 0.0, 0.3),
    (3600, 0.8, 0.3),
];

fn cold_starts() -> impl Iterator<Item = Case> {
    let starts = [
        (12, 3, 0.15, 0.04, 0.95),
        (30, 3, 0.5, 0.04, 0.9),
        (60, 3, 0.15, 0.1, 0.95),
        (60, 10, 0.7, 0.05, 0.9),
        (300, 30, 0.7, 0.1, 0.6),
        (3600, 3, 0.15, 0.1, 0.95),
        (3600, 60, 0.7, 0.1, 0.95),
    ];
    starts
        .into_iter()
        .map(|(seconds, cold, factor, noise, least)| {
            let of = format!(
                "{seconds} s of which {cold} are at {} %, noise {} %",
                factor * 100.0,
                noise * 100.0
            );
            Case::new(BEGINNING, of, AtLeast(least), move |source| {
                let level = Rates::level(source, seconds, 0.3, noise);
                begins_off(&level.cold_start(cold, factor).0)
            })
        })
}

/// Dips that recur, and dips at random times.
fn recurring() -> Vec<Case> {
    let mut cases = Vec::new();
    for (seconds, period, length, depth, noise, least) in [
        (3600, 10.0, 1.0, 0.6, 0.05, 0.99),
        // A dip that straddles two seconds is three deviations deep in each.
        (3600, 10.0, 1.0, 0.6, 0.1, 0.7),
        (600, 7.3, 1.0, 0.6, 0.05, 0.95),
        (600, 60.0, 5.0, 0.4, 0.05, 0.95),
        (120, 10.0, 2.0, 0.4, 0.04, 0.95),
        (3600, 300.0, 20.0, 0.3, 0.04, 0.95),
    ] {
        let of = format!(
            "{seconds} s with dips of {} % for {length} s every {period} s, noise {} %",
            depth * 100.0,
            noise * 100.0
        );
        cases.push(Case::new(DIPS, of, AtLeast(least), move |source| {
            let first = source.uniform() * period;
            let rates =
                Rates::level(source, seconds, 0.3, noise).dips(first, period, length, depth);
            dips(&rates.0).is_some_and(|found| (found.period / period - 1.0).abs() < 0.1)
        }));
    }
    for seconds in [60, 600, 3600] {
        let of = format!("{seconds} s of two levels, 60 % and all, each kept for 10 s");
        cases.push(Case::new(DIPS, of, AtMost(0.01), move |source| {
            dips(&Rates::two_modes(source, seconds, 0.6, 10.0).0).is_some()
        }));
        let of = format!("{seconds} s with dips of 60 % in one of 15 seconds, at random");
        cases.push(Case::new(DIPS, of, AtMost(0.01), move |source| {
            let mut rates = Rates::level(source, seconds, 0.3, 0.05).0;
            for rate in &mut rates {
                if source.uniform() < 1.0 / 15.0 {
                    *rate *= 0.4;
                }
            }
            dips(&rates).is_some()
        }));
    }
    cases
}

/// A series that is not level: its name, its length, and the rate as a function of the share of
/// time.
type Course = (&'static str, usize, fn(f64) -> f64);

/// Rates that fall or rise all the time, evenly or not.
fn trending() -> impl Iterator<Item = Case> {
    let grows: Course = ("a table that grows, to an eighth", 20, |at| {
        1.0 / (1.0 + 63.0 * at).sqrt()
    });
    let courses: [(Course, f64, f64, f64); 6] = [
        (grows, 0.0, 0.2, 0.95),
        (grows, 0.5, 0.2, 0.95),
        (
            ("evenly to half", 12, |at| 0.5_f64.powf(at)),
            0.0,
            0.05,
            0.9,
        ),
        (("evenly to half", 30, |at| 0.5_f64.powf(at)), 0.5, 0.1, 0.7),
        (
            ("straight to a tenth", 20, |at| 1.0 - 0.9 * at),
            0.5,
            0.2,
            0.95,
        ),
        (
            ("twice as fast in the end", 20, |at| 1.0 + at.powi(6)),
            0.0,
            0.05,
            0.9,
        ),
    ];
    courses
        .into_iter()
        .map(|((what, seconds, of), phi, noise, least)| {
            let of_what = format!(
                "{seconds} s: {what}, coefficient {phi}, noise {} %",
                noise * 100.0
            );
            Case::new(DRIFT, of_what, AtLeast(least), move |source| {
                drifts(&course(source, (what, seconds, of), phi, noise))
            })
        })
}

fn course(source: &mut Source, of: Course, phi: f64, noise: f64) -> Vec<f64> {
    let (_, seconds, of) = of;
    let rates = Rates::level(source, seconds, phi, noise).0;
    let last = (seconds - 1) as f64;
    let with = rates.iter().enumerate();
    with.map(|(second, rate)| rate * of(second as f64 / last))
        .collect()
}

/// Rates that fall far, with and without a recovery, and quiet rates.
fn falling() -> Vec<Case> {
    let mut cases = Vec::new();
    let middle: Course = ("a hundredth for 5 of 12 s", 12, |at| {
        if (0.3..0.75).contains(&at) { 0.01 } else { 1.0 }
    });
    let dips: Course = ("40 % for 5 of 40 s, three times", 120, |at| {
        if (at * 3.0).fract() > 0.87 { 0.4 } else { 1.0 }
    });
    for (of, noise, least) in [(middle, 0.05, 0.95), (dips, 0.05, 0.95), (dips, 0.1, 0.9)] {
        let name = format!("{}, noise {} %", of.0, noise * 100.0);
        cases.push(Case::new(SPELLS, name, AtLeast(least), move |source| {
            falls(&course(source, of, 0.3, noise))
        }));
    }
    for (to, phi) in [(0.01, 0.0), (0.0, 0.5)] {
        let name = format!("12 s of which the last 5 have {to} of the rate, coefficient {phi}");
        cases.push(Case::new(STEP_SURE, name, AtLeast(0.95), move |source| {
            let rates = Rates::level(source, 12, phi, 0.2).step(7, to);
            steps_by(&rates.0, 0.01) == Some(7)
        }));
    }
    for (points, noise, least) in [(10, 0.05, 0.95), (9, 0.05, 0.95), (6, 0.03, 0.9)] {
        let name = format!("{points} means of 30 s, the second half 40 % of the first");
        cases.push(Case::new(STEP_SURE, name, AtLeast(least), move |source| {
            let rates = Rates::level(source, points, 0.0, noise).step(points / 2, 0.4);
            steps_by(&rates.0, 0.01) == Some(points / 2)
        }));
    }
    for (seconds, phi, deviation) in LEVELS {
        let name = format!(
            "{seconds} s level, coefficient {phi}, deviation {} %",
            deviation * 100.0
        );
        cases.push(Case::new(SPELLS, name, AtMost(0.03), move |source| {
            falls(&Rates::level(source, seconds, phi, deviation).0)
        }));
    }
    cases
}

/// Levels whose noise has a long tail: innovations from Student's t with three degrees of freedom.
/// With a coefficient of 0.8, such a tail produces steps that last.
fn uneven() -> Vec<Case> {
    let mut cases = Vec::new();
    for (seconds, phi) in [
        (10, 0.0),
        (12, 0.5),
        (20, 0.8),
        (30, 0.5),
        (120, 0.8),
        (300, 0.5),
    ] {
        let name = format!("{seconds} s level with a long tail, coefficient {phi}, 10 %");
        let level = move |source: &mut Source| -> Vec<f64> {
            let tailed = source.tailed(seconds, phi);
            tailed.iter().map(|x| (1.0 + 0.1 * x).max(0.0)).collect()
        };
        let most = if is_long_memory(seconds, phi) {
            0.05
        } else {
            0.03
        };
        cases.push(Case::new(DRIFT, &name, AtMost(most), move |source| {
            drifts(&level(source))
        }));
        cases.push(Case::new(SPELLS, &name, AtMost(0.01), move |source| {
            falls(&level(source))
        }));
        cases.push(Case::new(STEP_LARGE, &name, AtMost(most), move |source| {
            let found = dyno_stats::step(&level(source));
            found.is_some_and(|step| {
                let by = step.after / step.before - 1.0;
                step.p <= 0.01 && step.of_drift < 1.0 && by.abs() >= 0.2
            })
        }));
    }
    cases
}

/// Whether a series is too short to tell it from a level that moves.
fn is_long_memory(seconds: usize, phi: f64) -> bool {
    (seconds < 60 && phi >= 0.8) || (seconds < 120 && phi >= 0.9)
}

/// False and true steps.
fn steps() -> Vec<Case> {
    let mut cases = Vec::new();
    for (seconds, phi) in [
        (6, 0.0),
        (8, 0.0),
        (12, 0.0),
        (12, 0.5),
        (20, 0.0),
        (20, 0.5),
        (20, 0.8),
        (30, 0.0),
        (30, 0.5),
        (30, 0.8),
        (60, 0.0),
        (60, 0.5),
        (60, 0.9),
        (300, 0.0),
        (300, 0.5),
        (300, 0.8),
        (3600, 0.5),
    ] {
        let of = format!("{seconds} s level, coefficient {phi}, deviation 10 %");
        let level = move |source: &mut _| Rates::level(source, seconds, phi, 0.1).0;
        let (likely, sure) = match is_long_memory(seconds, phi) {
            true => (0.12, 0.035),
            false => (0.08, 0.02),
        };
        cases.push(Case::new(STEP, &of, AtMost(likely), move |source| {
            steps_by(&level(source), 0.05).is_some()
        }));
        cases.push(Case::new(STEP_SURE, &of, AtMost(sure), move |source| {
            steps_by(&level(source), 0.01).is_some()
        }));
    }
    for (seconds, at, factor, phi, noise, least) in [
        (20, 12, 0.6, 0.3, 0.05, 0.95),
        (30, 12, 0.8, 0.3, 0.05, 0.85),
        (30, 12, 0.6, 0.3, 0.05, 0.95),
        (30, 12, 0.6, 0.3, 0.1, 0.9),
        (60, 20, 0.8, 0.3, 0.05, 0.95),
        (60, 20, 0.8, 0.5, 0.1, 0.4),
        (300, 100, 0.9, 0.3, 0.1, 0.5),
        (3600, 1200, 0.9, 0.5, 0.1, 0.5),
    ] {
        let of = format!(
            "{seconds} s at {} % from {at} s on, coefficient {phi}, noise {} %",
            factor * 100.0,
            noise * 100.0
        );
        cases.push(Case::new(STEP_SURE, of, AtLeast(least), move |source| {
            let rates = Rates::level(source, seconds, phi, noise).step(at, factor);
            let found = steps_by(&rates.0, 0.01);
            found.is_some_and(|index| index.abs_diff(at) <= (seconds / 20).max(2))
        }));
    }
    cases
}

fn steps_by(rates: &[f64], chance: f64) -> Option<usize> {
    let found = dyno_stats::step(rates).filter(|step| step.p <= chance)?;
    Some(found.index)
}

fn begins_off(rates: &[f64]) -> bool {
    beginning(rates)
        .is_some_and(|found| found.p <= 0.01 && (found.first / found.rest - 1.0).abs() >= 0.1)
}

fn drifts(rates: &[f64]) -> bool {
    trends(rates).is_some_and(|found| {
        let surest = found.surest();
        surest.p <= 0.01 && surest.change.abs() >= 0.1
    })
}

fn is_steady(rates: &[f64]) -> bool {
    trends(rates).is_some_and(|found| {
        let bounds = found.even().alone(0.9);
        bounds.low >= -0.3 && bounds.high <= 0.3
    })
}

fn falls(rates: &[f64]) -> bool {
    spells(rates).is_some_and(|found| found.lost >= 0.05)
}

fn swings(rates: &[f64]) -> bool {
    steady::swing(rates).is_some_and(|by| by >= 0.2)
}
