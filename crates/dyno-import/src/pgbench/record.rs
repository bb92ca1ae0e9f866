//! Converts the output and log of a pgbench run to a record.

use std::time::Duration;

use dyno_analysis::summary;
use dyno_core::catalogue::names;
use dyno_core::db::Family;
use dyno_core::interval::{Counters, Latencies};
use dyno_core::plan::{Arrivals, Drive, OpenLoop, OptionValue};
use dyno_core::record::{Event, EventDetail, EventKind, Fact, RunRecord, Series, Source};
use dyno_core::summary::*;

use super::figures::figures;
use super::gaps::gaps;
use super::output::Output;
use super::progress::Point;
use super::scripts::{labels, short};
use super::single::Single;
use super::usable::Usable;
use super::{Logged, Parts};
use super::{doubts, ending};
use crate::identity::LogHash;
use crate::runs::{self, About};
use crate::{Options, ParsedRun};

/// Progress times from this value on are seconds since 1970.
pub(super) const EPOCH_S: f64 = 1e9;

/// A run with its warnings.
pub(super) fn parsed_run(parts: Parts, options: &Options) -> ParsedRun {
    let mut output = parts.output.unwrap_or_default();
    let logged = parts.logged;
    let file = file(&output, logged.as_ref()).to_owned();
    output.complete();
    let mut said = doubts::said(&output);
    let usable = Usable::of(logged.as_ref(), &output, &mut said);
    output.longest_ms = usable.longest_ms(&output);
    let (single, sums) = (usable.single, usable.sums);
    let of_sums = sums.start_s().filter(|_| output.points.is_empty());
    let started = started(&output, single.as_ref(), options).or(of_sums);
    let started = started.or(options.started_unix_s);
    said.extend(doubts::of_sums(&output, &sums));
    said.extend(doubts::leave_out(&mut output, started));
    let mut contradictions = usable.contradictions;
    contradictions.extend(doubts::contradictions(&mut output, started));
    let (output, sums) = (&output, &sums);
    let mut run = about(output, logged.as_ref(), &file).record(options);
    run.head.percentiles = (single.iter()).flat_map(|_| runs::PERCENTS).collect();
    let untimed = untimed(single.as_ref());
    run.facts.extend(facts(output).into_iter().chain(untimed));
    run.facts.extend(ending::missing(output).map(runs::cut_off));
    let missing = single.as_ref().and_then(|single| single.missing.as_ref());
    run.facts.extend(missing.map(|text| runs::cut_off(text)));
    run.facts.extend(output.gaps.clone().map(runs::gaps));
    run.facts.extend(runs::contradictions(&contradictions));
    let line = Some(output.line).filter(|line| *line > 0);
    said.extend(contradictions.into_iter().map(|text| (line, text)));
    run.events = events(output);
    run.series = series(output, started);
    let origin = started.or(sums.start_s());
    for more in sums.series(origin) {
        if run.series.iter().all(|own| own.key.name != more.key.name) {
            run.series.push(more);
        }
    }
    run.intervals = match &single {
        Some(single) if single.is_whole => single.intervals(output),
        _ if output.points.is_empty() && !sums.is_empty() => sums.intervals(output),
        _ => intervals(output, started),
    };
    if let Some(drive) = &mut run.head.drive {
        drive.interval = interval_length(&run.intervals);
    }
    if let Some(single) = &single {
        run.operations = single.operations(output);
    }
    run.summary = summary(output, &run, single.as_ref(), started);
    if run.summary.is_none() && !run.intervals.is_empty() {
        run.summary = Some(of_intervals(&run, started));
    }
    if let Some(summary) = &mut run.summary {
        runs::end_with(&mut run.intervals, summary.measured_s);
        if single.is_none() {
            sums.complete(summary, output);
        }
    }
    run.not_observed = gaps(output, &run, single.as_ref(), sums, started.is_some());
    if let Some(summary) = run.summary.as_mut().filter(|_| output.aborted) {
        summary.end = RunEnd::Failed(doubts::ABORTED.to_owned());
    }
    ParsedRun {
        identity: hash(output, logged.as_ref()).identity(),
        run,
        file,
        started,
        said,
    }
}

/// The fact that transactions have no time.
fn untimed(single: Option<&Single>) -> Option<Fact> {
    let untimed = single.and_then(Single::untimed)?;
    let source = "the log of transactions";
    let untimed = untimed.to_string();
    Some(Fact::new(names::IMPORT_UNTIMED, untimed, source))
}

/// When the run began: from the progress lines, the first transaction, or a time before the run.
fn started(output: &Output, single: Option<&Single>, options: &Options) -> Option<f64> {
    let stamped = Some(began_s(output)).filter(|began_s| *began_s > 0.0);
    let before = output.moment_before.map(|m| m.unix_s(options.utc_offset_s));
    stamped.or(single.map(Single::started_unix_s)).or(before)
}

