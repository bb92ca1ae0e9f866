//! Wall-clock time.

use dyno_core::clock::civil;

use crate::number;

/// `2026-11-21 13:02:14 UTC`.
pub(super) fn utc(unix_s: f64) -> String {
    civil(unix_s, "%Y-%m-%d %H:%M:%S UTC")
}

/// Seconds from the start of the measurement: `4:05`, `1:00:00`, `−0:30`.
pub(super) fn clock(at_s: f64) -> String {
    let sign = if at_s < 0.0 { "−" } else { "" };
    let whole = at_s.abs().round() as u64;
    let (hours, minutes, seconds) = (whole / 3600, whole / 60 % 60, whole % 60);
    match hours {
        0 => format!("{sign}{minutes}:{seconds:02}"),
        _ => format!("{sign}{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// An instant, or a span of time: `4:05`, `4:05 to 4:09`; a short span with its length: `4:05 for
/// 0.1 s`.
pub(super) fn span(from_s: f64, until_s: Option<f64>) -> String {
    let from = clock(from_s);
    match until_s.map(|until_s| (clock(until_s), until_s - from_s)) {
        None => from,
        Some((until, length_s)) if until == from => {
            format!("{from} for {}", number::length(length_s))
        }
        Some((until, _)) => format!("{from} to {until}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{clock, span, utc};

    #[test]
    fn dates_are_right() {
        // `date -u -d @N`.
        assert_eq!(utc(0.0), "1970-01-01 00:00:00 UTC");
        assert_eq!(utc(1_709_164_800.9), "2024-02-29 00:00:00 UTC");
        assert_eq!(utc(1_795_266_134.0), "2026-11-21 13:02:14 UTC");
        assert_eq!(clock(245.2), "4:05");
        assert_eq!(clock(-30.0), "−0:30");
        assert_eq!(clock(3600.0), "1:00:00");
        assert_eq!(utc(-1.0), "1969-12-31 23:59:59 UTC");
    }

    #[test]
    fn short_spans_have_a_length() {
        assert_eq!(span(245.2, None), "4:05");
        assert_eq!(span(245.2, Some(249.0)), "4:05 to 4:09");
        assert_eq!(span(0.6, Some(0.71)), "0:01 for 0.1 s");
    }
}
