//! Checks that the lines of an agent's file are in the order in which one process writes them:
//! consecutive intervals, each at the time that its number gives, and the totals at the end.

use dyno_core::clock::Nanos;

use crate::merge::Axis;
use crate::message::{Body, Message, Record};

/// Tolerance in nanoseconds between consecutive intervals, which the same clock divides.
const TOLERANCE_NS: Nanos = 1_000_000;
/// An agent that is suspended at the start begins late, which makes its run doubtful. After this
/// many nanoseconds, the run counts it as lost.
const LATE_NS_MAX: Nanos = 10_000_000_000;

/// What was read of a file so far.
#[derive(Debug, Default)]
pub(super) struct Order {
    instance: Option<u64>,
    attempt: Option<u32>,
    /// The number of the next interval, or of the interval that still lacks parts.
    seq: u64,
    /// How many parts of it there are so far.
    parts: u32,
    last: Option<Span>,
    /// How far the first interval is from the time that its number implies.
    offset_ns: i128,
    /// How far the wall clock is from the times of intervals, in nanoseconds. 0 if unknown.
    civil_ns: Option<i128>,
    ended: bool,
    /// How many parts of the totals there are so far.
    totals: u32,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    seq: u64,
    start: Nanos,
    end: Nanos,
}

impl Order {
    /// Checks the next message of a file.
    ///
    /// # Errors
    /// No agent writes this message at this position.
    pub(super) fn take(&mut self, message: &Message, axis: Axis) -> Result<(), String> {
        let instance = *self.instance.get_or_insert(message.instance);
        if message.instance != instance {
            return Err(format!(
                "it has lines of two processes, {instance:x} and {:x}",
                message.instance
            ));
        }
        let attempt = match &message.body {
            Body::Record(record) => record.attempt,
            Body::Outcome(piece) => piece.attempt,
            _ => return Ok(()),
        };
        let first = *self.attempt.get_or_insert(attempt);
        if attempt != first {
            return Err(format!("it has lines of the starts {first} and {attempt}"));
        }
        match &message.body {
            Body::Record(record) if record.end.is_some() => self.totals(record),
            Body::Record(record) => self.interval(record, axis),
            _ if self.ended => Err("a line follows its end".to_owned()),
            _ => Ok(()),
        }
    }

    fn totals(&mut self, record: &Record) -> Result<(), String> {
        if self.ended || record.part != self.totals {
            return Err("it has two ends".to_owned());
        }
        if record.seq < self.seq {
            return Err(format!(
                "it has {} intervals, but its end says {}",
                self.seq, record.seq
            ));
        }
        self.totals += 1;
        self.ended = self.totals >= record.parts;
        Ok(())
    }

    fn interval(&mut self, record: &Record, axis: Axis) -> Result<(), String> {
        let (seq, next) = (record.seq, self.seq);
        if self.ended || self.totals > 0 {
            return Err(format!("interval {seq} follows its end"));
        }
        if record.interval.index != seq {
            let index = record.interval.index;
            return Err(format!("record {seq} has the interval {index}"));
        }
        if seq != next || record.part != self.parts {
            return Err(format!(
                "interval {seq} is where interval {next} should be: lines are missing or out of \
                 order"
            ));
        }
        if record.part == 0 {
            self.placed(record, axis)?;
        }
        self.parts += 1;
        if self.parts >= record.parts {
            self.seq = seq + 1;
            self.parts = 0;
        }
        Ok(())
    }

    /// Checks that an interval is at the time that its number implies.
    fn placed(&mut self, record: &Record, axis: Axis) -> Result<(), String> {
        let interval = &record.interval;
        let (seq, start, end) = (record.seq, interval.start, interval.end);
        let tolerance = i128::from(TOLERANCE_NS);
        let (from, length) = (i128::from(start), i128::from(axis.interval_ns));
        let planned = i128::from(axis.warmup_ns) + i128::from(seq) * length;
        let latest = i128::from(axis.interval_ns.max(LATE_NS_MAX));
        let off = from - planned;
        let s = |ns: i128| ns as f64 / 1e9;
        let wrong = || {
            format!(
                "interval {seq} begins at {} s, not at {}",
                s(from),
                s(planned)
            )
        };
        match self.last {
            None if off < -tolerance || off > latest => return Err(wrong()),
            None => self.offset_ns = off,
            Some(last) => {
                // An interval after the deadline starts there, because the one before was cut.
                let whole = i128::from(last.end) + tolerance >= planned + self.offset_ns;
                let is_next = start == last.end && !whole;
                if !is_next && (off - self.offset_ns).abs() > tolerance {
                    return Err(wrong());
                }
                if start < last.start || last.end > start.saturating_add(TOLERANCE_NS) {
                    let before = last.seq;
                    return Err(format!(
                        "interval {seq} begins before interval {before} ends"
                    ));
                }
            }
        }
        if end < start || i128::from(end) > from + length + tolerance {
            let (end, length) = (s(end.into()), s(length));
            return Err(format!(
                "interval {seq} from {} s ends at {end} s, and intervals have {length} s",
                s(from)
            ));
        }
        if interval.start_unix_ns > 0 {
            let civil = i128::from(interval.start_unix_ns) - from;
            let first = *self.civil_ns.get_or_insert(civil);
            if (civil - first).abs() > tolerance {
                return Err(format!(
                    "the civil time of interval {seq} is {} s off the time its number implies",
                    s((civil - first).abs())
                ));
            }
        }
        self.last = Some(Span { seq, start, end });
        Ok(())
    }
}
