//! Reads sysbench's output of one or several consecutive runs.

use crate::civil::{self, Moment};
use crate::identity::LogHash;
use crate::text::{self, Line};
use crate::{Log, Warning};

pub(crate) mod head;
pub(crate) mod histogram;
mod hooks;
mod host_laws;
pub(crate) mod laws;
mod line;
pub(crate) mod model;
mod report;

use line::Reported;
use model::{Draft, Point, Report};

/// Maximum number of error messages kept per run.
const COMPLAINTS_MAX: usize = 20;

/// The contents of a log.
pub(crate) struct Read {
    /// Runs with figures, in order.
    pub(crate) drafts: Vec<Draft>,
    /// Warnings that belong to no run.
    pub(crate) warnings: Vec<Warning>,
}

/// All runs of a log. The caller handles a log without runs.
pub(crate) fn read(log: &Log<'_>) -> Read {
    if let Some(draft) = histogram::file(log) {
        return Read {
            drafts: vec![draft],
            warnings: Vec::new(),
        };
    }
    let mut reader = Reader::new(log.name);
    for line in text::lines(log.text) {
        reader.take(&line);
    }
    reader.finish()
}

/// The destination of statistics lines.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Sink {
    /// No block of statistics is open.
    Closed,
    /// The statistics of the run.
    Final,
    /// The statistics of the last checkpoint.
    Checkpoint,
}

/// A block of several lines.
#[derive(Debug)]
enum Block {
    None,
    Histogram,
    /// The text so far, its first line, and the number of open brackets.
    Json(String, usize, i64),
    /// The beginning of a command that continues on the next line.
    Command(String),
}

struct Reader<'a> {
    file: &'a str,
    draft: Option<Draft>,
    sink: Sink,
    block: Block,
    heading: Option<hooks::Heading>,
    /// The last separate command and time.
    command: Vec<String>,
    moment: Option<Moment>,
    kinds: line::Kinds,
    read: Read,
}

impl<'a> Reader<'a> {
    fn new(file: &'a str) -> Self {
        Self {
            file,
            draft: None,
            sink: Sink::Closed,
            block: Block::None,
            heading: None,
            command: Vec::new(),
            moment: None,
            kinds: line::Kinds::default(),
            read: Read {
                drafts: Vec::new(),
                warnings: Vec::new(),
            },
        }
    }

    fn take(&mut self, line: &Line) {
        if self.in_block(line) {
            return;
        }
        if let Some(moment) = civil::moment(&line.text) {
            self.moment = Some(moment);
            return;
        }
        let (stamp, text) = line.unstamped();
        let text = text.to_owned();
        if let Some(at) = self.glued(&text) {
            // The log before ends there.
            let part = |text: &str, cut| Line {
                number: line.number,
                text: text.to_owned(),
                cut,
            };
            self.take(&part(&text[..at], true));
            self.take(&part(&text[at..], line.cut));
            return;
        }
        if self.begins(&text, line.number) || text.trim().is_empty() {
            return;
        }
        let reported = line::parse(&text, line.number);
        let torn = match reported {
            Some(_) => self.kinds.is_cut(text.trim_end(), line.cut),
            None if self.sink != Sink::Closed && report::is_torn(&text) => true,
            None => line.cut && line::is_torn(&text),
        };
        if torn {
            self.draft_at(line.number);
            self.warn(line.number, text::ENDS_EARLY);
            return;
        }
        if let Some(reported) = reported {
            self.reported(reported, &text, stamp, line.number);
        } else if !self.hook(&text, stamp, line.number) {
            self.other(&text, stamp, line.number);
        }
        if let Some(draft) = &mut self.draft {
            draft.digest.update(text.as_bytes());
            draft.digest.update(b"\n");
            if draft.has_figures() {
                draft.digest.may_end();
            }
        }
    }

    /// Where another log begins within a line of a log that is cut off.
    fn glued(&self, text: &str) -> Option<usize> {
        let at = head::banner_within(text)?;
        let cut = self.sink != Sink::Closed || line::parse(&text[..at], 0).is_some();
        cut.then_some(at)
    }

    /// Handles a line that begins a run or shows its command.
    fn begins(&mut self, text: &str, number: usize) -> bool {
        let trimmed = text.trim();
        if text.ends_with('\\') && (trimmed.contains("sysbench") || trimmed.contains(".lua")) {
            let part = text.trim_end_matches('\\').to_owned();
            self.block = Block::Command(part);
            return true;
        }
        if let Some(command) = head::command(trimmed) {
            self.end_run();
            self.command = command;
            return true;
        }
        if let Some(version) = head::banner(trimmed) {
            self.end_run();
            self.begin(number).version = Some(version.to_owned());
            return true;
        }
        if trimmed == "Running the test with following options:" {
            let used = |draft: &Draft| draft.began || draft.has_figures();
            if self.draft.as_ref().is_some_and(used) {
                self.end_run();
            }
            self.draft_at(number);
            return true;
        }
        false
    }

