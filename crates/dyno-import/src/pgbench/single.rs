//! Evaluates a log of single transactions.

use std::collections::{BTreeMap, BTreeSet};

use dyno_analysis::summarize::{self, SessionTotal};
use dyno_core::interval::{Counters, Latencies, OperationCounters};
use dyno_core::record::Operation;
use dyno_core::summary::*;
use dyno_core::text::number_of;

use super::output::Output;
use super::record::throttled;
use super::scripts::labels;
use super::transactions::{Columns, End, Transaction};
use crate::runs::{self, PERCENTS};

const US_PER_S: f64 = 1e6;
const NS_PER_MS: f64 = 1e6;
/// Interval lengths: a second, like everywhere else, or longer if there would be too many.
const INTERVALS_US: [u64; 5] = [1, 10, 60, 3600, 86_400];
/// Maximum number of intervals: more than a day of seconds.
const INTERVALS_MAX: u64 = 100_000;
/// Maximum number of scripts: more than pgbench accepts.
const SCRIPTS_MAX: usize = 128;
/// Tolerance between the time from the first to the last transaction and the report's: a share, and
/// seconds.
const LENGTH_TOLERANCE: (f64, f64) = (0.05, 2.0);
/// A log with less than this share of the transactions was sampled.
const WHOLE: f64 = 0.99;

pub(super) struct Single<'a> {
    all: Vec<&'a Transaction>,
    columns: Columns,
    /// When the first one began, microseconds since 1970.
    start_us: u64,
    end_us: u64,
    /// Whether it contains all transactions that the report counts.
    pub(super) is_whole: bool,
    /// Why the log does not belong to the report; without a report, why the log is incomplete.
    pub(super) missing: Option<String>,
}

impl<'a> Single<'a> {
    /// `None` if no transaction in the log ended.
    pub(super) fn of(
        log: &'a [Transaction],
        output: &Output,
        said: &mut Vec<(Option<usize>, String)>,
    ) -> Option<Self> {
        let mut all: Vec<&Transaction> = log.iter().collect();
        all.sort_by_key(|one| one.ended_us);
        let done = all.iter().filter(|one| one.end == End::Done).count();
        let start_us = all
            .iter()
            .map(|one| one.ended_us.saturating_sub(one.latency_us))
            .min()?;
        let end_us = all.last()?.ended_us;
        let columns = columns(&all, output, said);
        let mut foreign = Vec::new();
        let mut is_whole = is_whole(done as u64, output.processed, said, &mut foreign);
        let own_s = (end_us - start_us) as f64 / US_PER_S;
        let tps = output.tps_with_connecting.or(output.tps);
        let report_s = output.processed.zip(tps.filter(|tps| *tps > 0.0));
        if let Some(report_s) = report_s.map(|(processed, tps)| processed as f64 / tps) {
            let (share, seconds) = LENGTH_TOLERANCE;
            if (own_s - report_s).abs() > share * report_s + seconds {
                let text = format!(
                    "the transaction log is {own_s:.1} s long, but the report's figures imply \
                     {report_s:.1} s: it belongs to another run, or a time in it is wrong"
                );
                foreign.push(text);
                is_whole = false;
            }
        }
        let missing = match output.processed {
            Some(_) => Some(foreign.join("; ")).filter(|text| !text.is_empty()),
            None => missing(&all).or_else(|| without_clients(&all)),
        };
        said.extend(missing.clone().map(|text| (None, text)));
        let single = Self {
            missing,
            all,
            columns,
            start_us,
            end_us,
            is_whole,
        };
        if let Some(untimed) = single.untimed() {
            let text = format!(
                "{untimed} of {done} transactions have a time of 0 µs, which means no measurement: \
                 no latency includes them"
            );
            said.push((None, text));
        }
        (done > 0).then_some(single)
    }

    /// Transactions without a time, which occur in scripts without a backslash command.
    pub(super) fn untimed(&self) -> Option<u64> {
        let untimed = self.done().filter(|one| !one.is_timed(self.columns));
        Some(untimed.count() as u64).filter(|count| *count > 0)
    }

    /// Whether a column that may be the number of tries is not read.
    pub(super) fn hides_retries(&self) -> bool {
        self.columns == Columns::default() && self.all.iter().any(|one| one.columns() > 0)
    }

