//! Parses intermediate reports: `[ 12s ] thds: 8 tps: 100.00 …`, as sysbench 0.5, 1.0 and 1.1 print
//! them. Figures are found by their labels, so any of them may be missing.

use super::model::{Point, PrintedPercentile, Throughput};
use crate::{number, text};

const MIB: f64 = 1_048_576.0;

/// The contents of a line that starts with a time in brackets.
#[derive(Debug, PartialEq)]
pub(crate) enum Reported {
    /// Events and statements.
    Point(Point),
    /// Bytes.
    Throughput(Throughput),
    /// Open loop: (at_s, due but not begun, in progress). It adds to the line before it.
    Queue(f64, Option<u64>, Option<u32>),
    /// Statistics follow that cover the time since the last checkpoint.
    Checkpoint(f64),
    /// A time followed by unknown text.
    Unknown,
}

/// Shapes of complete lines of versions 1.0 and 0.5, and of the tests of the host; with the number
/// of decimals of the figure at their ends.
const WHOLE: [(&str, Option<usize>); 7] = [
    (
        "[ #s ] thds: # tps: # qps: # (r/w/o: #/#/#) lat (ms,#%): # err/s: # reconn/s: #",
        Some(2),
    ),
    (
        "[ #s] threads: # tps: # reads: # writes: # response time: #ms (#%), errors: # \
         reconnects: #",
        Some(2),
    ),
    ("[ #s ] thds: # eps: # lat (ms,#%): #", Some(2)),
    (
        "[ #s ] reads: # MiB/s writes: # MiB/s fsyncs: #/s latency (ms,#%): #",
        Some(3),
    ),
    (
        "[ #s] reads: # MB/s writes: # MB/s fsyncs: #/s response time: #ms (#%)",
        None,
    ),
    ("[ #s ] # MiB/sec", None),
    ("[ #s ] # MB/sec", None),
];
/// The number of decimals of printed rates.
const DECIMALS: usize = 2;
/// The maximum number of kinds of report lines in a run.
const SHAPES_MAX: usize = 32;

/// The kinds of report lines of a run, used to recognise a cut line: a killed process leaves whole
/// blocks, not whole lines.
#[derive(Debug, Default)]
pub(crate) struct Kinds {
    /// Their shapes, with the decimals of the figure at their ends.
    shapes: Vec<(String, Option<usize>)>,
}

impl Kinds {
    /// Whether a line is cut off, within its last figure or after it, also if other text follows
    /// there. The log ends with it if `is_last`, so only a line of a known kind is complete, and a
    /// count may lack digits.
    pub(crate) fn is_cut(&mut self, line: &str, is_last: bool) -> bool {
        // Version 0.5 pads times to four characters: `[   9s]`, `[1000s]`.
        let own = text::shape(line).replacen("[#", "[ #", 1);
        let decimals = text::decimals_at_end(line);
        let seen = self.shapes.iter().find(|(shape, _)| *shape == own);
        let seen = seen.map(|(_, decimals)| *decimals);
        let printed = WHOLE.iter().find(|(shape, _)| *shape == own);
        let printed = printed.map(|(_, decimals)| *decimals);
        let is_cut = match printed.or(seen) {
            // Scripts may print figures with fewer decimals than the line before.
            Some(whole) if is_last || printed.is_some() || whole == Some(DECIMALS) => {
                decimals < whole || is_last && decimals == Some(0)
            }
            Some(_) => false,
            None if is_last || self.strays(&own) => true,
            None if self.shapes.is_empty() => {
                let short = decimals.is_some_and(|decimals| decimals < DECIMALS);
                short && (WHOLE.iter()).any(|(whole, _)| text::ends_early(&own, whole))
            }
            None => (self.shapes.iter()).any(|(whole, _)| text::ends_early(&own, whole)),
        };
        if !is_cut && seen.is_none() && self.shapes.len() < SHAPES_MAX {
            self.shapes.push((own, decimals));
        }
        is_cut
    }

