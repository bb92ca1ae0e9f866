//! HammerDB's log of a timed TPROC-C run: the result at the end, the transaction counter, and the
//! time profile, in one file or in several.

use std::time::Duration;

use dyno_core::db::Family;
use dyno_core::interval::OperationCounters;
use dyno_core::record::{NotObserved, Series, Source};
use dyno_core::reported::{Better, Figure};
use dyno_core::summary::*;
use sha2::Digest;

use crate::civil::{self, Moment};
use crate::gaps::gap;
use crate::number;
use crate::runs::{self, About, fact};
use crate::text::{self, Line};
use crate::{Found, ImportError, Log, Looks, Options, Warning};

const S_PER_MIN: f64 = 60.0;

/// One stored procedure in the time profile's summary. Times are milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
struct Procedure {
    name: String,
    calls: u64,
    min: f64,
    avg: f64,
    max: f64,
    total: f64,
    /// (percent, milliseconds).
    percentiles: Vec<(f64, f64)>,
    deviation: Option<f64>,
}

/// The time profile of all virtual users together.
#[derive(Clone, Debug, Default)]
struct Profile {
    /// Over how long, in seconds; the ramp-up is in it.
    elapsed_s: Option<f64>,
    procedures: Vec<Procedure>,
}

/// What one run left. `None` is what it did not print.
#[derive(Clone, Debug, Default)]
struct Draft {
    file: String,
    line: usize,
    version: Option<String>,
    users: Option<u32>,
    rampup_min: Option<f64>,
    duration_min: Option<f64>,
    /// When the measurement began and ended, where the log has times.
    began: Option<Moment>,
    ended: Option<Moment>,
    /// New orders and transactions per minute, and the database that counted those.
    result: Option<(u64, u64, String)>,
    /// The transaction counter: transactions per minute, at a time.
    counter: Vec<(Option<Moment>, f64)>,
    profile: Profile,
    failures: Vec<(usize, String)>,
    digest: sha2::Sha256,
}

impl Draft {
    fn has_figures(&self) -> bool {
        self.result.is_some() || !self.counter.is_empty() || !self.profile.procedures.is_empty()
    }
}

