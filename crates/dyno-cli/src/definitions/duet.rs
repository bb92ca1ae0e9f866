//! The options of `dyno duet`: its own, and those that it shares with `dyno run`.

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
        "Stop when the ratio is known this precisely, e.g. 0.5% [1%, or half of --equivalent if \
         that is less]",
    ),
    opt(
        DUET,
        "at-most",
        Some("TIME"),
        "Stop after this time, even if the ratio is less precise [10m]",
    ),
    opt(
        DUET,
        "equivalent",
        Some("SHARE"),
        "Test whether the sides are the same within this margin, e.g. 2%",
    ),
    opt(
        DUET,
        "mode",
        Some("MODE"),
        "Run the sides in turns (alternating) or at the same time (simultaneous) [alternating]",
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
        "First compare side A with itself, to find the smallest difference this machine can show",
    ),
];

/// Options of `dyno run` that a duet rejects, and why.
pub(crate) const NOT_OF_DUETS: &[(&str, &str)] = &[
    ("ladder", "a duet runs at one load"),
    ("in-one-run", "a duet runs at one load"),
    ("time", "use --at-most"),
    ("events", "use --at-most or --precision"),
    ("shard", "a duet uses one load generator"),
    ("begin-at", "a duet begins when both sides are ready"),
    ("agents", "a duet uses one load generator"),
    ("fail-if", "its conditions apply to one run"),
    ("gate", "it applies to the verdict of one run"),
    ("junit", "it describes one run"),
    ("metrics", "it shows one run"),
    ("metrics-linger", "it shows one run"),
    ("otlp", "it shows one run"),
    ("otlp-temporality", "it shows one run"),
    ("cpu-profile", "it cannot tell the sides apart"),
    ("plan", "name the plan as a side"),
];

/// All options of `dyno duet`, its own first.
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
        "warmup" => "Run both sides for this long before measuring [4s]",
        "json" => "Print the result as JSON, or write JSON to FILE and print the text",
        _ => return *opt,
    };
    Opt { help, ..*opt }
}
