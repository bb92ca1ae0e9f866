//! The HdrHistogram interval log, version 1.3: text, one line per span of an operation, each with
//! its histogram (V2, deflated, base64). Values are nanoseconds; the column of longest values is in
//! milliseconds. `Tag` is the operation, with `_` for characters that tags cannot contain, and a
//! number at its end if it would equal another tag. In an open loop `OPERATION.response` has the
//! response times. Spans of the warm-up have separate tags that end in `.warmup`, so that adding up
//! an operation gives the measurement. Times of lines are seconds since `BaseTime`, the start of
//! the first line or of the measurement, whichever is earlier. `StartTime` is the same, because
//! some readers skip lines before it.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, SystemTime};

use dyno_core::record::{Operation, RunRecord, Span};
use dyno_core::visible;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

/// The legend that HdrHistogram's own programs write above the columns.
const LEGEND: &[u8] =
    b"\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\"\n";
/// Longest values are written in milliseconds.
const NS_PER_MS: f64 = 1e6;

/// Suffixes of an operation's tags.
const SUFFIXES: [&str; 4] = ["", ".response", ".warmup", ".response.warmup"];

/// Why a log could not be written.
#[derive(Debug, thiserror::Error)]
pub enum HlogError {
    /// The run has no latencies.
    #[error(
        "run {0} has no latency histogram to write to an interval log; export its intervals as CSV"
    )]
    NoLatencies(String),
    /// A histogram could not be encoded.
    #[error("cannot encode the latencies of '{operation}' in run {run}: {why}")]
    Encode {
        /// The run's name.
        run: String,
        /// The operation.
        operation: String,
        /// The encoder's message.
        why: String,
    },
}

/// The log of all operations, in time order.
///
/// # Errors
/// The run has no latencies, or a histogram cannot be encoded.
pub fn log(run: &RunRecord) -> Result<Vec<u8>, HlogError> {
    let mut lines: Vec<(&Operation, &Span)> = run
        .operations
        .iter()
        .flat_map(|operation| spans(operation).map(move |span| (operation, span)))
        .collect();
    if lines.is_empty() {
        return Err(HlogError::NoLatencies(run.head.name.clone()));
    }
    // The sort is stable: operations of the same time keep their order.
    lines.sort_by(|a, b| a.1.from_s.total_cmp(&b.1.from_s));
    let base_s = lines[0].1.from_s.min(0.0);
    let failed = |operation: &str, why: String| HlogError::Encode {
        run: run.head.name.clone(),
        operation: operation.to_owned(),
        why,
    };
    let tags = tags(&run.operations);
    let mut out = headers(run, base_s).map_err(|error| failed("the heading", error.to_string()))?;
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .with_max_value_divisor(NS_PER_MS)
        .begin_log_with(&mut out, &mut serializer)
        .map_err(|error| failed("the heading", error.to_string()))?;
    for (operation, span) in lines {
        let start = seconds(span.from_s - base_s);
        let length = seconds(span.to_s - span.from_s);
        let response = Some((".response", &span.response)).filter(|(_, h)| !h.is_empty());
        let warmup = if span.to_s <= 0.0 { ".warmup" } else { "" };
        for (suffix, histogram) in [("", &span.service)].into_iter().chain(response) {
            let name = tags.get(operation.name.as_str());
            let name = name.map_or(operation.name.as_str(), String::as_str);
            let tag = format!("{name}{suffix}{warmup}");
            writer
                .write_histogram(histogram, start, length, Tag::new(&tag))
                .map_err(|error| failed(&operation.name, error.to_string()))?;
        }
    }
    Ok(out)
}

/// The spans in time order; the total if there are no spans.
fn spans(operation: &Operation) -> impl Iterator<Item = &Span> {
    let whole = operation
        .total
        .iter()
        .filter(|_| operation.spans.is_empty());
    operation.spans.iter().chain(whole)
}

/// Comments, times and the legend, as HdrHistogram's own programs write them.
fn headers(run: &RunRecord, base_s: f64) -> std::io::Result<Vec<u8>> {
    let mut builder = IntervalLogWriterBuilder::new();
    builder.add_comment("[Histogram log format version 1.3]");
    builder.add_comment(&format!(
        "Run {} of {}: latencies in nanoseconds, longest values in milliseconds",
        comment(&run.head.name),
        comment(&run.head.tool),
    ));
    if base_s < 0.0 {
        let warmup_s = -base_s;
        builder.add_comment(&format!(
            "The measurement begins at {warmup_s:.3}, after the warm-up"
        ));
    }
    let started = (run.summary.as_ref()).and_then(|summary| summary.started_unix_s);
    if let Some(start_s) = started.filter(|start_s| *start_s + base_s > 0.0) {
        let base = SystemTime::UNIX_EPOCH + seconds(start_s + base_s);
        builder.with_start_time(base).with_base_time(base);
    }
    let mut out = Vec::new();
    builder.begin_log_with(&mut out, &mut V2DeflateSerializer::new())?;
    out.extend_from_slice(LEGEND);
    Ok(out)
}

