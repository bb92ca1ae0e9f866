//! Removes the prefixes that other programs add to a log's lines: Docker Compose and services, a
//! container runtime (CRI), a runner of GitLab, syslog, `kubectl logs --prefix`, a logger's
//! `[INFO] `, the line numbers of `grep -n`, the `+` of a diff, the `> ` of quoted text, or the date
//! of `ts`. Those of containers and loggers may have a timestamp before or after them.

use crate::Looks;
use crate::stamps::{is_iso, of_gitlab, without_date};

/// The number of lines that decide whether a log is wrapped.
const LINES_LOOKED_AT: usize = 200;
/// This share of them must have the prefix.
const SHARE_MIN: f64 = 0.6;
/// The maximum number of nested prefixes.
const LAYERS_MAX: usize = 3;
/// The maximum number of sources in one log.
const SOURCES_MAX: usize = 64;

/// A line without its prefix.
#[derive(Default)]
struct Bare<'a> {
    /// The writer, e.g. a container. Empty if the prefix does not say.
    source: &'a str,
    /// A timestamp that the importers can read.
    stamp: Option<&'a str>,
    /// The number that the prefix gives the line.
    number: Option<u64>,
    rest: &'a str,
}

/// Removes the prefix of a line; `None` if it has none.
type Strip = for<'a> fn(&'a str) -> Option<Bare<'a>>;

const KINDS: [Strip; 9] = [
    cri, gitlab, container, syslog, quoted, level, numbered, added, dated,
];

/// One source's lines. Lines of others are blank, so that line numbers stay the same.
#[derive(Debug, PartialEq)]
pub(crate) struct Part {
    /// Empty if the log has one source only.
    pub(crate) source: String,
    pub(crate) text: String,
}

/// The lines as their programs wrote them; `None` if they have no prefix. With several sources,
/// only those that look like a known log count, if any does.
pub(crate) fn unwrapped(text: &str) -> Option<Vec<Part>> {
    let mut parts = layer(text)?;
    for _ in 1..LAYERS_MAX {
        let mut below = Vec::new();
        let mut any = false;
        for part in parts {
            match layer(&part.text) {
                Some(more) => {
                    any = true;
                    below.extend(more.into_iter().map(|inner| {
                        Part {
                            source: format!("{} {}", part.source, inner.source)
                                .trim()
                                .to_owned(),
                            text: inner.text,
                        }
                    }));
                }
                None => below.push(part),
            }
        }
        parts = below;
        if !any {
            break;
        }
    }
    if parts.len() > 1 {
        let looks = |part: &Part| Looks::of_bare(&part.text).is_some();
        if parts.iter().any(looks) {
            parts.retain(looks);
        }
    }
    Some(parts)
}

/// The parts of a log below one prefix.
fn layer(text: &str) -> Option<Vec<Part>> {
    let strip = kind(text)?;
    // JSON cannot be read with timestamps between its lines.
    let json = |line: &str| strip(line).is_some_and(|bare| bare.rest.trim() == "{");
    let stamped = !text.lines().take(LINES_LOOKED_AT).any(json);
    let mut parts: Vec<Part> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let bare = strip(line.trim_end_matches('\r')).unwrap_or(Bare {
            rest: line,
            ..Bare::default()
        });
        // A line without the prefix belongs to a source seen before it.
        let own = parts.iter().position(|part| part.source == bare.source);
        let prefixed = !std::ptr::eq(bare.rest, line);
        let at = match own {
            Some(at) => at,
            None if !parts.is_empty() && (!prefixed || parts.len() == SOURCES_MAX) => 0,
            None => {
                parts.push(Part {
                    source: bare.source.to_owned(),
                    text: "\n".repeat(number),
                });
                parts.len() - 1
            }
        };
        for (index, part) in parts.iter_mut().enumerate() {
            if index == at {
                if let Some(stamp) = bare.stamp.filter(|_| stamped) {
                    part.text.push_str(stamp);
                    part.text.push(' ');
                }
                part.text.push_str(bare.rest);
            }
            part.text.push('\n');
        }
    }
    if !text.ends_with('\n') {
        for part in &mut parts {
            part.text.truncate(part.text.len().saturating_sub(1));
        }
    }
    if let [part] = parts.as_mut_slice() {
        part.source.clear();
    }
    Some(parts)
}

