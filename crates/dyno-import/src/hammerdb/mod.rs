//! Imports HammerDB's log of a timed TPROC-C run: the result at the end, the transaction counter
//! and the time profile, in one file or several.

mod doubts;
mod log;
mod profile;

use std::time::Duration;

use dyno_core::catalogue::names;
use dyno_core::db::Family;
use dyno_core::interval::OperationCounters;
use dyno_core::record::{Fact, NotObserved, RunRecord, Series, Source};
use dyno_core::reported::{Better, Figure};
use dyno_core::summary::*;
use dyno_core::unknown::LENGTH_UNKNOWN;

use crate::gaps::{HOST, OBSERVER, gap};
use crate::runs::{self, About};
use crate::text;
use crate::{ImportError, Log, Looks, Options, ParsedRun, Warning};
use doubts::Leaves;
use log::{Draft, Reader};
use profile::{Of, Procedure, Profile};

const S_PER_MIN: f64 = 60.0;

/// The runs in these logs. A transaction counter or a time profile in a separate log belongs to the
/// only run of the others.
///
/// # Errors
/// A log without any of HammerDB's figures.
pub(crate) fn read(
    logs: &[Log<'_>],
    options: &Options,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<ParsedRun>, ImportError> {
    let mut drafts = Vec::new();
    for log in logs {
        let mut reader = Reader::new(log.name);
        let jobs = log::of_jobs(log.text);
        for line in text::lines(jobs.as_deref().unwrap_or(log.text)) {
            reader.take(&line);
        }
        let read = reader.finish();
        if read.is_empty() {
            return Err(not_hammerdb(log));
        }
        drafts.extend(read);
    }
    let whole = drafts.iter().filter(|draft| draft.result.is_some()).count();
    if whole == 1 {
        let at = drafts.iter().position(|draft| draft.result.is_some());
        let mut run = drafts.remove(at.unwrap_or_default());
        for part in drafts.drain(..) {
            if run.counter.is_empty() {
                run.counter = part.counter;
            }
            if !run.profile.is_read() && part.profile.is_there {
                run.profile = part.profile;
            }
        }
        drafts = vec![run];
    }
    drafts.retain(|draft| {
        let whole = draft.result.is_some();
        if !whole {
            let text = "this belongs to no result (System achieved … NOPM); it is skipped";
            warnings.push(Warning::new(&draft.file, Some(draft.line), text.to_owned()));
        }
        whole
    });
    let first = logs.first().filter(|_| drafts.is_empty());
    match first {
        Some(log) => Err(not_hammerdb(log)),
        None => {
            let drafts = drafts.iter().enumerate();
            let run = |(index, draft)| parsed_run(draft, &crate::of_run(index, options));
            Ok(drafts.map(run).collect())
        }
    }
}

fn not_hammerdb(log: &Log<'_>) -> ImportError {
    let advice = "give the output or log of a HammerDB TPROC-C run with the timed driver script";
    if Looks::of(log.text) == Some(Looks::Tproch) {
        let what = format!("this is {}, which Dyno does not read", Looks::Tproch);
        return crate::not_recognised(log, what, Looks::Tproch, advice);
    }
    let what = match log.text.trim().is_empty() {
        true => "it is empty",
        false => "it contains no result of a timed TPROC-C run (System achieved … NOPM)",
    };
    crate::not_recognised(log, what.to_owned(), Looks::Hammerdb, advice)
}

fn parsed_run(draft: &Draft, options: &Options) -> ParsedRun {
    let began = draft.began;
    let started = began.filter(|moment| moment.utc || !draft.lacks_zone);
    let started = started.map(|moment| moment.unix_s(options.utc_offset_s));
    let started = started.or(options.started_unix_s);
    let by_times = began.zip(draft.ended);
    let by_times = by_times.map(|(began, ended)| ended.seconds - began.seconds);
    let stated = draft.duration_min.map(|minutes| minutes * S_PER_MIN);
    let test_s = stated.or(by_times).filter(|seconds| *seconds > 0.0);
    let mut draft = draft.clone();
    let wild = test_s.and_then(|test_s| doubts::take_impossible(&mut draft, test_s));
    let draft = &draft;
    let contradictions = doubts::contradictions(draft, (stated, by_times));
    let leaves = |what: Leaves| contradictions.iter().any(|(own, _)| *own == what);
    let measured_s = test_s.filter(|_| !leaves(Leaves::Length));
    let draft = &Draft {
        users: draft.users.filter(|_| !leaves(Leaves::Users)),
        ..draft.clone()
    };
    let mut said = said(draft, (stated, by_times), measured_s);
    said.extend(wild.map(|text| (Some(draft.line), text)));
    let mut run = about(draft, measured_s).record(options);
    let texts: Vec<String> = contradictions
        .iter()
        .map(|(_, text)| text.clone())
        .collect();
    run.facts.extend(runs::contradictions(&texts));
    run.facts.extend(runs::unsteady(doubts::ended_early(draft)));
    let sentences = contradictions
        .iter()
        .map(|(leaves, text)| format!("{text}; {}", leaves.words()));
    said.extend(sentences.map(|text| (Some(draft.line), text)));
    run.not_observed = gaps(draft, started.is_some(), measured_s.is_some());
    let rampup = draft.rampup_min.map(|minutes| format!("{minutes} min"));
    let rampup = rampup.map(|text| Fact::new(names::IMPORT_RAMPUP, text, "HammerDB's log"));
    run.facts.extend(rampup);
    if measured_s.is_none() && !leaves(Leaves::Length) {
        run.facts
            .push(runs::cut_off("it does not show the measured time"));
    }
    if !leaves(Leaves::Result) {
        run.series.extend(counter(draft));
        run.summary = Some(summary(draft, &run, started, measured_s));
    }
    ParsedRun {
        identity: draft.digest.identity(),
        run,
        file: draft.file.clone(),
        started,
        said,
    }
}

fn summary(
    draft: &Draft,
    run: &RunRecord,
    started: Option<f64>,
    measured_s: Option<f64>,
) -> RunSummary {
    let (orders, tpm, _) = draft.result.clone().unwrap_or_default();
    let mut summary = runs::summary(run, started, measured_s.unwrap_or(S_PER_MIN));
    let per_s = tpm as f64 / S_PER_MIN;
    summary.rates.events_per_s = per_s;
    summary.totals = runs::counted((per_s * summary.measured_s).round() as u64);
    summary.totals.errors = doubts::errors(draft);
    summary.figures = vec![Figure {
        name: "new orders (NOPM)".to_owned(),
        value: orders as f64,
        unit: "per minute".to_owned(),
        better: Some(Better::Higher),
    }];
    summary.operations = operations(&draft.profile);
    if let Some((_, failed)) = doubts::failed(draft) {
        summary.end = RunEnd::Failed(failed);
    }
    summary
}

/// Warnings about the run, with the line.
fn said(
    draft: &Draft,
    (stated, by_times): (Option<f64>, Option<f64>),
    measured_s: Option<f64>,
) -> Vec<(Option<usize>, String)> {
    let mut said = doubts::said(draft);
    let line = Some(draft.line);
    if let (Some(stated), Some(real)) = (stated, by_times)
        && (stated - real).abs() > 2.0 + 0.02 * stated
        && !doubts::is_another(stated, real)
    {
        let text = format!(
            "the test period should be {stated:.0} s, and the log's times span {real:.0} s"
        );
        said.push((line, text));
    }
    let unknown = measured_s.is_none() && stated.or(by_times).is_none_or(|s| s <= 0.0);
    if unknown {
        let text = "the log does not show the measured time (Timing test period of … in minutes), \
                    so the rates are for one minute";
        said.push((line, text.to_owned()));
    } else if draft.profile.is_read() {
        let text = "the time profile includes the ramp-up: it has more calls than were measured";
        said.push((None, text.to_owned()));
    }
    said.extend(of_profile(&draft.profile).map(|text| (None, text)));
    said
}

/// Warnings about a time profile.
fn of_profile(profile: &Profile) -> impl Iterator<Item = String> {
    let unread = profile.is_there && !profile.is_read() && profile.said.is_empty();
    let unread = unread.then(|| {
        "the log has a time profile without a summary of all virtual users; it is not read"
            .to_owned()
    });
    let of_one = match &profile.of {
        Of::One(user) if profile.is_read() => Some(format!(
            "the time profile covers virtual user {user} alone, without extremes and percentiles: \
             the printed ones cover 10 s each"
        )),
        _ => None,
    };
    let wrong = profile.said.iter();
    let wrong = wrong.map(|text| format!("of the time profile, {text}"));
    wrong
        .chain(unread)
        .chain(of_one)
        .collect::<Vec<_>>()
        .into_iter()
}

fn about(draft: &Draft, measured_s: Option<f64>) -> About {
    let result = draft.result.as_ref();
    let database = result.map_or("", |(.., database)| database.as_str());
    let family = match database {
        "PostgreSQL" => Some(Family::Postgres),
        "MySQL" | "MariaDB" => Some(Family::Mysql),
        _ => None,
    };
    // Only working virtual users, without HammerDB's monitor.
    let users = draft.users.filter(|users| *users > 0);
    let seconds = |minutes: f64| Duration::try_from_secs_f64(minutes * S_PER_MIN).ok();
    About {
        source: Source::Hammerdb,
        version: draft.version.clone(),
        argv: Vec::new(),
        workload: "TPROC-C".to_owned(),
        options: Vec::new(),
        target: TargetSummary {
            family,
            product: text::excerpt(database),
            ..TargetSummary::default()
        },
        drive: users.map(|users| dyno_core::plan::Drive {
            time: draft
                .duration_min
                .filter(|_| measured_s.is_some())
                .and_then(seconds),
            warmup: draft.rampup_min.and_then(seconds).unwrap_or_default(),
            ..runs::sessions(users, users)
        }),
        percentiles: Vec::new(),
        digest: draft.digest.hex(),
        place: format!("{}:{}", draft.file, draft.line),
    }
}

/// The transaction counter, if it and the run have times.
fn counter(draft: &Draft) -> Option<Series> {
    let began = draft.began?;
    let points = draft.counter.iter().map(|(moment, tpm)| {
        let moment = moment.filter(|moment| moment.utc == began.utc);
        let at = moment.map_or(f64::NAN, |moment| moment.seconds - began.seconds);
        (at, Some(tpm / S_PER_MIN))
    });
    let source = "HammerDB's transaction counter".to_owned();
    runs::series(names::IMPORT_TRANSACTIONS, "count/s", source, points)
}

fn operations(profile: &Profile) -> Vec<OperationSummary> {
    let procedures = profile.procedures.iter().filter(|own| own.calls > 0);
    let operation = |own: &Procedure| {
        let mut percentiles = own.percentiles.clone();
        percentiles.sort_by(|a, b| a.0.total_cmp(&b.0));
        percentiles.retain(|(percent, _)| [50.0, 95.0, 99.0].contains(percent));
        let percentile = |(percent, ms)| Percentile {
            percent,
            value_ms: Some(ms),
        };
        OperationSummary {
            name: own.name.clone(),
            totals: OperationCounters {
                done: own.calls,
                ..OperationCounters::default()
            },
            done_per_s: profile
                .elapsed_s
                .filter(|s| *s > 0.0)
                .map_or(0.0, |s| own.calls as f64 / s),
            service: LatencySummary {
                count: own.calls,
                min_ms: own.min,
                mean_ms: Some(own.avg),
                max_ms: own.max,
                sum_ms: Some(own.total),
                stddev_ms: own.deviation,
                percentiles: percentiles.into_iter().map(percentile).collect(),
                buckets: Vec::new(),
                clipped: 0,
            },
            response: None,
            first_tries: None,
        }
    };
    let without_times = |own: &Procedure| {
        let mut operation = operation(own);
        if own.is_untimed {
            operation.service = LatencySummary::default();
        }
        operation
    };
    procedures.map(without_times).collect()
}

fn gaps(draft: &Draft, start_known: bool, length_known: bool) -> Vec<NotObserved> {
    let mut gaps: Vec<NotObserved> = [
        ("client", "HammerDB does not print its own resource usage"),
        ("server", "HammerDB does not describe the server"),
        ("db", "HammerDB does not print the server's counters"),
        ("data", "the log does not show the warehouses"),
        OBSERVER,
        HOST,
        ("errors", "HammerDB counts errors only if it logs them"),
        (
            "errors.by_code",
            "HammerDB counts errors only if it logs them",
        ),
        (
            "counters.queries",
            "HammerDB has the server count transactions, not statements",
        ),
        ("counters.rows", "HammerDB counts neither rows nor bytes"),
        (
            "counters.retries",
            "HammerDB prints no repeated transactions",
        ),
        ("counters.reconnects", "HammerDB does not print reconnects"),
        ("rand", "the log does not show the distribution of keys"),
        (
            "fairness",
            "the log does not show what each virtual user did",
        ),
        (
            "service",
            "the time profile shows latencies by procedure, not of all together",
        ),
        (
            "intervals",
            "the transaction counter's samples are a series, not counts of intervals",
        ),
    ]
    .iter()
    .filter(|(what, _)| *what != "errors" || draft.errors.is_empty())
    .map(|(what, why)| gap(what, why))
    .collect();
    if !start_known {
        let why = match draft.lacks_zone {
            true => "the zone of the log's times has an ambiguous or unknown name",
            false => "the log has no times; its option timestamps writes them",
        };
        gaps.push(gap("started_unix_s", why));
    }
    if !length_known {
        gaps.push(gap(LENGTH_UNKNOWN, "the log does not show the test period"));
    }
    gaps.extend(of_operations(&draft.profile));
    if draft.users.is_none() {
        gaps.push(gap("drive", "the log does not show the virtual users"));
    }
    gaps
}

/// Figures that the time profile does not have for each procedure.
fn of_operations(profile: &Profile) -> Vec<NotObserved> {
    let why = match profile.of {
        Of::One(_) => "the time profile of one virtual user has neither extremes nor its length",
        Of::All => "the time profile lacks it",
    };
    let lacks = |of: fn(&Procedure) -> Option<f64>| {
        let mut procedures = profile.procedures.iter();
        procedures.any(|own| of(own).is_none())
    };
    let no_length = profile.elapsed_s.is_none_or(|seconds| seconds <= 0.0);
    let unknown = [
        ("operations.min_ms", lacks(|own| own.min)),
        ("operations.max_ms", lacks(|own| own.max)),
        ("operations.done_per_s", profile.is_read() && no_length),
    ];
    let unknown = unknown.iter().filter(|(_, lacks)| *lacks);
    unknown.map(|(what, _)| gap(what, why)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::unknown;
    use proptest::prelude::*;

    #[test]
    fn figures_that_a_log_lacks_are_unknown() {
        let text = "Vuser 2:>>>>> SUMMARY OF 2 ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : 0ms\n\
            Vuser 2:>>>>> PROC: SLEV\n\
            Vuser 2:CALLS: 20\tAVG: 1.250ms\tMAX: 9.000ms\tTOTAL: 25.000ms\n\
            Vuser 1:TEST RESULT : System achieved 43912 NOPM from 101003 PostgreSQL TPM\n";
        let log = Log { name: "x", text };
        let runs = read(&[log], &Options::default(), &mut Vec::new()).unwrap();
        let gaps = &runs[0].run.not_observed;
        let is_gap = |what: &str| gaps.iter().any(|gap| gap.what == what);
        assert!(!unknown::has_length(gaps), "{gaps:?}");
        assert!(is_gap("operations.min_ms") && is_gap("operations.done_per_s"));
        assert!(!is_gap("operations.max_ms"), "{gaps:?}");
        let period = "Vuser 1:Timing test period of 5 in minutes\n";
        let text = [period, text].concat();
        let log = Log {
            name: "x",
            text: &text,
        };
        let runs = read(&[log], &Options::default(), &mut Vec::new()).unwrap();
        assert!(unknown::has_length(&runs[0].run.not_observed));
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(
            lines in prop::collection::vec(
                "(Vuser 1:|TEST RESULT : System achieved |>>>>> |CALLS: |P99: )?\\PC{0,50}", 0..25,
            ),
        ) {
            let text = lines.join("\n");
            let log = Log { name: "x", text: &text };
            let _ = read(&[log], &Options::default(), &mut Vec::new());
        }
    }
}
