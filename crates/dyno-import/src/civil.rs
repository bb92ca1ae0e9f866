//! Parses times in logs: seconds since the epoch, ISO 8601, `date`, and the output of `iostat -t`
//! and `vmstat -t` under several locales.

use jiff::civil::Date;

/// A time as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moment {
    /// Seconds since the Unix epoch if `utc`; for a local time, seconds as if it were UTC.
    pub(crate) seconds: f64,
    /// Whether the text had an offset from UTC, which `seconds` then includes.
    pub(crate) utc: bool,
    /// Whether day and month may be swapped.
    pub(crate) ambiguous: bool,
}

impl Moment {
    /// Seconds since the Unix epoch, if local times are this far ahead of UTC.
    pub(crate) fn unix_s(&self, local_offset_s: f64) -> f64 {
        if self.utc {
            self.seconds
        } else {
            self.seconds - local_offset_s
        }
    }
}

/// Parses a whole text as a time. A time without a date is rejected.
pub(crate) fn moment(text: &str) -> Option<Moment> {
    let text = text.trim().trim_matches(['[', ']', '(', ')']);
    if let Some(seconds) = epoch(text) {
        return Some(Moment {
            seconds,
            utc: true,
            ambiguous: false,
        });
    }
    let mut parts = Parts::default();
    let split = |c: char| c.is_whitespace() || (c == 'T' && text.contains(':'));
    // `T` separates date and time only between digits; elsewhere it begins a weekday or a zone.
    let divided: String = text
        .char_indices()
        .map(|(at, c)| {
            let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
            let between = digit(text[..at].chars().next_back())
                && digit(text[at + c.len_utf8()..].chars().next());
            if split(c) && (c != 'T' || between) {
                ' '
            } else {
                c
            }
        })
        .collect();
    for word in divided.split_whitespace() {
        parts.take(word)?;
    }
    parts.moment()
}

/// Parses a whole text as a local time, whatever the name of its zone: `BST` has several meanings.
pub(crate) fn local(text: &str) -> Option<Moment> {
    let words = text.split_whitespace().filter(|word| !is_zone(word));
    let words: Vec<&str> = words.collect();
    moment(&words.join(" ")).filter(|moment| !moment.utc)
}

/// Parses a time at the beginning of a line; returns the rest of the line, too.
pub(crate) fn prefix(line: &str) -> Option<(Moment, &str)> {
    let line = line.trim_start();
    let bare = line.trim_start_matches('[');
    if !bare.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    // A date and a time are two words, or one with a `T` between them; seconds since the epoch are
    // one.
    let mut end = 0;
    for _ in 0..2 {
        let rest = &line[end..];
        let word = rest.trim_start();
        let length = word.find(char::is_whitespace)?;
        end += rest.len() - word.len() + length;
        let candidate = line[..end].trim_end_matches(':');
        if let Some(found) = moment(candidate) {
            return Some(extended(line, end, found));
        }
    }
    None
}

/// A time that ends at this byte of a line, with `PM` and the zone if they follow; and the rest.
fn extended(line: &str, mut end: usize, mut found: Moment) -> (Moment, &str) {
    for _ in 0..2 {
        let rest = line[end..].trim_start();
        let word = rest.split(char::is_whitespace).next().unwrap_or_default();
        let own = word.trim_end_matches([':', ']']);
        if !matches!(own, "AM" | "PM") && offset(own).is_none() && zone(own).is_none() {
            break;
        }
        let longer = line.len() - rest.len() + word.len();
        let Some(whole) = moment(line[..longer].trim_end_matches(':')) else {
            break;
        };
        (found, end) = (whole, longer);
    }
    (found, line[end..].trim_start())
}

/// Seconds since the epoch between 2001 and 2096, with or without a fraction.
fn epoch(text: &str) -> Option<f64> {
    let whole = text.split('.').next()?;
    if whole.len() != 10 || !text.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let seconds: f64 = text.parse().ok()?;
    (1e9..4e9).contains(&seconds).then_some(seconds)
}

/// The parts of a time parsed so far.
#[derive(Default)]
struct Parts {
    date: Option<(i64, u32, u32)>,
    ambiguous: bool,
    time: Option<f64>,
    afternoon: Option<bool>,
    offset_s: Option<f64>,
    month: Option<u32>,
    day: Option<u32>,
    year: Option<i64>,
}

