//! The prefixes of lines, one function each.

/// A line without its prefix.
#[derive(Default)]
pub(super) struct Bare<'a> {
    /// The writer, e.g. a container. Empty if the prefix does not say.
    pub(super) source: &'a str,
    /// A timestamp that the importers can read.
    pub(super) stamp: Option<&'a str>,
    /// The number that the prefix gives the line.
    pub(super) number: Option<u64>,
    pub(super) rest: &'a str,
}

/// Removes the prefix of a line; `None` if it has none.
pub(super) type Strip = for<'a> fn(&'a str) -> Option<Bare<'a>>;

/// Prefixes that no tool prints itself.
pub(super) const FOREIGN: [Strip; 8] = [
    gitlab, cri, container, syslog, quoted, level, numbered, added,
];

/// Prefixes that monitors of the host may print themselves.
pub(super) const DOUBTFUL: [Strip; 4] = [dated, clock, uptime, tabbed];

pub(super) fn bare(rest: &str) -> Bare<'_> {
    Bare {
        rest,
        ..Bare::default()
    }
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
    line.strip_prefix('+').map(bare)
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

/// `Nov 21 13:07:48 host sysbench[4711]: [ 1s ] thds: 8 …`, or with another time of journalctl:
/// ISO 8601, `1795266468.123456`, `Sat 2026-11-21 13:07:48 UTC`, `[12345.678901]`.
fn syslog(line: &str) -> Option<Bare<'_>> {
    let line = match line.strip_prefix('<') {
        Some(rest) => rest.split_once('>')?.1,
        None => line,
    };
    let (stamp, rest) = match line.split_once(' ') {
        Some((stamp, rest)) if is_iso(stamp) || is_epoch(stamp) => (Some(stamp), rest),
        _ => (None, without_time(line)?),
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

/// The text after a time that has no date, no year or no offset, and is ignored.
fn without_time(line: &str) -> Option<&str> {
    let full = after(line, "Aaa 0000-00-00 00:00:00 ").and_then(|zone| zone.split_once(' '));
    full.map(|(_, rest)| rest)
        .or_else(|| without_date(line))
        .or_else(|| uptime(line).map(|bare| bare.rest))
}

/// The text after `Nov 21 13:07:48 ` or `Nov 21 13:07:48.123456 `.
fn without_date(line: &str) -> Option<&str> {
    let dates = ["Aaa 00 00:00:00", "Aaa  0 00:00:00"];
    without_fraction(dates.into_iter().find_map(|shape| after(line, shape))?)
}

/// The text after a shape, in which `0` is a digit, and `A` and `a` are letters.
fn after<'a>(line: &'a str, shape: &str) -> Option<&'a str> {
    let (start, rest) = line.split_at_checked(shape.len())?;
    let class = |c: u8| match c {
        b'0'..=b'9' => b'0',
        b'A'..=b'Z' => b'A',
        b'a'..=b'z' => b'a',
        other => other,
    };
    start.bytes().map(class).eq(shape.bytes()).then_some(rest)
}

/// The text after an optional fraction of a second, and a blank.
fn without_fraction(text: &str) -> Option<&str> {
    let rest = match text.strip_prefix(['.', ',']) {
        Some(digits) => digits.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => text,
    };
    ended(rest)
}

/// The text after a prefix: one blank follows, or nothing.
fn ended(rest: &str) -> Option<&str> {
    match rest.is_empty() {
        true => Some(rest),
        false => rest.strip_prefix(' '),
    }
}

/// `Nov 21 13:07:48 [ 1s ] thds: 8 …` of `ts`.
fn dated(line: &str) -> Option<Bare<'_>> {
    without_date(line).map(bare)
}

/// `13:07:48 [ 1s ] thds: 8 …` of `ts %H:%M:%S`, or `[13:07:48] …`.
fn clock(line: &str) -> Option<Bare<'_>> {
    let inside = line.strip_prefix('[');
    let behind = after(inside.unwrap_or(line), "00:00:00")?;
    if inside.is_none() {
        return without_fraction(behind).map(bare);
    }
    let (fraction, behind) = behind.split_once(']')?;
    without_fraction(fraction)?;
    ended(behind).map(bare)
}

/// `[    1.234567] [ 1s ] thds: 8 …`; `[12345.678901 <    0.000123>] …` of `journalctl -o
/// short-delta`.
fn uptime(line: &str) -> Option<Bare<'_>> {
    let (seconds, behind) = line.strip_prefix('[')?.split_once(']')?;
    let seconds = seconds.split('<').next().unwrap_or(seconds).trim();
    let (whole, fraction) = seconds.split_once('.')?;
    ended(behind)
        .filter(|_| digits(whole) && digits(fraction))
        .map(bare)
}

/// `    12\t[ 1s ] thds: 8 …` of `cat -n`, with ascending numbers.
fn tabbed(line: &str) -> Option<Bare<'_>> {
    let (number, behind) = line.split_once('\t').unwrap_or((line, ""));
    let number = number.trim_start();
    Some(Bare {
        number: Some(number.parse().ok().filter(|_| digits(number))?),
        ..bare(behind)
    })
}

/// `2026-11-21T13:07:48.123456Z 00O [ 1s ] thds: 8 …`: the number of the stream, output or error,
/// and `+` if the line goes on.
fn gitlab(line: &str) -> Option<Bare<'_>> {
    let (stamp, behind) = line.split_once(' ')?;
    let (stream, behind) = behind.split_at_checked(3)?;
    let hex = stream.bytes().take(2).all(|byte| byte.is_ascii_hexdigit());
    let fits = is_iso(stamp) && hex && stream.ends_with(['O', 'E']);
    let behind = behind
        .strip_prefix('+')
        .map_or_else(|| ended(behind), Some)?;
    fits.then_some(Bare {
        stamp: Some(stamp),
        ..bare(behind)
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

fn is_iso(word: &str) -> bool {
    word.len() >= 19
        && word.as_bytes()[10] == b'T'
        && word.as_bytes()[4] == b'-'
        && crate::civil::moment(word).is_some()
}

/// Seconds since the epoch with a fraction.
fn is_epoch(word: &str) -> bool {
    word.contains('.') && crate::civil::moment(word).is_some()
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}
