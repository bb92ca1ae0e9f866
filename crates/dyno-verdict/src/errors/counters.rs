//! Check 15: whether the server counted the same work as the client.

#[cfg(test)]
mod tests;

use dyno_core::catalogue::names;
use dyno_core::finding::{Cause, Outcome};
use dyno_core::record::EventKind;
use dyno_core::summary::RunSummary;

use super::company;
use crate::check::{Check, CheckResult, thresholds};
use crate::duet;
use crate::server::another_server;
use crate::text;
use crate::view::View;

pub(super) const SERVER_COUNTERS: Check = Check {
    number: 15,
    name: "server-counters",
    title: "The server's statement counters against the client's",
    rule: "Doubt if the server counts {0} % fewer statements than the client and more than one \
           sample's worth is missing, or if it counts {0} % and {1} per second more than \
           statements, failures and connections explain. PostgreSQL counts transactions, up to a \
           second late, so one more second's worth may be missing. Doubt if {3} sessions of other \
           clients or of autovacuum were active on average, or if other clients made {4} \
           connections, {5} per second or more. Needs {2} s and 3 samples of the session list.",
    thresholds: &[
        COUNTERS_DIFFER,
        COUNTERS_ROOM,
        COUNTERS_LENGTH,
        company::ACTIVE,
        company::SHORT,
        company::SHORT_RATE,
    ],
    make: server_counters,
};

thresholds! {
    COUNTERS_DIFFER = 10.0, "percent", "difference of the counters":
        "counters are read once a second, so both ends are uncertain";
    COUNTERS_ROOM = 50.0, "per second", "further statements always allowed":
        "observers and monitoring send statements, too";
    COUNTERS_LENGTH = 5.0, "s", "length":
        "in a shorter run, the uncertain ends decide the difference";
}

struct Counted {
    what: &'static str,
    per_s: f64,
    /// The series for connections; each connection adds one.
    connections: &'static str,
    series: &'static str,
}

fn server_counters(view: &View) -> CheckResult {
    let result = counters(view);
    if result.outcome == Outcome::Doubt {
        return result;
    }
    company::at_work(view, &result.evidence).unwrap_or(result)
}

/// Whether this check finds other clients on the server.
pub(crate) fn has_other_clients(view: &View) -> bool {
    server_counters(view).names(Cause::OtherClients)
}

/// Whether part of the run's work did not reach the observed server, as behind a proxy that
/// distributes it: the server's counters and CPU time then cover only that part.
pub(crate) fn did_work_elsewhere(view: &View) -> bool {
    let is_less = counters(view).names(Cause::WorkElsewhere);
    is_less && !are_open(view) || another_server(view).is_some()
}

/// Whether PostgreSQL may not have counted transactions because sessions left them open.
fn are_open(view: &View) -> bool {
    let open = view.run.fact(names::CLIENT_SESSIONS_IN_TRANSACTION);
    let open = open.and_then(|open| Some(open.split_once(" of ")?.0));
    view.postgres() && open.is_some_and(|count| count != "0")
}

pub(super) const OTHER_CLIENTS: &str = "End the sessions of other clients, or use a dedicated \
                                        server.";

fn counters(view: &View) -> CheckResult {
    if let Some(reason) = not_comparable(view) {
        return CheckResult::not_checked(reason);
    }
    if let Some(per_s) = view.mean(names::DB_STATUS_QUESTIONS) {
        let counted = Counted {
            what: "statements",
            per_s,
            connections: names::DB_STATUS_CONNECTIONS,
            series: names::DB_STATUS_QUESTIONS,
        };
        let client = Client::of(view, counted.series);
        return compared(view, &counted, &client.all_statements(), &client);
    }
    let transactions = view.mean_sum(&[
        names::DB_DATABASE_XACT_COMMIT,
        names::DB_DATABASE_XACT_ROLLBACK,
    ]);
    if let Some(per_s) = transactions {
        let counted = Counted {
            what: "transactions",
            per_s,
            connections: names::DB_DATABASE_SESSIONS,
            series: names::DB_DATABASE_XACT_COMMIT,
        };
        let client = Client::of(view, counted.series);
        let expected = client.transactions(view);
        if per_s < expected.fewest * (1.0 - COUNTERS_DIFFER.value / 100.0)
            && let Some(result) = counted_late(view).or_else(|| still_open(view, &expected))
        {
            return result;
        }
        return compared(view, &counted, &expected, &client);
    }
    CheckResult::not_checked(format!("{}.", view.why_not(names::DB_STATUS_QUESTIONS)))
}

