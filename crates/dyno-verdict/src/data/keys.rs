//! Check 18: the keys that the workload's plan requests, and whether its statements differ.

use dyno_core::catalogue::names;
use dyno_core::plan::{OptionValue, RandKind, RandPlan};

use crate::check::{Check, CheckResult, doubt_if, thresholds};
use crate::context::Claim;
use crate::missing::Missing;
use crate::text;
use crate::view::View;

use super::{cache, sizes, statistics};

pub(super) const KEYS: Check = Check {
    number: 18,
    name: "key-distribution",
    title: "Hot set of the keys, and whether statements differ",
    rule: "Doubt if data is claimed on disk, misses are unknown, and the keys of {0} % of the \
           draws fit in the cache. Doubt if statements always use the same rows: of {1} or more \
           examined, at most {2} differ, and all name their rows and read at most {3} each. No \
           doubt if some are INSERTs with values, or more than {4} % use functions or variables \
           that may choose other rows.",
    thresholds: &[HOT, LOOKED_AT, DIFFERENT, ROWS, DRAWN],
    make: keys,
};

thresholds! {
    LOOKED_AT = 500.0, "count", "statements looked at":
        "with fewer, chance may hide differences; Dyno examines the first thousand of each \
         worker, then one in 256";
    DIFFERENT = 16.0, "count", "different statements":
        "a transaction rarely has more kinds of statements, each with the same key";
    ROWS = 10.0, "count", "rows read by a statement": "a query over many rows has no single key";
    DRAWN = 5.0, "percent of those that name their rows",
        "statements that may choose different rows each time":
        "each session may query the server's version once; beyond that, these statements may be \
         the ones that read rows";
    HOT = 90.0, "percent", "share of draws in the hot set": "the run then measures the cache";
}

/// The server must count at least this share of the rows that the statements read. It is less
/// than 1 because samples may be late.
const SEEN: f64 = 0.5;

/// Rows that MySQL and MariaDB read by indexes, of tables of any engine.
const HANDLER_READS: [&str; 6] = [
    names::DB_STATUS_HANDLER_READ_FIRST,
    names::DB_STATUS_HANDLER_READ_KEY,
    names::DB_STATUS_HANDLER_READ_LAST,
    names::DB_STATUS_HANDLER_READ_NEXT,
    names::DB_STATUS_HANDLER_READ_PREV,
    names::DB_STATUS_HANDLER_READ_RND,
];

/// Includes rows from scans, except scans of tables that the server creates itself.
fn handler_reads(view: &View) -> Option<f64> {
    let scanned = view
        .mean(names::DB_STATUS_HANDLER_READ_RND_NEXT)
        .unwrap_or(0.0);
    let scanned = scanned * statistics::of_lasting_tables(view);
    Some(view.mean_sum(&HANDLER_READS)? + scanned)
}

fn keys(view: &View) -> CheckResult {
    let looked = looked_at(view);
    if let Some(result) = looked.and_then(|looked| same_rows(view, looked)) {
        return result;
    }
    let plan = view.summary().and_then(|summary| summary.rand.as_ref());
    if view.imported() {
        return Missing::Keys.result();
    }
    let Some(plan) = plan else {
        return CheckResult::not_checked("How keys were drawn is not known.");
    };
    let range = match option(view, "table_size") {
        Some(rows) => rows,
        None if plan.kind == RandKind::Zipfian => {
            return CheckResult::not_checked("The range that keys are drawn from is not known.");
        }
        None => f64::INFINITY,
    };
    let Some(hot) = hot_share(plan, HOT.value / 100.0, range) else {
        return CheckResult::not_checked(
            "The hot set of the plan's distribution cannot be computed.",
        );
    };
    let mut sizes = sizes(view).iter();
    let size = sizes.find_map(|name| Some((name, view.mean(name)?)));
    let hot_bytes = size.map(|(_, size)| size * hot);
    let cached = hot_bytes
        .zip(cache::cache_sizes(view).into_iter().reduce(f64::max))
        .is_some_and(|(hot, cache)| hot <= cache);
    // If the misses are known, `cache` reports them.
    let unknown = cache::miss_ratio(view).is_none();
    let fault = cached && unknown && view.context.claim == Some(Claim::OnDisk);
    // A data directory also contains other schemas' tables and the server's own.
    let most = match size.is_some_and(|(name, _)| name.starts_with("data.")) {
        true => "at most",
        false => "about",
    };
    let bytes = hot_bytes.map_or_else(String::new, |hot| {
        format!(", {most} {} of the data", text::bytes(hot))
    });
    let used = match looked.filter(|(all, _)| *all > 0.0) {
        None => "How the script used them is not measured.".to_owned(),
        Some((all, different)) => format!(
            "Of {} examined statements {} differed.",
            text::count(all as u64),
            text::count(different as u64)
        ),
    };
    CheckResult::of(
        doubt_if(fault),
        format!(
            "The plan draws keys {}: {} % of the draws hit {} of the keys{bytes}. {used}",
            kind(plan),
            text::plain(HOT.value),
            text::percent(hot)
        ),
        match plan.kind {
            RandKind::Uniform => "Use more data or a smaller cache.",
            _ => {
                "Draw keys more evenly (--rand-type uniform), or use more data or a smaller cache."
            }
        },
    )
    .with("keys that are hot", hot * 100.0, "percent of the keys")
    .with_some("hot data", hot_bytes, "bytes")
    .with_some("different statements", looked.map(|it| it.1), "count")
}