/// The runs of these logs. A transaction counter or a time profile in a log of its own belongs to
/// the one run of the others.
///
/// # Errors
/// A log without a figure of HammerDB.
pub(crate) fn read(
    logs: &[Log<'_>],
    options: &Options,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Found>, ImportError> {
    let mut drafts = Vec::new();
    for log in logs {
        let mut reader = Reader::new(log.name);
        for line in text::lines(log.text) {
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
            if run.profile.procedures.is_empty() {
                run.profile = part.profile;
            }
        }
        drafts = vec![run];
    }
    drafts.retain(|draft| {
        let whole = draft.result.is_some();
        if !whole {
            let text = "there is no result (System achieved … NOPM) that this belongs to; it is \
                        left out";
            warnings.push(Warning::new(&draft.file, Some(draft.line), text.to_owned()));
        }
        whole
    });
    let first = logs.first().filter(|_| drafts.is_empty());
    match first {
        Some(log) => Err(not_hammerdb(log)),
        None => Ok(drafts.iter().map(|draft| found(draft, options)).collect()),
    }
}

fn not_hammerdb(log: &Log<'_>) -> ImportError {
    let what = match log.text.trim().is_empty() {
        true => "it is empty",
        false => "it holds no result of a timed TPROC-C run (System achieved … NOPM)",
    };
    crate::not_recognised(
        log,
        what.to_owned(),
        Looks::Hammerdb,
        "give what HammerDB printed or logged of a run whose driver script is the timed one",
    )
}

struct Reader<'a> {
    file: &'a str,
    drafts: Vec<Draft>,
    draft: Draft,
    /// The last time that stood on a line of its own.
    moment: Option<Moment>,
    version: Option<String>,
    in_summary: bool,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str) -> Self {
        Self {
            file,
            drafts: Vec::new(),
            draft: Draft {
                file: file.to_owned(),
                line: 1,
                ..Draft::default()
            },
            moment: None,
            version: None,
            in_summary: false,
        }
    }

    fn take(&mut self, line: &Line) {
        let (stamp, bare) = line.unstamped();
        let bare = bare.trim().to_owned();
        if !bare.is_empty() {
            self.draft.digest.update(line.text.as_bytes());
            self.draft.digest.update(b"\n");
        }
        if let Some(moment) = stamp {
            self.moment = Some(moment);
        }
        // `Timestamp 3 @ Fri Sep 19 13:28:49 BST 2014`, `Hammerdb Log @ …`
        if let Some((label, when)) = bare.split_once(" @ ")
            && let Some(moment) = civil::moment(when)
        {
            self.moment = Some(moment);
            self.counted(label, Some(moment));
            return;
        }
        if bare.is_empty() {
            return;
        }
        self.line(&bare, line.number);
    }

    fn line(&mut self, bare: &str, number: usize) {
        let user = bare
            .strip_prefix("Vuser ")
            .and_then(|rest| rest.split_once(':'));
        let said = user.map_or(bare, |(_, said)| said.trim());
        let leading = |text: &str| number::leading(text).map(|(value, _)| value);
        if let Some(rest) = bare.strip_prefix("HammerDB CLI v") {
            self.version = rest.split_whitespace().next().map(str::to_owned);
        } else if let Some(rest) = said.strip_prefix("Beginning rampup time of ") {
            self.begins(number);
            self.draft.rampup_min = leading(rest);
        } else if said.starts_with("Rampup complete, Taking start Transaction Count") {
            self.draft.began = self.moment;
        } else if let Some(rest) = said.strip_prefix("Timing test period of ") {
            self.draft.duration_min = leading(rest);
        } else if said.starts_with("Test complete, Taking end Transaction Count") {
            self.draft.ended = self.moment;
        } else if let Some((count, rest)) = number::leading_count(said)
            && rest.trim().starts_with("Active Virtual Users configured")
        {
            self.draft.users = u32::try_from(count).ok();
        } else if let Some(rest) = said.strip_prefix("TEST RESULT : System achieved ") {
            self.draft.result = result(rest);
        } else if said.starts_with("FINISHED FAILED") || said.starts_with("Error in Virtual User") {
            self.draft.failures.push((number, text::excerpt(bare)));
        } else if !self.of_profile(bare) {
            self.counted(bare, None);
        }
    }

    /// A run begins: what was read of one with a result is whole.
    fn begins(&mut self, number: usize) {
        if self.draft.result.is_some() {
            self.ends();
        }
        if !self.draft.has_figures() {
            self.draft.line = number;
        }
    }

    fn ends(&mut self) {
        let next = Draft {
            file: self.file.to_owned(),
            ..Draft::default()
        };
        let mut draft = std::mem::replace(&mut self.draft, next);
        draft.version.clone_from(&self.version);
        if draft.has_figures() {
            self.drafts.push(draft);
        }
    }

    /// `138234 PostgreSQL tpm`, of the transaction counter.
    fn counted(&mut self, label: &str, moment: Option<Moment>) {
        let label = label.trim();
        if let Some((count, of)) = number::leading_count(label)
            && of.ends_with(" tpm")
        {
            self.draft.counter.push((moment, count as f64));
        }
    }

    /// Takes a line of the time profile's summary.
    fn of_profile(&mut self, bare: &str) -> bool {
        if bare.starts_with(">>>>> SUMMARY OF ") {
            let elapsed = bare.rsplit_once("ELAPSED TIME :").map(|(_, ms)| ms);
            let ms = elapsed.and_then(number::leading).map(|(ms, _)| ms);
            self.in_summary = true;
            self.draft.profile = Profile {
                elapsed_s: ms.map(|ms| ms / 1e3),
                procedures: Vec::new(),
            };
            return true;
        }
        // Each virtual user has one, too.
        if bare.starts_with(">>>>> VIRTUAL USER ") {
            self.in_summary = false;
            return true;
        }
        if !self.in_summary {
            return bare.starts_with("CALLS:") || bare.starts_with("P99:");
        }
        if let Some(name) = bare.strip_prefix(">>>>> PROC: ") {
            self.draft.profile.procedures.push(Procedure {
                name: name.trim().to_ascii_lowercase(),
                ..Procedure::default()
            });
            return true;
        }
        let known = bare.starts_with("CALLS:") || bare.starts_with("P99:");
        if let Some(procedure) = self.draft.profile.procedures.last_mut().filter(|_| known) {
            figures(procedure, bare);
        }
        known
    }

    fn finish(mut self) -> Vec<Draft> {
        self.ends();
        self.drafts
    }
}