    pub(super) fn started_unix_s(&self) -> f64 {
        self.start_us as f64 / US_PER_S
    }

    /// From the first transaction's start to the last one's end.
    pub(super) fn length_s(&self) -> f64 {
        (self.end_us - self.start_us) as f64 / US_PER_S
    }

    /// The longest transaction, if the log has exactly this many.
    pub(super) fn longest_ms(&self, processed: u64) -> Option<f64> {
        let is_all = self.is_whole && self.done().count() as u64 == processed;
        let longest_us = self.done().map(|one| one.latency_us).max();
        let longest_us = longest_us.filter(|_| is_all && self.untimed().is_none())?;
        Some(longest_us as f64 / 1e3)
    }

    fn done(&self) -> impl Iterator<Item = &&'a Transaction> {
        self.all.iter().filter(|one| one.end == End::Done)
    }

    fn step_us(&self) -> u64 {
        let all = self.end_us - self.start_us;
        let steps = INTERVALS_US.map(|seconds| seconds * 1_000_000);
        let fitting = steps.into_iter().find(|step| all / step < INTERVALS_MAX);
        // A wrong time in a log may be centuries off.
        fitting.unwrap_or(all / INTERVALS_MAX + 1)
    }

    /// The intervals of the run: their bounds, and the transactions that ended in each.
    fn seconds(&self) -> Vec<((f64, f64), &[&'a Transaction])> {
        let mut seconds = Vec::new();
        let mut rest = &self.all[..];
        let mut from_us = self.start_us;
        let step_us = self.step_us();
        while from_us < self.end_us {
            // A short last part has no meaningful rate, so it is added to the second before it.
            let to_us = match from_us + step_us + step_us / 2 > self.end_us {
                true => self.end_us,
                false => from_us + step_us,
            };
            let last = to_us == self.end_us;
            let within = rest.partition_point(|one| last || one.ended_us < to_us);
            let (own, others) = rest.split_at(within);
            let at_s = |us: u64| (us - self.start_us) as f64 / US_PER_S;
            seconds.push(((at_s(from_us), at_s(to_us)), own));
            (rest, from_us) = (others, to_us);
        }
        seconds
    }

    fn latencies(&self, of: &[&Transaction]) -> Latencies {
        let mut latencies = Latencies::default();
        for one in of.iter().filter(|one| one.end == End::Done) {
            one.record(self.columns, &mut latencies);
        }
        latencies
    }

    fn counters(&self, of: &[&Transaction]) -> Counters {
        let of_end = |end| of.iter().filter(|one| one.end == end).count() as u64;
        let retries: u64 = of.iter().filter_map(|one| one.retries(self.columns)).sum();
        let failed = of_end(End::Failed);
        Counters {
            not_done: failed,
            errors: failed.saturating_add(retries),
            retries,
            ..runs::counted(of_end(End::Done))
        }
    }

    pub(super) fn intervals(&self, output: &Output) -> Vec<IntervalSummary> {
        let seconds = self.seconds().into_iter();
        let none = Latencies::default();
        let interval = |((from_s, to_s), own): ((f64, f64), &[&Transaction])| {
            let some = (!own.is_empty()).then(|| self.latencies(own));
            let latencies = some.as_ref().unwrap_or(&none);
            let (histogram, min, max) = match self.columns.lag {
                true => (
                    &latencies.response,
                    latencies.response_ns_min,
                    latencies.response_ns_max,
                ),
                false => (
                    &latencies.service,
                    latencies.service_ns_min,
                    latencies.service_ns_max,
                ),
            };
            let counters = self.counters(own);
            IntervalSummary {
                at_s: to_s,
                length_s: to_s - from_s,
                sessions: output.clients,
                counters,
                errors_seen: counters.errors,
                percentiles: summarize::percentiles(histogram, min, max, &PERCENTS),
                max_ms: some.is_some().then_some(max as f64 / NS_PER_MS),
                ..IntervalSummary::default()
            }
        };
        seconds.map(interval).collect()
    }

    /// All transactions, and if there are several scripts, those of each.
    pub(super) fn operations(&self, output: &Output) -> Vec<Operation> {
        let mut operations = vec![self.operation("event".to_owned(), |_| true)];
        let scripts = self.scripts();
        if (2..=SCRIPTS_MAX).contains(&scripts.len()) {
            let own = scripts.keys().map(|&script| {
                self.operation(script_name(output, script), move |one| one.script == script)
            });
            operations.extend(own);
        }
        operations
    }

    fn operation(&self, name: String, fits: impl Fn(&Transaction) -> bool) -> Operation {
        let none = Latencies::default();
        let of = |own: &[&Transaction], bounds| {
            let own: Vec<&Transaction> = own.iter().copied().filter(|one| fits(one)).collect();
            match own.is_empty() {
                true => runs::span(&none, bounds),
                false => runs::span(&self.latencies(&own), bounds),
            }
        };
        let spans = self.seconds().into_iter();
        let spans = spans.map(|(bounds, own)| of(own, bounds)).collect();
        let fine = {
            let own: Vec<&Transaction> = self.all.iter().copied().filter(|one| fits(one)).collect();
            self.latencies(&own)
        };
        let mut total = runs::span(&fine, (0.0, self.length_s()));
        (total.service, total.response) = (fine.service, fine.response);
        Operation {
            name,
            spans,
            total: Some(total),
        }
    }

    /// The scripts, and the number of successful transactions of each.
    fn scripts(&self) -> BTreeMap<u32, u64> {
        let mut scripts = BTreeMap::new();
        for one in self.done() {
            *scripts.entry(one.script).or_default() += 1;
        }
        scripts
    }

    /// Adds the log's data to a summary that contains the report's figures, if there was a report.
    pub(super) fn summary(&self, mut summary: RunSummary, output: &Output) -> RunSummary {
        if output.processed.is_none() {
            summary.totals = self.counters(&self.all);
            summary.rates = summarize::rates(&summary.totals, summary.measured_s);
        }
        let latencies = self.latencies(&self.all);
        summary.service = summarize::service(&latencies, &PERCENTS);
        self.exact(&mut summary.service, |_| true, false);
        summary.response = self.columns.lag.then(|| {
            let mut response = summarize::response(&latencies, &PERCENTS);
            self.exact(&mut response, |_| true, true);
            response
        });
        let scripts = self.scripts();
        if (2..=SCRIPTS_MAX).contains(&scripts.len()) {
            let measured_s = summary.measured_s;
            let own = scripts.iter().map(|(&script, &done)| {
                self.of_script(script, script_name(output, script), (done, measured_s))
            });
            summary.operations = own.collect();
        }
        summary.fairness = self.is_whole.then(|| self.fairness(output)).flatten();
        summary
    }

    /// Exact percentiles of the values.
    fn exact(
        &self,
        summary: &mut LatencySummary,
        fits: impl Fn(&Transaction) -> bool,
        response: bool,
    ) {
        let own = self
            .done()
            .filter(|one| fits(one) && one.is_timed(self.columns));
        let us = own.map(|one| match response {
            true => one.latency_us,
            false => one.service_us(self.columns),
        });
        let mut ms: Vec<f64> = us.map(|us| us as f64 / 1e3).collect();
        ms.sort_by(f64::total_cmp);
        runs::exact_percentiles(summary, &ms);
    }

    fn of_script(
        &self,
        script: u32,
        name: String,
        (done, measured_s): (u64, f64),
    ) -> OperationSummary {
        let fits = move |one: &Transaction| one.script == script;
        let own: Vec<&Transaction> = self.all.iter().copied().filter(|one| fits(one)).collect();
        let latencies = self.latencies(&own);
        let mut service = summarize::service(&latencies, &PERCENTS);
        self.exact(&mut service, fits, false);
        let response = self.columns.lag.then(|| {
            let mut response = summarize::response(&latencies, &PERCENTS);
            self.exact(&mut response, fits, true);
            response
        });
        let retries = |one: &&Transaction| one.retries(self.columns).unwrap_or(0);
        OperationSummary {
            name,
            totals: OperationCounters {
                done,
                given_up: own.iter().filter(|one| one.end == End::Failed).count() as u64,
                retries: own.iter().map(retries).sum(),
                retried: own.iter().filter(|one| retries(one) > 0).count() as u64,
                ..OperationCounters::default()
            },
            done_per_s: match measured_s > 0.0 {
                true => done as f64 / measured_s,
                false => 0.0,
            },
            service,
            response,
            first_tries: None,
        }
    }

    fn fairness(&self, output: &Output) -> Option<Fairness> {
        let mut clients: BTreeMap<u32, SessionTotal> = BTreeMap::new();
        for client in 0..output.clients.unwrap_or(0).min(100_000) {
            clients.insert(client, SessionTotal::default());
        }
        for one in self.done() {
            let total = clients.entry(one.client).or_default();
            total.events += 1;
            total.busy_ns += one.service_us(self.columns) * 1000;
        }
        let clients: Vec<SessionTotal> = clients.into_values().collect();
        (!clients.is_empty()).then(|| summarize::fairness(&clients))
    }
}

