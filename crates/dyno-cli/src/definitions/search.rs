//! The options of `dyno search`: its own, and those of `dyno run`.

use std::sync::OnceLock;

use super::{RUN, means_something, opt};
use crate::options::Opt;

const SEARCH: &str = "Search";

/// Those that no other command has.
pub const OF_SEARCHES: &[Opt] = &[
    opt(
        SEARCH,
        "from",
        Some("LOAD"),
        "where to begin, e.g. 2000/s, or 16 sessions [what a closed loop reaches in a few runs]",
    ),
    opt(
        SEARCH,
        "width",
        Some("SHARE"),
        "how near the bounds come to one another, e.g. 1% [2%, but not below what may be late]",
    ),
    opt(
        SEARCH,
        "votes",
        Some("N"),
        "so many trials decide on a load, unless fewer settle it [7]",
    ),
    opt(
        SEARCH,
        "thorough",
        None,
        "trials of 60 s and a width of 1 %, unless --time and --width say otherwise",
    ),
];

/// Options of a run that a search decides itself, or that would mean nothing to it, with what is
/// said of them.
pub const NOT_OF_SEARCHES: [(&str, &str); 17] = [
    (
        "metrics-linger",
        "its trials follow one another; --metrics answers during each",
    ),
    ("rate", "--from says where it begins"),
    ("latency-limit", "the promise has it"),
    ("ladder", "'max sessions with …' looks for sessions"),
    ("in-one-run", "each of its trials is a run"),
    ("events", "--time says how long each trial measures"),
    ("shard", "it conducts one load generator"),
    ("begin-at", "its trials begin one after the other"),
    (
        "ask-password",
        "each of its trials would ask; the guide (docs/targets.md) has other places",
    ),
    ("gate", "its status is 3 by itself where it ends refused"),
    ("fail-if", "the promise takes its place"),
    (
        "plan",
        "it has no plan; `dyno show RUN --plan` has that of a trial",
    ),
    ("ramp-up", "--warmup has each trial settle"),
    ("verbose", "`dyno show RUN -v` tells all of a trial"),
    (
        "explain",
        "`dyno run --explain` at the rate that was found has plans",
    ),
    (
        "cpu-profile",
        "`dyno run --cpu-profile` at the rate that was found has one",
    ),
    (
        "statements",
        "`dyno run --statements` at the rate that was found has them",
    ),
];

/// All, its own first.
pub fn search() -> &'static [Opt] {
    static ALL: OnceLock<Vec<Opt>> = OnceLock::new();
    ALL.get_or_init(|| {
        let meant = RUN.iter().filter(|opt| means_something("search", opt));
        OF_SEARCHES.iter().chain(meant).map(adapted).collect()
    })
}

/// An option of a run with the default that it has here.
fn adapted(opt: &Opt) -> Opt {
    let help = match opt.name {
        "sessions" => {
            "sessions among which the events of an open loop are spread; a search for sessions \
             chooses them itself [64; with SQLite and tests of the host one per core]"
        }
        "target" => {
            "mysql://, mariadb://, postgres:// or sqlite:FILE with the workload's tables; also \
             $DYNO_TARGET"
        }
        "time" => "how long each trial measures [10s]",
        "warmup" => "how long each trial settles before; left out of all figures [3s]",
        "quiet" => "no lines about the trials",
        "json" => "print the result with all trials as JSON, or write it to FILE beside the text",
        _ => return *opt,
    };
    Opt { help, ..*opt }
}
