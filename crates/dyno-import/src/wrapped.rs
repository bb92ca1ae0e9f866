//! Removes the prefixes that other programs add to a log's lines: Docker Compose and services, a
//! container runtime (CRI), syslog and journalctl, `kubectl logs --prefix`, a logger's `[INFO] `,
//! the line numbers of `grep -n` and `cat -n`, the times of `ts`, the `+` of a diff, the `> ` of
//! quoted text, or another text that all lines begin with. Prefixes of containers and loggers may
//! have a timestamp before or after them. Also reads the JSON records of log drivers and the lists
//! of Ansible.

mod json;
mod kinds;
mod list;
mod same;

use std::borrow::Cow;

use crate::{Looks, text};
use kinds::{Bare, Strip};

/// The number of lines that decide whether a log is wrapped.
const LINES_LOOKED_AT: usize = 200;
/// This share of them must have the prefix.
const SHARE_MIN: f64 = 0.6;
/// The maximum number of nested prefixes.
const LAYERS_MAX: usize = 3;
/// The maximum number of sources in one log.
const SOURCES_MAX: usize = 64;

/// One source's lines. Those of others are [`text::FOREIGN`], so that line numbers stay the same.
#[derive(Debug, PartialEq)]
pub(crate) struct Part {
    /// Empty if the log has one source only.
    pub(crate) source: String,
    pub(crate) text: String,
    /// The first line with a damaged record, whose text is unknown.
    pub(crate) damaged: Option<usize>,
}

/// The lines as their programs wrote them; `None` if they have no prefix. With several sources,
/// only those that look like a known log count, if any does.
pub(crate) fn unwrapped(text: &str) -> Option<Vec<Part>> {
    let text = uncoloured(text);
    let found = below(&text, LAYERS_MAX);
    let is_read = found
        .as_ref()
        .is_some_and(|parts| parts.iter().any(is_known));
    let mut parts = match is_read {
        true => found?,
        false => same::removed(&text).or(found)?,
    };
    if parts.len() > 1 && parts.iter().any(is_known) {
        parts.retain(is_known);
    }
    Some(parts)
}

/// The text without colours, which prefixes may have.
fn uncoloured(text: &str) -> Cow<'_, str> {
    if !text.contains('\u{1b}') {
        return text.into();
    }
    let lines = text.split_inclusive('\n');
    let plain = lines.map(|line| match line.strip_suffix('\n') {
        Some(line) => text::clean(line) + "\n",
        None => text::clean(line),
    });
    plain.collect::<String>().into()
}

/// The parts without up to this many nested prefixes.
fn below(text: &str, layers: usize) -> Option<Vec<Part>> {
    let layers = layers.checked_sub(1)?;
    let first = json::records(text)
        .or_else(|| list::lines(text))
        .or_else(|| layer(text, kind(text, &kinds::FOREIGN)?));
    let first = first.map(|parts| nested(parts, layers));
    if first
        .as_ref()
        .is_some_and(|parts| parts.iter().any(is_known))
    {
        return first;
    }
    let doubtful = kind(text, &kinds::DOUBTFUL).filter(|strip| begins(text, *strip));
    let doubtful = doubtful.filter(|_| Looks::of_bare(text).is_none_or(Looks::is_benchmark));
    let second = doubtful.and_then(|strip| layer(text, strip));
    let second = second.map(|parts| nested(parts, layers));
    let is_benchmark = |part: &Part| Looks::of_bare(&part.text).is_some_and(Looks::is_benchmark);
    second
        .filter(|parts| parts.iter().any(is_benchmark))
        .or(first)
}

fn is_known(part: &Part) -> bool {
    Looks::of_bare(&part.text).is_some()
}

/// The parts without their own prefixes.
fn nested(parts: Vec<Part>, layers: usize) -> Vec<Part> {
    let mut all = Vec::new();
    for part in parts {
        let Some(inner) = below(&part.text, layers) else {
            all.push(part);
            continue;
        };
        all.extend(inner.into_iter().map(|inner| {
            Part {
                source: format!("{} {}", part.source, inner.source)
                    .trim()
                    .to_owned(),
                damaged: part.damaged.or(inner.damaged),
                ..inner
            }
        }));
    }
    all
}

