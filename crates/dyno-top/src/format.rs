//! Values for display, short enough for columns.

use dyno_core::units::{human_number, human_seconds};

use crate::figures::Cell;
use crate::profile::Kind;

/// The text of an unknown value.
pub(crate) const ABSENT: &str = "–";

/// A cell of this kind as text.
pub(crate) fn cell(kind: Kind, cell: &Cell) -> String {
    match cell {
        Cell::Absent => ABSENT.to_owned(),
        Cell::Text(text) => text.clone(),
        Cell::Number(number) => value(kind, *number),
    }
}

/// A number of this kind as text.
pub(crate) fn value(kind: Kind, number: f64) -> String {
    match kind {
        Kind::Text | Kind::Count => count(number),
        Kind::Bytes => bytes(number),
        Kind::Seconds => seconds(number),
        Kind::Share => format!("{} %", human_number(number * 100.0, 1)),
    }
}

/// A count or a rate: whole numbers as they are, else about three digits; from 100,000 on with `k`,
/// `M`, `G`, `T` for thousands.
fn count(number: f64) -> String {
    let size = number.abs();
    if size > 0.0 && size < 0.005 {
        // Distinguishable from 0.
        return "<0.01".to_owned();
    }
    if size < 99_999.5 {
        let whole = number.fract() == 0.0 || size >= 99.95;
        let decimals = match size {
            _ if whole => 0,
            s if s >= 9.995 => 1,
            _ => 2,
        };
        return human_number(number, decimals);
    }
    let units = [(1e12, "T"), (1e9, "G"), (1e6, "M")];
    let unit = units.into_iter().find(|(unit, _)| size >= 0.999_5 * unit);
    let (unit, name) = unit.unwrap_or((1e3, "k"));
    format!("{}{name}", three_digits(number / unit))
}

/// Bytes in powers of 1024: `1.50M`.
fn bytes(number: f64) -> String {
    let size = number.abs();
    if size < 1023.5 {
        return format!("{}B", human_number(number, 0));
    }
    let units = ["K", "M", "G", "T", "P", "E"];
    let mut value = number / 1024.0;
    let mut unit = 0;
    while value.abs() >= 1023.5 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{}{}", three_digits(value), units[unit])
}

/// A time; days instead of many hours.
fn seconds(number: f64) -> String {
    const DAY_S: f64 = 86_400.0;
    match number >= 2.0 * DAY_S {
        true => {
            let hours = (number % DAY_S / 3600.0).floor();
            format!(
                "{}d {hours:02.0}h",
                human_number((number / DAY_S).floor(), 0)
            )
        }
        false => human_seconds(number),
    }
}

fn three_digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if v >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    human_number(value, decimals)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_short() {
        for (kind, number, text) in [
            (Kind::Count, 0.0, "0"),
            (Kind::Count, 0.125, "0.12"),
            (Kind::Count, 0.000_4, "<0.01"),
            (Kind::Count, 12.34, "12.3"),
            (Kind::Count, 1234.5, "1,234"),
            (Kind::Count, 99_999.0, "99,999"),
            (Kind::Count, 123_456.0, "123k"),
            (Kind::Count, 999_999.0, "1.00M"),
            (Kind::Count, 18_446_744_073_709_551_615.0, "18,446,744T"),
            (Kind::Bytes, 12.0, "12B"),
            (Kind::Bytes, 1536.0, "1.50K"),
            (Kind::Bytes, 128.0 * 1024.0 * 1024.0, "128M"),
            (Kind::Seconds, 0.00123, "1.23 ms"),
            (Kind::Seconds, 3720.0, "1h 02m"),
            (Kind::Seconds, 900_000.0, "10d 10h"),
            (Kind::Share, 0.9987, "99.9 %"),
        ] {
            assert_eq!(value(kind, number), text);
        }
        assert_eq!(cell(Kind::Count, &Cell::Absent), ABSENT);
    }
}