    /// Continues a block; returns `false` if the line does not belong to one.
    fn in_block(&mut self, line: &Line) -> bool {
        match std::mem::replace(&mut self.block, Block::None) {
            Block::None => false,
            Block::Command(mut text) => {
                text.push(' ');
                text.push_str(line.text.trim_end_matches('\\'));
                if line.text.ends_with('\\') {
                    self.block = Block::Command(text);
                } else if let Some(command) = head::command(&text) {
                    self.end_run();
                    self.command = command;
                }
                true
            }
            Block::Histogram => {
                let goes_on = histogram::take(self.draft_at(line.number), line);
                if goes_on {
                    self.block = Block::Histogram;
                }
                goes_on
            }
            Block::Json(mut text, first, depth) => {
                let trimmed = line.text.trim_start();
                if trimmed.starts_with(|c: char| c.is_alphabetic()) {
                    // Cut off: this line belongs to something else.
                    self.json(&text, first);
                    return false;
                }
                text.push('\n');
                text.push_str(&line.text);
                self.json_goes_on(text, first, depth + hooks::nesting(&line.text));
                true
            }
        }
    }

    fn json_goes_on(&mut self, text: String, first: usize, depth: i64) {
        if depth > 0 {
            self.block = Block::Json(text, first, depth);
        } else {
            self.json(&text, first);
        }
    }

    fn json(&mut self, text: &str, first: usize) {
        let (points, bad) = hooks::objects(text, first);
        self.draft_at(first).digest.update(text.as_bytes());
        for point in points {
            self.point(point, None, "report_json");
        }
        for line in bad {
            self.warn(
                line,
                "a JSON object that is damaged or not a report; it is skipped",
            );
        }
    }

    fn reported(&mut self, what: Reported, text: &str, stamp: Option<Moment>, number: usize) {
        match what {
            Reported::Point(point) => self.point(point, stamp, "report lines"),
            Reported::Throughput(throughput) => {
                if self.draft_at(number).last_s() > throughput.at_s {
                    self.restarts(number);
                }
                self.draft_at(number).throughput.push(throughput);
            }
            Reported::Queue(at_s, queue, concurrency) => {
                let point = self.draft_at(number).points.last_mut();
                if let Some(point) = point.filter(|point| point.at_s == at_s) {
                    (point.queue, point.concurrency) = (queue, concurrency);
                } else {
                    self.warn(number, "a queue length without a report line at that time");
                }
            }
            Reported::Checkpoint(at_s) => {
                let report = Report {
                    line: number,
                    ..Report::default()
                };
                self.draft_at(number).checkpoints.push((at_s, report));
                self.sink = Sink::Checkpoint;
            }
            Reported::Unknown => {
                let text = text::excerpt(text);
                let text = format!("a report line that is incomplete or has no rate: '{text}'");
                self.warn(number, &text);
            }
        }
    }

    fn point(&mut self, point: Point, stamp: Option<Moment>, from: &'static str) {
        let (number, at_s) = (point.line, point.at_s);
        match self.draft_at(number).points.last().map(|last| last.at_s) {
            Some(last) if at_s < last => self.restarts(number),
            Some(last) if at_s == last => {
                self.warn(number, "a second report of the same time is skipped");
                return;
            }
            _ => {}
        }
        let rates = [point.tps, point.queries, point.reads, point.writes];
        if rates
            .iter()
            .flatten()
            .any(|rate| *rate > crate::number::RATE_MAX)
        {
            self.warn(number, "an impossibly high rate; the line is skipped");
            return;
        }
        let draft = self.draft_at(number);
        draft.points_from = from;
        if let (Some(stamp), None) = (stamp, draft.started) {
            draft.started = Some(Moment {
                seconds: stamp.seconds - at_s,
                ..stamp
            });
        }
        draft.points.push(point);
    }

    /// The times restart: another run without its banner.
    fn restarts(&mut self, number: usize) {
        self.end_run();
        self.begin(number);
        self.warn(number, "the times restart here: assumed to be another run");
    }

    /// Handles a line printed by a report hook.
    fn hook(&mut self, text: &str, stamp: Option<Moment>, number: usize) -> bool {
        if let Some(row) = self.heading.as_ref().and_then(|h| h.row(text, number)) {
            match row {
                Ok((point, absolute)) => self.csv_point(point, absolute),
                Err(why) => self.warn(number, &format!("{why}; the line is skipped")),
            }
            return true;
        }
        if let Some(heading) = hooks::heading(text) {
            self.draft_at(number);
            for name in &heading.unknown {
                let name = text::excerpt(name);
                self.warn(number, &format!("unknown column '{name}' is not read"));
            }
            self.heading = Some(heading);
            return true;
        }
        if let Some(point) = hooks::bare_row(text, number) {
            self.point(point, stamp, "report_csv");
            return true;
        }
        let opens_json = text.trim() == "[" || text.trim_start().starts_with(['{']);
        let opens_json = opens_json || text.trim_start().starts_with("[{");
        if opens_json {
            self.json_goes_on(text.to_owned(), number, hooks::nesting(text));
        }
        opens_json
    }