/// When the first progress line began, in the time of the lines: 0, or seconds since 1970.
pub(super) fn began_s(output: &Output) -> f64 {
    let first = output.points.first().filter(|point| point.at_s >= EPOCH_S);
    first.map_or(0.0, |first| {
        let second = output.points.get(1);
        let length_s = |second: &Point| second.length_s.unwrap_or(second.at_s - first.at_s);
        first.at_s - second.map_or(0.0, length_s)
    })
}

/// The file that contains the run, or its log without an output.
fn file<'a>(output: &'a Output, logged: Option<&'a Logged>) -> &'a str {
    match logged {
        Some(log) if output.file.is_empty() => &log.file,
        _ => &output.file,
    }
}

/// The hash that identifies the run.
fn hash<'a>(output: &'a Output, logged: Option<&'a Logged>) -> &'a LogHash {
    match logged {
        Some(log) if output.file.is_empty() => &log.digest,
        _ => &output.digest,
    }
}

fn about(output: &Output, logged: Option<&Logged>, file: &str) -> About {
    let digest = hash(output, logged).hex();
    let mut options = Vec::new();
    if let Some(scale) = output.scale {
        options.push(("scale".to_owned(), OptionValue::Number(scale as f64)));
    }
    if output.reconnecting_ms.is_some() {
        options.push(("connect".to_owned(), OptionValue::Bool(true)));
    }
    if let Some(protocol) = &output.protocol {
        options.push(("protocol".to_owned(), OptionValue::Text(protocol.clone())));
    }
    // `15.18 (Debian 15.18-0+deb12u1)`, `17.0, server 15.18`
    let version = output.version.as_deref();
    let version = version.and_then(|text| text.split([' ', ',']).next());
    About {
        source: Source::Pgbench,
        version: version.map(str::to_owned),
        argv: output.argv.clone(),
        workload: workload(output),
        options,
        target: target(output),
        drive: drive(output),
        percentiles: Vec::new(),
        digest,
        place: format!("{file}:{}", output.line.max(1)),
    }
}

/// A built-in script's name for `--builtin`, a file's name, or `pgbench`.
fn workload(output: &Output) -> String {
    let kind = output.kind.as_deref().unwrap_or("pgbench");
    let kind = kind.trim_start_matches("<builtin: ").trim_end_matches('>');
    match kind {
        "TPC-B (sort of)" => "tpcb-like".to_owned(),
        "simple update" | "SQL script: simple update" => "simple-update".to_owned(),
        "select only" | "SELECT only" => "select-only".to_owned(),
        "multiple scripts" if ending::lacks_scripts(output) => "multiple-scripts".to_owned(),
        "multiple scripts" => labels(output).join("+"),
        other => short(other),
    }
}

fn target(output: &Output) -> TargetSummary {
    let version = output.version.as_deref().unwrap_or_default();
    // The server's version is printed if it differs.
    let server = version.split_once(", server ").map(|(_, server)| server);
    TargetSummary {
        family: Some(Family::Postgres),
        product: "PostgreSQL".to_owned(),
        version: server.unwrap_or_default().to_owned(),
        ..TargetSummary::default()
    }
}

/// How the run was driven; `None` if the number of clients is unknown. If the rate is unknown,
/// response times still show that there was one.
fn drive(output: &Output) -> Option<Drive> {
    let clients = output.clients.filter(|clients| *clients > 0)?;
    let seconds = |s: f64| Duration::try_from_secs_f64(s).ok();
    let per_client = output.per_client;
    Some(Drive {
        time: output.duration_s.and_then(seconds),
        events: per_client.map(|events| events.saturating_mul(u64::from(clients))),
        open_loop: rate(output).map(|per_second| OpenLoop::new(per_second, Arrivals::Poisson)),
        latency_limit: output.limit.and_then(|(ms, _)| seconds(ms / 1e3)),
        ..runs::sessions(clients, output.threads.unwrap_or(1))
    })
}

/// Whether transactions had a schedule.
pub(super) fn throttled(output: &Output) -> bool {
    output.lag_ms.is_some() || output.points.iter().any(|point| point.lag_ms.is_some())
}

/// The requested rate, which only the command line contains.
pub(super) fn rate(output: &Output) -> Option<f64> {
    let argv = &output.argv;
    let at = argv
        .iter()
        .position(|word| word == "-R" || word == "--rate");
    let after = at.and_then(|at| argv.get(at + 1)).map(String::as_str);
    let joined = argv.iter().find_map(|word| {
        let long = word.strip_prefix("--rate=");
        long.or_else(|| word.strip_prefix("-R").filter(|rest| !rest.is_empty()))
    });
    let rate: f64 = after.or(joined)?.parse().ok()?;
    (rate.is_finite() && rate > 0.0).then_some(rate)
}

