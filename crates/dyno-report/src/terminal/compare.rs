//! Comparisons of runs with a base.

mod labels;

use dyno_core::finding::{Tally, verdict};
use dyno_stats::Equivalence;
use dyno_verdict::{Better, Comparison, DURING_RUN, Difference, Metric, Side};

use super::look::{Ink, Look, cut};
use super::page::Page;
use crate::document::{
    self, Table, digits, equivalence_rule, equivalence_word, equivalence_words, interval, is_there,
    times,
};
use crate::number::figure;

pub(crate) use labels::{label, plain_name};

/// The unintended differences shown by default.
const DIFFERENCES_SHOWN: usize = 10;

/// The comparison: the answer in a sentence, the verdict, the ratios with their intervals, other
/// differences, and remarks. Long lists of differences are reduced to the most important, unless
/// `all` are requested.
pub fn comparison(comparison: &Comparison, all: bool, look: &Look) -> String {
    let mut page = Page::new(*look);
    page.blank();
    page.title(&answer(comparison));
    let (ink, word) = document::marked(verdict(&comparison.findings), false);
    let tally = format!(" – {}", Tally::of(&comparison.findings).words());
    page.line("verdict", ink, &[(ink, &word), (Ink::Faint, &tally)]);
    both(comparison, &mut page);
    page.blank();
    let mut out = page.finish();
    out.push('\n');
    out.push_str(&metrics(comparison, look.width() < NARROW).finish(look));
    let mut page = Page::new(*look);
    page.blank();
    rests(comparison, all, &mut page);
    out.push_str(&page.finish());
    out
}

/// The runs of both sides.
pub(super) fn both(comparison: &Comparison, page: &mut Page) {
    for (label, side) in [("base", &comparison.base), ("new", &comparison.new)] {
        page.row(label, Ink::Plain, &described(side));
    }
}

/// The answer in a sentence: the change of the throughput, or for an open loop, which has a
/// requested rate, of the response time.
pub(crate) fn answer(comparison: &Comparison) -> String {
    let mut text = answered(comparison);
    if !comparison.is_open_loop() {
        return text;
    }
    let throughput = comparison.metrics.iter().find(|one| one.name == "events");
    if let Some((events, ratio)) = throughput.and_then(|one| Some((one, one.ratio?)))
        && events.significant
        && ratio < KEPT
    {
        text += &format!("; {}×{} the rate", times(ratio), bounds(events));
    }
    for metric in comparison.kept_up() {
        let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), digits);
        text += &format!(
            "; {} {} → {} {}",
            metric.name,
            number(metric.base),
            number(metric.new),
            metric.unit
        );
    }
    text
}

/// An open loop with less than this share of the other side's rate did not keep up.
const KEPT: f64 = 0.99;
/// An interval within these bounds shows that any difference is small.
const SMALL: (f64, f64) = (0.9, 1.1);

fn answered(comparison: &Comparison) -> String {
    let (base, new) = sides(comparison);
    let what = subject_words(comparison);
    let Some((metric, ratio)) = comparison.subject().and_then(|one| Some((one, one.ratio?))) else {
        return format!("{new} against {base}: no {what} to compare");
    };
    let times = format!("{}×{}", times(ratio), bounds(metric));
    let Some(low) = metric.low else {
        let undecided = match comparison.equivalent_within {
            Some(_) => "undecided, ",
            None => "",
        };
        return format!(
            "{new} against {base}: {undecided}{times} the {what}, too few intervals to judge"
        );
    };
    if let Some(test) = &metric.equivalence {
        let words = equivalence_words(test);
        let is_alone = test.answer == Equivalence::Different && !metric.significant;
        let corrected = metric.p_corrected.filter(|_| is_alone).map(not_among_all);
        return format!(
            "{new} against {base}: {words}, {times} the {what}{}",
            corrected.unwrap_or_default()
        );
    }
    match (
        holds_one(metric, low),
        metric.significant,
        metric.p_corrected,
    ) {
        (true, false, _) if is_small(metric, low) => {
            format!("{new} against {base}: no significant difference in {what}, {times}")
        }
        (true, false, _) => format!("{new} against {base}: undecided, {times} the {what}"),
        // Without variance there is no test of significance.
        (_, true, _) | (false, false, None) => format!("{new}: {times} the {what} of {base}"),
        (false, false, Some(p)) => {
            format!("{new}: {times} the {what} of {base}{}", not_among_all(p))
        }
    }
}

fn not_among_all(p: f64) -> String {
    format!(", not significant among all figures (p {p:.2})")
}

