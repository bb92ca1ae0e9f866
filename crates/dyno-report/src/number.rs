//! Numbers for reading.

use dyno_core::text::trim_zeros;
pub(crate) use dyno_core::units::human_count as thousands;

/// A rate per second: whole from 100 on, three significant digits below: `12,345`, `98.7`, `0.125`.
pub(crate) fn rate(per_s: f64) -> String {
    if !per_s.is_finite() || per_s <= 0.0 {
        return "0".into();
    }
    if per_s >= 99.95 {
        thousands(per_s.round() as u64)
    } else {
        significant(per_s)
    }
}

/// Any figure, with as many digits as a rate, whole numbers without decimals: `41,235`, `3.25`,
/// `-12`.
pub(crate) fn figure(value: f64) -> String {
    let size = match value.abs() {
        whole if whole.fract() == 0.0 && whole < 1e15 => thousands(whole as u64),
        other => rate(other),
    };
    match value < 0.0 {
        true => format!("-{size}"),
        false => size,
    }
}

/// A latency in milliseconds, with three significant digits and a unit: `4.12 µs`, `1.23 ms`, `2.31
/// s`.
pub fn latency(ms: f64) -> String {
    if !ms.is_finite() || ms <= 0.0 {
        return "0 ms".into();
    }
    let unit = time_unit(ms);
    format!("{} {unit}", significant(in_time_unit(ms, unit)))
}

/// The unit that fits a time of so many milliseconds.
pub(crate) fn time_unit(ms: f64) -> &'static str {
    match ms {
        ms if !ms.is_finite() || ms <= 0.0 => "ms",
        ms if ms < 0.0009995 => "ns",
        ms if ms < 0.9995 => "µs",
        ms if ms < 999.5 => "ms",
        _ => "s",
    }
}

/// Milliseconds in a unit of [`time_unit`].
pub(crate) fn in_time_unit(ms: f64, unit: &str) -> f64 {
    match unit {
        "ns" => ms * 1e6,
        "µs" => ms * 1e3,
        "s" => ms / 1e3,
        _ => ms,
    }
}

/// A duration in seconds: `12.3 s`, `30 s`, `5 min`, `1 h 2 min`.
pub(crate) fn length(seconds: f64) -> String {
    if !seconds.is_finite() || seconds <= 0.0 {
        return "0 s".into();
    }
    let tenths = (seconds * 10.0).round() / 10.0;
    if tenths == 0.0 {
        return latency(seconds * 1e3);
    }
    if tenths < 120.0 {
        return format!("{} s", trim_zeros(&format!("{tenths:.1}")));
    }
    let whole = seconds.round() as u64;
    let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60);
    [(hours, "h"), (minutes, "min"), (rest, "s")]
        .iter()
        .filter(|(amount, _)| *amount > 0)
        .map(|(amount, unit)| format!("{amount} {unit}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A size: `12.3 MiB`.
pub(crate) fn bytes(size: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if size < 1024 {
        return format!("{size} B");
    }
    let mut value = size as f64 / 1024.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", significant(value), UNITS[unit])
}

/// A mean amount in a unit of [`dyno_core::record::Cost`]. A mean size may be less than a byte.
pub(crate) fn amount(value: f64, unit: &str) -> String {
    let size = |mean: f64| match mean < 10.0 {
        true => format!("{} B", figure(mean)),
        false => bytes(mean.round() as u64),
    };
    match unit {
        "us" => latency(value / 1e3),
        "kb" => size(value * 1024.0),
        "bytes" => size(value),
        _ => figure(value),
    }
}

/// A number as typed: `95`, `99.9`.
pub(crate) fn plain(number: f64) -> String {
    number.to_string()
}

/// An offered rate as requested: `100/s`, and below one per second `100/h` or `30/min` if that is a
/// whole number.
pub(crate) fn offered(per_second: f64) -> String {
    let whole = |per: f64| {
        let rate = per_second * per;
        ((rate - rate.round()).abs() < 1e-9 * rate).then(|| rate.round())
    };
    let fits = |(per, unit): (f64, &str)| Some(format!("{}/{unit}", plain(whole(per)?)));
    match per_second < 1.0 {
        true => [(60.0, "min"), (3600.0, "h")].into_iter().find_map(fits),
        false => None,
    }
    .unwrap_or_else(|| format!("{}/s", plain(per_second)))
}

/// A share in whole percent, with one decimal below ten.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent > 0.0 && percent < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// Three significant digits, without an exponent.
fn significant(value: f64) -> String {
    if value >= 999.5 {
        thousands(value.round() as u64)
    } else if value >= 99.95 {
        format!("{value:.0}")
    } else if value >= 9.995 {
        format!("{value:.1}")
    } else if value >= 0.9995 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offered_rates_have_the_unit_in_which_they_are_whole() {
        let shown = [1500.5, 1.0, 0.5, 100.0 / 3600.0, 7.0 / 3600.0, 0.123_456].map(offered);
        let expected = ["1500.5/s", "1/s", "30/min", "100/h", "7/h", "0.123456/s"];
        assert_eq!(shown, expected);
    }

    #[test]
    fn rates_keep_three_digits() {
        assert_eq!(rate(12_345.4), "12,345");
        assert_eq!(rate(99.96), "100");
        assert_eq!(rate(99.9), "99.9");
        assert_eq!(rate(1.0), "1.00");
        assert_eq!(rate(0.1251), "0.125");
        assert_eq!(rate(f64::NAN), "0");
    }

    #[test]
    fn figures_may_be_below_zero() {
        assert_eq!(figure(-12.0), "-12");
        assert_eq!(figure(-12.5), "-12.5");
        assert_eq!(figure(41_234.5), "41,235");
        assert_eq!(figure(-0.0), "0");
    }

    #[test]
    fn latencies_choose_their_unit() {
        assert_eq!(latency(0.0), "0 ms");
        assert_eq!(latency(0.000_25), "250 ns");
        assert_eq!(latency(0.000_999_9), "1.00 µs");
        assert_eq!(latency(0.004_12), "4.12 µs");
        assert_eq!(latency(0.999_7), "1.00 ms");
        assert_eq!(latency(1.234), "1.23 ms");
        assert_eq!(latency(99.97), "100 ms");
        assert_eq!(latency(2_310.0), "2.31 s");
        assert_eq!(latency(3_600_000.0), "3,600 s");
    }

    #[test]
    fn lengths_omit_trailing_zero_parts() {
        assert_eq!(length(0.0), "0 s");
        assert_eq!(length(0.02), "20.0 ms");
        assert_eq!(length(30.0), "30 s");
        assert_eq!(length(12.34), "12.3 s");
        assert_eq!(length(119.96), "2 min");
        assert_eq!(length(300.0), "5 min");
        assert_eq!(length(3725.0), "1 h 2 min 5 s");
    }

    #[test]
    fn sizes_are_binary() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.00 KiB");
        assert_eq!(bytes(25_480_396), "24.3 MiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn shares() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.0123), "1.2 %");
        assert_eq!(percent(0.4567), "46 %");
    }
}
