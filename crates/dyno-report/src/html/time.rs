//! Wall-clock time.

use dyno_core::clock::civil;

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

#[cfg(test)]
mod tests {
    use super::{clock, utc};

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
}