    /// A CSV row; its times may be absolute.
    fn csv_point(&mut self, mut point: Point, absolute: bool) {
        const EPOCH_S: f64 = 1e9;
        if absolute || point.at_s >= EPOCH_S {
            let draft = self.draft_at(point.line);
            // The first row ends the first interval; only the second row shows its length.
            let start = *draft.started.get_or_insert(Moment {
                seconds: point.at_s,
                utc: !absolute,
                ambiguous: false,
            });
            point.at_s -= start.seconds;
        }
        self.point(point, None, "CSV");
    }

    fn other(&mut self, text: &str, stamp: Option<Moment>, number: usize) {
        let trimmed = text.trim();
        let complaint = ["FATAL:", "ALERT:", "WARNING:", "(last message repeated"];
        if complaint.iter().any(|start| trimmed.starts_with(start)) {
            self.complaint(trimmed, number);
        } else if trimmed == "Threads started!" {
            let draft = self.draft_at(number);
            draft.began = true;
            draft.started = stamp.or(draft.started);
        } else if histogram::is_title(trimmed) {
            histogram::begin(self.draft_at(number));
            self.block = Block::Histogram;
        } else if report::opens(trimmed) {
            self.opens(trimmed, number);
            self.statistics(trimmed);
        } else if self.sink != Sink::Closed && self.statistics(trimmed) {
            if report::closes(trimmed) {
                self.sink = Sink::Closed;
            }
        } else if let Some(draft) = &mut self.draft {
            head::take(draft, trimmed);
        }
    }

    fn complaint(&mut self, text: &str, number: usize) {
        let Some(draft) = &mut self.draft else {
            self.warn(number, &text::excerpt(text));
            return;
        };
        if draft.complaints.len() < COMPLAINTS_MAX {
            let text = dyno_core::redact::text(text);
            draft.complaints.push((draft.last_s(), text));
        }
    }

    fn opens(&mut self, title: &str, number: usize) {
        if self.sink == Sink::Checkpoint {
            return;
        }
        let has_events =
            |draft: &Draft| draft.report.as_ref().is_some_and(|r| r.events().is_some());
        let again = report::opens_sql(title) && self.draft.as_ref().is_some_and(has_events);
        if again {
            self.end_run();
            self.begin(number);
            self.warn(number, "statistics restart here: assumed to be another run");
        }
        let draft = self.draft_at(number);
        let unfinished = draft.unfinished.take();
        draft.report.get_or_insert_with(|| Report {
            line: number,
            unfinished,
            ..Report::default()
        });
        self.sink = Sink::Final;
    }

    /// Passes a line to the open block of statistics.
    fn statistics(&mut self, text: &str) -> bool {
        let Some(draft) = &mut self.draft else {
            return false;
        };
        let report = match self.sink {
            Sink::Closed => None,
            Sink::Final => draft.report.as_mut(),
            Sink::Checkpoint => draft.checkpoints.last_mut().map(|(_, report)| report),
        };
        report.is_some_and(|report| report::take(report, text))
    }

    /// The current run, created if needed.
    fn draft_at(&mut self, number: usize) -> &mut Draft {
        if self.draft.is_none() {
            self.begin(number);
        }
        self.draft.get_or_insert_default()
    }

    fn begin(&mut self, number: usize) -> &mut Draft {
        self.sink = Sink::Closed;
        self.kinds = line::Kinds::default();
        let argv = std::mem::take(&mut self.command);
        self.draft.insert(Draft {
            file: self.file.to_owned(),
            line: number,
            digest: LogHash::of_command(&argv),
            argv,
            moment_before: self.moment.take(),
            ..Draft::default()
        })
    }

    /// Keeps the run if it has figures, or warns if it should have some.
    fn end_run(&mut self) {
        self.sink = Sink::Closed;
        self.heading = None;
        let Some(draft) = self.draft.take() else {
            return;
        };
        let mut draft = histogram::in_order(draft);
        if draft.has_figures() {
            model::end_first_interval(&mut draft);
            self.read.drafts.push(draft);
            return;
        }
        let complaint = draft.complaints.first();
        if draft.began || complaint.is_some() || draft.histogram_lacks.is_some() {
            let ends = draft.histogram_lacks.unwrap_or("it ends there");
            let why = complaint.map_or(ends, |(_, text)| text.as_str());
            let text = format!("a run without a figure: {why}");
            self.read
                .warnings
                .push(Warning::new(self.file, Some(draft.line), text));
        }
        for (line, text) in draft.warnings {
            self.read.warnings.push(Warning::new(self.file, line, text));
        }
    }

    fn warn(&mut self, number: usize, text: &str) {
        match &mut self.draft {
            Some(draft) => draft.warnings.push((Some(number), text.to_owned())),
            None => {
                let warning = Warning::new(self.file, Some(number), text.to_owned());
                self.read.warnings.push(warning);
            }
        }
    }

    fn finish(mut self) -> Read {
        if let Block::Json(text, first, _) = std::mem::replace(&mut self.block, Block::None) {
            self.json(&text, first);
        }
        self.end_run();
        self.read
    }
}
