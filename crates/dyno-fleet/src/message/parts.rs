//! Splits records that are too large for one message by operation.

use std::collections::BTreeMap;

use dyno_core::interval::{OperationIntervalOf, SparseHistogram, SparseInterval};

use super::{MessageError, Record};

/// Approximate maximum size of a part, in bytes: half of a message's limit.
pub const PART_BYTES_MAX: usize = 512 << 10;

/// Maximum number of operations in a part.
pub const OPERATIONS_PER_PART_MAX: usize = 128;

/// Maximum number of parts of a record.
pub const PARTS_MAX: u32 = 256;

/// Maximum number of incomplete records of an agent. A bus delivers an agent's messages nearly in
/// order.
const OPEN_MAX: usize = 16;

/// Splits a record into parts that each fit into a message; a small record stays whole.
///
/// # Errors
/// It has too many operations for all parts, or one that does not fit into a part.
pub fn split(record: Record) -> Result<Vec<Record>, MessageError> {
    let operations = &record.interval.operations;
    if operations.len() <= OPERATIONS_PER_PART_MAX && size(&record)? <= PART_BYTES_MAX {
        return Ok(vec![record]);
    }
    let mut whole = record;
    let operations = std::mem::take(&mut whole.interval.operations);
    let blank = Record {
        interval: SparseInterval {
            index: whole.interval.index,
            ..SparseInterval::default()
        },
        ..whole.clone()
    };
    let mut room = PART_BYTES_MAX.saturating_sub(size(&whole)?);
    let mut parts = vec![whole];
    for operation in operations {
        let bytes = size(&operation)?;
        let full = parts
            .last()
            .is_none_or(|part| part.interval.operations.len() >= OPERATIONS_PER_PART_MAX);
        if full || bytes > room {
            room = PART_BYTES_MAX.saturating_sub(size(&blank)?);
            parts.push(blank.clone());
        }
        room = room.saturating_sub(bytes);
        if let Some(part) = parts.last_mut() {
            part.interval.operations.push(operation);
        }
    }
    let count = parts.len();
    if count > PARTS_MAX as usize {
        return Err(MessageError::TooLarge {
            subject: "a record".to_owned(),
            what: "parts",
            size: count,
            limit: PARTS_MAX as usize,
        });
    }
    for (number, part) in parts.iter_mut().enumerate() {
        part.part = number as u32;
        part.parts = count as u32;
    }
    Ok(parts)
}

fn size<T: serde::Serialize>(what: &T) -> Result<usize, MessageError> {
    let bytes = serde_json::to_vec(what).map_err(|error| MessageError::Malformed {
        subject: "a record".to_owned(),
        why: error.to_string(),
    })?;
    Ok(bytes.len())
}

/// Joins an agent's parts.
#[derive(Debug, Default)]
pub struct Joiner {
    open: BTreeMap<u64, Open>,
}

#[derive(Debug)]
struct Open {
    /// The first part, without operations.
    first: Option<Record>,
    /// The operations of each part received.
    operations: Vec<Option<Vec<OperationIntervalOf<SparseHistogram>>>>,
}

impl Joiner {
    /// Adds a part; returns the record once it is complete. Repeated parts are ignored.
    ///
    /// # Errors
    /// The part does not match the others, or too many records are incomplete.
    pub fn take(&mut self, mut part: Record) -> Result<Option<Record>, String> {
        if part.parts == 1 {
            return Ok(Some(part));
        }
        let seq = part.seq;
        if !self.open.contains_key(&seq) && self.open.len() >= OPEN_MAX {
            return Err(format!("more than {OPEN_MAX} records are incomplete"));
        }
        let open = self.open.entry(seq).or_insert_with(|| Open {
            first: None,
            operations: vec![None; part.parts as usize],
        });
        if open.operations.len() != part.parts as usize {
            return Err(format!("the number of parts of record {seq} changed"));
        }
        let operations = std::mem::take(&mut part.interval.operations);
        let Some(place) = open.operations.get_mut(part.part as usize) else {
            return Err(format!("record {seq} has no part {}", part.part));
        };
        place.get_or_insert(operations);
        if part.part == 0 {
            open.first.get_or_insert(part);
        }
        if open.operations.iter().any(Option::is_none) {
            return Ok(None);
        }
        let Some(Open { first, operations }) = self.open.remove(&seq) else {
            return Ok(None);
        };
        Ok(first.map(|mut whole| {
            whole.interval.operations = operations.into_iter().flatten().flatten().collect();
            whole.parts = 1;
            whole
        }))
    }

    /// Records with missing parts.
    pub fn incomplete(&self) -> impl Iterator<Item = u64> + '_ {
        self.open.keys().copied()
    }
}
