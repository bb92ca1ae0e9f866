//! Check 37: logs of every statement.

#[cfg(test)]
mod tests;

use dyno_core::catalogue::names;

use crate::check::{Check, CheckResult, thresholds};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(super) const LOGS: Check = Check {
    number: 37,
    name: "statement-logs",
    title: "Logs to which the server writes statements",
    rule: "Doubt if settings make the server log {0} % of the statements, or of the changing ones. \
           Logs are the general, slow (by its counter, if observed) and audit log; on PostgreSQL \
           log_statement, log_duration, log_min_duration_statement, samples, statistics and trees \
           of parser, planner and executor, auto_explain, pgaudit. No doubt if the server discards \
           its log output. Logging for part of the run counts as well.",
    thresholds: &[WRITTEN],
    make: logs,
};

thresholds! {
    WRITTEN = 10.0, "percent", "statements written into a log":
        "a lock and a few hundred bytes per statement; fewer do not show in the mean";
}

/// A setting's value, lower case.
type Is = fn(&str) -> bool;

/// A setting, the values that write every statement, and the values that other settings need for
/// it, if the server has them.
struct Log {
    setting: &'static str,
    writes: Is,
    needs: &'static [(&'static str, Is)],
    /// A setting that the sentence must mention.
    with: Option<&'static str>,
}

