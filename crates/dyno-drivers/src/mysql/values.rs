//! Values of the binary protocol, formatted as in the server's text protocol.

use std::io::Write as _;

use dyno_core::db::Row;

use super::rows::FEWER;
use super::wire::{Malformed, Reader};

/// The parts of a column definition that formatting its values needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    kind: u8,
    /// Digits after the point; 31 when not fixed.
    decimals: u8,
    flags: u16,
    /// The display width.
    length: u32,
}

const FLAG_UNSIGNED: u16 = 32;
const FLAG_ZEROFILL: u16 = 64;

const TYPE_TINY: u8 = 1;
const TYPE_SHORT: u8 = 2;
const TYPE_LONG: u8 = 3;
const TYPE_FLOAT: u8 = 4;
const TYPE_DOUBLE: u8 = 5;
const TYPE_NULL: u8 = 6;
const TYPE_TIMESTAMP: u8 = 7;
const TYPE_LONGLONG: u8 = 8;
const TYPE_INT24: u8 = 9;
const TYPE_DATE: u8 = 10;
const TYPE_TIME: u8 = 11;
const TYPE_DATETIME: u8 = 12;
const TYPE_YEAR: u8 = 13;

impl Column {
    /// Parses a definition. The relevant fields are at its end, after the names.
    pub(super) fn parse(payload: &[u8]) -> Result<Self, Malformed> {
        const SHORT: Malformed = Malformed("a column's definition is cut short");
        let (_, fixed) = payload.split_last_chunk::<13>().ok_or(SHORT)?;
        // Length, collation, display width, type, flags, decimals, two unused bytes.
        let [form, _, _, l0, l1, l2, l3, kind, f0, f1, decimals, _, _] = *fixed;
        if form != 12 {
            return Err(Malformed("a column's definition is of an unknown form"));
        }
        Ok(Self {
            length: u32::from_le_bytes([l0, l1, l2, l3]),
            kind,
            flags: u16::from_le_bytes([f0, f1]),
            decimals,
        })
    }

    fn is_unsigned(self) -> bool {
        self.flags & FLAG_UNSIGNED != 0
    }
}

/// Reads a row: a zero byte, a bitmap of NULLs from bit 2 on, the values that are not NULL.
pub(super) fn read_binary_row(
    reader: &mut Reader<'_>,
    columns: &[Column],
    row: &mut Row,
) -> Result<(), Malformed> {
    let nulls = read_nulls(reader, columns)?;
    for (index, column) in columns.iter().enumerate() {
        if is_null(nulls, index) {
            row.push(None);
            continue;
        }
        read_value(reader, *column, &mut row.bytes)?;
        row.ends.push(Some(row.bytes.len() as u32));
    }
    Ok(())
}

/// The length of each type's values: 0 for types with the length in the byte before, if it is at
/// most [`SHORT_MAX`]; [`UNEVEN`] for the others.
static WIDTHS: [u8; 256] = {
    let mut widths = [0; 256];
    widths[TYPE_TINY as usize] = 1;
    widths[TYPE_SHORT as usize] = 2;
    widths[TYPE_YEAR as usize] = 2;
    widths[TYPE_LONG as usize] = 4;
    widths[TYPE_INT24 as usize] = 4;
    widths[TYPE_FLOAT as usize] = 4;
    widths[TYPE_LONGLONG as usize] = 8;
    widths[TYPE_DOUBLE as usize] = 8;
    widths[TYPE_NULL as usize] = UNEVEN;
    widths[TYPE_DATE as usize] = UNEVEN;
    widths[TYPE_DATETIME as usize] = UNEVEN;
    widths[TYPE_TIMESTAMP as usize] = UNEVEN;
    widths[TYPE_TIME as usize] = UNEVEN;
    widths
};
pub(super) const UNEVEN: u8 = 0xFF;
/// The longest value with a one-byte length.
const SHORT_MAX: u8 = 250;
/// Up to this number of columns the bitmap of NULLs is one byte.
pub(super) const FEW_COLUMNS: usize = 6;

