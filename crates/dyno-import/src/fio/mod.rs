//! Imports fio's JSON: one run for each group of jobs, as groups run in sequence.

mod document;
mod doubts;
mod ending;
mod gaps;
mod hash;
mod json;
mod latency;
mod laws;
mod nested;
mod rates;

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::catalogue::names;
use dyno_core::interval::OperationCounters;
use dyno_core::plan::OptionValue;
use dyno_core::record::{Fact, Operation, RunRecord, Source};
use dyno_core::summary::*;
use serde_json::Value;

use crate::identity::LogHash;
use crate::number;
use crate::runs::{self, About, PERCENTS};
use crate::{ImportError, Log, Looks, Options, ParsedRun};
use document::{Document, Job, Latency};
use doubts::Doubt;
use json::{Damage, DamageKind};
use latency::{Merged, merged};
use laws::Leaves;
use nested::Nested;

/// How late a document may be printed.
const LATE_MS: u64 = 1500;

/// The runs in these logs.
///
/// # Errors
/// A log without fio's JSON.
pub(crate) fn read(logs: &[Log<'_>], options: &Options) -> Result<Vec<ParsedRun>, ImportError> {
    let mut found = Vec::new();
    for log in logs {
        let (documents, damage) = documents(log.text);
        if documents.is_empty() {
            return Err(not_fio(log, damage));
        }
        let mut all = of_one_process(&documents).peekable();
        while let Some(series) = all.next() {
            let is_cut = damage.is_some() && all.peek().is_none();
            found.extend(of_groups(log, series, is_cut, options));
        }
        if let (Some(damage), Some(last)) = (damage, found.last_mut()) {
            last.said.insert(0, (Some(damage.line), damage.sentence()));
        }
    }
    Ok(found)
}

/// The documents with an I/O in a text, and the first damage.
fn documents(text: &str) -> (Vec<Document>, Option<Damage>) {
    let has_ios = |document: &Document| document.jobs.iter().any(|job| job.ios() > 0);
    let (mut documents, damage) = json::read(text);
    documents.retain(has_ios);
    if !documents.is_empty() {
        return (documents, damage);
    }
    let nested = Nested::read(text);
    documents = nested.documents;
    documents.retain(has_ios);
    match documents.is_empty() {
        true => (documents, damage.or(nested.damage)),
        false => (documents, nested.damage),
    }
}

fn not_fio(log: &Log<'_>, damage: Option<Damage>) -> ImportError {
    let advice = "give the output of fio --output-format=json (json+ includes the whole latency \
                  distribution)";
    if let Some(looks @ (Looks::FioTerse | Looks::FioNormal | Looks::FioLog)) = Looks::of(log.text)
    {
        let what = format!("this is {looks}, which Dyno does not read");
        return crate::not_recognised(log, what, looks, advice);
    }
    let what = match damage {
        Some(Damage { line, why, kind }) => match kind {
            DamageKind::Value => format!("line {line} has a value that fio never prints ({why})"),
            DamageKind::Cut => {
                format!(
                    "the file ends within its JSON, in line {line}, so nothing can be read from it"
                )
            }
            DamageKind::Syntax => format!("its JSON is damaged in line {line} ({why})"),
        },
        None if log.text.trim().is_empty() => "it is empty".to_owned(),
        None => "it contains no fio JSON with an I/O".to_owned(),
    };
    crate::not_recognised(log, what, Looks::Fio, advice)
}

/// Splits documents by process: consecutive documents of the same jobs come from
/// `--status-interval`, unless they are the same document twice.
fn of_one_process(documents: &[Document]) -> impl Iterator<Item = &[Document]> {
    documents.chunk_by(|one, next| {
        let goes_on = |(a, b): (&Job, &Job)| {
            a.jobname == b.jobname
                && a.groupid == b.groupid
                && a.ios() <= b.ios()
                && a.runtime_ms() <= b.runtime_ms()
        };
        let jobs = one.jobs.iter().zip(&next.jobs);
        let has_grown = |(a, b): (&Job, &Job)| a.ios() < b.ios() || a.runtime_ms() < b.runtime_ms();
        let is_later = one.timestamp_ms != next.timestamp_ms || jobs.clone().any(has_grown);
        let same_jobs = one.jobs.len() == next.jobs.len() && jobs.clone().all(goes_on);
        same_jobs && is_later && in_time(one, next)
    })
}

/// Whether the time between two documents matches the jobs' run times: a file may also contain two
/// processes with the same jobs.
fn in_time(one: &Document, next: &Document) -> bool {
    let (Some(before), Some(after)) = (one.timestamp_ms, next.timestamp_ms) else {
        return false;
    };
    let ran = |document: &Document| -> u64 {
        let mut groups: BTreeMap<u64, u64> = BTreeMap::new();
        for job in &document.jobs {
            let longest = groups.entry(job.groupid).or_default();
            *longest = job.runtime_ms().max(*longest);
        }
        groups.into_values().fold(0, u64::saturating_add)
    };
    let later = after.saturating_sub(before);
    later.abs_diff(ran(next).saturating_sub(ran(one))) <= LATE_MS
}

fn of_groups(
    log: &Log<'_>,
    documents: &[Document],
    is_cut: bool,
    options: &Options,
) -> Vec<ParsedRun> {
    let Some(last) = documents.last() else {
        return Vec::new();
    };
    let mut groups: BTreeMap<u64, Vec<&Job>> = BTreeMap::new();
    for job in last.jobs.iter().filter(|job| job.ios() > 0) {
        groups.entry(job.groupid).or_default().push(job);
    }
    let alone = groups.len() == 1;
    let groups = groups.into_iter().map(|(id, jobs)| Group {
        id,
        jobs,
        last,
        documents,
        alone,
        is_cut,
    });
    groups.map(|group| group.parsed_run(log, options)).collect()
}

/// Jobs that ran at the same time.
struct Group<'a> {
    id: u64,
    jobs: Vec<&'a Job>,
    last: &'a Document,
    /// All documents, including the last one.
    documents: &'a [Document],
    /// Whether it is the only group.
    alone: bool,
    /// Whether a damaged document follows the last one.
    is_cut: bool,
}