/// The prefix of most lines.
fn kind(text: &str) -> Option<Strip> {
    let lines = text.lines().map(str::trim_end);
    let lines: Vec<&str> = lines
        .filter(|line| !line.is_empty())
        .take(LINES_LOOKED_AT)
        .collect();
    let enough = |count: usize| count >= 2 && count as f64 >= SHARE_MIN * lines.len() as f64;
    KINDS.into_iter().find(|strip| {
        let found = lines.iter().filter_map(|line| strip(line));
        let numbers: Vec<u64> = found.clone().filter_map(|bare| bare.number).collect();
        let ascend = numbers.windows(2).all(|pair| pair[0] < pair[1]);
        enough(found.count()) && ascend
    })
}

/// A prefix with a timestamp before it, after it, or without one.
fn with_stamp<'a>(line: &'a str, strip: impl Fn(&'a str) -> Option<Bare<'a>>) -> Option<Bare<'a>> {
    let (before, line) = split_stamp(line);
    let bare = strip(line)?;
    let (after, rest) = match before {
        // A second one is the program's own.
        Some(_) => (None, bare.rest),
        None => split_stamp(bare.rest),
    };
    Some(Bare {
        stamp: before.or(after),
        rest,
        ..bare
    })
}

/// The timestamp that a line begins with, and the text after it.
fn split_stamp(line: &str) -> (Option<&str>, &str) {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match is_iso(word) {
        true => (Some(word), rest),
        false => (None, line),
    }
}

/// `[INFO] [ 1s ] thds: 8 …`
fn level(line: &str) -> Option<Bare<'_>> {
    with_stamp(line, bare_level)
}

fn bare_level(line: &str) -> Option<Bare<'_>> {
    const LEVELS: [&str; 8] = [
        "TRACE", "DEBUG", "INFO", "NOTICE", "WARN", "WARNING", "ERROR", "STDOUT",
    ];
    let (word, rest) = line.strip_prefix('[')?.split_once(']')?;
    let known = LEVELS
        .iter()
        .any(|level| word.trim().eq_ignore_ascii_case(level));
    (known && (rest.is_empty() || rest.starts_with(' '))).then(|| Bare {
        rest: rest.strip_prefix(' ').unwrap_or(rest),
        ..Bare::default()
    })
}

/// `12:[ 1s ] thds: 8 …` from `grep -n`, with ascending numbers. A time of day looks similar.
fn numbered(line: &str) -> Option<Bare<'_>> {
    let (number, rest) = line.split_once(':')?;
    let digits = number.bytes().all(|byte| byte.is_ascii_digit());
    Some(Bare {
        rest,
        number: Some(number.parse().ok().filter(|_| digits)?),
        ..Bare::default()
    })
}

/// `+[ 1s ] thds: 8 …` from a diff.
fn added(line: &str) -> Option<Bare<'_>> {
    let rest = line.strip_prefix('+')?;
    Some(Bare {
        rest,
        ..Bare::default()
    })
}

/// A container's name, as Docker or Kubernetes prints it.
fn container(line: &str) -> Option<Bare<'_>> {
    with_stamp(line, |line| docker(line).or_else(|| kubectl(line)))
}

/// `sysbench-1  | [ 1s ] thds: 8 …`; a service's tasks have names like `bench.1.x7k2@node`.
fn docker(line: &str) -> Option<Bare<'_>> {
    let (name, rest) = line.split_once('|')?;
    let source = name.trim_end_matches(' ');
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '@');
    // A row of sysbench's histogram begins with a number, and with blanks before it.
    let letter = source.starts_with(|c: char| c.is_ascii_alphanumeric())
        && source.contains(|c: char| c.is_ascii_alphabetic());
    (letter && source.chars().all(fits)).then(|| Bare {
        source,
        rest: rest.strip_prefix(' ').unwrap_or(rest),
        ..Bare::default()
    })
}