/// The parts of a log below one prefix.
fn layer(text: &str, strip: impl for<'a> Fn(&'a str) -> Option<Bare<'a>>) -> Option<Vec<Part>> {
    // JSON cannot be read with timestamps between its lines.
    let json = |line: &str| strip(line).is_some_and(|bare| bare.rest.trim() == "{");
    let mut sources = Sources {
        stamped: !text.lines().take(LINES_LOOKED_AT).any(json),
        ..Sources::default()
    };
    for line in text.lines() {
        let bare = strip(line.trim_end_matches('\r'));
        match &bare {
            Some(bare) => sources.add(Some(bare.source), bare.stamp, bare.rest),
            None => sources.add(None, None, line),
        }
    }
    Some(sources.parts(text.ends_with('\n')))
}

/// Lines by their sources.
#[derive(Default)]
struct Sources {
    parts: Vec<Part>,
    /// Whether lines keep their timestamps.
    stamped: bool,
    lines: usize,
}

impl Sources {
    /// Adds a line. Without a source it belongs to one seen before it.
    fn add(&mut self, source: Option<&str>, stamp: Option<&str>, rest: &str) {
        let name = source.unwrap_or_default();
        let own = self.parts.iter().position(|part| part.source == name);
        let full = source.is_none() || self.parts.len() == SOURCES_MAX;
        let at = match own {
            Some(at) => at,
            None if !self.parts.is_empty() && full => 0,
            None => {
                self.parts.push(Part {
                    source: name.to_owned(),
                    text: format!("{}\n", text::FOREIGN).repeat(self.lines),
                    damaged: None,
                });
                self.parts.len() - 1
            }
        };
        self.lines += 1;
        for (index, part) in self.parts.iter_mut().enumerate() {
            if index != at {
                part.text.push_str(text::FOREIGN);
            } else {
                if let Some(stamp) = stamp.filter(|_| self.stamped) {
                    part.text.push_str(stamp);
                    part.text.push(' ');
                }
                part.text.push_str(rest);
            }
            part.text.push('\n');
        }
    }

    /// All parts. The last line may lack its line feed.
    fn parts(mut self, ends: bool) -> Vec<Part> {
        if !ends {
            for part in &mut self.parts {
                part.text.truncate(part.text.len().saturating_sub(1));
            }
        }
        if let [part] = self.parts.as_mut_slice() {
            part.source.clear();
        }
        self.parts
    }
}

/// The first lines that are not empty.
fn sample(text: &str) -> Vec<&str> {
    let lines = text.lines().map(str::trim_end);
    lines
        .filter(|line| !line.is_empty())
        .take(LINES_LOOKED_AT)
        .collect()
}

/// Whether enough lines of a sample have a prefix for the whole log to have it.
fn is_enough(count: usize, sample: &[&str]) -> bool {
    count >= 2 && count as f64 >= SHARE_MIN * sample.len() as f64
}

/// The prefix of most lines.
fn kind(text: &str, kinds: &[Strip]) -> Option<Strip> {
    let lines = sample(text);
    let found = kinds.iter().find(|strip| {
        let found = lines.iter().filter_map(|line| strip(line));
        let numbers: Vec<u64> = found.clone().filter_map(|bare| bare.number).collect();
        let ascend = numbers.windows(2).all(|pair| pair[0] < pair[1]);
        is_enough(found.count(), &lines) && ascend
    });
    found.copied()
}

