//! The verdict's inputs other than the record. They are stored as facts, so that readers of a
//! results file have them, too.

use dyno_core::catalogue::names;
use dyno_core::record::{Fact, RunRecord};
use dyno_core::{Secret, redact};
use dyno_load::{RunOutcome, StatementFacts};
use dyno_verdict::{Calibration, Claim, Context, SecretScan};

use crate::calibration::Calibration as MeasuredCalibration;

/// A shorter password would be found in any text.
const SECRET_CHARS_MIN: usize = 4;

/// A calibration as the verdict needs it.
pub(super) fn of(measured: &MeasuredCalibration) -> Calibration {
    Calibration {
        ceiling_per_s: measured.events_per_s_max,
        cpu_us_per_event: measured.cpu_us_per_event,
        sessions: measured.sessions,
        workers: measured.workers,
        when_unix_s: measured.made_unix_s,
        p999_ms: measured.p999_ms,
        stall_ms_max: measured.stall_ms_max,
    }
}

/// Whether statements differed, how many changed nothing, and the transactions that ended, as
/// facts. Empty if no statement was examined.
pub(super) fn statements(outcome: &RunOutcome) -> Vec<Fact> {
    const SAMPLE: &str = "a sample of the texts and parameters";
    const CHANGES: &str = "UPDATE, DELETE, INSERT, REPLACE, MERGE, DO within the measurement";
    const ENDS: &str = "statements within the measurement, by their first words";
    let found = &outcome.statements;
    let ended = found.ended;
    let counts = [
        (names::CLIENT_STATEMENTS_LOOKED_AT, found.looked_at, SAMPLE),
        (names::CLIENT_STATEMENTS_DIFFERENT, found.different, SAMPLE),
        (names::CLIENT_STATEMENTS_BY_TEXT, found.by_text, SAMPLE),
        (names::CLIENT_STATEMENTS_DRAWN, found.drawn, SAMPLE),
        (
            names::CLIENT_STATEMENTS_WITHOUT_EFFECT,
            ended.without_effect,
            CHANGES,
        ),
        (names::CLIENT_STATEMENTS_COMMITS, ended.commits, ENDS),
        (names::CLIENT_STATEMENTS_ROLLBACKS, ended.rollbacks, ENDS),
        (
            names::CLIENT_STATEMENTS_ROLLBACKS_TO_SAVEPOINT,
            ended.rollbacks_to_savepoint,
            ENDS,
        ),
    ];
    let known = *found != StatementFacts::default();
    let counts = counts.into_iter().filter(|_| known);
    let mut facts: Vec<Fact> = counts
        .map(|(name, count, source)| Fact::new(name, count.to_string(), source))
        .collect();
    facts.extend(transactions(outcome));
    for (name, values) in &found.settings {
        facts.push(Fact::new(
            names::CLIENT_SETTINGS_EACH.of(name),
            redact::setting(name, &values.join(", ")),
            "the statements that set it; a sample",
        ));
    }
    if found.attaches {
        facts.push(Fact::new(
            names::CLIENT_STATEMENTS_ATTACHES,
            "yes".to_owned(),
            "ATTACH; a sample",
        ));
    }
    if !found.temporary.is_empty() {
        const TABLES: &str = "CREATE TEMPORARY TABLE, and statements that change rows; a sample";
        let names = found.temporary.join(", ");
        facts.push(Fact::new(
            names::CLIENT_STATEMENTS_TEMPORARY_TABLES,
            names,
            TABLES,
        ));
        let only = if found.only_temporary { "yes" } else { "no" };
        facts.push(Fact::new(
            names::CLIENT_STATEMENTS_CHANGES_TEMPORARY_ONLY,
            only.to_owned(),
            TABLES,
        ));
    }
    facts
}

/// The transactions that ended, and in how many statements, since a part of the run has the same
/// facts but fewer statements. Empty if the driver does not count them, or a worker did not report.
fn transactions(outcome: &RunOutcome) -> Vec<Fact> {
    const SOURCE: &str = "PostgreSQL's answers within the measurement";
    let ended = outcome.statements.ended;
    if ended.transactions == 0 || outcome.workers.iter().any(|worker| worker.stuck) {
        return Vec::new();
    }
    let counts = [
        (
            names::CLIENT_STATEMENTS_COMPLETED,
            outcome.totals.counters.queries(),
        ),
        (names::CLIENT_STATEMENTS_TRANSACTIONS, ended.transactions),
        (
            names::CLIENT_STATEMENTS_TRANSACTIONS_POSSIBLE,
            ended.transactions_possible,
        ),
    ];
    let facts = counts.map(|(name, count)| Fact::new(name, count.to_string(), SOURCE));
    facts.into()
}

