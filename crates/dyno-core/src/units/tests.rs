use std::time::Duration;

use proptest::prelude::*;

use super::*;

#[test]
fn durations_as_people_type_them() {
    for (text, ns) in [
        ("10s", 10_000_000_000),
        ("5m", 300_000_000_000),
        ("1h30m", 5_400_000_000_000),
        ("250ms", 250_000_000),
        ("1.5s", 1_500_000_000),
        (" 10 ", 10_000_000_000),
        ("0.25", 250_000_000),
        (".5s", 500_000_000),
        ("1d2h3m4s5ms6us7ns", 93_784_005_006_007),
        ("15µs", 15_000),
        ("0", 0),
    ] {
        assert_eq!(parse_duration(text), Ok(Duration::from_nanos(ns)), "{text}");
    }
}

#[test]
fn refuses_invalid_durations() {
    for (text, why) in [
        ("", "it is empty"),
        ("-5s", "it is negative"),
        ("s", "must start with a number"),
        ("10x", "there is no unit 'x'"),
        ("10 s", "there is no unit ' s'"),
        ("1h30", "'30' has no unit"),
        ("30m1h", "from large to small"),
        ("1s1s", "from large to small"),
        ("1.2.3s", "not a decimal number"),
        (".", "not a decimal number"),
        ("1.0000000001s", "the finest resolution is 1 ns"),
        ("99999999999d", "too large"),
        ("999999999999m", "too large"),
        ("213503d24h", "too long"),
        ("99999999999999999999999999s", "too large"),
    ] {
        let error = parse_duration(text).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
        assert!(
            error.contains(&format!("'{text}'")) && error.contains("1h30m"),
            "{error}"
        );
    }
}

#[test]
fn rates() {
    for (text, rate) in [
        ("1000/s", 1000.0),
        ("0.5/s", 0.5),
        ("20k/s", 20_000.0),
        ("1000", 1000.0),
        ("1.5M", 1_500_000.0),
        ("30/m", 0.5),
        ("36/h", 0.01),
        ("0", 0.0),
    ] {
        assert_eq!(parse_rate(text), Ok(rate), "{text}");
    }
    for text in [
        "", "x", "-1", "1/x", "1q/s", "1.2.3", "/s", "1e5", "inf", "NaN",
    ] {
        let error = parse_rate(text).unwrap_err().to_string();
        assert!(error.contains("20k/s"), "{error}");
    }
    assert!(parse_rate(&"9".repeat(400)).is_err());
}

#[test]
fn sizes_are_binary_and_counts_decimal() {
    assert_eq!(parse_size("16K"), Ok(16_384));
    assert_eq!(parse_size("4M"), Ok(4 << 20));
    assert_eq!(parse_size("0.5KiB"), Ok(512));
    assert_eq!(parse_size("512"), Ok(512));
    assert_eq!(parse_count("1M"), Ok(1_000_000));
    assert_eq!(parse_count("1.5k"), Ok(1_500));
    assert_eq!(parse_count("1_000_000"), Ok(1_000_000));
    assert_eq!(parse_count("18446744073709551615"), Ok(u64::MAX));
    for text in ["", "1.5", "1X", "-1", "18446744073709551616", "1T", "1 k"] {
        assert!(parse_count(text).is_err(), "{text}");
    }
    for text in ["", "0.3K", "1X", "-1", "99999999T"] {
        assert!(parse_size(text).is_err(), "{text}");
    }
    let error = parse_size("12Q").unwrap_err().to_string();
    assert!(
        error.contains("'12Q'") && error.contains("no unit 'Q'"),
        "{error}"
    );
}

#[test]
fn figures_for_reading() {
    assert_eq!(human_count(1_234_567), "1,234,567");
    assert_eq!(human_count(999), "999");
    assert_eq!(human_count(0), "0");
    assert_eq!(human_number(1234.56, 1), "1,234.6");
    assert_eq!(human_number(-1_234_567.0, 0), "-1,234,567");
    assert_eq!(human_number(-0.001, 1), "0.0");
    assert_eq!(human_number(f64::NAN, 1), "-");
    for (seconds, text) in [
        (0.001_234, "1.23 ms"),
        (0.000_000_5, "500 ns"),
        (0.012_345, "12.3 ms"),
        (0.123_45, "123 ms"),
        (0.999_96, "1.00 s"),
        (12.0, "12.0 s"),
        (59.96, "1m 00s"),
        (125.4, "2m 05s"),
        (3_599.6, "1h 00m"),
        (3_725.0, "1h 02m"),
        (0.0, "0 s"),
        (-0.001, "-1.00 ms"),
        (f64::INFINITY, "-"),
    ] {
        assert_eq!(human_seconds(seconds), text, "{seconds}");
    }
    assert_eq!(human_size(1023), "1023 B");
    assert_eq!(human_size(1536), "1.50 KiB");
    assert_eq!(human_size(1_048_575), "1.00 MiB");
    assert_eq!(human_size(u64::MAX), "16.0 EiB");
}

#[test]
fn canonical_forms() {
    assert_eq!(format_duration(Duration::from_secs(5_400)), "1h30m");
    assert_eq!(format_duration(Duration::from_millis(90_250)), "1m30.25s");
    assert_eq!(format_duration(Duration::from_micros(1_500)), "1.5ms");
    assert_eq!(format_size(16_384), "16K");
    assert_eq!(format_size(0), "0");
}

proptest! {
    #[test]
    fn formatted_values_parse_back(
        value in any::<u64>(),
        shift in 0u32..64,
        rate in 0.0f64..1e12,
    ) {
        let value = value >> shift;
        let duration = Duration::from_nanos(value);
        prop_assert_eq!(parse_duration(&format_duration(duration)), Ok(duration));
        prop_assert_eq!(parse_size(&format_size(value)), Ok(value));
        prop_assert_eq!(parse_count(&value.to_string()), Ok(value));
        prop_assert_eq!(parse_rate(&format!("{rate}/s")), Ok(rate));
    }

    #[test]
    fn any_text_is_refused_or_has_a_canonical_form(text in "[-0-9._kKMGTsmhdn/ µx]{0,24}") {
        crate::fuzzing::units(&text);
    }

    #[test]
    fn figures_of_any_value_are_made(value in any::<f64>(), size in any::<u64>()) {
        prop_assert!(!human_seconds(value).is_empty());
        prop_assert!(!human_number(value, 2).is_empty());
        prop_assert!(human_size(size).len() <= 9);
    }
}
