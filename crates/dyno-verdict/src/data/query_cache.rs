//! Check 16: the query cache of MariaDB and of MySQL before 8.0, which answers without reading
//! a table.

use dyno_core::catalogue::names;

use crate::check::{Check, CheckResult, doubt_if, thresholds};
use crate::duet;
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(super) const QUERY_CACHE: Check = Check {
    number: 16,
    name: "query-cache",
    title: "Reads answered by the query cache",
    rule: "Doubt if the query cache answered {0} % of the reads.",
    thresholds: &[ANSWERED],
    make: query_cache,
};

thresholds! {
    ANSWERED = 1.0, "percent of the reads", "reads from the query cache":
        "the run then measures how often query texts repeat";
}

fn query_cache(view: &View) -> CheckResult {
    if view.imported() || !view.mysql() {
        return Missing::QueryCache.or(view, "This kind of server has no query cache.");
    }
    let Some(hits) = view.mean(names::DB_STATUS_QCACHE_HITS) else {
        // The counters exist even if the cache is off.
        let seen = view.run.series(names::DB_STATUS_QUESTIONS).is_some();
        return match seen {
            true => CheckResult::pass("This server has no query cache."),
            false => {
                CheckResult::not_checked(format!("{}.", view.why_not(names::DB_STATUS_QCACHE_HITS)))
            }
        };
    };
    if hits > 0.0 && duet::shares_server(view.run) {
        return CheckResult::not_checked(text::sentence(duet::COUNTED_TOGETHER));
    }
    let totals = view.totals();
    let statements = view.rates_while(names::DB_STATUS_QUESTIONS);
    let reads = statements.map_or(0.0, |(_, per_s)| {
        per_s * totals.reads as f64 / totals.queries().max(1) as f64
    });
    let share = hits / reads.max(hits).max(f64::MIN_POSITIVE) * 100.0;
    let setting = view.setting("query_cache_type").unwrap_or("not known");
    CheckResult::of(
        doubt_if(share >= ANSWERED.value),
        format!(
            "The query cache answered {} reads per second, {} % of all (query_cache_type = \
             {setting}).",
            text::rate(hits),
            text::plain(share)
        ),
        "Turn it off (query_cache_type = OFF, query_cache_size = 0), or let the keys vary.",
    )
    .with("from the query cache", hits, "per second")
    .with("reads from the query cache", share, "percent of the reads")
}