fn not_comparable(view: &View) -> Option<String> {
    if view.embedded() {
        return Some("An embedded database has no statement counters.".to_owned());
    }
    let endpoints = view.summary().map_or(0, |summary| summary.endpoints.len());
    if endpoints > 1 {
        return Some(format!(
            "The statements went to {endpoints} endpoints, but the counters are from only one.",
        ));
    }
    if duet::shares_server(view.run) {
        return Some(text::sentence(duet::COUNTED_TOGETHER));
    }
    if view.is_shared() {
        let why = "The counters include all load generators of this run.";
        return Some(why.to_owned());
    }
    if !view.events(EventKind::Restart).is_empty() {
        return Some("The server was restarted, which reset its counters.".to_owned());
    }
    if let Some(how) = another_server(view) {
        return Some(format!("{how}: the counters are those of several servers."));
    }
    if !view.events(EventKind::Observer).is_empty() {
        let why = "An observer missed part of the run: the server's rate and the client's cover \
                   different times.";
        return Some(why.to_owned());
    }
    let (_, covered_s) = view.covered();
    (covered_s < COUNTERS_LENGTH.value && !view.imported()).then(|| {
        format!(
            "{} are too short to compare counters that are read once a second.",
            text::seconds(covered_s)
        )
    })
}

/// PostgreSQL reports a session's transactions together with its table reads: without statements
/// that read tables, only when the session ends. At the end of the run its counters include those
/// of the measurement and the warm-up.
fn counted_late(view: &View) -> Option<CheckResult> {
    let counted =
        number(view, names::SERVER_COMMITS_END)? - number(view, names::SERVER_COMMITS_START)?;
    let (own, what) = match Ended::of(view) {
        Some(ended) => (ended.commits(view), "transactions"),
        None => (view.totals().events as f64, "events"),
    };
    (counted >= own * (1.0 - COUNTERS_DIFFER.value / 100.0)).then(|| {
        CheckResult::pass(format!(
            "The server counted {} transactions by the end of the run, the client {} {what} within \
             the measurement.",
            text::count(counted as u64),
            text::count(own as u64)
        ))
        .with("server, whole run", counted, "transactions")
        .with("client, measurement", own, what)
    })
}

/// Without the client's count of transactions, all events may belong to those that stay open.
fn still_open(view: &View, expected: &Expected) -> Option<CheckResult> {
    let may_be = !expected.complete && are_open(view);
    may_be.then(|| {
        CheckResult::not_checked(
            "Sessions ended within a transaction, which the server does not count yet, and how \
             many the client ended is not known.",
        )
    })
}

fn number(view: &View, fact: &str) -> Option<f64> {
    view.run.fact(fact)?.trim().parse().ok()
}

/// The transactions that ended in the measurement of the whole run, by PostgreSQL's answers.
struct Ended {
    certain: f64,
    possible: f64,
    /// The statements to which they belong.
    statements: f64,
}

impl Ended {
    /// `None` if the record lacks them: older runs, other databases, imported logs.
    fn of(view: &View) -> Option<Self> {
        let ended = Self {
            certain: number(view, names::CLIENT_STATEMENTS_TRANSACTIONS)?,
            possible: number(view, names::CLIENT_STATEMENTS_TRANSACTIONS_POSSIBLE)?,
            statements: number(view, names::CLIENT_STATEMENTS_COMPLETED)?,
        };
        (ended.statements > 0.0).then_some(ended)
    }

