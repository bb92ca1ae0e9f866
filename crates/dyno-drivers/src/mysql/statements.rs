//! Prepared statements: their numbers, and the encoding of executions.

use dyno_core::db::{DbError, ErrorKind, Param, ParamKind, ParamValue, StatementId};

use super::errors::{self, client_error};
use super::wire;

const COM_STMT_EXECUTE: u8 = 0x17;
/// The bytes of an execution before its parameters.
const HEAD: usize = 14;
const TYPE_DOUBLE: u8 = 5;
const TYPE_LONGLONG: u8 = 8;
const TYPE_VAR_STRING: u8 = 253;

/// The statements of one connection.
#[derive(Default)]
pub(super) struct Statements {
    slots: Vec<Slot>,
}

/// The state of one statement.
#[derive(Clone, Copy)]
struct Slot {
    /// The server's number for it.
    server_id: u32,
    params: u16,
    open: bool,
    /// The parameter kinds last sent to the server, two bits each below a leading one; 0 if none.
    kinds: u64,
}

/// Maximum number of parameters whose kinds fit into a slot; with more, the kinds are always sent.
const KINDS_MAX: usize = 31;

impl Statements {
    /// Adds a statement and returns its number for callers.
    pub(super) fn add(&mut self, server_id: u32, params: u16) -> StatementId {
        let slot = Slot {
            server_id,
            params,
            open: true,
            kinds: 0,
        };
        let free = self.slots.iter().position(|slot| !slot.open);
        match free {
            Some(index) => {
                self.slots[index] = slot;
                index as StatementId
            }
            None => {
                self.slots.push(slot);
                self.slots.len() as StatementId - 1
            }
        }
    }

    /// Removes a statement and returns the server's number for it.
    pub(super) fn remove(&mut self, statement: StatementId) -> Option<u32> {
        let slot = self.slots.get_mut(statement as usize)?;
        let was_open = std::mem::replace(&mut slot.open, false);
        was_open.then_some(slot.server_id)
    }

    pub(super) fn clear(&mut self) {
        self.slots = Vec::new();
    }

    /// An execution failed, perhaps before the server read the parameter types.
    pub(super) fn forget_kinds(&mut self, statement: StatementId) {
        if let Some(slot) = self.slots.get_mut(statement as usize) {
            slot.kinds = 0;
        }
    }

    /// Appends the request that executes a statement.
    ///
    /// # Errors
    /// An unknown statement, or a number of parameters that differs from its placeholders.
    #[inline]
    pub(super) fn encode_execute(
        &mut self,
        statement: StatementId,
        params: &[&Param],
        output: &mut Vec<u8>,
    ) -> Result<u8, DbError> {
        let slot = self.slots.get_mut(statement as usize);
        let Some(slot) = slot.filter(|slot| slot.open) else {
            return Err(no_statement(statement));
        };
        if params.len() != usize::from(slot.params) {
            return Err(wrong_count(params.len(), slot.params));
        }
        let start = output.len();
        let [a, b, c, d] = slot.server_id.to_le_bytes();
        // The packet's header, then the command, the statement, no cursor, one iteration; no NULL
        // among up to eight parameters, no types.
        let head = [
            0,
            0,
            0,
            0,
            COM_STMT_EXECUTE,
            a,
            b,
            c,
            d,
            0,
            1,
            0,
            0,
            0,
            0,
            0,
        ];
        let nulls = start + HEAD;
        let kinds = kinds(params);
        if kinds == slot.kinds && (1..=8).contains(&params.len()) {
            output.extend_from_slice(&head);
        } else {
            output.extend_from_slice(&head[..HEAD]);
            output.resize(nulls + params.len().div_ceil(8), 0);
            put_types(slot, kinds, params, output);
        }
        put_values(params, nulls, output);
        Ok(wire::finish(output, start, 0))
    }
}