/// The meaning of the columns after the time. A single one is the lag or the number of tries, which
/// only the output shows.
pub(super) fn columns(
    all: &[&Transaction],
    output: &Output,
    said: &mut Vec<(Option<usize>, String)>,
) -> Columns {
    let most = all.iter().map(|one| one.columns()).max().unwrap_or(0);
    // pgbench skips transactions only with a schedule.
    let throttled = throttled(output) || all.iter().any(|one| one.end == End::Skipped);
    let tried = output.tries.is_some_and(|tries| tries != 1) || output.retries.is_some();
    let columns = match most {
        0 => Columns::default(),
        1 => Columns {
            lag: throttled,
            retries: tried && !throttled,
        },
        _ => Columns {
            lag: true,
            retries: true,
        },
    };
    if most == 1 && columns == Columns::default() {
        let text = "the transaction log has an extra column, and no pgbench output says whether it \
                    is the schedule lag or the number of tries: it is not read";
        said.push((None, text.to_owned()));
    }
    columns
}

/// Whether the log contains the report's transactions; if not, why.
fn is_whole(
    done: u64,
    processed: Option<u64>,
    said: &mut Vec<(Option<usize>, String)>,
    foreign: &mut Vec<String>,
) -> bool {
    let Some(processed) = processed else {
        return true;
    };
    if done > processed {
        foreign.push(format!(
            "the transaction log contains {}, more than the {processed} of the report: it belongs \
             to another run",
            number_of(done, "transaction")
        ));
        return false;
    }
    let is_whole = done as f64 >= WHOLE * processed as f64;
    if done != processed {
        let why = match is_whole {
            false => "it is a sample, or one of its files is missing",
            true => "some lines are missing",
        };
        let text = format!("the transaction log contains {done} of {processed}: {why}");
        said.push((None, text));
    }
    is_whole
}