    /// Whether a line that begins as sysbench prints it goes on with other text. Until a complete
    /// line of sysbench is seen, a script may print more or other figures.
    fn strays(&self, own: &str) -> bool {
        let begins = |whole: &str| text::common(own, whole).matches('#').count() >= 2;
        let is_whole = |shape: &str| WHOLE.iter().any(|(whole, _)| *whole == shape);
        let goes_on = |whole: &str| {
            let more = own.strip_prefix(whole);
            more.is_some_and(|more| more.starts_with(' '))
        };
        let seen = self.shapes.iter().any(|(shape, _)| is_whole(shape));
        let of_script = lists_figures(own) || WHOLE.iter().any(|(whole, _)| goes_on(whole));
        WHOLE.iter().any(|(whole, _)| begins(whole)) && (seen || !of_script)
    }
}

/// Whether a line of this shape has only figures and their labels after its time:
/// `tps: # response time: #ms`.
fn lists_figures(shape: &str) -> bool {
    let Some((_, rest)) = shape.split_once(']') else {
        return false;
    };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let label = |word: &str| word.ends_with(':') || word.ends_with("/s");
    // A label may have two words; a separator such as `|` has neither letters nor figures.
    let fits = |(at, word): (usize, &&str)| {
        word.contains('#')
            || label(word)
            || !word.contains(char::is_alphanumeric) && !word.contains(['[', '(', ')'])
            || words.get(at + 1).is_some_and(|next| next.ends_with(':'))
    };
    words.last().is_some_and(|word| word.contains('#'))
        && words.iter().enumerate().all(fits)
        && rest.matches('(').count() == rest.matches(')').count()
        && !rest.contains('[')
}

/// Whether a log that ends with this line may lack digits of its last figure. The last line of a
/// report has two decimals.
pub(crate) fn is_torn(text: &str) -> bool {
    let decimals = text::decimals_at_end(text);
    let ends_early =
        decimals.is_some_and(|decimals| !(super::report::closes(text) && decimals == 2));
    // The last lines have two figures each, `1024.2500/3.10`.
    ends_early || text.ends_with('/') || text.ends_with(':')
}

/// Parses an intermediate report; `None` if the line is not one.
pub(crate) fn parse(line: &str, number: usize) -> Option<Reported> {
    let (at_s, rest) = time(line)?;
    if rest.to_ascii_lowercase().contains("checkpoint report") {
        return Some(Reported::Checkpoint(at_s));
    }
    if let Some(point) = point(at_s, rest, number) {
        return Some(Reported::Point(point));
    }
    if rest.contains("queue length:") {
        let concurrency = after(rest, "concurrency:").map(|value| value as u32);
        let queue = after(rest, "queue length:").map(|value| value as u64);
        return Some(Reported::Queue(at_s, queue, concurrency));
    }
    if let Some(throughput) = throughput(at_s, rest) {
        return Some(Reported::Throughput(Throughput {
            latency: latency(rest),
            line: number,
            ..throughput
        }));
    }
    Some(Reported::Unknown)
}

/// `[ 12s ]`, and the rest.
fn time(line: &str) -> Option<(f64, &str)> {
    let inside = line.trim_start().strip_prefix('[')?;
    let (at_s, rest) = number::leading(inside)?;
    let rest = rest.trim_start().strip_prefix('s')?;
    let rest = rest.trim_start().strip_prefix(']')?;
    (0.0..1e9).contains(&at_s).then_some((at_s, rest))
}

fn point(at_s: f64, rest: &str, number: usize) -> Option<Point> {
    // Labels differ between versions and between tests.
    let per_s = |names: [&str; 2]| after(rest, names[0]).or_else(|| after(rest, names[1]));
    let tps = per_s(["tps:", "eps:"]);
    let mut point = Point {
        line: number,
        at_s,
        threads: per_s(["thds:", "threads:"]).and_then(whole),
        tps,
        queries: after(rest, "qps:"),
        errors: per_s(["err/s:", "errors:"]).or_else(|| after(rest, "err/s")),
        reconnects: per_s(["reconn/s:", "reconnects:"]),
        latencies: latency(rest).into_iter().collect(),
        ..Point::default()
    };
    if let Some(mix) = behind(rest, "(r/w/o:") {
        let mut parts = mix.split(')').next().unwrap_or("").split('/');
        let mut next = || parts.next().and_then(number::decimal);
        (point.reads, point.writes, point.other) = (next(), next(), next());
    } else if tps.is_some() {
        point.reads = per_s(["reads:", "reads/s:"]);
        point.writes = per_s(["writes:", "writes/s:"]);
    }
    let rates = [tps, point.queries, point.reads, point.writes];
    let sane = (rates.iter().flatten()).all(|rate| (0.0..=number::RATE_MAX).contains(rate));
    // A line without a rate is another kind of line, or damaged.
    (sane && (tps.is_some() || point.queries.is_some())).then_some(point)
}