    /// At least this many were committed.
    fn commits(&self, view: &View) -> f64 {
        let rollbacks = number(view, names::CLIENT_STATEMENTS_ROLLBACKS).unwrap_or(0.0);
        (self.certain - rollbacks - failed(view) as f64).max(0.0)
    }
}

/// The client's rates while the server was observed.
struct Client {
    events: f64,
    statements: f64,
    failed: f64,
}

impl Client {
    fn of(view: &View, series: &str) -> Self {
        let (sums, covered_s) = view.covered();
        let whole = || {
            let per_s = |count: u64| count as f64 / covered_s;
            (per_s(sums.events), per_s(sums.queries()))
        };
        let (events, statements) = view.rates_while(series).unwrap_or_else(whole);
        Self {
            events,
            statements,
            failed: failed(view) as f64 / covered_s,
        }
    }

    fn all_statements(&self) -> Expected {
        Expected {
            fewest: self.statements,
            most: self.statements,
            complete: false,
        }
    }

    fn transactions(&self, view: &View) -> Expected {
        let Some(ended) = Ended::of(view) else {
            // Without other information, a transaction is one statement, and at most an event if
            // each event of the script has at least one transaction.
            return Expected {
                fewest: self.events.min(self.statements),
                most: self.statements,
                complete: false,
            };
        };
        let per_s = |count: f64| count / ended.statements * self.statements;
        Expected {
            fewest: per_s(ended.certain),
            most: per_s(ended.certain + ended.possible),
            complete: true,
        }
    }
}

/// How late PostgreSQL's sessions report their counts, at most.
const REPORT_EVERY_S: f64 = 1.0;

/// The statements that failed.
fn failed(view: &View) -> u64 {
    // Errors that ended their session are only in the summary.
    let seen = |summary: &RunSummary| summary.errors.values().map(|error| error.count).sum();
    let (sums, _) = view.covered();
    view.summary().map_or(0, seen).max(sums.errors)
}

/// The rates that the client's counts allow.
struct Expected {
    fewest: f64,
    most: f64,
    /// They include failed statements and connections.
    complete: bool,
}

/// Compares the server's rate with the range that the client's counts allow.
fn compared(view: &View, counted: &Counted, expected: &Expected, client: &Client) -> CheckResult {
    // A session of PostgreSQL reports its transactions up to a second late.
    let late = match expected.complete {
        true => REPORT_EVERY_S / view.length_s.max(REPORT_EVERY_S),
        false => 0.0,
    };
    let differ = COUNTERS_DIFFER.value / 100.0 + late;
    let room = |rate: f64| (rate * differ).max(COUNTERS_ROOM.value);
    let lacking = (expected.fewest * differ).max(at_ends(view, counted, expected.fewest));
    let what = counted.what;
    let connections = view.mean(counted.connections).unwrap_or(0.0);
    let (failures, log_ins) = match expected.complete {
        true => (0.0, 0.0),
        false => (client.failed, connections),
    };
    let fewest = expected.fewest;
    let most = expected.most + failures + log_ins;
    let mut gives = text::rate(fewest);
    if gives != text::rate(expected.most) {
        gives = format!("{gives} to {}", text::rate(expected.most));
    }
    for (rate, name) in [(failures, "failed ones"), (log_ins, "connections")] {
        if rate >= 1.0 {
            gives += &format!(" and {} {name}", text::rate(rate));
        }
    }
    let evidence = format!(
        "The server counted {} {what} per second; the client counted {gives}.",
        text::rate(counted.per_s)
    );
    let result = if counted.per_s < fewest - lacking {
        let doubt = CheckResult::doubt(
            evidence,
            "Look for a proxy, a cache, or another server behind the same name: work that the \
             client counted did not reach this server.",
        );
        // Without the client's own count, several events may have been one transaction.
        let is_counted = expected.complete || counted.series != names::DB_DATABASE_XACT_COMMIT;
        doubt.naming(is_counted.then_some(Cause::WorkElsewhere))
    } else if counted.per_s > most + room(most) {
        unexplained(view, counted, evidence, log_ins >= room(client.statements))
    } else {
        CheckResult::pass(evidence)
    };
    let unit = format!("{what} per second");
    result
        .with("server", counted.per_s, &unit)
        .with("client, fewest", fewest, &unit)
        .with("client, most", most, &unit)
        .with("failed statements", client.failed, "per second")
        .with("connections made", connections, "per second")
        .with_some(
            "other sessions, most",
            view.largest(names::DB_OTHER_SESSIONS),
            "count",
        )
}