impl Log {
    const fn of(setting: &'static str, writes: Is, needs: &'static [(&'static str, Is)]) -> Self {
        Self {
            setting,
            writes,
            needs,
            with: None,
        }
    }
}

fn is_on(value: &str) -> bool {
    ["on", "1", "yes", "true"].contains(&value)
}

/// A time limit that every statement exceeds.
fn is_nothing(value: &str) -> bool {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    digits.parse().is_ok_and(|limit: f64| limit == 0.0)
}

/// A share, 0 to 1, of statements or transactions.
fn is_much(value: &str) -> bool {
    let share = value.parse::<f64>();
    share.is_ok_and(|share| share * 100.0 >= WRITTEN.value)
}

/// One in this many statements.
fn is_often(value: &str) -> bool {
    let each = value.parse::<f64>();
    each.is_ok_and(|each| each * WRITTEN.value <= 100.0)
}

/// `NONE` takes precedence over other values.
fn goes_somewhere(value: &str) -> bool {
    !value.split(',').any(|place| place.trim() == "none")
}

/// MariaDB's slow log filter passes statements with any of its plans. Each statement that the query
/// cache did not answer has the plan `query_cache_miss`, also without a query cache.
fn lets_all_pass(value: &str) -> bool {
    value.is_empty() || value.contains("query_cache_miss")
}

fn lets_scans_pass(value: &str) -> bool {
    value.contains("not_using_index")
}

/// A time limit, in seconds, that only few statements can exceed.
fn is_long(value: &str) -> bool {
    value.parse().is_ok_and(|limit: f64| limit >= 1.0)
}

/// No list of events means all of them.
fn audits_statements(value: &str) -> bool {
    let events = ["query", "query_dml", "query_dml_no_select", "table"];
    value.is_empty() || value.split(',').any(|event| events.contains(&event.trim()))
}

/// pgaudit's classes of the statements of ordinary transactions that do not change rows: `misc` has
/// those that begin and end a transaction.
const AUDITED_READS: [&str; 3] = ["all", "read", "misc"];

fn audits_reads(value: &str) -> bool {
    value
        .split(',')
        .any(|class| AUDITED_READS.contains(&class.trim()))
}

fn audits_work(value: &str) -> bool {
    audits_reads(value) || value.split(',').any(|class| class.trim() == "write")
}

const SLOW_LOG: &str = "slow_query_log";
const AUDIT: &str = "pgaudit.log";
const NO_INDEX: &str = "log_queries_not_using_indexes";
const THROTTLE: &str = "log_throttle_queries_not_using_indexes";
const FILTER: &str = "log_slow_filter";
const OUTPUT: (&str, Is) = ("log_output", goes_somewhere);
/// The level LOG is above ERROR: only these values exclude it.
const LEVEL: (&str, Is) = ("log_min_messages", |it| it != "fatal" && it != "panic");
const DESTINATION: (&str, Is) = ("log_destination", |it| !it.is_empty());
const POSTGRES: &[(&str, Is)] = &[LEVEL, DESTINATION];
const SLOW: &[(&str, Is)] = &[
    OUTPUT,
    ("log_slow_rate_limit", is_often),
    (FILTER, lets_all_pass),
];

const LOGGING: [Log; 20] = [
    Log::of(
        "general_log",
        is_on,
        &[OUTPUT, ("sql_log_off", |it| !is_on(it))],
    ),
    Log {
        setting: SLOW_LOG,
        writes: is_on,
        needs: &[
            OUTPUT,
            ("long_query_time", is_nothing),
            ("min_examined_row_limit", is_nothing),
            ("log_slow_rate_limit", is_often),
            (FILTER, lets_all_pass),
        ],
        with: Some("long_query_time"),
    },
    Log::of(
        "server_audit_logging",
        is_on,
        &[("server_audit_events", audits_statements)],
    ),
    Log::of("audit_log_policy", |it| it == "all" || it == "queries", &[]),
    Log::of("log_statement", |it| it == "all" || it == "mod", POSTGRES),
    Log::of("log_min_duration_statement", is_nothing, POSTGRES),
    Log::of("log_duration", is_on, POSTGRES),
    Log::of(
        "log_min_duration_sample",
        is_nothing,
        &[LEVEL, DESTINATION, ("log_statement_sample_rate", is_much)],
    ),
    Log::of("log_transaction_sample_rate", is_much, POSTGRES),
    Log::of("log_statement_stats", is_on, POSTGRES),
    Log::of("log_parser_stats", is_on, POSTGRES),
    Log::of("log_planner_stats", is_on, POSTGRES),
    Log::of("log_executor_stats", is_on, POSTGRES),
    Log::of("debug_print_raw_parse", is_on, POSTGRES),
    Log::of("debug_print_parse", is_on, POSTGRES),
    Log::of("debug_print_rewritten", is_on, POSTGRES),
    Log::of("debug_print_plan", is_on, POSTGRES),
    // Each message of the extended protocol is one of level DEBUG2.
    Log::of(
        "log_min_messages",
        |it| ["debug5", "debug4", "debug3", "debug2", "debug"].contains(&it),
        &[DESTINATION],
    ),
    Log::of(
        "auto_explain.log_min_duration",
        is_nothing,
        &[LEVEL, DESTINATION, ("auto_explain.sample_rate", is_much)],
    ),
    Log::of(AUDIT, audits_work, POSTGRES),
];

/// Whether a setting decides what is logged.
fn decides(setting: &str) -> bool {
    let needs = |needs: &[(&str, Is)]| needs.iter().any(|(name, _)| *name == setting);
    let of = |log: &Log| log.setting == setting || log.with == Some(setting) || needs(log.needs);
    [NO_INDEX, THROTTLE].contains(&setting) || needs(SLOW) || LOGGING.iter().any(of)
}

/// The settings that log each statement, by the server's values.
pub(crate) fn writing<'a>(
    setting: impl Fn(&str) -> Option<&'a str>,
) -> Vec<(&'static str, String)> {
    let is = |name: &str, is: Is| {
        let value = setting(name).map(|value| value.trim().to_ascii_lowercase());
        value.map(|value| is(&value))
    };
    let writes = |log: &&Log| {
        let mut needs = log.needs.iter();
        is(log.setting, log.writes) == Some(true)
            && needs.all(|(name, holds)| is(name, *holds) != Some(false))
    };
    let named = |log: &Log| {
        let value = |name: &str| format!("{name} = {}", setting(name).unwrap_or_default());
        let line = match log.with {
            None => value(log.setting),
            Some(with) => format!("{} with {}", value(log.setting), value(with)),
        };
        (log.setting, line)
    };
    LOGGING.iter().filter(writes).map(named).collect()
}

/// Statements that the server counted as slow, in percent, if it logs them; also because they used
/// no index. The counter also moves if nothing is logged.
fn slow<'a>(view: &View, setting: impl Fn(&str) -> Option<&'a str>) -> Option<f64> {
    let setting = |name: &str| setting(name).map(str::to_ascii_lowercase);
    let is = |name: &str, is: Is| setting(name).map(|value| is(value.trim()));
    let has = |name: &str, holds: Is| is(name, holds) == Some(true);
    // With such a time limit, many statements are slow only because they use no index.
    let scans = has("long_query_time", is_long);
    // MySQL logs only so many of them a minute.
    let throttled = scans && has(NO_INDEX, is_on) && has(THROTTLE, |it| it != "0");
    let passes = |name: &str| scans && name == FILTER && has(name, lets_scans_pass);
    let mut needs = SLOW.iter();
    let written = has(SLOW_LOG, is_on)
        && !throttled
        && needs.all(|(name, holds)| is(name, *holds) != Some(false) || passes(name));
    let slow = view
        .mean(names::DB_STATUS_SLOW_QUERIES)
        .filter(|_| written)?;
    let all = view
        .mean(names::DB_STATUS_QUESTIONS)
        .filter(|all| *all > 0.0)?;
    Some(slow / all * 100.0)
}

