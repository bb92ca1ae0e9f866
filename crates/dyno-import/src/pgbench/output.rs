//! Parses pgbench's output: progress lines (`--progress`), and the report at the end (versions 9.5
//! to 18).

use super::messages::{Abort, abort};
use super::progress::{self, Point};
use super::report::{begins_report, is_torn, of_script, report, statement};
use super::{connecting, holes, skipped};
use crate::civil::{self, Moment};
use crate::identity::LogHash;
use crate::text::{self, ENDS_EARLY, Line};

/// The report's figures for one of several scripts.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Script {
    pub(super) name: String,
    pub(super) transactions: Option<u64>,
    pub(super) tps: Option<f64>,
    pub(super) latency_ms: Option<f64>,
    pub(super) stddev_ms: Option<f64>,
    pub(super) skipped: Option<u64>,
    pub(super) failed: Option<u64>,
    pub(super) retried: Option<u64>,
    pub(super) retries: Option<u64>,
    /// Their shares of the script's transactions in percent.
    pub(super) skipped_percent: Option<f64>,
    pub(super) failed_percent: Option<f64>,
    /// The share of all transactions in percent that its weight asks for.
    pub(super) target_percent: Option<f64>,
    /// A count and its share of all transactions in percent, from the same line.
    pub(super) share: Option<(u64, f64)>,
}

/// The mean latency of one statement (`--report-per-command`).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Statement {
    /// The number of its script; 0 if the report names no script.
    pub(super) script: usize,
    pub(super) mean_ms: f64,
    /// Failures, then retries, if printed.
    pub(super) counts: Vec<u64>,
    pub(super) text: String,
}

/// One run's output. `None` means it was not printed.
#[derive(Clone, Debug, Default)]
pub(super) struct Output {
    pub(super) file: String,
    /// The first line that belongs to it.
    pub(super) line: usize,
    /// The text in parentheses in the banner.
    pub(super) version: Option<String>,
    pub(super) argv: Vec<String>,
    pub(super) moment_before: Option<Moment>,
    pub(super) points: Vec<Point>,
    /// Missing progress lines, in words.
    pub(super) gaps: Option<String>,
    /// Why lines of another run are among its own.
    pub(super) mixed: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) scale: Option<u64>,
    pub(super) protocol: Option<String>,
    pub(super) clients: Option<u32>,
    pub(super) threads: Option<u32>,
    pub(super) tries: Option<u64>,
    pub(super) duration_s: Option<f64>,
    pub(super) per_client: Option<u64>,
    pub(super) processed: Option<u64>,
    pub(super) failed: Option<u64>,
    /// Their share of all transactions in percent, as printed.
    pub(super) failed_percent: Option<f64>,
    pub(super) skipped: Option<u64>,
    /// Their share of all transactions in percent, as printed.
    pub(super) skipped_percent: Option<f64>,
    pub(super) retried: Option<u64>,
    pub(super) retries: Option<u64>,
    /// Failures of each kind (`--failures-detailed`).
    pub(super) failed_by_kind: Vec<u64>,
    /// Other counts with their share of all transactions in percent: what they are, count, share.
    pub(super) shares: Vec<(&'static str, u64, f64)>,
    /// The limit, and the number of transactions above it.
    pub(super) limit: Option<(f64, u64)>,
    /// The number of transactions that were compared with the limit.
    pub(super) limit_of: Option<u64>,
    pub(super) latency_ms: Option<f64>,
    /// Whether the mean includes failed transactions.
    pub(super) latency_with_failures: bool,
    pub(super) stddev_ms: Option<f64>,
    /// The longest transaction in a log of all of them.
    pub(super) longest_ms: Option<f64>,
    /// Mean and maximum.
    pub(super) lag_ms: Option<(f64, f64)>,
    /// Whether other figures contradict the lag.
    pub(super) lag_in_doubt: bool,
    /// Whether the count and its rate contradict the requested duration.
    pub(super) length_in_doubt: bool,
    pub(super) connecting_ms: Option<f64>,
    /// The mean time to connect for each transaction (`--connect`).
    pub(super) reconnecting_ms: Option<f64>,
    /// Without the time to connect if both are printed.
    pub(super) tps: Option<f64>,
    /// With the time to connect, which versions before 14 also print.
    pub(super) tps_with_connecting: Option<f64>,
    /// Whether the report lacks its rate, which was then computed from other figures.
    pub(super) lacks_rate: bool,
    /// Whether a client was aborted, so that the figures are incomplete.
    pub(super) aborted: bool,
    /// The line of a message in an unknown language, which may say that a client was aborted.
    pub(super) foreign: Option<usize>,
    /// Whether such a message, without a name or number, follows the last figure.
    pub(super) ends_foreign: bool,
    /// Whether means follow a colon, as up to version 9.5.
    pub(super) is_oldest: bool,
    /// Whether percent signs follow without a blank, as in recent versions.
    pub(super) is_compact: bool,
    pub(super) scripts: Vec<Script>,
    pub(super) statements: Vec<Statement>,
    /// Error messages: line and text.
    pub(super) complaints: Vec<(usize, String)>,
    /// Warnings about data that could not be read, or only in part.
    pub(super) said: Vec<(Option<usize>, String)>,
    /// All of the run's lines, for its name.
    pub(super) digest: LogHash,
}