/// A unique tag for each operation name, distinct also from other tags with suffixes.
fn tags(operations: &[Operation]) -> HashMap<&str, String> {
    let mut taken = HashSet::new();
    let mut tags = HashMap::new();
    for operation in operations {
        let plain = tag(&operation.name);
        let mut own = plain.clone();
        let mut number = 2;
        while SUFFIXES
            .iter()
            .any(|end| taken.contains(&format!("{own}{end}")))
        {
            own = format!("{plain}_{number}");
            number += 1;
        }
        taken.extend(SUFFIXES.map(|end| format!("{own}{end}")));
        tags.insert(operation.name.as_str(), own);
    }
    tags
}

/// A name without characters that tags cannot contain.
fn tag(name: &str) -> String {
    let bad = |c: char| c == ',' || c.is_whitespace() || visible::is_hidden(c);
    match name.is_empty() {
        true => "_".to_owned(),
        false => name.replace(bad, "_"),
    }
}

/// A text on a single line.
fn comment(text: &str) -> String {
    text.replace(visible::is_hidden, " ")
}

fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use dyno_samples::small as samples;
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    type Line = (String, f64, f64, Histogram<u64>);

    /// The log parsed with hdrhistogram's parser: start and base time, and the lines.
    fn read(log: &[u8]) -> (Option<f64>, Option<f64>, Vec<Line>) {
        let (mut start, mut base, mut lines) = (None, None, Vec::new());
        for entry in IntervalLogIterator::new(log) {
            match entry.unwrap() {
                LogEntry::StartTime(at) => start = Some(at.as_secs_f64()),
                LogEntry::BaseTime(at) => base = Some(at.as_secs_f64()),
                LogEntry::Interval(line) => {
                    let packed = STANDARD.decode(line.encoded_histogram()).unwrap();
                    let histogram = Deserializer::new().deserialize(&mut &packed[..]).unwrap();
                    lines.push((
                        line.tag().unwrap().as_str().to_owned(),
                        line.start_timestamp().as_secs_f64(),
                        line.duration().as_secs_f64(),
                        histogram,
                    ));
                }
            }
        }
        (start, base, lines)
    }

    #[test]
    fn every_span_survives_a_round_trip() {
        let run = samples::record();
        let log = log(&run).unwrap();
        let (start, base, lines) = read(&log);
        // The warm-up began two seconds before.
        assert_eq!(base, Some(samples::STARTED_UNIX_S - 2.0));
        assert_eq!(start, base);
        let spans: usize = run.operations.iter().map(|o| o.spans.len()).sum();
        assert_eq!(lines.len(), spans * 2);
        assert!(lines.is_sorted_by(|a, b| a.1 <= b.1));
        for operation in &run.operations {
            let name = operation.name.replace(' ', "_");
            let warmup = format!("{name}.warmup");
            let mine: Vec<_> = lines
                .iter()
                .filter(|line| line.0 == if line.1 < 2.0 { &warmup } else { &name }.as_str())
                .collect();
            assert_eq!(mine.len(), operation.spans.len());
            for (line, span) in mine.iter().zip(&operation.spans) {
                assert!((line.1 - 2.0 - span.from_s).abs() < 1e-9);
                assert!((line.2 - (span.to_s - span.from_s)).abs() < 1e-9);
                assert_eq!(line.3, span.service);
            }
        }
        let text = String::from_utf8(log).unwrap();
        assert!(
            text.starts_with("#[Histogram log format version 1.3]\n"),
            "{text}"
        );
    }

    #[test]
    fn each_operation_has_its_own_tag_whatever_its_name() {
        let mut run = samples::record();
        let names = [
            "a b",
            "a_b",
            "a,b\n",
            "a\u{2028}b",
            "",
            "a_b.warmup",
            "c.response",
            "c",
        ];
        let operation = run.operations[0].clone();
        run.operations = names
            .iter()
            .map(|name| Operation {
                name: (*name).to_owned(),
                ..operation.clone()
            })
            .collect();
        run.head.name = "x\n#[StartTime: 1\u{2028}".to_owned();
        let (_, _, lines) = read(&log(&run).unwrap());
        let measured = lines.iter().filter(|line| line.1 >= 2.0);
        let mut tags: Vec<&str> = measured.map(|line| line.0.as_str()).collect();
        let all = tags.len();
        tags.sort_unstable();
        tags.dedup();
        // Four seconds of service and of response times for each operation.
        assert_eq!((tags.len(), all), (2 * names.len(), 8 * names.len()));
        let own = [
            "_",
            "a_b",
            "a_b.warmup_2",
            "a_b_",
            "a_b_2",
            "a_b_3",
            "c.response",
            "c_2",
        ];
        assert!(own.iter().all(|tag| tags.contains(tag)), "{tags:?}");
    }

    #[test]
    fn a_run_of_a_whole_and_one_of_nothing() {
        let mut run = samples::record();
        for operation in &mut run.operations {
            operation.spans.clear();
        }
        run.summary = None;
        let (start, base, lines) = read(&log(&run).unwrap());
        // Service and response times of two operations.
        assert_eq!((start, base, lines.len()), (None, None, 4));
        run.operations.clear();
        let error = log(&run).unwrap_err();
        assert!(error.to_string().contains("no latency histogram"));
    }
}