impl Parts {
    /// Parses a word; `None` if it cannot belong to a time.
    fn take(&mut self, word: &str) -> Option<()> {
        let word = word.trim_end_matches([',', '.']);
        let lower = word.to_ascii_lowercase();
        if offset(word).is_some() {
            self.offset_s = offset(word);
            return Some(());
        }
        if word.contains(':') {
            return self.clock(word);
        }
        if let Some(date) = date(word) {
            (self.date, self.ambiguous) = (Some(date.0), date.1);
            return Some(());
        }
        if word.bytes().all(|b| b.is_ascii_digit()) {
            let number: u32 = word.parse().ok()?;
            match word.len() {
                1 | 2 => self.day = Some(number),
                4 => self.year = Some(i64::from(number)),
                _ => return None,
            }
            return Some(());
        }
        match lower.as_str() {
            "am" => self.afternoon = Some(false),
            "pm" => self.afternoon = Some(true),
            _ if zone(word).is_some() => self.offset_s = zone(word),
            // Do not treat an ambiguous or unknown zone name as UTC.
            _ if is_zone(word) => return None,
            _ => {
                if !word.chars().all(char::is_alphabetic) || word.chars().count() > 12 {
                    return None;
                }
                let start = lower.get(..3).unwrap_or_default();
                if let Some(month) = MONTHS.iter().position(|name| *name == start) {
                    self.month = u32::try_from(month + 1).ok();
                } else if !DAYS.contains(&start) && word.len() > 5 {
                    return None; // neither a weekday nor the short name of a zone
                }
            }
        }
        Some(())
    }

    /// `13:07:48`, `13:07:48.25`, `13:07:48+0200`.
    fn clock(&mut self, word: &str) -> Option<()> {
        let word = match word.strip_suffix('Z') {
            Some(rest) => {
                self.offset_s = Some(0.0);
                rest
            }
            None => word,
        };
        let (clock, zone) = match word.find(['+', '-']) {
            Some(at) => word.split_at(at),
            None => (word, ""),
        };
        if !zone.is_empty() {
            self.offset_s = Some(offset(zone)?);
        }
        let mut parts = clock.split(':');
        let hours: u32 = parts.next()?.parse().ok()?;
        let minutes: u32 = parts.next()?.parse().ok()?;
        let seconds = crate::number::decimal(parts.next().unwrap_or("0"))?;
        let sane = hours < 24 && minutes < 60 && (0.0..61.0).contains(&seconds);
        if !sane || parts.next().is_some() {
            return None;
        }
        self.time = Some(f64::from(hours * 3600 + minutes * 60) + seconds);
        Some(())
    }

    fn moment(self) -> Option<Moment> {
        let (year, month, day) = match self.date {
            Some(date) => date,
            None => (self.year?, self.month?, self.day?),
        };
        let mut time = self.time?;
        match self.afternoon {
            Some(true) if time < 43_200.0 => time += 43_200.0,
            Some(false) if time >= 43_200.0 => time -= 43_200.0,
            _ => {}
        }
        Some(Moment {
            seconds: day_s(year, month, day)? + time - self.offset_s.unwrap_or(0.0),
            utc: self.offset_s.is_some(),
            ambiguous: self.ambiguous,
        })
    }
}

/// How far a zone with an unambiguous name is ahead of UTC, in seconds. `CST` and `IST` are
/// ambiguous.
fn zone(name: &str) -> Option<f64> {
    const HOURS: [(&str, f64); 31] = [
        ("UTC", 0.0),
        ("GMT", 0.0),
        ("Z", 0.0),
        ("WET", 0.0),
        ("WEST", 1.0),
        ("CET", 1.0),
        ("CEST", 2.0),
        ("EET", 2.0),
        ("EEST", 3.0),
        ("MSK", 3.0),
        ("SAST", 2.0),
        ("PKT", 5.0),
        ("WIB", 7.0),
        ("SGT", 8.0),
        ("HKT", 8.0),
        ("AWST", 8.0),
        ("JST", 9.0),
        ("KST", 9.0),
        ("ACST", 9.5),
        ("AEST", 10.0),
        ("AEDT", 11.0),
        ("NZST", 12.0),
        ("NZDT", 13.0),
        ("EST", -5.0),
        ("EDT", -4.0),
        ("CDT", -5.0),
        ("MST", -7.0),
        ("MDT", -6.0),
        ("PST", -8.0),
        ("PDT", -7.0),
        ("HST", -10.0),
    ];
    let universal = ["utc", "gmt", "z"].contains(&name);
    let own = HOURS.iter().find(|(own, _)| *own == name);
    let own = own.or(universal.then_some(&HOURS[0]));
    own.map(|(_, hours)| hours * 3600.0)
}