/// The kinds of all parameters in one number; 0 if there are too many.
#[inline]
fn kinds(params: &[&Param]) -> u64 {
    if params.len() > KINDS_MAX {
        return 0;
    }
    params
        .iter()
        .fold(1, |kinds, param| kinds << 2 | param.kind as u64)
}

/// Appends whether types follow, and the types if the server does not know them yet.
fn put_types(slot: &mut Slot, kinds: u64, params: &[&Param], output: &mut Vec<u8>) {
    if params.is_empty() {
        return;
    }
    if kinds != 0 && kinds == slot.kinds {
        output.push(0);
        return;
    }
    slot.kinds = kinds;
    output.push(1);
    for param in params {
        let kind = match param.kind {
            ParamKind::Int => TYPE_LONGLONG,
            ParamKind::Double => TYPE_DOUBLE,
            ParamKind::Bytes => TYPE_VAR_STRING,
        };
        output.extend_from_slice(&[kind, 0]);
    }
}

#[inline]
fn put_values(params: &[&Param], nulls: usize, output: &mut Vec<u8>) {
    for (index, param) in params.iter().enumerate() {
        match param.value() {
            ParamValue::Null => output[nulls + index / 8] |= 1 << (index % 8),
            ParamValue::Int(value) => output.extend_from_slice(&value.to_le_bytes()),
            ParamValue::Double(value) => output.extend_from_slice(&value.to_le_bytes()),
            ParamValue::Bytes(value) => wire::put_lenenc_bytes(output, value),
        }
    }
}

/// The error for an unknown statement.
#[cold]
pub(super) fn no_statement(statement: StatementId) -> DbError {
    let message = format!("there is no prepared statement {statement} on this connection");
    client_error(ErrorKind::Misuse, errors::NO_STATEMENT, message)
}

#[cold]
fn wrong_count(given: usize, placeholders: u16) -> DbError {
    let message = format!("{given} parameters were given for {placeholders} placeholders");
    client_error(ErrorKind::Misuse, errors::PARAMETERS, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_sent_once_and_again_after_a_change_or_a_failure() {
        let mut statements = Statements::default();
        let id = statements.add(77, 2);
        let (one, null) = (Param::int(1), Param::new(ParamKind::Bytes, 4));
        let encode = |statements: &mut Statements, params: &[&Param]| {
            let mut output = Vec::new();
            let next = statements.encode_execute(id, params, &mut output);
            assert_eq!(next.unwrap(), 1);
            assert_eq!(output[0] as usize, output.len() - 4);
            output.split_off(14)
        };
        let value = 1_i64.to_le_bytes();
        let full = [&[2, 1, 8, 0, 253, 0][..], &value].concat();
        let brief = [&[2, 0][..], &value].concat();
        assert_eq!(encode(&mut statements, &[&one, &null]), full);
        assert_eq!(encode(&mut statements, &[&one, &null]), brief);
        let turned = [&[1, 1, 253, 0, 8, 0][..], &value].concat();
        assert_eq!(encode(&mut statements, &[&null, &one]), turned);
        statements.forget_kinds(id);
        assert_eq!(encode(&mut statements, &[&null, &one]), turned);
    }

    #[test]
    fn misuse_is_refused_and_numbers_are_used_again() {
        let mut statements = Statements::default();
        let (first, second) = (statements.add(10, 0), statements.add(11, 1));
        assert_eq!((first, second), (0, 1));
        let mut output = Vec::new();
        let error = statements.encode_execute(second, &[], &mut output);
        assert_eq!(error.unwrap_err().code, errors::PARAMETERS);
        assert_eq!(statements.remove(first), Some(10));
        assert_eq!(statements.remove(first), None);
        let error = statements.encode_execute(first, &[], &mut output);
        assert_eq!(error.unwrap_err().code, errors::NO_STATEMENT);
        assert!(output.is_empty());
        assert_eq!(statements.add(12, 0), first);
    }
}