/// Whether the first line that is not empty has a prefix.
fn begins(text: &str, strip: Strip) -> bool {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.next().is_some_and(|line| strip(line).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINES: [&str; 3] = [
        "Threads started!",
        "[ 1s ] thds: 2 tps: 7.00",
        "[ 2s ] tps: 8.00",
    ];

    /// The only part of these lines, each with a prefix.
    fn with(prefix: &str) -> String {
        let text: String = LINES
            .iter()
            .map(|line| format!("{prefix}{line}\n"))
            .collect();
        let mut parts = unwrapped(&text).unwrap_or_else(|| panic!("{prefix}"));
        assert_eq!(parts.len(), 1, "{prefix}");
        parts.remove(0).text
    }

    #[test]
    fn every_prefix_is_removed() {
        let plain = LINES.map(|line| format!("{line}\n")).concat();
        for prefix in [
            "bench-1  | ",
            "[pod/bench-0/sysbench] ",
            "Nov 21 13:07:48 db7 sysbench[4711]: ",
            "<30>Nov  1 13:07:48 db7 sysbench: ",
            "> ",
            ">> ",
            "[INFO] ",
            "[info] ",
            "+",
            "> bench-1 | ",
            "\u{1b}[36mbench-1  |\u{1b}[0m ",
            "Nov 21 13:07:48.123456 db7 sysbench[4711]: ",
            "Sat 2026-11-21 13:07:48 UTC db7 sysbench[4711]: ",
            "[12345.678901] db7 sysbench[4711]: ",
            "[12345.678901 <    0.000123>] db7 sysbench[4711]: ",
            "Nov 21 13:07:48 ",
            "Nov  1 13:07:48.25 ",
            "13:07:48 ",
            "13:07:48.123456 ",
            "[13:07:48] ",
            "[    1.234567] ",
            "bench-1  | 13:07:48 ",
        ] {
            assert_eq!(with(prefix), plain, "{prefix}");
        }
        for prefix in [
            "STAMP stdout F ",
            "STAMP db7 sysbench[4711]: ",
            "STAMP bench-1  | ",
            "bench-1  | STAMP ",
            "STAMP bench.1.x7k2@node    | ",
            "[pod/bench-0/sysbench] STAMP ",
            "STAMP [pod/bench-0/sysbench] ",
            "STAMP [INFO] ",
            "[INFO] STAMP ",
            "STAMP stdout F bench-1 | ",
            "STAMP 00O ",
            "STAMP 01E+",
        ] {
            for stamp in [
                "2026-11-21T13:07:48.123456789Z",
                "2026-11-21T13:07:48.123456+01:00",
            ] {
                let prefix = prefix.replace("STAMP", stamp);
                let stamped = LINES.map(|line| format!("{stamp} {line}\n")).concat();
                assert_eq!(with(&prefix), stamped, "{prefix}");
            }
        }
    }

    #[test]
    fn seconds_of_the_journal_stay() {
        let prefix = "1795266468.123456 db7 sysbench[4711]: ";
        let stamped = LINES.map(|line| format!("1795266468.123456 {line}\n"));
        assert_eq!(with(prefix), stamped.concat());
    }

    #[test]
    fn times_of_other_programs_are_not_a_source() {
        let plain = "transaction type: <builtin: select only>\nscaling factor: 7\n\
                     query mode: simple\nnumber of clients: 2\n";
        for time in ["Nov 21 13:07:48", "[   48.125000]", "13:07:48"] {
            let lines = plain.lines();
            let text: String = lines.map(|line| format!("{time} {line}\n")).collect();
            assert_eq!(unwrapped(&text).unwrap()[0].text, plain, "{time}");
        }
        // Tools that watch the host print such times themselves.
        for text in [
            "13:00:01 CPU %user %nice %system %iowait %idle\n13:00:02 all 1 0 1 0 98\n",
            "13:00:01 CPU %usr %nice %sys %iowait %idle\n13:00:02 all 1 0 1 0 98\n",
            "13:00:01 UID PID %usr %system %CPU CPU Command\n13:00:02 0 7 1 1 2 0 sh\n",
        ] {
            assert_eq!(unwrapped(text), None, "{text}");
        }
    }

    #[test]
    fn line_numbers_ascend() {
        let numbered = "8:Threads started!\n9:[ 1s ] tps: 7.00\n11:[ 2s ] tps: 8.00\n";
        let part = &unwrapped(numbered).unwrap()[0];
        let plain = "Threads started!\n[ 1s ] tps: 7.00\n[ 2s ] tps: 8.00\n";
        assert_eq!(part.text, plain);
        let lines = (1..).zip(LINES);
        let tabbed: String = lines.map(|(n, line)| format!("{n:6}\t{line}\n")).collect();
        assert_eq!(unwrapped(&tabbed).unwrap()[0].text, LINES.join("\n") + "\n");
        // Columns between tabs below their heading.
        let table = "Threads started!\ntime\ttps\n1\t7.00\n2\t8.00\n3\t9.00\n4\t7.00\n";
        assert_eq!(unwrapped(table), None);
        // Times of day, and the rows of a histogram.
        for text in ["12:00:01 CPU %usr\n12:00:02 all 1.0\n", "1: 5\n1: 6\n"] {
            assert_eq!(unwrapped(text), None, "{text}");
        }
    }

    #[test]
    fn containers_are_separated() {
        let text = "a-1 | Threads started!\ndb-1 | ready for connections\n\
                    b-1 | Threads started!\na-1 | [ 1s ] tps: 7.00\n";
        let parts = unwrapped(text).unwrap();
        let names: Vec<(&str, &str)> = (parts.iter())
            .map(|part| (part.source.as_str(), part.text.as_str()))
            .collect();
        assert_eq!(
            names,
            [
                ("a-1", "Threads started!\n\t\n\t\n[ 1s ] tps: 7.00\n"),
                ("b-1", "\t\n\t\nThreads started!\n\t\n"),
            ]
        );
    }

    #[test]
    fn timestamps_on_either_side_do_not_hide_the_container() {
        let stamp = |second: u64| format!("2026-11-01T10:00:{second:02}.123456789Z");
        for docker in [false, true] {
            let line = |second: u64, name: &str, text: &str| match docker {
                true => format!("{} {name}  | {text}\n", stamp(second)),
                false => format!("[pod/x/{name}] {} {text}\n", stamp(second)),
            };
            let text = line(1, "a-1", "Threads started!")
                + &line(2, "db-1", "ready for connections")
                + &line(3, "a-1", "")
                + &line(4, "a-1", "[ 1s ] thds: 2 tps: 7.00");
            let parts = unwrapped(&text).unwrap();
            assert_eq!(parts.len(), 1, "{parts:?}");
            let expected = format!(
                "{} Threads started!\n\t\n{} \n{} [ 1s ] thds: 2 tps: 7.00\n",
                stamp(1),
                stamp(3),
                stamp(4)
            );
            assert_eq!(parts[0].text, expected);
        }
    }

    /// JSON cannot be read with timestamps between its lines.
    #[test]
    fn timestamps_do_not_stay_in_json() {
        for prefix in ["STAMP bench-1 | ", "bench-1 | STAMP "] {
            let prefix = prefix.replace("STAMP", "2026-11-01T10:00:00Z");
            let text = format!("{prefix}{{\n{prefix}  \"fio version\": 1\n{prefix}}}\n");
            let parts = unwrapped(&text).unwrap();
            assert_eq!(parts[0].text, "{\n  \"fio version\": 1\n}\n", "{prefix}");
        }
    }

    #[test]
    fn lines_without_a_prefix_stay() {
        for text in [
            "",
            "       0.053 |**** 54\n       0.054 |** 12\n",
            "| a | b |\n|---|---|\n| 1 | 2 |\n",
            "2026-11-21T13:07:48 query mode: simple\n2026-11-21T13:07:48 scaling factor: 1\n",
            "progress: 1.0 s, 85.0 tps\nprogress: 2.0 s, 85.0 tps\n",
            "12:00:01 CPU %usr\n12:00:02 all 1.0\n",
        ] {
            assert_eq!(unwrapped(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "(([a>|:\\[\\]<] ?){0,9}\\PC{0,9}\n){0,9}") {
            if let Some(parts) = unwrapped(&text) {
                for part in parts {
                    prop_assert_eq!(part.text.lines().count(), text.lines().count());
                }
            }
        }
    }
}