/// `lat (ms,95%): 8.28`, `response time: 8.28ms (95%)`, `latency (ms,95%): 0.009`.
fn latency(rest: &str) -> Option<PrintedPercentile> {
    if let Some(text) = behind(rest, "response time:") {
        let (value, unit) = number::leading(text)?;
        let ms = value * if unit.starts_with("ms") { 1.0 } else { 1000.0 };
        let percent = behind(unit, "(").and_then(number::leading);
        let percent = percent.map(|(percent, _)| percent);
        return printed(percent, ms);
    }
    let text = behind(rest, "lat (ms").or_else(|| behind(rest, "latency (ms"))?;
    let (percent, value) = match text.strip_prefix(',') {
        Some(text) => {
            let (percent, rest) = number::leading(text)?;
            (Some(percent), rest)
        }
        None => (None, text),
    };
    let value = value.trim_start_matches(['%', ')', ':']);
    let (ms, _) = number::leading(value)?;
    printed(percent, ms)
}

/// sysbench prints a percentile of zero if none was requested.
fn printed(percent: Option<f64>, ms: f64) -> Option<PrintedPercentile> {
    let sane = percent.is_none_or(|percent| percent > 0.0 && percent <= 100.0);
    (sane && ms >= 0.0).then_some(PrintedPercentile { percent, ms })
}

/// The figures of a file or memory test; `None` if the line lacks one.
fn throughput(at_s: f64, rest: &str) -> Option<Throughput> {
    let found = Throughput {
        at_s,
        ..Throughput::default()
    };
    if behind(rest, "reads:").is_none() {
        return Some(Throughput {
            memory_bytes: Some(scaled(rest)?),
            ..found
        });
    }
    let (fsyncs, unit) = number::leading(behind(rest, "fsyncs:")?)?;
    Some(Throughput {
        read_bytes: Some(bytes(rest, "reads:")?),
        write_bytes: Some(bytes(rest, "writes:")?),
        fsyncs: Some(unit.starts_with("/s").then_some(fsyncs)?),
        ..found
    })
}

fn bytes(rest: &str, label: &str) -> Option<f64> {
    behind(rest, label).and_then(scaled)
}

/// `310.51 MiB/s`, `4309.42 MiB/sec` as bytes per second. Version 0.5 prints the same as `MB/s`.
fn scaled(text: &str) -> Option<f64> {
    let (value, unit) = number::leading(text)?;
    let unit = unit.trim_start();
    let known = unit.starts_with("MiB/s") || unit.starts_with("MB/s");
    known.then_some(value * MIB)
}

fn after(text: &str, label: &str) -> Option<f64> {
    behind(text, label)
        .and_then(number::leading)
        .map(|(value, _)| value)
}

/// The text after a label that begins a word.
fn behind<'a>(text: &'a str, label: &str) -> Option<&'a str> {
    text.match_indices(label).find_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        let begins = before.is_none_or(|c| !c.is_alphanumeric() && c != '/');
        begins.then(|| &text[at + label.len()..])
    })
}