/// `2026-11-21T13:07:48.123456789Z stdout F [ 1s ] thds: 8 …`
fn cri(line: &str) -> Option<Bare<'_>> {
    let (stamp, rest) = line.split_once(' ')?;
    let (stream, rest) = rest.split_once(' ')?;
    let (tag, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let fits = is_iso(stamp) && matches!(stream, "stdout" | "stderr") && matches!(tag, "F" | "P");
    fits.then_some(Bare {
        stamp: Some(stamp),
        rest,
        ..Bare::default()
    })
}

/// `[pod/bench-0/sysbench] [ 1s ] thds: 8 …`
fn kubectl(line: &str) -> Option<Bare<'_>> {
    let (source, rest) = line.strip_prefix("[pod/")?.split_once(']')?;
    Some(Bare {
        source,
        rest: rest.strip_prefix(' ').unwrap_or(rest),
        ..Bare::default()
    })
}

/// `Nov 21 13:07:48 host sysbench[4711]: [ 1s ] thds: 8 …`, or with an ISO 8601 time.
fn syslog(line: &str) -> Option<Bare<'_>> {
    let line = match line.strip_prefix('<') {
        Some(rest) => rest.split_once('>')?.1,
        None => line,
    };
    let (stamp, rest) = match line.split_once(' ') {
        Some((stamp, rest)) if is_iso(stamp) => (Some(stamp), rest),
        _ => (None, without_date(line)?),
    };
    let (host, rest) = rest.split_once(' ')?;
    let (tag, rest) = rest.split_once(':')?;
    // Without a process id, `query mode: simple` would be host, tag and text.
    let source = tag.split_once('[').filter(|(_, id)| id.ends_with(']'));
    let source = match (source, stamp) {
        (Some((source, _)), _) => source,
        (None, None) => tag,
        (None, Some(_)) => return None,
    };
    let word = |text: &str| !text.is_empty() && !text.contains([' ', ':']);
    (word(host) && word(source) && (rest.is_empty() || rest.starts_with(' '))).then(|| Bare {
        source,
        stamp,
        number: None,
        rest: rest.strip_prefix(' ').unwrap_or(rest),
    })
}

/// `Nov 21 13:07:48 [ 1s ] thds: 8 …` from `ts`; a date without a year is ignored.
fn dated(line: &str) -> Option<Bare<'_>> {
    Some(Bare {
        rest: without_date(line)?,
        ..Bare::default()
    })
}

/// `2026-11-21T13:07:48.123456Z 00O [ 1s ] thds: 8 …`
fn gitlab(line: &str) -> Option<Bare<'_>> {
    let (stamp, rest) = of_gitlab(line)?;
    Some(Bare {
        stamp: Some(stamp),
        rest,
        ..Bare::default()
    })
}

/// `> [ 1s ] thds: 8 …`
fn quoted(line: &str) -> Option<Bare<'_>> {
    let rest = line.strip_prefix('>')?;
    (rest.is_empty() || rest.starts_with([' ', '>'])).then(|| Bare {
        rest: rest.strip_prefix(' ').unwrap_or(rest),
        ..Bare::default()
    })
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
            "Nov 21 13:07:48 ",
        ] {
            assert_eq!(with(prefix), plain, "{prefix}");
        }
        for prefix in [
            "STAMP stdout F ",
            "STAMP 00O ",
            "STAMP db7 sysbench[4711]: ",
            "STAMP bench-1  | ",
            "bench-1  | STAMP ",
            "STAMP bench.1.x7k2@node    | ",
            "[pod/bench-0/sysbench] STAMP ",
            "STAMP [pod/bench-0/sysbench] ",
            "STAMP [INFO] ",
            "[INFO] STAMP ",
            "STAMP stdout F bench-1 | ",
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
    fn line_numbers_ascend() {
        let numbered = "8:Threads started!\n9:[ 1s ] tps: 7.00\n11:[ 2s ] tps: 8.00\n";
        let part = &unwrapped(numbered).unwrap()[0];
        let plain = "Threads started!\n[ 1s ] tps: 7.00\n[ 2s ] tps: 8.00\n";
        assert_eq!(part.text, plain);
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
                ("a-1", "Threads started!\n\n\n[ 1s ] tps: 7.00\n"),
                ("b-1", "\n\nThreads started!\n\n"),
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
                "{} Threads started!\n\n{} \n{} [ 1s ] thds: 2 tps: 7.00\n",
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
