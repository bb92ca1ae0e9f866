//! Numbers as programs print them under any locale: a decimal point or comma, thousands apart or
//! not.

/// A whole text as a number: `242.51`, `242,51`, `1,234.5`, `1.234,5`. A single comma or point is
/// decimal. Never infinite and never NaN.
pub(crate) fn decimal(text: &str) -> Option<f64> {
    let text = text.trim();
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1.0, rest),
        None => (1.0, text.strip_prefix('+').unwrap_or(text)),
    };
    let allowed = |c: char| c.is_ascii_digit() || matches!(c, '.' | ',');
    if !digits.starts_with(|c: char| c.is_ascii_digit() || c == '.') || !digits.chars().all(allowed)
    {
        return None;
    }
    let commas = digits.matches(',').count();
    let points = digits.matches('.').count();
    let plain = match (commas, points) {
        (0, 0 | 1) => digits.to_owned(),
        (1, 0) => digits.replace(',', "."),
        (_, 0) => grouped(digits, ',')?,
        (0, _) => grouped(digits, '.')?,
        _ if digits.rfind(',') > digits.rfind('.') && commas == 1 => {
            digits.replace('.', "").replace(',', ".")
        }
        _ if points == 1 => digits.replace(',', ""),
        _ => return None,
    };
    let value: f64 = plain.parse().ok()?;
    value.is_finite().then_some(sign * value)
}

/// The largest count that is believed; sums of such ones stay far from overflowing.
pub(crate) const COUNT_MAX: u64 = 1_000_000_000_000_000;

/// A whole text as a count: `243533`, `243,533`, `243.533`, `243'533`.
pub(crate) fn count(text: &str) -> Option<u64> {
    let text = text.trim();
    let separator = text.chars().find(|c| !c.is_ascii_digit());
    let value: u64 = match separator {
        None => text.parse().ok()?,
        Some(c @ (',' | '.' | '\'' | '_')) => grouped(text, c)?.parse().ok()?,
        Some(_) => return None,
    };
    (value <= COUNT_MAX).then_some(value)
}

/// The number at the beginning of a text, blanks before it passed over, and what follows it.
pub(crate) fn leading(text: &str) -> Option<(f64, &str)> {
    let (word, rest) = leading_word(text);
    Some((decimal(word)?, rest))
}

/// The count at the beginning of a text, and what follows it.
pub(crate) fn leading_count(text: &str) -> Option<(u64, &str)> {
    let (word, rest) = leading_word(text);
    Some((count(word)?, rest))
}

fn leading_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let part = |(at, c): (usize, char)| {
        c.is_ascii_digit() || matches!(c, '.' | ',' | '\'') || (at == 0 && matches!(c, '-' | '+'))
    };
    let end = text
        .char_indices()
        .find(|&pair| !part(pair))
        .map_or(text.len(), |(at, _)| at);
    let word = text[..end].trim_end_matches([',', '.', '\'']);
    (word, &text[word.len()..])
}

/// Digits in groups of three, without what stands between; the first group may be shorter.
fn grouped(text: &str, separator: char) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    for (index, group) in text.split(separator).enumerate() {
        let fits = match index {
            0 => (1..=3).contains(&group.len()),
            _ => group.len() == 3,
        };
        if !fits || !group.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        out.push_str(group);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn locales() {
        for (text, value) in [
            ("242.51", Some(242.51)),
            ("242,51", Some(242.51)),
            ("140,611.72", Some(140_611.72)),
            ("140.611,72", Some(140_611.72)),
            ("1,234,567", Some(1_234_567.0)),
            ("-3.5", Some(-3.5)),
            (".5", Some(0.5)),
            ("1.2.3", None),
            ("nan", None),
            ("inf", None),
            ("", None),
            ("-", None),
            ("1e5", None),
        ] {
            assert_eq!(decimal(text), value, "{text}");
        }
        assert_eq!(count("16,879,188"), Some(16_879_188));
        assert_eq!(count("243.533"), Some(243_533));
        assert_eq!(count("12.5"), None);
        assert_eq!(count("1234,567"), None);
        assert_eq!(count("18446744073709551616"), None);
        assert_eq!(leading(" 242,51, reads"), Some((242.51, ", reads")));
        assert_eq!(leading_count("708    (235.47"), Some((708, "    (235.47")));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "\\PC*") {
            let _ = (decimal(&text), count(&text), leading(&text), leading_count(&text));
        }

        #[test]
        fn what_is_printed_is_read(value in -1e12f64..1e12) {
            let printed = format!("{value:.2}");
            let expected: f64 = printed.parse().unwrap();
            prop_assert_eq!(decimal(&printed), Some(expected));
            prop_assert_eq!(decimal(&printed.replace('.', ",")), Some(expected));
        }
    }
}
