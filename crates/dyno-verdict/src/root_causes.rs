//! Suppress findings that another finding explains.
//!
//! [`RULES`] lists which finding, with which cause, explains which others. The rules use checks,
//! outcomes and causes; they never look at text.

#[cfg(test)]
mod tests;

use dyno_analysis::stalls::Span;
use dyno_core::catalogue::names;
use dyno_core::finding::{Cause, Finding, Outcome};
use dyno_core::summary::RunEnd;

use crate::time::other_load;
use crate::view::View;
use crate::{errors, machine, server, server_host};

/// A finding that another finding explains.
#[derive(Clone, Copy)]
enum Symptom {
    /// Whatever its causes.
    Of(&'static str),
    /// If its evidence names this cause.
    Naming(&'static str, Cause),
    /// If its evidence names this cause and no other.
    Only(&'static str, Cause),
    /// If its evidence names the first of these causes, and no cause that is not among them.
    Among(&'static str, &'static [Cause]),
}

use Symptom::{Among, Naming, Of, Only};

impl Symptom {
    fn is(self, finding: &Finding) -> bool {
        match self {
            Of(check) => finding.check == check,
            Naming(check, cause) => finding.check == check && finding.names(cause),
            Only(check, cause) => finding.check == check && finding.causes == [cause],
            Among(check, causes) => {
                finding.check == check
                    && causes.first().is_some_and(|first| finding.names(*first))
                    && finding.causes.iter().all(|cause| causes.contains(cause))
            }
        }
    }
}

/// The finding that explains others, the sentence that says so, and the findings that it explains.
struct Rule {
    when: fn(&Judged) -> bool,
    why: &'static str,
    explains: &'static [Symptom],
}

/// The findings of a run before any is suppressed.
struct Judged<'a> {
    view: &'a View<'a>,
    findings: &'a [Finding],
}

const UNCERTAIN: Symptom = Naming("length", Cause::UncertainMean);
/// A search still counts it as the load generator's fault.
const STARVED: Symptom = Among("client-cpu", &[Cause::StarvedWorker, Cause::Frozen]);
const OUTSIDE: Symptom = Only("work-done", Cause::TimeOutsideEvents);

/// The order matters: Dyno names the first rule that explains a finding.
const RULES: &[Rule] = &[
    Rule {
        when: |judged| judged.doubted("other-load") || judged.doubted("other-processes"),
        why: "Other processes used the host's CPUs: see their finding.",
        explains: &[
            UNCERTAIN,
            Naming("warm-up", Cause::OtherProcesses),
            Naming("steady-state", Cause::OtherProcesses),
            Only("stalls", Cause::OtherProcesses),
        ],
    },
    Rule {
        when: |judged| {
            (judged.doubted("other-load") || judged.doubted("other-processes"))
                && !judged.others_are_only_there()
        },
        why: "Other processes used the host's CPUs: see their finding.",
        explains: &[STARVED],
    },
    Rule {
        when: |judged| judged.doubted_for("client-cpu", Cause::StarvedWorker),
        why: "The load generator waited for a CPU: see `client-cpu`.",
        explains: &[
            Naming("observers", Cause::LateSamples),
            Only("stalls", Cause::OtherProcesses),
        ],
    },
    Rule {
        when: |judged| judged.restarted(),
        why: "The server was restarted: see `restarts`.",
        explains: &[
            Of("warm-up"),
            Of("steady-state"),
            Of("stalls"),
            Of("length"),
            Of("idle-sessions"),
            Of("observers"),
            OUTSIDE,
        ],
    },
    Rule {
        when: |judged| !judged.restarted() && judged.refused("idle-sessions"),
        why: "Sessions hung: see `idle-sessions`.",
        explains: &[
            Of("offered-rate"),
            Of("unserved"),
            Of("warm-up"),
            Of("steady-state"),
            Of("stalls"),
            Of("length"),
            Of("restarts"),
            Of("observers"),
            Of("fairness"),
            OUTSIDE,
        ],
    },
    Rule {
        when: |judged| judged.doubted("idle-sessions"),
        why: "Sessions hung: see `idle-sessions`.",
        explains: &[
            Naming("warm-up", Cause::IdleSessions),
            Naming("steady-state", Cause::IdleSessions),
        ],
    },
    Rule {
        when: |judged| judged.froze() && judged.view.agents().is_empty(),
        why: "The generator paused: see `client-cpu`.",
        explains: OF_FREEZES,
    },
    Rule {
        when: |judged| judged.froze() && !judged.view.agents().is_empty(),
        why: "A load generator paused: see `client-cpu`.",
        explains: OF_FREEZES,
    },
    Rule {
        when: |judged| judged.doubted_for("client-cpu", Cause::StalledWorker),
        why: "A worker of the load generator was stalled: see `client-cpu`.",
        explains: &[
            UNCERTAIN,
            Of("fairness"),
            Of("schedule-lag"),
            Naming("stalls", Cause::Unexplained),
            Naming("warm-up", Cause::Unexplained),
            Naming("steady-state", Cause::Unexplained),
            Naming("latency-modes", Cause::SessionModes),
        ],
    },
    Rule {
        when: |judged| judged.doubted_for("host-resources", Cause::Throttled),
        why: "A cgroup's CPU quota was used up: see `host-resources`.",
        explains: &[
            UNCERTAIN,
            Naming("stalls", Cause::Throttled),
            Only("latency-modes", Cause::Throttled),
            Naming("warm-up", Cause::Throttled),
            Naming("steady-state", Cause::Throttled),
        ],
    },
    Rule {
        when: |judged| judged.doubted("stalls"),
        why: STALLED,
        explains: &[
            Naming("restarts", Cause::SilentWithoutReconnects),
            OUTSIDE,
            Naming("steady-state", Cause::ServerIdle),
            Naming("steady-state", Cause::ServerSilent),
        ],
    },
    Rule {
        when: |judged| judged.doubted_for("stalls", Cause::LockWaits),
        why: STALLED,
        explains: &[Among("warm-up", LOCKED), Among("steady-state", LOCKED)],
    },
    Rule {
        when: |judged| judged.stays_doubted_for("stalls", Cause::Backup),
        why: STALLED,
        explains: &[Naming("whole-cycles", Cause::Backup)],
    },
    Rule {
        when: |judged| judged.stays_doubted_for("steady-state", Cause::Backup),
        why: "A backup ran: see `steady-state`.",
        explains: &[Naming("whole-cycles", Cause::Backup)],
    },
    Rule {
        when: |judged| judged.stays_doubted_for("warm-up", Cause::Backup),
        why: "A backup ran: see `warm-up`.",
        explains: &[Naming("whole-cycles", Cause::Backup)],
    },
    Rule {
        when: |judged| judged.doubted("stalls") && stalled_at_first(judged.view),
        why: STALLED,
        explains: &[Naming("warm-up", Cause::SlowBeginning)],
    },
    Rule {
        when: |judged| judged.doubted("stalls") && stalled_at_the_end(judged.view),
        why: STALLED,
        explains: &[Of("unserved")],
    },
    Rule {
        when: |judged| judged.failed(),
        why: FAILED,
        explains: OF_FAILURES,
    },
    Rule {
        when: |judged| judged.refused("errors") && judged.view.totals().events == 0,
        why: "No event succeeded: see `errors`.",
        explains: &[
            Of("offered-rate"),
            Of("unserved"),
            Of("client-cpu"),
            Of("schedule-lag"),
        ],
    },
    Rule {
        when: |judged| judged.lost_connections(),
        why: LOST,
        explains: &[
            Of("observers"),
            UNCERTAIN,
            Naming("stalls", Cause::LostConnections),
            Naming("warm-up", Cause::LostConnections),
            Naming("steady-state", Cause::LostConnections),
        ],
    },
    Rule {
        when: |judged| judged.lost_connections() && errors::are_lost_connections(judged.view),
        why: LOST,
        explains: &[Of("errors")],
    },
    Rule {
        when: |judged| judged.doubted("misses"),
        why: "Reads found no row: see `misses`.",
        explains: &[
            Naming("warm-up", Cause::EmptyReads),
            Naming("steady-state", Cause::EmptyReads),
            UNCERTAIN,
        ],
    },
    Rule {
        when: |judged| judged.doubted("statistics"),
        why: "Statements scanned tables: see `statistics`.",
        explains: &[
            Naming("warm-up", Cause::TableScans),
            Naming("steady-state", Cause::TableScans),
            UNCERTAIN,
        ],
    },
    Rule {
        when: |judged| judged.doubted("schema"),
        why: "A table was changed: see `schema`.",
        explains: &[
            Naming("warm-up", Cause::Unexplained),
            Naming("steady-state", Cause::Unexplained),
            Naming("warm-up", Cause::TableScans),
            Naming("steady-state", Cause::TableScans),
            Naming("warm-up", Cause::AlterTable),
            Naming("steady-state", Cause::AlterTable),
            UNCERTAIN,
        ],
    },
    Rule {
        when: |judged| judged.named("errors", Cause::DatabaseLocked),
        why: "SQLite's file stayed locked: see `errors`.",
        explains: &[
            Naming("stalls", Cause::DatabaseLocked),
            Naming("warm-up", Cause::Unexplained),
            Naming("steady-state", Cause::Unexplained),
            Naming("warm-up", Cause::IdleSessions),
            Naming("steady-state", Cause::IdleSessions),
            UNCERTAIN,
        ],
    },
    Rule {
        when: |judged| judged.refused("errors"),
        why: "Statements failed: see `errors`.",
        explains: &[Only("work-done", Cause::NoRows), Of("server-counters")],
    },
    Rule {
        when: |judged| judged.shared(),
        why: "Other clients use the server: see `server-counters`.",
        explains: &[
            Naming("warm-up", Cause::Unexplained),
            Naming("steady-state", Cause::Unexplained),
            Of("server-warnings"),
            UNCERTAIN,
        ],
    },
    Rule {
        when: |judged| judged.doubted("length"),
        why: "The run is short: see `length`.",
        explains: &[Of("samples")],
    },
    Rule {
        when: |judged| judged.doubted("fairness"),
        why: "Sessions were served unevenly: see `fairness`.",
        explains: &[Naming("latency-modes", Cause::SessionModes)],
    },
    Rule {
        when: |judged| judged.doubted_for("durability", Cause::OpenTransactions),
        why: "Transactions stayed open: see `durability`.",
        explains: &[Of("server-counters")],
    },
    Rule {
        when: |judged| judged.doubted_for("work-done", Cause::NoTable),
        why: "The statements touched no table: see `work-done`.",
        explains: &[Naming("misses", Cause::EmptyReads)],
    },
    Rule {
        when: |judged| judged.doubted_for("work-done", Cause::EventsWithoutStatements),
        why: "Events do no work: see `work-done`.",
        explains: &[Only("clock", Cause::ShortEvents)],
    },
];

/// Lock waits, which a backup may cause.
const LOCKED: &[Cause] = &[Cause::LockWaits, Cause::Backup];
const STALLED: &str = "The server stalled: see `stalls`.";
const LOST: &str = "Connections ended: see `restarts`.";
const FAILED: &str = "The run failed: see `errors`.";
const OF_FREEZES: &[Symptom] = &[Naming("observers", Cause::LateSamples), UNCERTAIN];
/// In a failed run these explain nothing, even as refusals.
const OF_FAILURES: &[Symptom] = &[
    Of("work-done"),
    Of("idle-sessions"),
    Of("samples"),
    Of("length"),
];

pub(crate) fn apply(view: &View, findings: &mut [Finding]) {
    let judged = Judged { view, findings };
    let rules: Vec<&Rule> = (RULES.iter()).filter(|rule| (rule.when)(&judged)).collect();
    let failed = judged.failed();
    let explained = |finding: &Finding| {
        let speaks = match finding.outcome {
            Outcome::Doubt => true,
            Outcome::Refuse => failed && OF_FAILURES.iter().any(|symptom| symptom.is(finding)),
            _ => false,
        };
        let explains = |rule: &&&Rule| rule.explains.iter().any(|symptom| symptom.is(finding));
        rules.iter().find(explains).filter(|_| speaks)
    };
    for finding in findings.iter_mut() {
        if let Some(rule) = explained(finding) {
            finding.outcome = Outcome::NotChecked;
            finding.advice.clear();
            finding.evidence = format!("{} {}", rule.why, finding.evidence);
        }
    }
}

impl Judged<'_> {
    fn finding(&self, check: &str, outcome: Outcome) -> Option<&Finding> {
        let mut all = self.findings.iter();
        all.find(|finding| finding.check == check && finding.outcome == outcome)
    }

    fn doubted(&self, check: &str) -> bool {
        self.finding(check, Outcome::Doubt).is_some()
    }

    fn refused(&self, check: &str) -> bool {
        self.finding(check, Outcome::Refuse).is_some()
    }

    fn doubted_for(&self, check: &str, cause: Cause) -> bool {
        let found = self.finding(check, Outcome::Doubt);
        found.is_some_and(|finding| finding.names(cause))
    }

    /// Whether a check names this cause in a doubt that no other finding explains. An explained one
    /// does not report its cause.
    fn stays_doubted_for(&self, check: &str, cause: Cause) -> bool {
        let found = self.finding(check, Outcome::Doubt);
        found.is_some_and(|finding| {
            let explains = |rule: &&Rule| rule.explains.iter().any(|symptom| symptom.is(finding));
            let mut rules = RULES.iter().filter(explains);
            finding.names(cause) && !rules.any(|rule| (rule.when)(self))
        })
    }

    /// Whether a check names this cause in a doubt or a refusal.
    fn named(&self, check: &str, cause: Cause) -> bool {
        let mut all = self.findings.iter();
        all.any(|finding| finding.check == check && finding.names(cause))
    }

    /// Whether other processes were busy only on the server's host: they took no CPU from the load
    /// generator.
    fn others_are_only_there(&self) -> bool {
        let is_here = || machine::others_are_many(self.view) || other_load::for_a_part(self.view);
        server_host::is_observed_apart(self.view.run) && !is_here()
    }

    fn restarted(&self) -> bool {
        server::restarted(self.view).is_some()
    }

    fn froze(&self) -> bool {
        self.doubted_for("client-cpu", Cause::Frozen)
    }

    fn lost_connections(&self) -> bool {
        self.doubted("restarts") && self.view.totals().reconnects > 0
    }

    /// Whether the server listed other sessions and its counters show their work.
    fn shared(&self) -> bool {
        self.doubted("server-counters") && self.view.largest(names::DB_OTHER_SESSIONS) > Some(0.0)
    }

    /// Whether errors refuse the run, and it did nothing else or ended because of them.
    fn failed(&self) -> bool {
        let own = self.view.summary();
        let ended = own.is_some_and(|own| matches!(own.end, RunEnd::Failed(_)));
        let totals = self.view.totals();
        let nothing = totals.events == 0 || totals.queries() == 0;
        (ended || nothing) && self.refused("errors")
    }
}

/// Whether a tenth of the first seconds was a stall.
fn stalled_at_first(view: &View) -> bool {
    const FIRST_S: f64 = 3.0;
    view.stalls().is_ok_and(|found| {
        let within = |span: &Span| span.to_s.min(FIRST_S) - span.from_s.max(0.0);
        let spans = found.spans.iter().map(within);
        spans.filter(|length_s| *length_s > 0.0).sum::<f64>() >= FIRST_S / 10.0
    })
}

/// Whether the run ended in a stall. A silence shorter than a few median events may be a long
/// event.
fn stalled_at_the_end(view: &View) -> bool {
    const EVENTS: f64 = 3.0;
    const END_S: f64 = 1.0;
    let event = view.run.operations.first();
    let total = event.and_then(|event| event.total.as_ref());
    let median_s = total.filter(|total| total.count > 0).map_or(0.0, |total| {
        total.service.value_at_quantile(0.5) as f64 / 1e9
    });
    view.stalls().is_ok_and(|found| {
        let mut spans = found.spans.iter();
        spans.any(|span| span.to_s >= view.length_s - END_S && span.length_s() >= EVENTS * median_s)
    })
}