/// The length of a column's values, by its definition: see [`WIDTHS`]. `None` if it is malformed.
#[inline]
pub(super) fn width(definition: &[u8]) -> Option<u8> {
    let (_, fixed) = definition.split_last_chunk::<13>()?;
    (fixed[0] == 12).then(|| WIDTHS[usize::from(fixed[7])])
}

/// Whether [`read_binary_row`] can read this row, for the usual case: at most [`FEW_COLUMNS`]
/// columns of these widths, no NULLs, dates or long values. False says nothing about the row.
#[inline]
pub(super) fn is_plain_row(payload: &[u8], widths: &[u8]) -> bool {
    let Some((&[0, 0], mut rest)) = payload.split_first_chunk() else {
        return false;
    };
    for &width in widths {
        let mut len = width;
        if len == 0 {
            let Some((&own, after)) = rest.split_first() else {
                return false;
            };
            (len, rest) = (own, after);
        }
        if len > SHORT_MAX || rest.len() < usize::from(len) {
            return false;
        }
        rest = &rest[usize::from(len)..];
    }
    rest.is_empty()
}

/// Skips a row, checking that [`read_binary_row`] can read it.
#[inline]
pub(super) fn pass_binary_row(
    reader: &mut Reader<'_>,
    columns: &[Column],
) -> Result<(), Malformed> {
    let nulls = read_nulls(reader, columns)?;
    for (index, column) in columns.iter().enumerate() {
        if is_null(nulls, index) || column.kind == TYPE_NULL {
            continue;
        }
        if reader.rest().is_empty() {
            return Err(FEWER);
        }
        let len = match column.kind {
            TYPE_TINY => 1,
            TYPE_SHORT | TYPE_YEAR => 2,
            TYPE_LONG | TYPE_INT24 | TYPE_FLOAT => 4,
            TYPE_LONGLONG | TYPE_DOUBLE => 8,
            TYPE_DATE | TYPE_DATETIME | TYPE_TIMESTAMP => match reader.u8()? {
                len @ (0 | 4 | 7 | 11) => u64::from(len),
                _ => return Err(LENGTH),
            },
            TYPE_TIME => match reader.u8()? {
                len @ (0 | 8 | 12) => u64::from(len),
                _ => return Err(LENGTH),
            },
            _ => reader.lenenc()?,
        };
        reader.bytes(len)?;
    }
    Ok(())
}

#[inline]
fn read_nulls<'a>(reader: &mut Reader<'a>, columns: &[Column]) -> Result<&'a [u8], Malformed> {
    if reader.u8()? != 0 {
        return Err(Malformed("a binary row begins with an unknown byte"));
    }
    reader.bytes((columns.len() as u64 + 9) / 8)
}

#[inline]
fn is_null(nulls: &[u8], index: usize) -> bool {
    let bit = index + 2;
    nulls[bit / 8] & 1 << (bit % 8) != 0
}

fn read_value(
    reader: &mut Reader<'_>,
    column: Column,
    text: &mut Vec<u8>,
) -> Result<(), Malformed> {
    let unsigned = column.is_unsigned();
    match column.kind {
        TYPE_NULL => {}
        TYPE_TINY if unsigned => put_unsigned(text, column, u64::from(reader.u8()?)),
        TYPE_TINY => put_signed(text, i64::from(reader.u8()? as i8)),
        TYPE_YEAR => put_padded(text, u64::from(reader.u16()?), column.length),
        TYPE_SHORT if unsigned => put_unsigned(text, column, u64::from(reader.u16()?)),
        TYPE_SHORT => put_signed(text, i64::from(reader.u16()? as i16)),
        TYPE_LONG | TYPE_INT24 if unsigned => {
            put_unsigned(text, column, u64::from(reader.u32()?));
        }
        TYPE_LONG | TYPE_INT24 => put_signed(text, i64::from(reader.u32()? as i32)),
        TYPE_LONGLONG if unsigned => put_unsigned(text, column, reader.u64()?),
        TYPE_LONGLONG => put_signed(text, reader.u64()? as i64),
        TYPE_FLOAT => put_float(text, column, f32::from_bits(reader.u32()?)),
        TYPE_DOUBLE => put_double(text, column, f64::from_bits(reader.u64()?)),
        TYPE_DATE => put_date(text, &Moment::read(reader)?),
        TYPE_DATETIME | TYPE_TIMESTAMP => {
            let moment = Moment::read(reader)?;
            put_date(text, &moment);
            text.push(b' ');
            put_clock(text, moment.hour, &moment, column.decimals);
        }
        TYPE_TIME => read_time(reader, column, text)?,
        // Decimals, strings, blobs, BIT, JSON and the rest are sent as text.
        _ => text.extend_from_slice(reader.lenenc_bytes()?),
    }
    Ok(())
}

