//! Wall-clock time.

/// `2026-11-21 13:02:14 UTC`.
pub(crate) fn utc(unix_s: f64) -> String {
    let whole = unix_s.floor() as i64;
    let (days, second) = (whole.div_euclid(86_400), whole.rem_euclid(86_400));
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02} {:02}:{:02}:{:02} UTC",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
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