impl Group<'_> {
    fn parsed_run(&self, log: &Log<'_>, options: &Options) -> ParsedRun {
        let mut doubts = self.doubts();
        let jobs = self.without(&doubts);
        let own = self.of(&jobs);
        let crowds = own.crowds();
        let jobs = own.without(&crowds);
        doubts.extend(crowds);
        own.of(&jobs)
            .consistent_run(log, options, self.hash(), &doubts)
    }

    /// The same group of these jobs.
    fn of<'b>(&'b self, jobs: &'b [Job]) -> Group<'b> {
        Group {
            id: self.id,
            jobs: jobs.iter().collect(),
            last: self.last,
            documents: self.documents,
            alone: self.alone,
            is_cut: self.is_cut,
        }
    }

    /// The run of jobs without figures in doubt.
    fn consistent_run(
        &self,
        log: &Log<'_>,
        options: &Options,
        hash: LogHash,
        doubts: &[Doubt],
    ) -> ParsedRun {
        let mut run = self.about(log, &hash).record(options);
        run.facts.extend(self.facts());
        let contradictions = doubts.iter().filter(|doubt| doubt.contradicts);
        let contradictions: Vec<String> = contradictions.map(|own| own.text.clone()).collect();
        run.facts.extend(runs::contradictions(&contradictions));
        run.facts.extend(runs::unsteady(self.unsteady()));
        run.facts
            .extend(self.lacks_end().map(|what| runs::cut_off(&what)));
        let started = self.started();
        let counted = doubts.iter().all(|doubt| doubt.leaves != Leaves::Rates);
        if counted {
            run.intervals = self.intervals();
        }
        let all = self.merged(|_| true);
        run.operations = self.operations(&all);
        run.head.percentiles = match all.summary.percentiles.is_empty() {
            true => Vec::new(),
            false => PERCENTS.to_vec(),
        };
        run.not_observed = self.gaps(&all, &run, started.is_some(), doubts);
        run.summary = counted.then(|| self.summary(&run, all.summary, started));
        let said = doubts.iter().map(|doubt| (None, doubt.sentence()));
        let uneven = self.uneven().filter(|_| counted).map(|text| (None, text));
        ParsedRun {
            said: self.said().into_iter().chain(uneven).chain(said).collect(),
            identity: hash.identity(),
            file: log.name.to_owned(),
            run,
            started,
        }
    }

    fn about(&self, log: &Log<'_>, hash: &LogHash) -> About {
        let mut names: Vec<&str> = self.jobs.iter().map(|job| job.jobname.as_str()).collect();
        names.dedup();
        let same = |job: &&Job| {
            let same = |one: &&&Job| one.jobname == job.jobname && one.hostname == job.hostname;
            self.jobs.iter().filter(same).count()
        };
        let sessions = self.jobs.iter().map(|job| job.count(self.last, same(job)));
        let sessions = sessions.fold(0, u32::saturating_add);
        let drive = (!self.is_of_several()).then(|| runs::sessions(sessions, sessions));
        let version = self.last.version.trim_start_matches("fio-");
        About {
            source: Source::Fio,
            version: (!version.is_empty()).then(|| version.to_owned()),
            argv: Vec::new(),
            workload: dyno_core::redact::text(&names.join("+")),
            options: self.options(),
            target: TargetSummary::default(),
            drive,
            percentiles: Vec::new(),
            digest: hash.hex(),
            place: log.name.to_owned(),
        }
    }

    /// The options that all jobs share.
    fn options(&self) -> Vec<(String, OptionValue)> {
        let mut options = self.last.options.clone();
        if let Some((first, others)) = self.jobs.split_first()
            && !self.is_of_several()
        {
            let common = first.options.iter().filter(|(name, value)| {
                others
                    .iter()
                    .all(|job| job.options.get(*name) == Some(value))
            });
            options.extend(common.map(|(name, value)| (name.clone(), value.clone())));
        }
        let value = |value: Value| match value {
            Value::String(text) => match text.parse::<f64>() {
                Ok(number) if number.is_finite() => OptionValue::Number(number),
                _ => OptionValue::Text(dyno_core::redact::text(&text)),
            },
            Value::Number(number) => OptionValue::Number(number.as_f64().unwrap_or_default()),
            other => OptionValue::Text(other.to_string()),
        };
        options
            .into_iter()
            .filter(|(name, _)| name != "name")
            .map(|(name, own)| (name, value(own)))
            .collect()
    }

    fn runtime_ms(&self) -> u64 {
        self.jobs
            .iter()
            .map(|job| job.runtime_ms())
            .max()
            .unwrap_or(0)
    }

    /// As newer versions print it, or computed from the printed end.
    fn started(&self) -> Option<f64> {
        let starts = self.jobs.iter().map(|job| job.job_start);
        let printed = starts.min().flatten();
        let ended = self.last.timestamp_ms.filter(|_| self.alone);
        let counted = ended.and_then(|ms| ms.checked_sub(self.runtime_ms()));
        printed.or(counted).map(|ms| ms as f64 / 1e3)
    }

    fn facts(&self) -> Vec<Fact> {
        let mut facts = vec![Fact::new(
            names::CLIENT_VERSION,
            self.last.version.clone(),
            "fio's JSON, fio version",
        )];
        for disk in &self.last.disk_util {
            if let Some(util) = disk.util {
                let name = names::IMPORT_DISK_UTILISATION.of(&disk.name);
                facts.push(Fact::new(
                    name,
                    format!("{util:.1} %"),
                    "fio's JSON, disk_util",
                ));
            }
        }
        for job in &self.jobs {
            if let (Some(user), Some(system)) = (job.usr_cpu, job.sys_cpu) {
                let name = names::IMPORT_CPU_EACH.of(dyno_core::redact::text(&job.jobname));
                let value = format!("{user:.1} % user, {system:.1} % system");
                facts.push(Fact::new(name, value, "fio's JSON, usr_cpu and sys_cpu"));
            }
        }
        facts
    }

    /// The latencies of some directions over all jobs. Percentiles of several are known only from
    /// full distributions.
    fn merged(&self, fits: impl Fn(&str) -> bool) -> Merged {
        let own = self.jobs.iter().flat_map(|job| job.directions());
        let own = own.filter(|(name, one)| fits(name) && one.total_ios > 0);
        merged(&own.map(|(_, one)| one.latency()).collect::<Vec<_>>())
    }

    /// The intervals between the documents of `--status-interval`.
    fn intervals(&self) -> Vec<IntervalSummary> {
        let mut intervals = Vec::new();
        let (mut before_ms, mut before_ios) = (0, 0);
        let several = self.documents.len() > 1;
        for document in self.documents.iter().filter(|_| several) {
            let (ms, ios) = self.done(document);
            if ms <= before_ms {
                continue;
            }
            intervals.push(IntervalSummary {
                at_s: ms as f64 / 1e3,
                length_s: (ms - before_ms) as f64 / 1e3,
                counters: runs::counted(ios.saturating_sub(before_ios)),
                ..IntervalSummary::default()
            });
            (before_ms, before_ios) = (ms, ios);
        }
        intervals
    }

    fn operations(&self, all: &Merged) -> Vec<Operation> {
        let Some(latencies) = &all.latencies else {
            return Vec::new();
        };
        let mut total = runs::span(latencies, (0.0, self.runtime_ms() as f64 / 1e3));
        total.service = latencies.service.clone();
        vec![Operation {
            name: "event".to_owned(),
            spans: Vec::new(),
            total: Some(total),
        }]
    }

    fn summary(
        &self,
        run: &RunRecord,
        service: LatencySummary,
        started: Option<f64>,
    ) -> RunSummary {
        let measured_s = (self.runtime_ms().max(1)) as f64 / 1e3;
        let mut summary = runs::summary(run, started, measured_s);
        let events = self
            .jobs
            .iter()
            .fold(0_u64, |sum, job| sum.saturating_add(job.ios()));
        let iops = |fits: &dyn Fn(&str) -> bool| -> f64 {
            let all = self.jobs.iter().flat_map(|job| job.directions());
            number::sum(
                all.filter(|(name, _)| fits(name))
                    .map(|(_, one)| self.per_s(one)),
            )
        };
        summary.totals = runs::counted(events);
        summary.rates.events_per_s = iops(&|_| true);
        summary.service = service;
        let mut operations = Vec::new();
        for name in ["read", "write", "trim", "mixed"] {
            let own = self.jobs.iter().flat_map(|job| job.directions());
            let done = own.filter(|(own, _)| *own == name);
            let done = done.fold(0_u64, |sum, (_, one)| sum.saturating_add(one.total_ios));
            let latency = self.merged(|own| own == name).summary;
            operations.extend(operation(name, done, iops(&|own| own == name), latency));
        }
        let syncs = self
            .jobs
            .iter()
            .fold(0_u64, |sum, job| sum.saturating_add(job.sync.total_ios));
        let latencies = self.jobs.iter().filter(|job| job.sync.total_ios > 0);
        let latencies: Vec<Latency> = latencies.map(|job| job.sync_latency()).collect();
        let latency = merged(&latencies).summary;
        operations.extend(operation("sync", syncs, syncs as f64 / measured_s, latency));
        summary.operations = operations;
        summary.machine = Some(MachineSummary {
            about: vec![self.about_events()],
            figures: self.figures(syncs as f64 / measured_s),
            depth: self.depth(),
        });
        if let Some(job) = self.jobs.iter().find(|job| job.error != 0) {
            let name = crate::text::excerpt(&job.jobname);
            summary.end =
                RunEnd::Failed(format!("fio's job {name} ended with error {}", job.error));
        }
        summary
    }

    /// Describes what an event is.
    fn about_events(&self) -> String {
        let kinds: BTreeSet<String> = self.jobs.iter().map(|job| self.kind_of(job)).collect();
        match kinds.first() {
            Some(kind) if kinds.len() == 1 && !self.is_of_several() => {
                format!("An event is one I/O of fio: {kind}.")
            }
            _ => "An event is one I/O of fio, from different jobs.".to_owned(),
        }
    }

    /// Describes the I/Os of a job.
    fn kind_of(&self, job: &Job) -> String {
        let text = |name: &str| {
            let value = job.option(self.last, name)?;
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            Some(dyno_core::redact::text(&text))
        };
        let how = text("rw")
            .or_else(|| text("readwrite"))
            .unwrap_or_else(|| "read".to_owned());
        let size = text("bs")
            .or_else(|| text("blocksize"))
            .unwrap_or_else(|| "4k".to_owned());
        let engine = text("ioengine").map_or(String::new(), |engine| format!(" by {engine}"));
        format!("{how}, {size}{engine}")
    }

    /// The maximum number of I/Os in flight per job.
    fn depth(&self) -> u32 {
        let depths = self.jobs.iter().map(|job| self.depth_of(job));
        depths.max().unwrap_or(1)
    }
}

fn operation(
    name: &str,
    done: u64,
    per_s: f64,
    service: LatencySummary,
) -> Option<OperationSummary> {
    (done > 0).then(|| OperationSummary {
        name: name.to_owned(),
        totals: OperationCounters {
            done,
            ..OperationCounters::default()
        },
        done_per_s: per_s,
        service,
        response: None,
        first_tries: None,
    })
}
