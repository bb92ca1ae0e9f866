//! Checks 36 to 41: the server and its configuration.

mod another;
mod durability;
mod logging;
mod replication;
mod settings;

#[cfg(test)]
mod tests;

pub(crate) use another::another_server;
pub(crate) use durability::{Promise, decides, foreign_tables};
pub(crate) use logging::writing;
pub use settings::same as same_setting;

pub(crate) use dyno_core::settings::is_servers_own;

use dyno_core::catalogue::names;
use dyno_core::finding::{Cause, Outcome};
use dyno_core::plan::OptionValue;
use dyno_core::record::EventKind;

use crate::check::{Check, CheckResult, thresholds};
use crate::duet;
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(crate) const CHECKS: &[Check] = &[
    Check {
        number: 36,
        name: "server-build",
        title: "Server version and kind of build",
        rule: "Refusal of debug builds and sanitizer builds.",
        thresholds: &[],
        make: build,
    },
    settings::REQUESTED,
    logging::LOGS,
    durability::DURABILITY,
    Check {
        number: 39,
        name: "connection",
        title: "TLS and prepared statements, as declared",
        rule: "Doubt if the URL demands TLS and the connection has none. Doubt if statements were \
               declared as prepared and less than {0} % of the server's were prepared executions, \
               or the reverse.",
        thresholds: &[PREPARED],
        make: connection,
    },
    Check {
        number: 40,
        name: "restarts",
        title: "Restarts, fail-overs, lost and new connections",
        rule: "Refusal if the server restarted during the measurement, doubt if that was declared \
               as a disturbance. Doubt if {0} % of the events cost a reconnect, as many \
               connections as sessions ended within {2} s, another server answered the observer, \
               the server counted {3} connections per 100 events, or it did not answer its \
               observer {1} times.",
        thresholds: &[RECONNECTS, SILENT, CUT_S, CONNECTIONS],
        make: restarts,
    },
    replication::REPLICATION,
    replication::FLOW_CONTROL,
    settings::MOVED,
];

thresholds! {
    PREPARED = 10.0, "percent of the statements", "executions of prepared statements":
        "transactions begin and end in plain text";
    RECONNECTS = 0.1, "percent of the events", "reconnects":
        "a connection costs as much as 100 statements: one per thousand adds a tenth";
    SILENT = 2.0, "count", "seconds without an answer":
        "one may be the observer's own deadline on a busy host";
    CUT_S = 3.0, "s", "time within which all connections ended":
        "a fail-over, a proxy or an administrator is that quick; occasional drops are not";
    CONNECTIONS = 10.0, "per 100 events", "connections made": "the run then measures connecting";
}

/// An uptime spans the measurement if it grew by its length up to this tolerance: servers report
/// whole seconds, and observers ask once a second.
const ENDS_S: f64 = 3.0;

fn build(view: &View) -> CheckResult {
    if view.family().is_none() {
        return Missing::Server.or(view, "No database was used.");
    }
    let fact = view.run.fact(names::SERVER_VERSION).unwrap_or_default();
    let stated = view
        .summary()
        .map_or("", |summary| summary.target.version.as_str());
    let version = if fact.is_empty() { stated } else { fact };
    let comment = view
        .run
        .fact(names::SERVER_VERSION_COMMENT)
        .unwrap_or_default();
    let build = view.run.fact(names::SERVER_BUILD).unwrap_or("unknown");
    let marks = format!("{build} {version} {comment}").to_ascii_lowercase();
    let kind = if ["debug", "assert"].iter().any(|mark| marks.contains(mark))
        || view.run.setting("debug_assertions") == Some("on")
    {
        Some("a debug build")
    } else if ["sanitizer", "-asan", "-ubsan", "-tsan", "valgrind"]
        .iter()
        .any(|mark| marks.contains(mark))
    {
        Some("a build with a sanitizer")
    } else {
        None
    };
    let name = [view.product(), version]
        .iter()
        .filter(|part| !part.is_empty())
        .copied()
        .collect::<Vec<_>>()
        .join(" ");
    match kind {
        Some(kind) => CheckResult::refuse(
            format!("{name} is {kind}."),
            "Measure the build that users get.",
        ),
        None if build == "release" => CheckResult::pass(format!("{name} is a release build.")),
        None if name.is_empty() => {
            CheckResult::not_checked(format!("{}.", view.why_not(names::SERVER_VERSION)))
        }
        None if view.imported() => Missing::Build.result(),
        None => CheckResult::not_checked(format!(
            "{name} does not report its kind of build; nothing indicates a debug build."
        )),
    }
}