impl Output {
    /// Whether it contains any figure.
    pub(super) fn has_figures(&self) -> bool {
        !self.points.is_empty() || self.processed.is_some() || self.tps.is_some()
    }

    /// Whether the version is 15 or later. Without a banner, some lines show it.
    pub(super) fn is_recent(&self) -> bool {
        const FIRST: u64 = 15;
        let version = self.version.as_deref().unwrap_or_default();
        let major = version.split(|c: char| !c.is_ascii_digit()).next();
        match major.and_then(|major| major.parse::<u64>().ok()) {
            Some(major) => major >= FIRST,
            None => self.failed.is_some() || self.tries.is_some() || self.is_compact,
        }
    }

    /// Whether clients were aborted, or may have been.
    pub(super) fn may_be_aborted(&self) -> bool {
        self.aborted || self.foreign.is_some()
    }

    /// Whether it contains only progress lines, as standard error does.
    pub(super) fn is_progress_alone(&self) -> bool {
        !self.points.is_empty() && self.version.is_none() && !self.begun_report()
    }

    /// Makes the figures of all versions comparable, and computes a missing rate.
    pub(super) fn complete(&mut self) {
        self.aborted |= self.ends_foreign;
        holes::shorten(self);
        skipped::remove(self);
        connecting::as_recent_versions(self);
        self.compute_rate();
    }

    /// Computes a missing rate from the rest of the report: from count and time, or from the
    /// clients' consecutive latencies.
    fn compute_rate(&mut self) {
        // Without a transaction, pgbench prints nothing more.
        if self.processed == Some(0) {
            self.tps.get_or_insert(0.0);
        }
        let lacks = self.tps.is_none() && self.points.is_empty();
        let Some(processed) = self.processed.filter(|_| lacks) else {
            return;
        };
        let over_time = self.duration_s.filter(|seconds| *seconds > 0.0);
        let over_time = over_time.map(|seconds| (processed as f64 / seconds, "the duration"));
        let closed = self.lag_ms.is_none() && self.points.iter().all(|p| p.lag_ms.is_none());
        let mean_ms = self.latency_ms.filter(|ms| *ms > 0.0 && closed);
        let by_latency = mean_ms.zip(self.clients);
        let by_latency = by_latency.map(|(mean_ms, clients)| {
            (
                f64::from(clients) * 1e3 / mean_ms,
                "clients and mean latency",
            )
        });
        let Some((tps, from)) = over_time.or(by_latency) else {
            return;
        };
        (self.tps, self.lacks_rate) = (Some(tps), true);
        let text = format!("the report has no rate: {tps:.1} per second is computed from {from}");
        self.said.push((Some(self.line), text));
    }

    /// The mean latency of a transaction. If none was timed, pgbench prints the clients' time
    /// divided by their transactions, which includes the time to connect for each (`--connect`).
    pub(super) fn mean_ms(&self) -> Option<f64> {
        let computed = self.stddev_ms.is_none();
        let connecting = self.reconnecting_ms.filter(|_| computed).unwrap_or(0.0);
        // Before version 14 the two rates show this share of the time.
        let rates = self.tps_with_connecting.zip(self.tps);
        let rates = rates.filter(|(with, without)| computed && with < without);
        let share = rates.map_or(1.0, |(with, without)| with / without);
        self.latency_ms.map(|ms| (ms * share - connecting).max(0.0))
    }

    fn begun_report(&self) -> bool {
        self.kind.is_some() || self.clients.is_some() || self.processed.is_some()
    }

    /// Whether the report has its totals.
    pub(super) fn is_whole(&self) -> bool {
        self.processed.is_some() && self.tps.is_some()
    }
}

/// Maximum number of error messages kept per run.
const COMPLAINTS_MAX: usize = 20;