/// Whether the clients' transaction numbers show that some are missing, as in a sample
/// (`--sampling-rate`).
fn missing(all: &[&Transaction]) -> Option<String> {
    let mut last: BTreeMap<u32, u64> = BTreeMap::new();
    for one in all {
        let own = last.entry(one.client).or_default();
        *own = one.number.max(*own);
    }
    let numbered = last.into_values().fold(0, u64::saturating_add);
    ((all.len() as f64) < WHOLE * numbered as f64).then(|| {
        format!(
            "the transaction log contains {} of {numbered} transactions by their numbers: it is \
             sampled or incomplete, so its rate is too low",
            all.len()
        )
    })
}

/// Whether clients are missing in a log without its report. They are numbered from 0, and each
/// thread of pgbench writes a separate file with its clients.
fn without_clients(all: &[&Transaction]) -> Option<String> {
    let clients: BTreeSet<u32> = all.iter().map(|one| one.client).collect();
    let lacking = u64::from(*clients.last()?) + 1 - clients.len() as u64;
    (lacking > 0).then(|| {
        format!(
            "the transaction log has nothing from {lacking} of the clients: one of its files is \
             missing (each thread of pgbench writes one), so its rate is too low"
        )
    })
}

fn script_name(output: &Output, script: u32) -> String {
    let own = labels(output).into_iter().nth(script as usize);
    own.unwrap_or_else(|| format!("script {}", script + 1))
}
