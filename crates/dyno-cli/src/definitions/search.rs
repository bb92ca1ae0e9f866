//! The options of `dyno search`: its own, and those of `dyno run`.

use std::sync::OnceLock;

use super::{RUN, opt};
use crate::options::Opt;

const SEARCH: &str = "Search";

/// Options that no other command has.
pub(crate) const OF_SEARCHES: &[Opt] = &[
    opt(
        SEARCH,
        "from",
        Some("LOAD"),
        "Start at this load, e.g. 2000/s, or 16 sessions [what a closed loop reaches in a few \
         runs]",
    ),
    opt(
        SEARCH,
        "width",
        Some("SHARE"),
        "Stop when the bounds are this close, e.g. 1% [2%, but not below what may be late]",
    ),
    opt(
        SEARCH,
        "votes",
        Some("N"),
        "Judge each load by N trials, or by fewer if they settle it [7]",
    ),
    opt(
        SEARCH,
        "thorough",
        None,
        "Use trials of 60 s and a width of 1 %, unless --time or --width is given",
    ),
];

/// All options, its own first.
pub(crate) fn search() -> &'static [Opt] {
    static ALL: OnceLock<Vec<Opt>> = OnceLock::new();
    ALL.get_or_init(|| {
        let meant = RUN.iter().filter(|opt| opt.applies_to("search"));
        OF_SEARCHES.iter().chain(meant).map(adapted).collect()
    })
}

/// A run's option with a search's default.
fn adapted(opt: &Opt) -> Opt {
    let help = match opt.name {
        "sessions" => {
            "Spread the events of an open loop over N sessions; a search for sessions chooses them \
             itself [64; with SQLite and tests of the host one per core]"
        }
        "target" => {
            "Connect to this database, which has the workload's tables: mysql://, mariadb://, \
             postgres:// or sqlite:FILE; also $DYNO_TARGET"
        }
        "time" => "Measure each trial for this long [10s]",
        "warmup" => {
            "Let each trial settle this long before measuring; no figure includes this time [3s]"
        }
        "quiet" => "Print no lines about the trials",
        "json" => {
            "Print the result with all trials as JSON, or write JSON to FILE and print the text"
        }
        _ => return *opt,
    };
    Opt { help, ..*opt }
}