fn put_signed(text: &mut Vec<u8>, value: i64) {
    text.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

fn put_unsigned(text: &mut Vec<u8>, column: Column, value: u64) {
    let zerofill = column.flags & FLAG_ZEROFILL != 0;
    put_padded(text, value, if zerofill { column.length } else { 0 });
}

/// Appends a number padded with zeros to `width`.
fn put_padded(text: &mut Vec<u8>, value: u64, width: u32) {
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value).as_bytes();
    // No column is wider than 255, but a hostile server may claim so.
    let width = width.min(255) as usize;
    text.resize(text.len() + width.saturating_sub(digits.len()), b'0');
    text.extend_from_slice(digits);
}

/// A number of decimals that means "as many as needed".
const DECIMALS_NOT_FIXED: u8 = 31;

fn put_float(text: &mut Vec<u8>, column: Column, value: f32) {
    if column.decimals < DECIMALS_NOT_FIXED {
        return put_fixed(text, column, f64::from(value));
    }
    // Servers print six significant digits, whatever the value needs.
    put_general(
        text,
        f64::from(value),
        format_args!("{:.5e}", f64::from(value)),
    );
}

fn put_double(text: &mut Vec<u8>, column: Column, value: f64) {
    if column.decimals < DECIMALS_NOT_FIXED {
        return put_fixed(text, column, value);
    }
    put_general(text, value, format_args!("{value:e}"));
}

fn put_fixed(text: &mut Vec<u8>, column: Column, value: f64) {
    let start = text.len();
    put(
        text,
        format_args!("{value:.*}", usize::from(column.decimals)),
    );
    zerofill(text, start, column);
}

/// Formats a number from its `d.ddde±x` form, as the servers do: without an exponent from -15 to 14
/// (to 15 if it has more digits than that), else with one.
fn put_general(text: &mut Vec<u8>, value: f64, scientific: std::fmt::Arguments<'_>) {
    let mut buffer = [0; 40];
    let len = {
        let mut cursor = &mut buffer[..];
        // Seventeen digits and a three-digit exponent fit.
        let _ = cursor.write_fmt(scientific);
        40 - cursor.len()
    };
    let form = &buffer[..len];
    let Some(e) = form.iter().position(|&byte| byte == b'e') else {
        // NaN or infinity, which no server stores.
        return text.extend_from_slice(form);
    };
    let exponent = std::str::from_utf8(&form[e + 1..])
        .ok()
        .and_then(|digits| digits.parse::<i32>().ok())
        .unwrap_or_default();
    let mut digits = [0; 24];
    let mut count = 0;
    for &byte in form[..e]
        .iter()
        .filter(|byte| byte.is_ascii_digit())
        .take(24)
    {
        digits[count] = byte;
        count += 1;
    }
    while count > 1 && digits[count - 1] == b'0' {
        count -= 1;
    }
    if value.is_sign_negative() {
        text.push(b'-');
    }
    put_digits(text, &digits[..count], exponent);
}