/// The number of sampled statements, and of different ones among them.
fn looked_at(view: &View) -> Option<(f64, f64)> {
    Some((
        counted(view, names::CLIENT_STATEMENTS_LOOKED_AT)?,
        counted(view, names::CLIENT_STATEMENTS_DIFFERENT)?,
    ))
}

fn counted(view: &View, fact: &str) -> Option<f64> {
    view.run.fact(fact)?.trim().parse().ok()
}

fn same_rows(view: &View, (all, different): (f64, f64)) -> Option<CheckResult> {
    let totals = view.totals();
    let statements = totals.reads.saturating_add(totals.writes);
    let [by_text, drawn] = [
        names::CLIENT_STATEMENTS_BY_TEXT,
        names::CLIENT_STATEMENTS_DRAWN,
    ]
    .map(|fact| counted(view, fact));
    let (by_text, drawn) = (by_text?, drawn?);
    if by_text < LOOKED_AT.value || drawn * 100.0 > DRAWN.value * by_text {
        return None;
    }
    let few = all >= LOOKED_AT.value && different <= DIFFERENT.value && statements > 0;
    let part = statements as f64 / totals.queries().max(1) as f64;
    let (counter, rows) = match view.postgres() {
        true => (
            names::DB_DATABASE_XACT_COMMIT,
            view.mean(names::DB_DATABASE_TUP_RETURNED),
        ),
        false => (names::DB_STATUS_QUESTIONS, handler_reads(view)),
    };
    let (_, per_s) = view
        .rates_while(counter)
        .filter(|_| few && !view.is_shared())?;
    let rows = rows? / (per_s * part);
    let each = totals.rows as f64 / statements as f64;
    let touched = crate::errors::untouched(view).is_none();
    // Generated rows, such as those of `SELECT now()`, are not looked up. No counter includes the
    // rows of a count inside InnoDB, of full-text searches and of sequences.
    let finds = (SEEN..=ROWS.value).contains(&rows);
    let lookups = finds && each <= ROWS.value;
    if !touched || !lookups {
        return None;
    }
    let waits = view.mean(names::DB_STATUS_INNODB_ROW_LOCK_WAITS);
    let waits = waits.zip(view.events_per_s());
    let waits = waits.map(|(waits, events)| waits / events * 100.0);
    let locked = waits.filter(|waits| *waits >= 1.0);
    let locked = locked.map_or_else(String::new, |waits| {
        format!(
            ", and waited {} times per 100 events for a row lock",
            text::plain(waits)
        )
    });
    let result = CheckResult::doubt(
        format!(
            "Of {} examined statements only {} differed, and for each of them the server read {} \
             rows: they asked for the same rows again and again{locked}.",
            text::count(all as u64),
            text::count(different as u64),
            text::plain(rows)
        ),
        "Draw the keys at random (sysbench.rand in Lua, \\set id random(1, N) in a file of SQL), \
         or waive this if you want to measure one row: a page that is always in the CPU's cache, \
         or a lock that all sessions wait for.",
    );
    Some(
        result
            .with("statements looked at", all, "count")
            .with("different statements", different, "count")
            .with("rows per statement", rows, "count")
            .with_some("row lock waits", waits, "per 100 events"),
    )
}

fn option(view: &View, name: &str) -> Option<f64> {
    let options = &view.run.head.workload.options;
    let options = view
        .summary()
        .map_or(options, |summary| &summary.workload.options);
    options.iter().find_map(|(key, value)| match value {
        OptionValue::Number(number) if key.replace('-', "_") == name => {
            (*number >= 1.0).then_some(*number)
        }
        _ => None,
    })
}

fn kind(plan: &RandPlan) -> String {
    match plan.kind {
        RandKind::Uniform => "uniformly".to_owned(),
        RandKind::Gaussian => format!("from a bell curve of {} draws", plan.spec_iter),
        RandKind::Special => format!(
            "with {} % hot keys that get {} %",
            plan.spec_pct, plan.spec_res
        ),
        RandKind::Pareto => format!("by Pareto's law with h {}", text::plain(plan.pareto_h)),
        RandKind::Zipfian => format!(
            "by Zipf's law with exponent {}",
            text::plain(plan.zipfian_exp)
        ),
    }
}

