//! Parses numbers printed under any locale: decimal point or comma, with or without thousands
//! separators.

/// Parses a whole text as a number: `242.51`, `242,51`, `1,234.5`, `1.234,5`. A single comma or
/// point is decimal. Never infinite or NaN.
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

/// The largest plausible count; sums of such counts are far from overflowing.
pub(crate) const COUNT_MAX: u64 = 1_000_000_000_000_000;

/// The highest plausible rate, per second: no computer counts faster.
pub(crate) const RATE_MAX: f64 = 1e12;

/// Parses a whole text as a count: `243533`, `243,533`, `243.533`, `243'533`.
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

/// Whether other text overwrote the end of a number at the beginning of a text: `3.ial`,
/// `85.2initial`.
pub(crate) fn is_torn(text: &str) -> bool {
    let (word, rest) = leading_word(text);
    !word.is_empty()
        && rest
            .trim_start_matches('.')
            .starts_with(char::is_alphabetic)
}

/// Whether a number before this text is the beginning of a date or time: another program's line
/// was inserted here.
fn is_moment(rest: &str) -> bool {
    let digits = rest.strip_prefix(['-', ':']);
    digits.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
}

/// The number at the beginning of a text after blanks, and the rest. `None` if its decimals are
/// missing, or if it begins a date or time.
pub(crate) fn leading(text: &str) -> Option<(f64, &str)> {
    let (word, rest) = leading_word(text);
    let decimals = rest.strip_prefix('.');
    if is_moment(rest) || decimals.is_some_and(|rest| rest.starts_with(char::is_alphabetic)) {
        return None;
    }
    Some((decimal(word)?, rest))
}

/// The count at the beginning of a text, and the rest.
pub(crate) fn leading_count(text: &str) -> Option<(u64, &str)> {
    let (word, rest) = leading_word(text);
    let value = count(word).filter(|_| !is_moment(rest))?;
    Some((value, rest))
}

/// The sum of printed figures, exact to their last digit: 0.1 and 0.2 are 0.3.
pub(crate) fn sum(values: impl Iterator<Item = f64>) -> f64 {
    const DECIMALS: usize = 15;
    let values: Vec<f64> = values.collect();
    let texts: Vec<String> = values.iter().map(f64::to_string).collect();
    let behind = |text: &String| text.split_once('.').map_or(0, |(_, digits)| digits.len());
    let decimals = texts.iter().map(behind).max().unwrap_or(0);
    let scaled = |text: &String| -> Option<i128> {
        let (whole, digits) = text.split_once('.').unwrap_or((text, ""));
        format!("{whole}{digits:0<decimals$}").parse().ok()
    };
    let mut all = texts.iter().map(scaled);
    let sum = all.try_fold(0_i128, |sum, one| sum.checked_add(one?));
    let (Some(sum), true) = (sum, decimals <= DECIMALS) else {
        return values.iter().sum();
    };
    let sign = if sum < 0 { "-" } else { "" };
    let digits = format!("{:0>width$}", sum.unsigned_abs(), width = decimals + 1);
    let (whole, behind) = digits.split_at(digits.len() - decimals);
    let exact = format!("{sign}{whole}.{behind}0").parse();
    exact.unwrap_or_else(|_| values.iter().sum())
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

/// Joins digits in groups of three; the first group may be shorter.
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
        assert_eq!((leading("3."), leading("3.ial")), (Some((3.0, ".")), None));
        for (text, torn) in [
            ("3.ial", true),
            ("85.2initial", true),
            ("3 ms", false),
            ("3.", false),
        ] {
            assert_eq!(is_torn(text), torn, "{text}");
        }
        assert_eq!(leading_count("708    (235.47"), Some((708, "    (235.47")));
        assert_eq!(leading_count("1: a.sql"), Some((1, ": a.sql")));
        for text in ["2026-11-25 10:00:00 LOG", "10:00:00", " 92026-11-25"] {
            assert_eq!((leading(text), leading_count(text)), (None, None), "{text}");
        }
    }

    #[test]
    fn sums_are_exact_to_the_last_digit() {
        assert_eq!(
            sum([11_316.894_369, 4_822.725_758].into_iter()),
            16_139.620_127
        );
        assert_eq!(sum([0.1, 0.2].into_iter()), 0.3);
        assert_eq!(sum([-0.5, 0.25].into_iter()), -0.25);
        assert_eq!(sum([7.0].into_iter()), 7.0);
        assert_eq!(sum(std::iter::empty()), 0.0);
        assert!(sum([f64::NAN, 1.0].into_iter()).is_nan());
        assert_eq!(sum([1e300, 1e300].into_iter()), 2e300);
    }

    proptest! {
        #[test]
        fn sums_match_floating_point(values in prop::collection::vec(-1e9f64..1e9, 0..9)) {
            let usual: f64 = values.iter().sum();
            prop_assert!((sum(values.into_iter()) - usual).abs() < 1e-3);
        }

        #[test]
        fn arbitrary_text_never_panics(text in "\\PC*") {
            let _ = (decimal(&text), count(&text), leading(&text), leading_count(&text));
        }

        #[test]
        fn printed_decimals_parse_back(value in -1e12f64..1e12) {
            let printed = format!("{value:.2}");
            let expected: f64 = printed.parse().unwrap();
            prop_assert_eq!(decimal(&printed), Some(expected));
            prop_assert_eq!(decimal(&printed.replace('.', ",")), Some(expected));
        }
    }
}
