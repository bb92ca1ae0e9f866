//! The options of `dyno search`: those that only it has, and those that it shares with `dyno run`.

use std::sync::OnceLock;

use super::{RUN, opt};
use crate::options::Opt;

const SEARCH: &str = "Search";

/// Options that only `dyno search` has.
pub(crate) const OF_SEARCHES: &[Opt] = &[
    opt(
        SEARCH,
        "from",
        Some("LOAD"),
        "Start at this load, e.g. 2000/s, or 16 sessions [estimated by short runs of a \
         closed loop]",
    ),
    opt(
        SEARCH,
        "width",
        Some("SHARE"),
        "Stop when the bounds are this close, e.g. 1% [2%, or the allowed share of late \
         events if that is more]",
    ),
    opt(
        SEARCH,
        "votes",
        Some("N"),
        "Judge each load by N trials, or by fewer if they decide [7]",
    ),
    opt(
        SEARCH,
        "thorough",
        None,
        "Use trials of 60 s and a width of 1 %, unless --time or --width is given",
    ),
];

/// All options of `dyno search`; its own options come first.
pub(crate) fn search() -> &'static [Opt] {
    static ALL: OnceLock<Vec<Opt>> = OnceLock::new();
    ALL.get_or_init(|| {
        let meant = RUN.iter().filter(|opt| opt.applies_to("search"));
        OF_SEARCHES.iter().chain(meant).map(adapted).collect()
    })
}

/// An option of `dyno run` with the default and help text for searches.
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