/// All runs of a log that have figures.
pub(super) fn read(name: &str, log: &str) -> Vec<Output> {
    let mut reader = Reader {
        file: name,
        runs: Vec::new(),
        run: None,
        argv: Vec::new(),
        moment: None,
        in_statements: false,
        mixed: None,
    };
    for line in text::lines(log) {
        reader.take(&line);
    }
    reader.ends();
    reader.runs
}

struct Reader<'a> {
    file: &'a str,
    runs: Vec<Output>,
    run: Option<Output>,
    /// The last separate command and time.
    argv: Vec<String>,
    moment: Option<Moment>,
    in_statements: bool,
    /// Why the rest of the log is that of several runs, until the end of a report.
    mixed: Option<String>,
}

impl Reader<'_> {
    fn take(&mut self, line: &Line) {
        if let Some(moment) = civil::moment(&line.text) {
            self.moment = Some(moment);
            return;
        }
        let (_, text) = line.unstamped();
        let text = text.to_owned();
        let bare = text.trim();
        if bare.is_empty() {
            return;
        }
        if let Some(at) = self.glued(bare) {
            for (text, cut) in [(&bare[..at], true), (&bare[at..], line.cut)] {
                self.take(&Line {
                    text: text.to_owned(),
                    cut,
                    ..*line
                });
            }
            return;
        }
        if let Some(argv) = command(bare) {
            self.ends();
            self.argv = argv;
            return;
        }
        if self.begins(bare) {
            self.ends();
        } else if self.begins_again(bare) {
            self.goes_on(line.number);
        }
        if line.cut && is_torn(bare) {
            let text = "the log ends within this line, which is skipped".to_owned();
            self.open(line.number).said.push((Some(line.number), text));
            return;
        }
        // Standard error may come before the first line of the run.
        let aborted = abort(bare);
        if aborted.is_some() {
            self.open(line.number);
        }
        let known = self.line(bare, line);
        let complains =
            bare.contains("error:") || bare.contains("ERROR:") || bare.contains("FATAL");
        if let Some(run) = &mut self.run {
            if !known && progress::is_end(bare) {
                run.said.push((Some(line.number), ENDS_EARLY.to_owned()));
            }
            match aborted {
                Some(Abort::Certain) => run.aborted = true,
                Some(_) => run.foreign = run.foreign.or(Some(line.number)),
                None => {}
            }
            let is_over = run.tps.is_some() || run.is_progress_alone();
            let ends = is_over && aborted == Some(Abort::AtEnd);
            run.ends_foreign = !known && (run.ends_foreign || ends);
            if !known && (complains || aborted.is_some()) && run.complaints.len() < COMPLAINTS_MAX {
                run.complaints.push((line.number, text::excerpt(bare)));
            }
            run.digest.update(bare.as_bytes());
            run.digest.update(b"\n");
            if run.has_figures() {
                run.digest.may_end();
            }
        }
    }

    /// Where the banner of the next run begins, if it follows a truncated line of this one.
    fn glued(&self, bare: &str) -> Option<usize> {
        const BANNER: &str = "pgbench (";
        let at = bare.find(BANNER).filter(|at| *at > 0)?;
        let is_version = bare[at + BANNER.len()..].starts_with(|c: char| c.is_ascii_digit());
        (self.run.is_some() && is_version && bare.ends_with(')')).then_some(at)
    }

    /// Whether a line can only belong to a run after the current one.
    fn begins(&self, bare: &str) -> bool {
        let Some(run) = &self.run else {
            return false;
        };
        // Progress lines come first if standard error was saved before standard output.
        bare.starts_with("pgbench (") && (run.version.is_some() || run.begun_report())
            || bare.starts_with("transaction type: ") && run.begun_report()
            || bare.starts_with("progress: ") && run.begun_report()
    }

    /// Whether the report already has such a line: some people keep only the lines of a run that
    /// differ from the previous run.
    fn begins_again(&self, bare: &str) -> bool {
        let Some(run) = &self.run else {
            return false;
        };
        let Some((label, _)) = bare.split_once([':', '=']) else {
            return false;
        };
        let begun = run.processed.is_some() || run.tps.is_some();
        match label.trim() {
            "scaling factor"
            | "query mode"
            | "number of clients"
            | "number of threads"
            | "maximum number of tries"
            | "duration"
            | "number of transactions per client" => begun,
            "number of transactions actually processed" => begun,
            "latency average" => run.tps.is_some(),
            // Versions before 14 print two.
            "tps" => run.tps.is_some() && !bare.contains("(excluding "),
            _ => false,
        }
    }

    /// Begins another run with the banner, scripts and scale of the previous one.
    fn goes_on(&mut self, number: usize) {
        let before = self.run.take().unwrap_or_default();
        let run = self.open(number);
        run.version.clone_from(&before.version);
        run.kind.clone_from(&before.kind);
        run.scale = before.scale;
        let text = "statistics restart here: assumed to be another run of the same scripts";
        run.said.push((Some(number), text.to_owned()));
        self.in_statements = false;
        self.runs.extend(Some(before).filter(Output::has_figures));
    }

    fn ends(&mut self) {
        self.in_statements = false;
        if let Some(run) = self.run.take().filter(Output::has_figures) {
            if run.is_whole() {
                self.mixed = None;
            }
            self.runs.push(run);
        }
    }

    fn open(&mut self, number: usize) -> &mut Output {
        let (argv, moment) = (&mut self.argv, &mut self.moment);
        self.run.get_or_insert_with(|| Output {
            file: self.file.to_owned(),
            line: number,
            digest: LogHash::of_command(argv),
            argv: std::mem::take(argv),
            moment_before: moment.take(),
            mixed: self.mixed.clone(),
            ..Output::default()
        })
    }

    fn progress(&mut self, mut point: Point, rest: &str, line: &Line) {
        let number = line.number;
        point.line = number;
        let run = self.open(number);
        if point.is_torn(rest, line.cut, run.points.last()) {
            let text = "a progress line without its end is skipped";
            run.said.push((Some(number), text.to_owned()));
            return;
        }
        let last_s = run.points.last().map(|last| last.at_s);
        if last_s.is_some_and(|last_s| point.at_s <= last_s) {
            let text = "a progress line with a repeated time is skipped";
            run.said.push((Some(number), text.to_owned()));
            if !point.is_among(&run.points) {
                let at_s = point.at_s;
                let why = format!("the lines of two runs are mixed: line {number} is at {at_s} s");
                self.mixed = Some(run.mixed.get_or_insert(why).clone());
            }
            return;
        }
        run.points.push(point);
    }

    /// Parses a line; returns `false` if it is not a line of pgbench with a figure.
    fn line(&mut self, bare: &str, line: &Line) -> bool {
        let number = line.number;
        if let Some(rest) = bare.strip_prefix("pgbench (") {
            let version = rest.strip_suffix(')').unwrap_or(rest).to_owned();
            self.open(number).version = Some(version);
        } else if let Some(rest) = bare.strip_prefix("progress: ") {
            let Some(point) = progress::point(rest) else {
                if progress::begins(rest) {
                    let said = (Some(number), ENDS_EARLY.to_owned());
                    self.open(number).said.push(said);
                }
                return false;
            };
            self.progress(point, rest, line);
        } else if let Some(kind) = bare.strip_prefix("transaction type: ") {
            self.open(number).kind = Some(kind.trim().to_owned());
        } else {
            let in_statements = self.in_statements;
            // Some people keep only a few lines of a report.
            if self.run.is_none() && begins_report(bare) {
                self.open(number);
            }
            let Some(run) = &mut self.run else {
                return false;
            };
            if bare.contains("statement latencies in milliseconds") {
                self.in_statements = true;
                return true;
            }
            let statement = in_statements.then(|| statement(bare)).flatten();
            if let Some(statement) = statement {
                let script = run.scripts.len();
                run.statements.push(Statement {
                    script,
                    ..statement
                });
                return true;
            }
            self.in_statements = in_statements && !bare.starts_with("SQL script ");
            return report(run, bare, number) || of_script(run, bare);
        }
        true
    }
}

/// The command line in a line that shows one (`$ pgbench -c 8 -T 60 bench`), perhaps in quotes for
/// another shell, without its secrets.
fn command(bare: &str) -> Option<Vec<String>> {
    let line = bare.trim_start_matches(['+', '$', '#', '>', ' ']);
    // `pgbench (15.18)` is the banner, `pgbench: error: …` a message.
    if !line.contains("pgbench") || line.contains("pgbench (") {
        return None;
    }
    let words = dyno_core::redact::words(line);
    let is_program = |word: &String| word.rsplit('/').next() == Some("pgbench");
    let is_message = |word: &String| word.ends_with(':');
    let Some(at) = words.iter().position(is_program) else {
        let before = words.iter().take_while(|word| !is_message(word));
        let mut quoted = before.filter(|word| word.contains(' ') && word.len() < line.len());
        return quoted.find_map(|word| command(word));
    };
    let options = words[at + 1..].iter().filter(|word| word.starts_with('-'));
    let wrapped = !words[..at].iter().any(is_message);
    (options.count() > 0 && wrapped).then(|| dyno_core::redact::argv(&words[at..]))
}

#[cfg(test)]
mod tests;