fn interval_length(intervals: &[IntervalSummary]) -> Duration {
    let lengths: Vec<f64> = intervals.iter().map(|interval| interval.length_s).collect();
    let usual = dyno_stats::median(&lengths).unwrap_or(0.0);
    Duration::try_from_secs_f64(usual).unwrap_or_default()
}

/// The lines' times from the start of the run, each with its length.
pub(super) fn times(
    output: &Output,
    started: Option<f64>,
) -> impl Iterator<Item = (f64, f64, &Point)> {
    let origin = match output.points.first() {
        Some(point) if point.at_s >= EPOCH_S => started.unwrap_or(point.at_s),
        _ => 0.0,
    };
    let mut before = 0.0;
    output.points.iter().filter_map(move |point| {
        let at_s = point.at_s - origin;
        let length = at_s - before;
        // Times increase, unless the log is damaged.
        if length <= 0.0 {
            return None;
        }
        before = at_s;
        let length = point.length_s.unwrap_or(length);
        (!point.left_out).then_some((at_s, length, point))
    })
}

/// The progress lines as intervals. Counts are rates times length, because pgbench prints only
/// rates.
fn intervals(output: &Output, started: Option<f64>) -> Vec<IntervalSummary> {
    let sessions = output.clients;
    times(output, started)
        .map(|(at_s, length_s, point)| {
            let most = crate::number::COUNT_MAX as f64;
            let failed = point.failed.unwrap_or(0);
            let retries = point.retries.unwrap_or(0);
            IntervalSummary {
                at_s,
                length_s,
                sessions,
                counters: Counters {
                    not_done: failed,
                    errors: failed.saturating_add(retries),
                    retries,
                    ..runs::counted((point.tps * length_s).round().min(most) as u64)
                },
                printed: Some(PrintedRates {
                    events_per_s: Some(point.tps),
                    queries_per_s: None,
                }),
                errors_seen: failed.saturating_add(retries),
                ..IntervalSummary::default()
            }
        })
        .collect()
}

/// The contents of progress lines apart from rates.
fn series(output: &Output, started: Option<f64>) -> Vec<Series> {
    type Pick = fn(&Point) -> Option<f64>;
    let kinds: [(&str, &str, &str, Pick); 4] = [
        // Without a transaction pgbench prints zeros.
        (names::IMPORT_LATENCY_MEAN, "ms", "lat", |p| {
            p.latency_ms.filter(|_| p.tps > 0.0)
        }),
        (names::IMPORT_LATENCY_STDDEV, "ms", "stddev", |p| {
            p.stddev_ms.filter(|_| p.tps > 0.0)
        }),
        (names::IMPORT_LAG_MEAN, "ms", "lag", |p| {
            p.lag_ms.filter(|_| p.tps > 0.0)
        }),
        (names::IMPORT_SKIPPED, "count", "skipped", |p| {
            p.skipped.map(|count| count as f64)
        }),
    ];
    let series = |(name, unit, label, pick): (&str, &str, &str, Pick)| {
        let points = times(output, started).map(|(at_s, _, point)| (at_s, pick(point)));
        runs::series(name, unit, format!("pgbench, {label}"), points)
    };
    kinds.into_iter().filter_map(series).collect()
}

fn facts(output: &Output) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(version) = &output.version {
        facts.push(Fact::new(
            names::CLIENT_VERSION,
            version.clone(),
            "pgbench's banner",
        ));
    }
    for (name, figure) in [
        (
            names::IMPORT_CONNECTING_MS,
            output.connecting_ms.map(|ms| ms.to_string()),
        ),
        (
            names::IMPORT_RECONNECTING_MS,
            output.reconnecting_ms.map(|ms| ms.to_string()),
        ),
        (
            names::IMPORT_CLIENTS,
            output.clients.map(|clients| clients.to_string()),
        ),
        (
            names::IMPORT_TRIES,
            output.tries.map(|tries| tries.to_string()),
        ),
    ] {
        let fact = |figure: String| Fact::new(name, figure, "pgbench's report");
        facts.extend(figure.map(fact));
    }
    let rate = output.tps_with_connecting.or(output.tps);
    if let (Some(processed), Some(tps)) = (output.processed, rate.filter(|tps| *tps > 0.0)) {
        // The rate of newer versions excludes the time to connect, which the duration includes.
        let connecting_s = output.connecting_ms.unwrap_or(0.0) / 1e3;
        let implied = format!("{:.3}", processed as f64 / tps + connecting_s);
        let source = "a count divided by its rate, and the time to connect";
        facts.push(Fact::new(names::IMPORT_IMPLIED_TIME_S, implied, source));
        if let Some(duration) = output.duration_s {
            let stated = format!("{duration:.3}");
            facts.push(Fact::new(
                names::IMPORT_STATED_TIME_S,
                stated,
                "the report's duration",
            ));
        }
    }
    for (number, statement) in output.statements.iter().enumerate() {
        facts.push(Fact::new(
            names::IMPORT_STATEMENT_EACH.of(number + 1),
            format!(
                "{} ms: {}",
                statement.mean_ms,
                crate::text::excerpt(&statement.text)
            ),
            "pgbench's statement latencies",
        ));
    }
    facts
}