fn is_zone(word: &str) -> bool {
    let known = |names: &[&str]| names.contains(&word.to_ascii_lowercase().as_str());
    (3..=5).contains(&word.len())
        && word.bytes().all(|b| b.is_ascii_uppercase())
        && !known(&MONTHS)
        && !known(&DAYS)
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// `2026-11-21`, `21.11.2026`, `11/21/26`, `11/21/2026`, `21/11/26`; and whether day and month may
/// be swapped. With slashes the month comes first, unless it is too large.
pub(crate) fn date(word: &str) -> Option<((i64, u32, u32), bool)> {
    let separator = word.chars().find(|c| matches!(c, '-' | '/' | '.'))?;
    let mut numbers = [0_u32; 3];
    let mut words = word.split(separator);
    let first_length = word.find(separator)?;
    for number in &mut numbers {
        let word = words.next()?;
        if word.is_empty() || word.len() > 4 || !word.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        *number = word.parse().ok()?;
    }
    if words.next().is_some() {
        return None;
    }
    let [a, b, c] = numbers;
    let year = |y: u32| i64::from(if y < 100 { 2000 + y } else { y });
    let (date, ambiguous) = if first_length == 4 {
        ((year(a), b, c), false)
    } else if separator == '.' || a > 12 {
        ((year(c), b, a), false)
    } else {
        ((year(c), a, b), b <= 12 && a != b)
    };
    day_s(date.0, date.1, date.2)?;
    Some((date, ambiguous))
}

/// `+0200`, `+02:00`, `-05`.
pub(crate) fn offset(text: &str) -> Option<f64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+')?),
    };
    let digits: String = digits.chars().filter(|c| *c != ':').collect();
    if !matches!(digits.len(), 2 | 4) || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let hours: u32 = digits.get(..2)?.parse().ok()?;
    let minutes: u32 = match digits.get(2..4) {
        Some(minutes) => minutes.parse().ok()?,
        None => 0,
    };
    (hours <= 14 && minutes < 60).then(|| sign * f64::from(hours * 3600 + minutes * 60))
}

/// Seconds from the epoch to the start of a day; `None` for an invalid date, or one before 1970.
fn day_s(year: i64, month: u32, day: u32) -> Option<f64> {
    let (month, day) = (i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    let date = Date::new(i16::try_from(year).ok()?, month, day).ok()?;
    let since_epoch = date.duration_since(Date::constant(1970, 1, 1));
    (!since_epoch.is_negative()).then(|| since_epoch.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn all_formats_give_the_same_time() {
        let unix = 1_795_266_468.0;
        for (text, utc) in [
            ("1795266468", true),
            ("2026-11-21 13:07:48", false),
            ("2026-11-21T13:07:48", false),
            ("2026-11-21T13:07:48Z", true),
            ("2026-11-21T14:07:48+0100", true),
            ("2026-11-21 08:07:48 -05:00", true),
            ("11/21/26 13:07:48", false),
            ("11/21/2026 01:07:48 PM", false),
            ("21/11/26 13:07:48", false),
            ("21.11.2026 13:07:48", false),
            ("Sat Nov 21 13:07:48 UTC 2026", true),
            ("Sat Nov 21 14:07:48 CET 2026", true),
            ("Sat Nov 21 06:07:48 MST 2026", true),
            ("Sat 21 Nov 2026 08:07:48 AM EST", true),
            ("SAT NOV 21 13:07:48 2026", false),
            ("Sa 21. Nov 13:07:48 2026", false),
            ("Sat 21 Nov 2026 01:07:48 PM UTC", true),
        ] {
            let moment = moment(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!((moment.seconds, moment.utc), (unix, utc), "{text}");
            assert!(!moment.ambiguous, "{text}");
        }
        assert!(moment("03/04/26 00:00:00").unwrap().ambiguous);
        assert_eq!(
            moment("12/31/99 12:00:00 AM").unwrap().seconds,
            4_102_358_400.0
        );
    }

    #[test]
    fn refuses_invalid_times() {
        for text in [
            "",
            "13:07:48",
            "2026-11-21",
            "2026-13-01 00:00:00",
            "2026-02-29 00:00:00",
            "some words",
            "123456789",
            "Threads started!",
            // CST is ambiguous: China or Chicago.
            "Sat Nov 21 13:07:48 CST 2026",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    #[test]
    fn stamps_before_lines() {
        let (stamp, rest) = prefix("2026-11-21 13:07:48 [ 1s ] thds: 1").unwrap();
        assert_eq!((stamp.seconds, rest), (1_795_266_468.0, "[ 1s ] thds: 1"));
        let (stamp, rest) = prefix("1795266468.5 Threads started!").unwrap();
        assert_eq!((stamp.seconds, rest), (1_795_266_468.5, "Threads started!"));
        let (_, rest) = prefix("[2026-11-21T13:07:48Z] [ 1s ] thds: 1").unwrap();
        assert_eq!(rest, "[ 1s ] thds: 1");
        for stamp in [
            "2026-11-21 14:07:48 +0100",
            "2026-11-21 08:07:48 -05:00:",
            "[2026-11-21 13:07:48 UTC]",
            "11/21/2026 01:07:48 PM UTC",
        ] {
            let line = format!("{stamp} [ 1s ] thds: 1");
            let (moment, rest) = prefix(&line).unwrap();
            assert_eq!((moment.seconds, moment.utc), (1_795_266_468.0, true));
            assert_eq!(rest, "[ 1s ] thds: 1", "{stamp}");
        }
        let (stamp, rest) = prefix("2026-11-21 13:07:48 UTC").unwrap();
        assert_eq!((stamp.utc, rest), (true, ""));
        assert_eq!(prefix("[ 1s ] thds: 1 tps: 2"), None);
        assert_eq!(prefix(" 1 0 0 1 2 3"), None);
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "\\PC*") {
            let _ = (moment(&text), prefix(&text), date(&text));
        }
    }
}