fn connection(view: &View) -> CheckResult {
    if view.imported() || view.embedded() || view.family().is_none() {
        return Missing::Connection.or(view, "There was no connection to check.");
    }
    let plan = view.run.head.plan.as_ref();
    let mode = plan.and_then(|plan| plan.target.as_ref()?.tls_mode());
    let tls = view
        .summary()
        .and_then(|summary| summary.target.tls.as_deref());
    let demanded = mode.is_some_and(|mode| mode == "require" || mode.starts_with("verify"));
    let refused = mode == Some("disable");
    let mut faults = Vec::new();
    if view.summary().is_some() && demanded && tls.is_none() {
        faults.push("the URL demands TLS, but the connection is unencrypted".to_owned());
    }
    if refused && tls.is_some() {
        faults.push("the URL forbids TLS, but the connection uses it".to_owned());
    }
    let prepared = prepared_share(view);
    let declared = declared_prepared(view);
    match (declared, prepared) {
        (Some(true), Some(share)) if share < PREPARED.value => {
            faults.push("statements are declared as prepared, but are not".to_owned());
        }
        (Some(false), Some(share)) if share >= PREPARED.value => {
            faults.push("statements are declared as plain text, but are prepared".to_owned());
        }
        _ => {}
    }
    let protected = match (tls, view.summary()) {
        (Some(tls), _) => format!("the connection is protected by {tls}"),
        (None, Some(_)) => "the connection is unencrypted".to_owned(),
        (None, None) => "the encryption of the connection is not known".to_owned(),
    };
    let executions = prepared.map_or_else(String::new, |share| {
        format!(
            "; {} % of the server's statements were executions of prepared ones",
            text::plain(share)
        )
    });
    let facts = text::sentence(&format!("{protected}{executions}"));
    if faults.is_empty() && declared.is_some() && duet::shares_server(view.run) {
        let why = text::sentence(duet::COUNTED_TOGETHER);
        return CheckResult::not_checked(format!("{why} {facts}"));
    }
    let evidence = match faults.is_empty() {
        true => facts,
        false => format!("{} {facts}", text::sentence(&text::list(&faults))),
    };
    CheckResult::of(
        if faults.is_empty() {
            Outcome::Pass
        } else {
            Outcome::Doubt
        },
        evidence,
        "Look for a proxy between client and server: it may terminate TLS or unpack prepared \
         statements.",
    )
    .with_some("prepared", prepared, "percent of the statements")
}

/// The server's counters describe the run if at least this share of its statements is the run's,
/// and if it executed at least this share of the run's.
const OWN_MIN: f64 = 0.5;

fn prepared_share(view: &View) -> Option<f64> {
    // If statements go to several endpoints, the observed one counts only its own.
    let is_of_a_part = view.several_endpoints().is_some() || view.is_shared();
    if view.totals().queries() == 0 || is_of_a_part {
        return None;
    }
    // The server also counts the observers' statements.
    let (_, own) = view.rates_while(names::DB_STATUS_QUESTIONS)?;
    let statements = view.mean(names::DB_STATUS_QUESTIONS)?;
    if own < statements * OWN_MIN || statements < own * OWN_MIN {
        return None;
    }
    // Others may have executed some, too.
    let executed = view.mean(names::DB_STATUS_COM_STMT_EXECUTE)?;
    Some((executed / own).min(1.0) * 100.0)
}