fn events(output: &Output) -> Vec<Event> {
    let complaints = output.complaints.iter();
    let event = |(_, text): &(usize, String)| Event {
        at_s: 0.0,
        until_s: None,
        kind: EventKind::Note,
        text: format!("pgbench: {text}"),
        detail: EventDetail::default(),
    };
    complaints.map(event).collect()
}

/// The summary, if there is a report or a log of all transactions.
fn summary(
    output: &Output,
    run: &RunRecord,
    single: Option<&Single>,
    started: Option<f64>,
) -> Option<RunSummary> {
    let Some((processed, tps)) = output.processed.zip(output.tps) else {
        let single = single.filter(|single| single.is_whole && output.points.is_empty())?;
        return Some(single.summary(runs::summary(run, started, single.length_s()), output));
    };
    let observed_s = match single {
        Some(single) => Some(single.length_s()),
        None => times(output, started).last().map(|(at_s, ..)| at_s),
    };
    let measured_s = measured_s(output, processed as f64 / tps, observed_s)?;
    let failed = output.failed.unwrap_or(0);
    let retries = output.retries.unwrap_or(0);
    let totals = Counters {
        not_done: failed,
        errors: failed.saturating_add(retries),
        retries,
        ..runs::counted(processed)
    };
    let mut summary = runs::summary(run, started, measured_s);
    summary.rates = Rates {
        events_per_s: tps,
        errors_per_s: Some(totals.errors as f64 / measured_s),
        ..Rates::default()
    };
    summary.totals = totals;
    summary.figures = figures(output, single.is_some());
    summary.latency_limit = output.limit.map(|(limit_ms, above)| LatencyLimit {
        limit_ms,
        above,
        skipped: output.skipped.unwrap_or(0),
    });
    let open = run.head.drive.as_ref().and_then(|drive| drive.open_loop);
    summary.open_loop = open.map(|open| OpenLoopSummary {
        offered_per_s: open.per_second,
        achieved_per_s: tps,
        backlog: None,
        backlog_max: None,
        pacing_lag: None,
    });
    if let Some(single) = single {
        return Some(single.summary(summary, output));
    }
    if let Some(mean_ms) = output.mean_ms() {
        let among = if output.latency_with_failures {
            failed
        } else {
            0
        };
        let count = processed.saturating_add(among);
        let whole = runs::mean_only(count, mean_ms, output.stddev_ms);
        match output.lag_ms {
            // The printed latency counts from the schedule.
            Some(_) if output.lag_in_doubt => summary.response = Some(whole),
            Some((lag_ms, _)) => {
                let own = (mean_ms - lag_ms).max(0.0);
                summary.service = runs::mean_only(count, own, None);
                summary.response = Some(whole);
            }
            None => summary.service = whole,
        }
    }
    Some(summary)
}

/// The length by count and rate, or the requested duration: without transactions the rate gives no
/// time, and if the two contradict each other, the observed length decides.
fn measured_s(output: &Output, made_s: f64, observed_s: Option<f64>) -> Option<f64> {
    let stated_s = match output.duration_s {
        Some(stated_s) if output.length_in_doubt => stated_s,
        stated_s if !made_s.is_finite() => return stated_s,
        _ => return Some(made_s),
    };
    let is_made = observed_s.is_some_and(|s| (s - made_s).abs() < (s - stated_s).abs());
    Some(if is_made { made_s } else { stated_s })
}

/// The summary from progress lines of a run without a report.
fn of_intervals(run: &RunRecord, started: Option<f64>) -> RunSummary {
    let intervals: Vec<&IntervalSummary> = run.intervals.iter().collect();
    let part = summary::of_intervals(&run.head, None, &intervals, &Latencies::default());
    // Lines before the first one may be missing.
    let measured_s = intervals.last().map_or(0.0, |last| last.at_s);
    RunSummary {
        totals: part.totals,
        rates: part.rates,
        ..runs::summary(run, started, measured_s)
    }
}