/// The answer in a word: `faster`, `slower`, `same` or `undecided`.
pub(crate) fn outcome(comparison: &Comparison) -> &'static str {
    const UNDECIDED: &str = "undecided";
    let subject = comparison.subject();
    let Some((metric, ratio, low)) = subject.and_then(|one| Some((one, one.ratio?, one.low?)))
    else {
        return UNDECIDED;
    };
    let change = match (metric.better, ratio > 1.0) {
        (Better::Higher, true) | (Better::Lower, false) => "faster",
        (Better::Higher, false) | (Better::Lower, true) => "slower",
    };
    if let Some(test) = &metric.equivalence {
        return match test.answer {
            Equivalence::Different => change,
            _ => equivalence_word(test),
        };
    }
    match (
        holds_one(metric, low),
        metric.significant,
        metric.p_corrected,
    ) {
        (true, false, _) if is_small(metric, low) => "same",
        (true, false, _) | (false, false, Some(_)) => UNDECIDED,
        _ => change,
    }
}

/// Whether the interval of the ratio contains 1.
fn holds_one(metric: &Metric, low: f64) -> bool {
    low <= 1.0 && metric.high.is_none_or(|high| high >= 1.0)
}

/// Whether any difference is small.
fn is_small(metric: &Metric, low: f64) -> bool {
    low >= SMALL.0 && metric.high.is_some_and(|high| high <= SMALL.1)
}

/// The subject of the answer.
pub(crate) fn subject_words(comparison: &Comparison) -> String {
    let subject = comparison.subject().map(|metric| metric.name.as_str());
    match subject.and_then(|name| name.strip_prefix("response time, ")) {
        Some(of) => format!("{of} response time"),
        None => "throughput".to_owned(),
    }
}

/// ` (0.94 – 1.06)`, or nothing.
fn bounds(metric: &Metric) -> String {
    interval(metric, " – ").map_or_else(String::new, |interval| format!(" ({interval})"))
}

/// Names both sides by their differences: the intended ones, the servers, or the only one; else by
/// their runs. A value that a log lacks cannot name a side.
fn sides(comparison: &Comparison) -> (String, String) {
    const WIDTH: usize = 44;
    let all = &comparison.differences;
    let is_meant = |one: &&Difference| one.intended && !one.unrecorded;
    let meant: Vec<&Difference> = all.iter().filter(is_meant).collect();
    let are_told_apart = |one: &&Difference| product(&one.base) != product(&one.new);
    let servers = all.iter().find(|one| one.what == "server");
    let servers = servers.filter(are_told_apart);
    let joined = |of: &dyn Fn(&Difference) -> String, some: &[&Difference]| {
        let parts: Vec<String> = some.iter().map(|one| of(one)).collect();
        cut(&parts.join(", "), WIDTH)
    };
    let (base, new) = (
        |one: &Difference| label(&one.what, &one.base),
        |one: &Difference| label(&one.what, &one.new),
    );
    match (meant.as_slice(), servers, all.as_slice()) {
        ([], Some(servers), _) => (product(&servers.base), product(&servers.new)),
        ([], None, [one]) if !one.what.starts_with(DURING_RUN) && !one.unrecorded => {
            (joined(&base, &[one]), joined(&new, &[one]))
        }
        ([], None, _) => (names(&comparison.base), names(&comparison.new)),
        (meant, ..) => (joined(&base, meant), joined(&new, meant)),
    }
}

/// A server without a distribution's suffix: `MariaDB 10.11.19`.
pub(crate) fn product(server: &str) -> String {
    let mut words = server.split(' ');
    let mut named: Vec<&str> = words.by_ref().take(1).collect();
    named.extend(words.next().and_then(|version| version.split('-').next()));
    named.join(" ")
}

/// The basis of the figures, the differences, and the findings against the comparison.
pub(super) fn rests(comparison: &Comparison, all: bool, page: &mut Page) {
    remarks(&comparison.metrics, page);
    page.row("basis", Ink::Faint, document::basis(comparison.basis));
    if let Some(margin) = comparison.equivalent_within {
        page.row("margin", Ink::Faint, &equivalence_rule(margin));
    }
    differences(comparison, all, page);
    for finding in document::against(&comparison.findings) {
        let (ink, word) = document::counts_as(finding);
        page.row(word, ink, &document::explained(finding).join("\n"));
    }
}

/// All intended differences, and the most important others.
fn differences(comparison: &Comparison, all: bool, page: &mut Page) {
    let (meant, mut unmeant): (Vec<_>, Vec<_>) = comparison
        .differences
        .iter()
        .partition(|difference| difference.intended);
    unmeant.sort_by_key(|difference| rank(&difference.what));
    let most = if all { usize::MAX } else { DIFFERENCES_SHOWN };
    let more = unmeant.len().saturating_sub(most);
    unmeant.truncate(most);
    for (label, ink, differences) in [
        ("intended", Ink::Plain, meant),
        ("differs too", Ink::Warning, unmeant),
    ] {
        let mut label = label;
        for difference in differences {
            let line = format!(
                "{}: {} → {}",
                difference.what,
                or_dash(&difference.base),
                or_dash(&difference.new)
            );
            page.row(label, ink, &line);
            label = "";
        }
    }
    if more > 0 {
        page.row(
            "",
            Ink::Plain,
            &format!("and {more} more: --all shows them"),
        );
    }
}