/// Whether the plan declares prepared statements; the built-in OLTP scripts prepare theirs
/// by default.
fn declared_prepared(view: &View) -> Option<bool> {
    let plan = view.run.head.plan.as_ref()?;
    let name = &plan.workload;
    let family = name.starts_with("oltp_") && name != "oltp_insert" && !name.ends_with(".lua");
    match (plan.driver.prepare_on_server, family) {
        (false, _) => Some(false),
        (true, true) => Some(true),
        (true, false) => None,
    }
}

fn restarts(view: &View) -> CheckResult {
    if view.embedded() || view.family().is_none() {
        return Missing::Restart.or(view, "There is no server to restart.");
    }
    let totals = view.totals();
    let events = totals.events.saturating_add(totals.errors).max(1) as f64;
    let share = totals.reconnects as f64 / events * 100.0;
    let up = view.values(names::DB_UP);
    let silent = up.iter().filter(|up| **up == 0.0).count() as f64;
    let restart = restarted(view);
    let observed = view.run.series(names::DB_UP).is_some()
        || view.run.series(names::DB_UPTIME).is_some()
        || view.run.fact(names::SERVER_UPTIME_S_END).is_some();
    let asked = asked_to_reconnect(view);
    let reconnects = match asked {
        true => reconnects(totals.reconnects) + ", as --reconnect requests",
        false => reconnects(totals.reconnects),
    };
    let see_log = "See the server's log for why it ended or hung, and run again.";
    let result = if let Some(how) = &restart {
        let (outcome, disturbed) = match view.events(EventKind::Disturbance).is_empty() {
            true => (Outcome::Refuse, ""),
            false => (Outcome::Doubt, ", during a declared disturbance"),
        };
        CheckResult::of(outcome, format!("{how}{disturbed}; {reconnects}."), see_log)
    } else if let Some(how) = another_server(view) {
        let lost = (totals.reconnects > 0).then_some(Cause::LostConnections);
        CheckResult::doubt(format!("{how}; {reconnects}."), OF_ANOTHER).naming(lost)
    } else if (share >= RECONNECTS.value || all_ended(view)) && !asked || silent >= SILENT.value {
        let silence = match totals.reconnects {
            0 => silence(silent),
            _ => unanswered(silent),
        };
        match stayed_up(view) {
            Some(how) => CheckResult::doubt(
                format!("The server was not restarted: {how}; {reconnects}{silence}."),
                match silent >= SILENT.value && totals.reconnects == 0 {
                    true => "See the server's log for why it did not answer, and run again.",
                    false => {
                        "Look for what ended the connections: an administrator or a timeout (see \
                         the server's log), a proxy, the network."
                    }
                },
            ),
            None => CheckResult::doubt(format!("{}{silence}.", capital(&reconnects)), see_log),
        }
        .naming([match totals.reconnects {
            0 => Cause::SilentWithoutReconnects,
            _ => Cause::LostConnections,
        }])
    } else if let Some(result) = connects_anew(view).filter(|_| !asked) {
        result
    } else if observed || totals.reconnects > 0 {
        CheckResult::pass(format!(
            "The server was up from the start to the end; {reconnects}."
        ))
    } else {
        return CheckResult::not_checked(format!("{}.", view.why_not(names::DB_UPTIME)));
    };
    result
        .with("reconnects", totals.reconnects as f64, "count")
        .with("reconnects, share", share, "percent of the events")
        .with("seconds without an answer", silent, "count")
}

const OF_ANOTHER: &str = "Look for a fail-over, or connect to the server itself instead of a proxy \
                          that distributes statements: the counters are those of several servers.";

/// Whether as many connections as sessions ended at about the same time.
fn all_ended(view: &View) -> bool {
    let sessions = view.drive().map_or(u64::MAX, |drive| drive.sessions.into());
    view.bins.iter().any(|first| {
        let until_s = first.from_s() + CUT_S.value;
        let then = view.bins.iter();
        let then = then.filter(|bin| bin.from_s() >= first.from_s() && bin.at_s <= until_s);
        then.map(|bin| bin.counters.reconnects).sum::<u64>() >= sessions
    })
}

