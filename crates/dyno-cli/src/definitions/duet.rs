//! The options of `dyno duet`: those that only it has, and those that it shares with `dyno run`.

use std::sync::OnceLock;

use super::{RUN, opt};
use crate::options::Opt;

const DUET: &str = "Duet";

/// Options that only `dyno duet` has.
pub(crate) const OF_DUETS: &[Opt] = &[
    opt(
        DUET,
        "precision",
        Some("SHARE"),
        "Stop when the ratio of the rates is known this precisely, e.g. 0.5% [1%]",
    ),
    opt(
        DUET,
        "at-most",
        Some("TIME"),
        "Stop after this time, however precise the ratio is [10m]",
    ),
    opt(
        DUET,
        "equivalent",
        Some("SHARE"),
        "Treat sides whose rates differ by less than this as the same, e.g. 2%",
    ),
    opt(
        DUET,
        "mode",
        Some("MODE"),
        "Let the sides take turns, or run both all the time: alternating or simultaneous \
         [alternating]",
    )
    .one_of(&["alternating", "simultaneous"]),
    opt(
        DUET,
        "slice",
        Some("TIME"),
        "Set the length of a slice, e.g. 50ms [found by a short pilot]",
    ),
    opt(
        DUET,
        "aa",
        None,
        "First compare side A with itself, to show the limit of this machine",
    ),
];

/// Options of `dyno run` that a duet rejects, and why.
pub(crate) const NOT_OF_DUETS: &[(&str, &str)] = &[
    ("ladder", "a duet runs at one load"),
    ("in-one-run", "a duet runs at one load"),
    ("time", "--precision or --at-most ends a duet"),
    ("events", "--precision or --at-most ends a duet"),
    ("shard", "a duet uses one load generator"),
    ("begin-at", "a duet begins when both sides are ready"),
    ("agents", "a duet uses one load generator"),
    ("fail-if", "its conditions are about one run"),
    ("gate", "it is about the verdict of one run"),
    ("junit", "it describes one run"),
    ("metrics", "it shows one run"),
    ("metrics-linger", "it shows one run"),
    ("otlp", "it shows one run"),
    ("otlp-temporality", "it shows one run"),
    ("cpu-profile", "it cannot tell the sides apart"),
    ("plan", "give the plans as the sides"),
];

/// All options of `dyno duet`: those that only it has come first.
pub(crate) fn duet() -> &'static [Opt] {
    static ALL: OnceLock<Vec<Opt>> = OnceLock::new();
    ALL.get_or_init(|| {
        let is_meant = |opt: &&Opt| {
            opt.applies_to("run") && NOT_OF_DUETS.iter().all(|(name, _)| *name != opt.name)
        };
        let shared = RUN.iter().filter(is_meant);
        OF_DUETS.iter().chain(shared).map(adapted).collect()
    })
}

/// An option of `dyno run` with the default and help text for duets.
fn adapted(opt: &Opt) -> Opt {
    let help = match opt.name {
        "target" => "Connect both sides to this database, unless a side names its own",
        "warmup" => "Run this long before measuring, both sides in turns [4s]",
        "json" => "Print the result as JSON, or write JSON to FILE and print the text",
        _ => return *opt,
    };
    Opt { help, ..*opt }
}