fn put_digits(text: &mut Vec<u8>, digits: &[u8], exponent: i32) {
    let point = exponent + 1;
    let plain = (-14..=15).contains(&point) || (point > 15 && digits.len() as i32 > point);
    if !plain {
        text.push(digits[0]);
        if digits.len() > 1 {
            text.push(b'.');
            text.extend_from_slice(&digits[1..]);
        }
        return put(text, format_args!("e{exponent}"));
    }
    if point <= 0 {
        text.extend_from_slice(b"0.");
        text.resize(text.len() + point.unsigned_abs() as usize, b'0');
        return text.extend_from_slice(digits);
    }
    let point = point as usize;
    if digits.len() <= point {
        text.extend_from_slice(digits);
        text.resize(text.len() + point - digits.len(), b'0');
    } else {
        text.extend_from_slice(&digits[..point]);
        text.push(b'.');
        text.extend_from_slice(&digits[point..]);
    }
}

fn zerofill(text: &mut Vec<u8>, start: usize, column: Column) {
    let width = column.length.min(255) as usize;
    let missing = width.saturating_sub(text.len() - start);
    if column.flags & FLAG_ZEROFILL != 0 && missing > 0 {
        text.splice(start..start, std::iter::repeat_n(b'0', missing));
    }
}

/// A date and a time of day.
#[derive(Default)]
struct Moment {
    year: u16,
    month: u8,
    day: u8,
    hour: u32,
    minute: u8,
    second: u8,
    micros: u32,
}

const LENGTH: Malformed = Malformed("a date or time has an impossible length");

impl Moment {
    /// Reads a date of 0, 4, 7 or 11 bytes; missing fields are zero.
    fn read(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let len = reader.u8()?;
        let mut moment = Self::default();
        if !matches!(len, 0 | 4 | 7 | 11) {
            return Err(LENGTH);
        }
        if len >= 4 {
            moment.year = reader.u16()?;
            moment.month = reader.u8()?;
            moment.day = reader.u8()?;
        }
        if len >= 7 {
            moment.hour = u32::from(reader.u8()?);
            moment.minute = reader.u8()?;
            moment.second = reader.u8()?;
        }
        if len == 11 {
            moment.micros = reader.u32()?;
        }
        Ok(moment)
    }
}

/// Reads a duration of 0, 8 or 12 bytes.
fn read_time(reader: &mut Reader<'_>, column: Column, text: &mut Vec<u8>) -> Result<(), Malformed> {
    let len = reader.u8()?;
    let mut moment = Moment::default();
    let mut hours = 0;
    if !matches!(len, 0 | 8 | 12) {
        return Err(LENGTH);
    }
    if len >= 8 {
        if reader.u8()? != 0 {
            text.push(b'-');
        }
        let days = reader.u32()?;
        moment.hour = u32::from(reader.u8()?);
        moment.minute = reader.u8()?;
        moment.second = reader.u8()?;
        // TIME ends at 838 hours, but a hostile server may send more.
        hours = days.saturating_mul(24).saturating_add(moment.hour);
    }
    if len == 12 {
        moment.micros = reader.u32()?;
    }
    put_clock(text, hours, &moment, column.decimals);
    Ok(())
}

fn put_date(text: &mut Vec<u8>, moment: &Moment) {
    let Moment {
        year, month, day, ..
    } = moment;
    put(text, format_args!("{year:04}-{month:02}-{day:02}"));
}

fn put_clock(text: &mut Vec<u8>, hours: u32, moment: &Moment, decimals: u8) {
    let Moment { minute, second, .. } = moment;
    put(text, format_args!("{hours:02}:{minute:02}:{second:02}"));
    if (1..=6).contains(&decimals) {
        let end = text.len() + 1 + usize::from(decimals);
        put(text, format_args!(".{:06}", moment.micros));
        text.truncate(end);
    }
}

fn put(text: &mut Vec<u8>, arguments: std::fmt::Arguments<'_>) {
    // Writing to a Vec cannot fail.
    let _ = text.write_fmt(arguments);
}