/// The rate that the ends of the measurement may hide: others only add statements, but the two
/// count a statement at different moments, and the counters are read at intervals. PostgreSQL also
/// reports late.
fn at_ends(view: &View, counted: &Counted, rate: f64) -> f64 {
    /// One statement at each end.
    const LEAST: f64 = 2.0;
    let points = view.points(counted.series);
    let gaps: Vec<f64> = points.windows(2).map(|two| two[1].0 - two[0].0).collect();
    let mut sample_s = dyno_stats::median(&gaps).unwrap_or(1.0);
    if counted.series == names::DB_DATABASE_XACT_COMMIT {
        sample_s += REPORT_EVERY_S;
    }
    let covered = view.series(counted.series);
    let covered_s = covered.map_or(view.length_s, |series| view.integral(series).1);
    let mean_ms = view.summary().and_then(|summary| summary.service.mean_ms);
    let in_flight = view.events_per_s().unwrap_or(0.0) * mean_ms.unwrap_or(0.0) / 1e3;
    (rate * sample_s).max(in_flight).max(LEAST) / covered_s.max(1.0)
}

/// The server did more than the client knows of: the other sessions decide what that means.
fn unexplained(view: &View, counted: &Counted, evidence: String, connects: bool) -> CheckResult {
    let whose = view.run.fact(names::SERVER_OTHER_SESSIONS);
    if let Some(whose) = whose.filter(|whose| *whose != "none") {
        return CheckResult::doubt(
            format!("{evidence} It listed other sessions: at most {whose}."),
            OTHER_CLIENTS,
        )
        .naming([Cause::OtherClients]);
    }
    // Only clients send statements, but procedures of the run may have several transactions.
    let others = (counted.what == "statements").then_some(Cause::OtherClients);
    let hidden = view.run.not_observed(names::SERVER_OTHER_SESSIONS);
    let samples = view.points(names::DB_OTHER_SESSIONS).len();
    if let Some(why) = hidden.filter(|_| whose.is_some() || samples == 0) {
        let why = why.trim_end_matches('.');
        return CheckResult::doubt(
            format!("{evidence} Other sessions are not known: {why}."),
            "Grant that privilege, or look at the server's list of sessions, and use the server \
             only for the benchmark.",
        )
        .naming(others);
    }
    if whose.is_none() || samples == 0 {
        return CheckResult::doubt(
            format!("{evidence} Other sessions were not observed."),
            "Look at the server's list of sessions during a run: other clients may use it.",
        )
        .naming(others);
    }
    if view.postgres() && connects {
        // The record of an older version. Each statement prepared by a connection is a transaction.
        return CheckResult::not_checked(format!(
            "{evidence} There was no other session. Statements that new connections prepare also \
             count as transactions, and their number is not known.",
        ));
    }
    let alike = match view.run.not_observed(names::SERVER_OTHER_SESSIONS_ALIKE) {
        Some(_) => " of another user or place",
        None => "",
    };
    CheckResult::doubt(
        format!("{evidence} No other session{alike} was listed in {samples} samples."),
        match counted.what {
            "statements" => {
                "Look for sessions too short to be seen, and for work that the script causes \
                 besides its own statements (see the general log)."
            }
            _ => {
                "Look for sessions too short to be seen, and for procedures that commit (see the \
                 server's log, with log_statement and log_connections)."
            }
        },
    )
    .naming(others)
}
