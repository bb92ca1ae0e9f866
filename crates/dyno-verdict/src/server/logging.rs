//! Check 37: logs that hold every statement.

use crate::check::{Check, Made};
use crate::text;
use crate::view::View;

pub(super) const LOGS: Check = Check {
    number: 37,
    name: "statement-logs",
    title: "Logs that the server writes every statement to",
    rule: "Doubt if a setting has the server write each statement, or each that changes something, \
           into a log: the general log, a log of slow statements from 0 s on, an audit log, \
           PostgreSQL's log_statement, log_duration and log_min_duration_statement.",
    thresholds: &[],
    make: logs,
};

/// A setting, what else must be on, and which of its values write every statement.
struct Log {
    setting: &'static str,
    beside: Option<&'static str>,
    writes: fn(&str) -> bool,
}

fn is_on(value: &str) -> bool {
    ["on", "1", "yes", "true"].contains(&value)
}

/// A limit of time that no statement stays below.
fn is_nothing(value: &str) -> bool {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    digits.parse().is_ok_and(|limit: f64| limit == 0.0)
}

const LOGGING: [Log; 10] = [
    Log {
        setting: "general_log",
        beside: None,
        writes: is_on,
    },
    Log {
        setting: "long_query_time",
        beside: Some("slow_query_log"),
        writes: is_nothing,
    },
    Log {
        setting: "server_audit_logging",
        beside: None,
        writes: is_on,
    },
    Log {
        setting: "audit_log_policy",
        beside: None,
        writes: |value| value == "all" || value == "queries",
    },
    Log {
        setting: "log_statement",
        beside: None,
        writes: |value| value == "all" || value == "mod",
    },
    Log {
        setting: "log_min_duration_statement",
        beside: None,
        writes: is_nothing,
    },
    Log {
        setting: "log_duration",
        beside: None,
        writes: is_on,
    },
    Log {
        setting: "auto_explain.log_min_duration",
        beside: None,
        writes: is_nothing,
    },
    Log {
        setting: "log_statement_stats",
        beside: None,
        writes: is_on,
    },
    Log {
        setting: "pgaudit.log",
        beside: None,
        writes: |value| !value.is_empty() && value != "none",
    },
];

fn logs(view: &View) -> Made {
    if view.embedded() || view.family().is_none() {
        return Made::not_checked("There is no server that could write a log of statements.");
    }
    if view.run.settings.is_empty() {
        return Made::not_checked(format!("{}.", view.why_not("settings")));
    }
    let value = |name: &str| view.run.setting(name).map(str::to_ascii_lowercase);
    let writing: Vec<String> = LOGGING
        .iter()
        .filter(|log| value(log.setting).is_some_and(|value| (log.writes)(value.trim())))
        .filter(|log| {
            log.beside
                .is_none_or(|name| value(name).is_some_and(|it| is_on(&it)))
        })
        .map(|log| {
            let value = view.run.setting(log.setting).unwrap_or_default();
            match log.beside {
                None => format!("{} = {value}", log.setting),
                Some(beside) => format!("{beside} = ON with {} = {value}", log.setting),
            }
        })
        .collect();
    match writing.is_empty() {
        true => Made::pass("The server writes no log of every statement."),
        false => Made::doubt(
            format!(
                "The server writes every statement into a log: {}.",
                text::list(&writing)
            ),
            "Turn it off while you measure, or waive this if the log is a part of what is \
             measured: it takes a lock and bytes for each statement.",
        ),
    }
    .with("logs", writing.len() as f64, "count")
}