fn whole(value: f64) -> Option<u32> {
    (value >= 0.0 && value.fract() == 0.0 && value <= f64::from(u32::MAX)).then_some(value as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sql(line: &str) -> Point {
        match parse(line, 1) {
            Some(Reported::Point(point)) => point,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn lines_of_other_programs_within_a_line_are_no_figures() {
        for rest in [
            "2026-11-25 10:00:00 [Warning] Aborted connection",
            " 92026-11-25 10:00:00 [Warning] Aborted connection",
            " 10:00:00 restarted",
        ] {
            let line = format!("[ 30s ] thds: 8 tps:{rest}");
            assert_eq!(parse(&line, 1), Some(Reported::Unknown), "{line}");
        }
        assert_eq!(
            sql("[ 30s ] thds: 8 tps: 92.5 qps: 2026-11-25").queries,
            None
        );
    }

    #[test]
    fn sql_lines_of_all_versions() {
        let expected = Point {
            line: 1,
            at_s: 2.0,
            threads: Some(4),
            tps: Some(600.51),
            queries: Some(11_995.21),
            reads: Some(8398.15),
            writes: Some(2396.04),
            other: Some(1201.02),
            latencies: vec![PrintedPercentile {
                percent: Some(95.0),
                ms: 14.21,
            }],
            errors: Some(1.0),
            reconnects: Some(0.5),
            ..Point::default()
        };
        let line = "[ 2s ] thds: 4 tps: 600.51 qps: 11995.21 (r/w/o: 8398.15/2396.04/1201.02) \
                    lat (ms,95%): 14.21 err/s: 1.00 reconn/s: 0.50";
        assert_eq!(sql(line), expected);
        assert_eq!(sql(&line.replace("err/s:", "err/s")), expected);
        let comma = line.replace('.', ",");
        assert_eq!(sql(&comma), expected);
        let old = sql(
            "[   2s] threads: 4, tps: 600.51, reads: 8398.15, writes: 2396.04, \
             response time: 14.21ms (95%), errors: 1.00, reconnects:  0.50",
        );
        assert_eq!(
            old,
            Point {
                queries: None,
                other: None,
                ..expected.clone()
            }
        );
        let older = sql(
            "[  10s] threads: 1, tps: 13.70, reads/s: 194.90, writes/s: 54.80, \
             response time: 135.07ms (99%)",
        );
        assert_eq!((older.reads, older.writes), (Some(194.9), Some(54.8)));
        assert_eq!(older.errors, None);
        assert_eq!(older.latencies[0].percent, Some(99.0));
    }

    #[test]
    fn a_damaged_line_keeps_its_readable_figures() {
        let point = sql("[ 2s ] thds: 4 tps: 600.51 qps: 119");
        assert_eq!((point.tps, point.queries), (Some(600.51), Some(119.0)));
        assert_eq!((point.reads, point.errors), (None, None));
        assert_eq!(parse("[ 2s ] thds: 4", 1), Some(Reported::Unknown));
        assert_eq!(parse("[ 2s ] tps: x", 1), Some(Reported::Unknown));
        assert_eq!(parse("[ 2s ", 1), None);
        assert_eq!(parse("[warn] tps: 3", 1), None);
        let disabled = sql("[ 1s ] thds: 2 tps: 7.00 lat (ms,0%): 0.00");
        assert!(disabled.latencies.is_empty());
    }

    #[test]
    fn other_tests() {
        let cpu = sql("[ 1s ] thds: 2 eps: 4626.04 lat (ms,95%): 0.51");
        assert_eq!(cpu.tps, Some(4626.04));
        let Some(Reported::Throughput(files)) = parse(
            "[ 1s ] reads: 310.51 MiB/s writes: 207.00 MiB/s fsyncs: 1321.08/s \
             latency (ms,95%): 0.009",
            1,
        ) else {
            panic!("not read");
        };
        assert_eq!(files.read_bytes, Some(310.51 * MIB));
        assert_eq!(files.fsyncs, Some(1321.08));
        let Some(Reported::Throughput(memory)) = parse("[ 1s ] 4309.42 MiB/sec", 1) else {
            panic!("not read");
        };
        assert_eq!(memory.memory_bytes, Some(4309.42 * MIB));
        assert_eq!(
            parse("[ 4s ] queue length: 1, concurrency: 2", 1),
            Some(Reported::Queue(4.0, Some(1), Some(2)))
        );
        assert_eq!(
            parse("[ 2s ] Checkpoint report:", 1),
            Some(Reported::Checkpoint(2.0))
        );
    }

    #[test]
    fn a_line_that_ends_early_is_known() {
        let whole = "[ 1s ] thds: 4 tps: 600.51 qps: 1195.21 (r/w/o: 398.15/396.04/401.02) \
                     lat (ms,95%): 14.21 err/s: 1.00 reconn/s: 0.50";
        let mut kinds = Kinds::default();
        assert!(!kinds.is_cut(whole, false));
        for end in 9..whole.len() {
            let part = whole[..end].trim_end();
            assert!(kinds.is_cut(part, false), "{part}");
            assert!(Kinds::default().is_cut(part, true), "{part}");
        }
        assert!(kinds.is_cut("[ 2s ] thds: 4 tps: 10run.sh: line 3: 47 Killed", false));
        assert!(!kinds.is_cut(&whole.replace("1s", "2s"), true));
        assert!(kinds.is_cut(&format!("{whole}x.sh: line 7: 4711 Killed"), false));
        // Figures and labels of a script are no damage.
        assert!(!Kinds::default().is_cut("[ 1s ] thds: 4 tps: 7.25 lat (ms): 3/5", false));
        // The output of a script has figures of a different form.
        let mut own = Kinds::default();
        for line in ["[ 1s ] threads: 4 tps: 7", "[ 2s ] threads: 4 tps: 12"] {
            assert!(!own.is_cut(line, false), "{line}");
        }
        let wild = parse("[ 9s ] thds: 4 tps: 18446744073709551616.00", 1);
        assert_eq!(wild, Some(Reported::Unknown));
    }

    #[test]
    fn other_text_glued_to_a_cut_line_is_known() {
        for whole in [
            "[ 6s ] thds: 4 tps: 600.51 qps: 1195.21 (r/w/o: 398.15/396.04/401.02) \
             lat (ms,95%): 14.21 err/s: 1.00 reconn/s: 0.50",
            "[   6s] threads: 4, tps: 600.51, reads: 398.15, writes: 396.04, response time: \
             14.21ms (95%), errors: 1.00, reconnects:  0.50",
            "[1006s] threads: 4, tps: 600.51, reads: 398.15, writes: 396.04, response time: \
             14.21ms (95%), errors: 1.00, reconnects:  0.50",
            "[ 6s ] thds: 2 eps: 4626.04 lat (ms,95%): 0.51",
        ] {
            let first = whole.find("ps:").unwrap() + 4;
            for other in [
                "FATAL: mysql_drv_query() returned error 2013 (Lost connection)",
                "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)",
                "run.sh: line 3: 47 Killed",
                "[ 7s ] thds: 4 tps: 600.51",
            ] {
                let mut kinds = Kinds::default();
                assert!(!kinds.is_cut(whole, false), "{whole}");
                for end in first..whole.len() {
                    let line = format!("{}{other}", &whole[..end]);
                    assert!(kinds.is_cut(&line, false), "{line}");
                    // Also the first line of a run.
                    assert!(Kinds::default().is_cut(&line, false), "{line}");
                }
                assert!(kinds.is_cut(&format!("{whole} {other}"), false));
            }
            let mut kinds = Kinds::default();
            let noted = |second: u8| format!("{whole} note {second}").replace('6', "7");
            assert!(!kinds.is_cut(&noted(1), false) && !kinds.is_cut(&noted(2), false));
        }
    }

    #[test]
    fn a_line_of_a_host_test_that_ends_early_has_no_figure() {
        for whole in [
            "[ 4s ] reads: 112.25 MiB/s writes: 75.50 MiB/s fsyncs: 478.75/s latency (ms,95%): \
             0.125",
            "[   4s] reads: 112.25 MB/s writes: 75.50 MB/s fsyncs: 478.75/s response time: 0.125ms \
             (95%)",
            "[ 4s ] 2048.25 MiB/sec",
        ] {
            assert!(!Kinds::default().is_cut(whole, true), "{whole}");
            for end in 9..whole.len() {
                let part = whole[..end].trim_end();
                assert!(Kinds::default().is_cut(part, true), "{part}");
                let Some(Reported::Throughput(found)) = parse(part, 1) else {
                    continue;
                };
                let is_memory = found.memory_bytes == Some(2048.25 * MIB);
                let is_file = found.read_bytes.is_some() && found.write_bytes.is_some();
                assert!(
                    is_memory || is_file && found.fsyncs == Some(478.75),
                    "{part}"
                );
            }
        }
        assert_eq!(
            parse("[ 4s ] reads: 112.25 MiB/s", 1),
            Some(Reported::Unknown)
        );
    }

    proptest! {
        #[test]
        fn arbitrary_lines_never_panic(line in "\\PC*") {
            let _ = parse(&line, 1);
            let _ = parse(&format!("[ 1s ] tps: {line}"), 1);
        }
    }
}
