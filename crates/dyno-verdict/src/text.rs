//! Numbers as text in evidence: few digits, fitting units.

use dyno_core::text::trim_zeros;
pub(crate) use dyno_core::text::{counted, number_of, plural, verb};
pub(crate) use dyno_core::units::human_count as count;

/// Without insignificant digits: 0.02, 1.5, 12, 12000.
pub(crate) fn plain(value: f64) -> String {
    let digits = match value.abs() {
        v if v == 0.0 || v >= 100.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        v if v >= 0.01 => 3,
        _ => 5,
    };
    trim_zeros(&format!("{value:.digits$}")).to_owned()
}

pub(crate) fn signed(value: f64) -> String {
    let sign = if value >= 0.0 { "+" } else { "" };
    format!("{sign}{}", plain(value))
}

/// A share of 0 to 1 as percent.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", plain(share * 100.0))
}

pub(crate) fn rate(per_s: f64) -> String {
    if (1000.0..1e15).contains(&per_s) {
        count(per_s.round() as u64)
    } else {
        plain(per_s)
    }
}

pub(crate) fn bytes(bytes: f64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut value = bytes;
    let mut unit = 0;
    while value.abs() >= 1024.0 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", plain(value), UNITS[unit])
}

/// A size as in settings: `134217728`, `128MB`, `1G`, `16kB`. Without a unit it is counted in
/// `unit_size` bytes.
pub(crate) fn parse_bytes(text: &str, unit_size: f64) -> Option<f64> {
    let text = text.trim();
    let digits_end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let number: f64 = text[..digits_end].parse().ok()?;
    let unit = text[digits_end..].trim().to_ascii_lowercase();
    let factor = match unit.trim_end_matches("ib").trim_end_matches('b') {
        "" if unit.is_empty() => unit_size,
        "" => 1.0,
        "k" => 1024.0,
        "m" => 1024.0 * 1024.0,
        "g" => 1024.0 * 1024.0 * 1024.0,
        "t" => 1024.0 * 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some(number * factor)
}

/// A probability after `p`.
pub(crate) fn chance(p: f64) -> String {
    match p < 0.001 {
        true => "< 0.001".to_owned(),
        false => format!("= {}", plain(p)),
    }
}

/// A time in milliseconds, or in microseconds if it is shorter than one.
pub(crate) fn ms(ms: f64) -> String {
    match ms.abs() {
        under if under > 0.0 && under < 1.0 => format!("{} µs", plain(ms * 1e3)),
        _ => format!("{} ms", plain(ms)),
    }
}

pub(crate) fn seconds(s: f64) -> String {
    format!("{} s", plain(s))
}

/// `a, b and c`.
pub(crate) fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// The first few items, and the number of the others.
pub(crate) fn few(items: &[String], most: usize) -> String {
    if items.len() <= most {
        return list(items);
    }
    format!(
        "{} and {} more",
        items[..most].join(", "),
        items.len() - most
    )
}

/// Whether a word is a name, such as `sbtest1`, `sync_binlog` or `db.up`. A word that begins with a
/// digit is a number.
fn is_name(word: &str) -> bool {
    let digits = word.contains(|c: char| c.is_ascii_digit());
    let begins = word.starts_with(|c: char| c.is_ascii_alphabetic());
    word.contains(['_', '.', '[', '/']) || (digits && begins)
}

/// With a capital at the beginning, unless it is a name, and a full stop at the end.
pub(crate) fn sentence(text: &str) -> String {
    let first = text.split(' ').next().unwrap_or_default();
    let mut chars = text.chars();
    // It may already be a sentence.
    let end = if text.ends_with('.') { "" } else { "." };
    match chars.next() {
        None => String::new(),
        Some(_) if is_name(first) => format!("{text}{end}"),
        Some(first) => format!("{}{}{end}", first.to_uppercase(), chars.as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_ends_once() {
        assert_eq!(sentence("it stopped"), "It stopped.");
        assert_eq!(sentence("It stopped."), "It stopped.");
    }

    #[test]
    fn numbers_read_well() {
        for (value, shown) in [
            (0.0, "0"),
            (0.000_04, "0.00004"),
            (0.05, "0.05"),
            (1.0, "1"),
            (1.256, "1.26"),
            (12.34, "12.3"),
            (12000.4, "12000"),
            (-3.5, "-3.5"),
        ] {
            assert_eq!(plain(value), shown);
        }
        assert_eq!(sentence("it is"), "It is.");
        assert_eq!(sentence("max_connections is"), "max_connections is.");
        assert_eq!(sentence("sbtest1 holds"), "sbtest1 holds.");
        assert_eq!(signed(3.0), "+3");
        assert_eq!(percent(0.7), "70 %");
        assert_eq!(ms(0.046_1), "46.1 µs");
        assert_eq!(ms(2000.0), "2000 ms");
        assert_eq!(ms(0.0), "0 ms");
        assert_eq!(rate(1234.5), "1,235");
        assert_eq!(bytes(1536.0), "1.5 KiB");
        assert_eq!(bytes(12.0), "12 bytes");
        for (text, size) in [
            ("134217728", 134_217_728.0),
            ("128MB", 134_217_728.0),
            ("1G", 1_073_741_824.0),
            ("16 kB", 16_384.0),
            ("2 GiB", 2_147_483_648.0),
        ] {
            assert_eq!(parse_bytes(text, 1.0), Some(size), "{text}");
        }
        assert_eq!(parse_bytes("16384", 8192.0), Some(134_217_728.0));
        assert_eq!(parse_bytes("off", 1.0), None);
        assert_eq!(
            few(&["a".into(), "b".into(), "c".into()], 2),
            "a, b and 1 more"
        );
        assert_eq!(list(&["a".into(), "b".into()]), "a and b");
    }
}