/// `12345 NOPM from 45678 PostgreSQL TPM`, and in versions before 4 `45678 PostgreSQL TPM at 12345
/// NOPM`.
fn result(rest: &str) -> Option<(u64, u64, String)> {
    let (first, rest) = number::leading_count(rest)?;
    let rest = rest.trim();
    let tpm = |text: &str| {
        let (count, of) = number::leading_count(text)?;
        let database = of.split(" TPM").next()?.trim().to_owned();
        Some((count, database))
    };
    if let Some(rest) = rest.strip_prefix("NOPM from ") {
        let (count, database) = tpm(rest)?;
        return Some((first, count, database));
    }
    let (database, rest) = rest.split_once(" TPM at ")?;
    let (orders, _) = number::leading_count(rest)?;
    Some((orders, first, database.trim().to_owned()))
}

/// `CALLS: 3427	MIN: 1.730ms	AVG: 36.332ms	…`, `P99: 210.118ms	P95: …	SD: 49.663	RATIO: 49.0%`
fn figures(procedure: &mut Procedure, bare: &str) {
    let words: Vec<&str> = bare.split_whitespace().collect();
    for pair in words.windows(2) {
        let Some(label) = pair[0].strip_suffix(':') else {
            continue;
        };
        let Some((value, unit)) = number::leading(pair[1]).filter(|(value, _)| *value >= 0.0)
        else {
            continue;
        };
        let percent = label.strip_prefix('P').and_then(|p| p.parse::<f64>().ok());
        match label {
            "CALLS" => procedure.calls = number::count(pair[1]).unwrap_or(0),
            "MIN" => procedure.min = value,
            "AVG" => procedure.avg = value,
            "MAX" => procedure.max = value,
            "TOTAL" => procedure.total = value,
            // Before version 4.4 it is printed in another unit, which is not told.
            "SD" if unit.starts_with("ms") => procedure.deviation = Some(value),
            _ => procedure
                .percentiles
                .extend(percent.map(|percent| (percent, value))),
        }
    }
}

fn found(draft: &Draft, options: &Options) -> Found {
    let (orders, tpm, database) = draft.result.clone().unwrap_or_default();
    let started = draft
        .began
        .map(|moment| moment.unix_s(options.utc_offset_s));
    let mut said = Vec::new();
    for (line, text) in &draft.failures {
        said.push((Some(*line), format!("a virtual user failed: {text}")));
    }
    let by_times = draft.began.zip(draft.ended);
    let by_times = by_times.map(|(began, ended)| ended.seconds - began.seconds);
    let stated = draft.duration_min.map(|minutes| minutes * S_PER_MIN);
    let measured_s = stated.or(by_times).filter(|seconds| *seconds > 0.0);
    if let (Some(stated), Some(real)) = (stated, by_times)
        && (stated - real).abs() > 2.0 + 0.02 * stated
    {
        said.push((
            Some(draft.line),
            format!(
                "the test period was to be {stated:.0} s, and the log's times make {real:.0} s"
            ),
        ));
    }
    let mut run = about(draft, &database).record(options);
    if orders > tpm {
        let text = format!("{orders} new orders of {tpm} transactions per minute");
        run.facts
            .extend(runs::contradictions(std::slice::from_ref(&text)));
        said.push((Some(draft.line), text));
    }
    run.not_observed = gaps(draft, started.is_some(), measured_s.is_some());
    run.series.extend(counter(draft, started));
    if let Some(minutes) = draft.rampup_min {
        let text = format!("{minutes} min");
        run.facts
            .push(fact("import.rampup", text, "HammerDB's log"));
    }
    match measured_s {
        None => said.push((
            Some(draft.line),
            "the log does not tell how long was measured (Timing test period of … in minutes), so \
             that the rates stand for a minute"
                .to_owned(),
        )),
        Some(_) if !draft.profile.procedures.is_empty() => said.push((
            None,
            "the time profile covers the ramp-up, too: its calls are more than were measured"
                .to_owned(),
        )),
        Some(_) => {}
    }
    let mut summary = runs::summary(&run, started, measured_s.unwrap_or(S_PER_MIN));
    let per_s = tpm as f64 / S_PER_MIN;
    summary.rates.events_per_s = per_s;
    summary.totals = runs::counted((per_s * summary.measured_s).round() as u64);
    summary.figures = vec![Figure {
        name: "new orders (NOPM)".to_owned(),
        value: orders as f64,
        unit: "per minute".to_owned(),
        better: Some(Better::Higher),
    }];
    summary.operations = operations(&draft.profile);
    if !draft.failures.is_empty() {
        let count = draft.failures.len();
        summary.end = RunEnd::Failed(format!("{count} virtual users failed"));
    }
    run.summary = Some(summary);
    Found {
        run,
        file: draft.file.clone(),
        started,
        said,
    }
}