/// The context as facts.
pub(super) fn facts(context: &Context) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut add = |name: &str, value: String, source: &str| {
        facts.push(Fact::new(name, value, source));
    };
    if let Some(known) = &context.calibration {
        let source = "a calibration against the null server";
        add(
            "calibration.ceiling_per_s",
            format!("{:.1}", known.ceiling_per_s),
            source,
        );
        add(
            "calibration.cpu_us_per_event",
            format!("{:.4}", known.cpu_us_per_event),
            source,
        );
        add("calibration.sessions", known.sessions.to_string(), source);
        add("calibration.workers", known.workers.to_string(), source);
        add(
            "calibration.when_unix_s",
            format!("{:.0}", known.when_unix_s),
            source,
        );
        add(
            "calibration.p999_ms",
            format!("{:.5}", known.p999_ms),
            source,
        );
        add(
            "calibration.stall_ms_max",
            format!("{:.5}", known.stall_ms_max),
            source,
        );
    }
    if let Some(claim) = context.claim {
        add(names::RUN_CLAIM, word(claim).to_owned(), "--claim");
    }
    for setting in &context.requested_settings {
        add(
            &names::RUN_EXPECTED_EACH.of(&setting.name),
            redact::setting(&setting.name, &setting.value),
            "--expect",
        );
    }
    for rows in &context.row_counts {
        let found = rows
            .found
            .map_or_else(|| "unknown".to_owned(), |found| found.to_string());
        let value = format!("{found} of {}", rows.expected);
        let how = match rows.probed {
            true => "the highest id and some below it, before the run",
            false => "SELECT count(*) before the run",
        };
        add(&names::RUN_ROWS_EACH.of(&rows.table), value, how);
    }
    facts
}

/// How the command line spells the claim.
pub(super) fn word(claim: Claim) -> &'static str {
    match claim {
        Claim::InMemory => "in-memory",
        Claim::OnDisk => "on-disk",
        Claim::Cold => "cold",
        Claim::Warm => "warm",
    }
}

/// Searches the record for the target's password, which `hidden` places no longer contain.
pub(super) fn scan(
    record: &RunRecord,
    password: Option<&Secret>,
    hidden: Vec<String>,
) -> Option<SecretScan> {
    let password = password.map(Secret::expose)?;
    if password.chars().count() < SECRET_CHARS_MIN {
        return None;
    }
    let texts = [
        ("arguments", record.head.argv.clone()),
        (
            "target",
            vec![record.head.target.url.clone(), record.head.note.clone()],
        ),
        (
            "plan",
            record
                .head
                .plan
                .iter()
                .map(|plan| format!("{plan:?}"))
                .collect(),
        ),
        (
            "options",
            vec![format!("{:?}", record.head.workload.options)],
        ),
        (
            "facts",
            record.facts.iter().map(|fact| fact.value.clone()).collect(),
        ),
        (
            "settings",
            record
                .settings
                .iter()
                .map(|setting| format!("{setting:?}"))
                .collect(),
        ),
        (
            "events",
            record
                .events
                .iter()
                .map(|event| event.text.clone())
                .collect(),
        ),
        (
            "errors",
            record
                .summary
                .iter()
                .flat_map(|summary| summary.errors.values().map(|error| error.sample.clone()))
                .collect(),
        ),
    ];
    let holds = |texts: &Vec<String>| texts.iter().any(|text| text.contains(password));
    Some(SecretScan {
        places: texts.iter().map(|(place, _)| (*place).to_owned()).collect(),
        found: texts
            .iter()
            .filter(|(_, texts)| holds(texts))
            .map(|(place, _)| (*place).to_owned())
            .collect(),
        hidden,
    })
}

#[cfg(test)]
mod tests {
    use dyno_load::WorkerReport;

    use super::*;

    #[test]
    fn ended_transactions_are_facts_if_all_of_them_are_known() {
        let counted = |outcome: &RunOutcome| {
            let facts = statements(outcome);
            let counts = [
                names::CLIENT_STATEMENTS_COMPLETED,
                names::CLIENT_STATEMENTS_TRANSACTIONS,
                names::CLIENT_STATEMENTS_TRANSACTIONS_POSSIBLE,
            ];
            let found = facts
                .iter()
                .filter(|fact| counts.contains(&fact.name.as_str()));
            let values: Vec<String> = found.map(|fact| fact.value.clone()).collect();
            values.join(" ")
        };
        let mut outcome = RunOutcome::blank(0, 1);
        outcome.totals.counters.reads = 20;
        outcome.statements.looked_at = 20;
        assert_eq!(counted(&outcome), "");
        outcome.statements.ended.transactions = 4;
        outcome.statements.ended.transactions_possible = 1;
        assert_eq!(counted(&outcome), "20 4 1");
        outcome.workers.push(WorkerReport {
            stuck: true,
            ..WorkerReport::default()
        });
        assert_eq!(counted(&outcome), "");
    }
}