/// Connections, if their number per event shows that the run's script makes them.
fn connects_anew(view: &View) -> Option<CheckResult> {
    let endpoints = view.summary().map_or(0, |summary| summary.endpoints.len());
    let counters = [names::DB_STATUS_CONNECTIONS, names::DB_DATABASE_SESSIONS];
    let found = counters.iter().find_map(|name| {
        // Connections made at the same moment come from starting sessions.
        let per_s = dyno_stats::median(&view.values(name))?;
        Some((per_s, view.rates_while(name)?.0))
    });
    let (per_s, events) = found.filter(|_| endpoints <= 1 && !view.is_shared())?;
    let each = per_s / events;
    let many = each.is_finite() && per_s >= 1.0 && each * 100.0 >= CONNECTIONS.value;
    many.then(|| {
        CheckResult::doubt(
            format!(
                "The server counted {} new connections per second, {} per event.",
                text::rate(per_s),
                text::plain(each)
            ),
            "Connect once for each session (in thread_init), or waive this if you want to measure \
             connecting.",
        )
        .with("connections", per_s, "per second")
    })
}

/// Whether an option of the workload makes it reconnect.
pub(crate) fn asked_to_reconnect(view: &View) -> bool {
    let options = view
        .summary()
        .map_or(&[][..], |summary| &summary.workload.options);
    options.iter().any(|(name, value)| {
        name == "reconnect"
            && match value {
                OptionValue::Number(every) => *every > 0.0,
                OptionValue::Bool(asked) => *asked,
                _ => false,
            }
    })
}

fn reconnects(count: u64) -> String {
    match count {
        0 => "no reconnects".to_owned(),
        _ => text::counted(count, "reconnect"),
    }
}

/// The seconds without an answer, after connections ended, perhaps the observer's, too.
fn unanswered(seconds: f64) -> String {
    match seconds as u64 {
        0 => String::new(),
        seconds => format!(
            "; the observer, whose connection may have ended too, got no answer in {}",
            text::counted(seconds, "second")
        ),
    }
}

/// The length of the server's silence, as the end of a sentence.
fn silence(seconds: f64) -> String {
    match seconds as u64 {
        0 => String::new(),
        some => format!(
            ", and {} in which the server did not answer its observer",
            text::counted(some, "second")
        ),
    }
}

fn capital(sentence: &str) -> String {
    text::sentence(sentence).trim_end_matches('.').to_owned()
}

/// Evidence that the server did not restart, for a server without a restart by [`restarted`]: its
/// uptime spans the measurement.
fn stayed_up(view: &View) -> Option<String> {
    let age = |name: &str| -> Option<f64> { view.run.fact(name)?.trim().parse().ok() };
    let facts = age(names::SERVER_UPTIME_S_START).zip(age(names::SERVER_UPTIME_S_END));
    let (start, end) = facts.or_else(|| view.ends(names::DB_UPTIME))?;
    (end >= start + view.length_s - ENDS_S).then(|| {
        format!(
            "its uptime grew from {} to {}",
            text::seconds(start),
            text::seconds(end)
        )
    })
}

pub(crate) fn restarted(view: &View) -> Option<String> {
    if let Some(event) = view.events(EventKind::Restart).first() {
        // The time at which it was noticed.
        return Some(format!(
            "The server had restarted by {}: {}",
            text::seconds(event.at_s),
            event.text.trim_end_matches('.')
        ));
    }
    let uptimes = view.points(names::DB_UPTIME);
    if let Some((before, after)) = another::restart(&uptimes) {
        return Some(format!(
            "The server's uptime fell from {} to {} at {}",
            text::seconds(before.1),
            text::seconds(after.1),
            text::seconds(after.0)
        ));
    }
    let number = |name: &str| -> Option<f64> { view.run.fact(name)?.trim().parse().ok() };
    let (start, end) = (
        number(names::SERVER_UPTIME_S_START)?,
        number(names::SERVER_UPTIME_S_END)?,
    );
    // Another server may have answered since before the last sample.
    let is_new = uptimes.last().is_none_or(|(_, last)| end + 1.0 < *last);
    (end + 1.0 < start && is_new).then(|| {
        format!(
            "The server had been up for {} at the start and for {} at the end",
            text::seconds(start),
            text::seconds(end)
        )
    })
}