/// Settings that affect throughput and durability, the most important first.
const SETTINGS: [&str; 30] = [
    "innodb_flush_log_at_trx_commit",
    "sync_binlog",
    "log_bin",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "innodb_doublewrite",
    "innodb_flush_method",
    "innodb_buffer_pool_size",
    "shared_buffers",
    "innodb_redo_log_capacity",
    "innodb_log_file_size",
    "max_wal_size",
    "wal_level",
    "journal_mode",
    "synchronous",
    "transaction_isolation",
    "tx_isolation",
    "default_transaction_isolation",
    "autocommit",
    "query_cache_type",
    "performance_schema",
    "innodb_io_capacity",
    "innodb_flush_neighbors",
    "innodb_adaptive_hash_index",
    "innodb_page_size",
    "table_open_cache",
    "thread_handling",
    "work_mem",
    "autovacuum",
];

/// Differences that make runs incomparable.
const WHAT_RAN: [&str; 8] = [
    "server", "sessions", "rate", "tool", "workload", "profile", "script", "arrivals",
];

/// The rank of a difference: workload and target first, then important settings, then the host, the
/// other settings, and paths.
pub(crate) fn rank(what: &str) -> (usize, usize) {
    let setting = what.strip_prefix("setting ");
    let decisive = setting.and_then(|name| SETTINGS.iter().position(|known| *known == name));
    match (setting, decisive) {
        (_, Some(place)) => (3, place),
        (Some(_), None) => (5, 0),
        _ if WHAT_RAN.contains(&what) => (0, 0),
        _ if ["option ", "table ", DURING_RUN]
            .iter()
            .any(|kind| what.starts_with(kind)) =>
        {
            (1, 0)
        }
        _ if what.starts_with("host.") => (4, 0),
        _ if what.starts_with("server.") => (6, 0),
        _ => (2, 0),
    }
}

/// Remarks, each with the metrics that it is about.
fn remarks(metrics: &[Metric], page: &mut Page) {
    let mut groups: Vec<((Ink, String), Vec<&str>)> = Vec::new();
    for metric in metrics.iter().filter(|metric| is_there(metric)) {
        let remark = document::remark(metric);
        match groups.iter_mut().find(|(known, _)| *known == remark) {
            _ if remark.1.is_empty() => {}
            Some((_, names)) => names.push(&metric.name),
            None => groups.push((remark, vec![&metric.name])),
        }
    }
    let mut label = "remarks";
    for ((ink, remark), names) in groups {
        page.row(label, ink, &format!("{}: {remark}", names.join("; ")));
        label = "";
    }
}

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}

fn names(side: &Side) -> String {
    let runs: Vec<String> = side.runs.iter().map(|run| run.id.to_string()).collect();
    let plural = if runs.len() == 1 { "run" } else { "runs" };
    format!("{plural} {}", runs.join(", "))
}

fn described(side: &Side) -> String {
    let runs: Vec<String> = (side.runs.iter())
        .map(|run| {
            let words = |verdict| document::verdict_words(verdict, run.thin);
            let verdict = run.verdict.map_or("not judged", words);
            match run.waived.as_slice() {
                [] => format!("{} ({verdict})", run.id),
                waived => format!("{} ({verdict}, waived: {})", run.id, waived.join(", ")),
            }
        })
        .collect();
    let plural = if runs.len() == 1 { "run" } else { "runs" };
    let mut parts = vec![format!("{plural} {}", runs.join(", "))];
    let rates = [
        ("mean", side.mean_per_s),
        ("median second", side.median_per_s),
    ];
    let rates = rates.into_iter();
    let rates = rates.filter_map(|(name, rate)| Some(format!("{name} {} /s", digits(rate?))));
    let rates: Vec<String> = rates.collect();
    if !rates.is_empty() {
        parts.push(rates.join(", "));
    }
    if let (Some(stalls), Some(stalled_s)) = (side.stalls, side.stalled_s) {
        let each = if stalls == 1 { "stall" } else { "stalls" };
        let stalled_s = if stalled_s > 0.0 { stalled_s } else { 0.0 };
        parts.push(format!("{stalls} {each}, {} s", figure(stalled_s)));
    }
    parts.join("; ")
}

/// Below this width the table has neither p-values nor blanks within intervals.
const NARROW: usize = 72;

/// The figures of both sides, with ratios.
pub(super) fn metrics(comparison: &Comparison, narrow: bool) -> Table {
    let mut table = document::metrics(comparison, narrow);
    table.retain(|head| head.rank <= usize::from(!narrow));
    table
}

#[cfg(test)]
pub(super) mod tests;