/// The settings that log each statement of the run, by these values.
fn writing_of<'a>(
    view: &View,
    setting: impl Fn(&str) -> Option<&'a str>,
) -> Vec<(&'static str, String)> {
    let mut writing = writing(&setting);
    // `mod` and `write` omit statements that only read.
    let of_changes = |name: &str| {
        let value = setting(name).unwrap_or_default().to_ascii_lowercase();
        match name {
            "log_statement" => value != "all",
            AUDIT => !audits_reads(&value),
            _ => false,
        }
    };
    writing.retain(|(name, _)| !of_changes(name) || view.totals().writes > 0);
    if let Some(share) = slow(view, &setting).filter(|share| *share >= WRITTEN.value)
        && !writing.iter().any(|(setting, _)| *setting == SLOW_LOG)
    {
        let line = format!(
            "{SLOW_LOG} = ON, which logs {} % of the statements (Slow_queries)",
            text::plain(share.min(100.0))
        );
        writing.push((SLOW_LOG, line));
    }
    writing
}

fn logs(view: &View) -> CheckResult {
    if view.imported() && view.run.settings.is_empty() {
        return Missing::StatementLog.result();
    }
    if view.embedded() || view.family().is_none() {
        return CheckResult::not_checked("There is no server with a statement log.");
    }
    if view.run.settings.is_empty() {
        return CheckResult::not_checked(format!("{}.", view.why_not("settings")));
    }
    let mut writing = writing_of(view, |name| view.setting_of_sessions(name));
    for moment in view.later_settings(decides) {
        let setting = |name: &str| view.set_by_all(name).or_else(|| moment.setting(name));
        for (log, line) in writing_of(view, setting) {
            if !writing.iter().any(|(known, _)| *known == log) {
                writing.push((log, format!("{line} {}", moment.when())));
            }
        }
    }
    let writing: Vec<String> = writing.into_iter().map(|(_, line)| line).collect();
    match writing.is_empty() {
        true => CheckResult::pass("The server does not log every statement."),
        false => CheckResult::doubt(
            format!("The server logs every statement: {}.", text::list(&writing)),
            "Turn it off while you measure, or waive this if you want to measure with the log: it \
             costs a lock and bytes for each statement.",
        ),
    }
    .with("logs", writing.len() as f64, "count")
}