fn about(draft: &Draft, database: &str) -> About {
    let family = match database {
        "PostgreSQL" => Some(Family::Postgres),
        "MySQL" | "MariaDB" => Some(Family::Mysql),
        _ => None,
    };
    // The virtual users that work; HammerDB's own monitor is not counted.
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
            time: draft.duration_min.and_then(seconds),
            warmup: draft.rampup_min.and_then(seconds).unwrap_or_default(),
            ..runs::sessions(users, users)
        }),
        percentiles: Vec::new(),
        digest: runs::hex(&draft.digest),
        place: format!("{}:{}", draft.file, draft.line),
    }
}

/// The transaction counter, where it and the run have times.
fn counter(draft: &Draft, started: Option<f64>) -> Option<Series> {
    let began = started.and(draft.began)?;
    let points = draft.counter.iter().map(|(moment, tpm)| {
        let at = moment.map_or(f64::NAN, |moment| moment.seconds - began.seconds);
        (at, Some(tpm / S_PER_MIN))
    });
    let source = "HammerDB's transaction counter".to_owned();
    runs::series("import.transactions", "count/s", source, points)
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
                mean_ms: own.avg,
                max_ms: own.max,
                sum_ms: own.total,
                stddev_ms: own.deviation,
                percentiles: percentiles.into_iter().map(percentile).collect(),
                buckets: Vec::new(),
                clipped: 0,
            },
            response: None,
            first_tries: None,
        }
    };
    procedures.map(operation).collect()
}

fn gaps(draft: &Draft, start_known: bool, length_known: bool) -> Vec<NotObserved> {
    let mut gaps: Vec<NotObserved> = [
        ("client", "HammerDB does not print what it used itself"),
        ("server", "HammerDB prints nothing of the server"),
        ("db", "HammerDB prints nothing of the server's counters"),
        ("data", "the log does not tell the warehouses"),
        ("observer", "nothing was observed while the run went on"),
        (
            "host",
            "no log of the host (vmstat, iostat, mpstat, sar) was imported with the run",
        ),
        (
            "errors",
            "HammerDB counts no errors unless it is to log them",
        ),
        (
            "errors.by_code",
            "HammerDB counts no errors unless it is to log them",
        ),
        (
            "counters.queries",
            "HammerDB has the server count transactions, not statements",
        ),
        ("counters.rows", "HammerDB counts neither rows nor bytes"),
        ("rand", "the log does not tell the distribution of keys"),
        (
            "fairness",
            "the log does not tell what each virtual user did",
        ),
        (
            "service",
            "the time profile tells latencies by procedure, not of all together",
        ),
        (
            "intervals",
            "the transaction counter's samples are a series, not counts of intervals",
        ),
    ]
    .iter()
    .map(|(what, why)| gap(what, why))
    .collect();
    if !start_known {
        gaps.push(gap(
            "started_unix_s",
            "the log has no times; its option timestamps writes them",
        ));
    }
    if !length_known {
        gaps.push(gap("measured_s", "the log does not tell the test period"));
    }
    if draft.users.is_none() {
        gaps.push(gap("drive", "the log does not tell the virtual users"));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn results_of_all_versions() {
        let new = result("1785 NOPM from 4109 PostgreSQL TPM");
        assert_eq!(new, Some((1785, 4109, "PostgreSQL".to_owned())));
        let old = result("4109 SQL Server TPM at 1785 NOPM");
        assert_eq!(old, Some((1785, 4109, "SQL Server".to_owned())));
        assert_eq!(result("many NOPM"), None);
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(
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