/// The smallest share of the keys that gets `draws` of the draws; `None` for an invalid plan.
fn hot_share(plan: &RandPlan, draws: f64, range: f64) -> Option<f64> {
    let share = match plan.kind {
        RandKind::Uniform => draws,
        RandKind::Gaussian => bell_width(plan.spec_iter, draws)?,
        RandKind::Special => {
            let (hot, gets) = (
                f64::from(plan.spec_pct) / 100.0,
                f64::from(plan.spec_res) / 100.0,
            );
            // A part of the hot keys, or the part of the bell curve around them that gets the rest.
            if draws <= gets {
                hot * draws / gets
            } else {
                let rest = bell_width(plan.spec_iter, (draws - gets) / (1.0 - gets))?;
                rest.max(hot)
            }
        }
        // A share x of the range gets x^(log(1-h)/log(h)) of the draws: at x = h it is 1 - h.
        RandKind::Pareto => {
            let exponent = (1.0 - plan.pareto_h).ln() / plan.pareto_h.ln();
            draws.powf(1.0 / exponent)
        }
        RandKind::Zipfian => zipf_rank(plan.zipfian_exp, draws, range)? / range,
    };
    (share.is_finite() && share > 0.0).then_some(share.min(1.0))
}

/// The width around the middle that gets `draws` of a mean of `uniforms` uniform draws. Chebyshev's
/// inequality would be safe but weak; the distribution is close to normal, with 90 % within 1.645
/// standard deviations and 68 % within 1. Values in between are interpolated.
fn bell_width(uniforms: u32, draws: f64) -> Option<f64> {
    const NORMAL: [(f64, f64); 6] = [
        (0.0, 0.0),
        (0.383, 0.5),
        (0.683, 1.0),
        (0.9, 1.645),
        (0.954, 2.0),
        (0.997, 3.0),
    ];
    if uniforms == 0 {
        return None;
    }
    if uniforms == 1 {
        return Some(draws);
    }
    let deviation = 1.0 / (12.0 * f64::from(uniforms)).sqrt();
    let pair = NORMAL.windows(2).find(|pair| draws <= pair[1].0)?;
    let part = (draws - pair[0].0) / (pair[1].0 - pair[0].0);
    let deviations = pair[0].1 + part * (pair[1].1 - pair[0].1);
    Some((2.0 * deviations * deviation).min(1.0))
}

/// The rank up to which Zipf's law with this exponent gives `draws` of the draws out of `range`
/// keys, with the integral instead of the sum.
fn zipf_rank(exponent: f64, draws: f64, range: f64) -> Option<f64> {
    if !exponent.is_finite() || exponent < 0.0 || !range.is_finite() {
        return None;
    }
    let rest = 1.0 - exponent;
    // From 0.5 to n + 0.5 the integral of x^-s is close to the sum from 1 to n.
    let (low, high) = (0.5_f64, range + 0.5);
    let rank = if rest.abs() < 1e-9 {
        low * (high / low).powf(draws)
    } else {
        let (from, to) = (low.powf(rest), high.powf(rest));
        (from + draws * (to - from)).powf(1.0 / rest)
    };
    Some(rank.clamp(1.0, range))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_sets_follow_their_laws() {
        let plan = |kind| RandPlan {
            kind,
            ..RandPlan::default()
        };
        let close = |found: Option<f64>, expected: f64| {
            let found = found.unwrap();
            assert!(
                (found / expected - 1.0).abs() < 0.03,
                "{found} for {expected}"
            );
        };
        close(hot_share(&plan(RandKind::Uniform), 0.9, 1e6), 0.9);
        // By definition of h a fifth of the range gets four fifths of the draws.
        close(hot_share(&plan(RandKind::Pareto), 0.8, 1e6), 0.2);
        close(hot_share(&plan(RandKind::Special), 0.75, 1e6), 0.01);
        // Twelve uniform draws have a standard deviation of a twelfth.
        close(hot_share(&plan(RandKind::Gaussian), 0.683, 1e6), 2.0 / 12.0);
    }

    #[test]
    fn zipfs_integral_is_close_to_the_sum() {
        for exponent in [0.5, 0.8, 1.0, 1.2] {
            let weight = |rank: u32| f64::from(rank).powf(-exponent);
            let all: f64 = (1..=100_000).map(weight).sum();
            let mut sum = 0.0;
            let rank = (1..=100_000).find(|rank| {
                sum += weight(*rank);
                sum >= 0.9 * all
            });
            let rank = f64::from(rank.unwrap());
            let found = zipf_rank(exponent, 0.9, 100_000.0).unwrap();
            assert!(
                (found / rank - 1.0).abs() < 0.1,
                "{found} for {rank} at {exponent}"
            );
        }
        assert_eq!(zipf_rank(f64::NAN, 0.9, 10.0), None);
    }
}
