//! The prepared statements of a connection, and the encoding of their executions.

use dyno_core::db::{DbError, Param, ParamKind, ParamValue, StatementId};

use super::wire;

/// Object identifiers of types in PostgreSQL's catalogue; they never change.
const INT8_OID: u32 = 20;
const FLOAT8_OID: u32 = 701;
const VARCHAR_OID: u32 = 1043;

const TEXT: [u8; 2] = 0_u16.to_be_bytes();
const BINARY: [u8; 2] = 1_u16.to_be_bytes();
const NULL: [u8; 4] = (-1_i32).to_be_bytes();

/// The bytes after the parameters: no result formats (that is, text), then Execute of the unnamed
/// portal without a limit on rows, then Sync.
const TAIL: &[u8] = b"\0\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";

/// The type to declare: sysbench's choice, so that its scripts get the same casts.
pub(super) fn type_oid(kind: ParamKind) -> u32 {
    match kind {
        ParamKind::Int => INT8_OID,
        ParamKind::Double => FLOAT8_OID,
        ParamKind::Bytes => VARCHAR_OID,
    }
}

/// Appends the server's name for a statement.
pub(super) fn put_name(output: &mut Vec<u8>, name: u32) {
    output.push(b'd');
    wire::put_text(output, itoa::Buffer::new().format(name).as_bytes());
}

/// A statement that the server has prepared.
pub(super) struct Statement {
    /// Its name's number, never reused on a connection.
    pub(super) name: u32,
    /// The number of result columns; `None` without a result set.
    pub(super) columns: Option<u32>,
    params: u16,
    /// The declared types; empty if the server chose.
    kinds: Box<[ParamKind]>,
    /// The Bind message up to the number of parameters, for parameters of exactly these kinds. If
    /// all of them are numbers: the whole request, with room for their values.
    template: Box<[u8]>,
    /// The length of Bind up to the number of parameters.
    prefix_len: u32,
    /// Whether `template` is the whole request.
    whole: bool,
}

impl Statement {
    pub(super) fn new(
        name: u32,
        kinds: Box<[ParamKind]>,
        params: u16,
        columns: Option<u32>,
    ) -> Self {
        let mut template = Vec::new();
        let formats = kinds.iter().map(|kind| format_of(*kind));
        put_bind(&mut template, name, params, formats);
        let prefix_len = template.len() as u32;
        let whole = kinds.len() == usize::from(params) && !kinds.contains(&ParamKind::Bytes);
        if whole {
            for _ in kinds.iter() {
                put_eight(&mut template, [0; 8]);
            }
            template.extend_from_slice(&TAIL[..2]);
            wire::patch_length(&mut template, 1);
            template.extend_from_slice(&TAIL[2..]);
        }
        Self {
            name,
            columns,
            params,
            kinds,
            template: template.into_boxed_slice(),
            prefix_len,
            whole,
        }
    }

    /// Appends Bind, Execute and Sync.
    #[inline]
    pub(super) fn put_execute(
        &self,
        params: &[&Param],
        output: &mut Vec<u8>,
    ) -> Result<(), DbError> {
        if self.put_whole(params, output) {
            return Ok(());
        }
        self.put_parts(params, output)
    }

    /// Appends the request for numbers: a copy of the template with the values filled in. Returns
    /// false, and appends nothing that counts, if a parameter is not a number after all.
    #[inline]
    fn put_whole(&self, params: &[&Param], output: &mut Vec<u8>) -> bool {
        if !self.whole || params.len() != self.kinds.len() {
            return false;
        }
        let start = output.len();
        output.extend_from_slice(&self.template);
        let values = output[start..].get_mut(self.prefix_len as usize..);
        let slots = values.unwrap_or_default().chunks_exact_mut(12);
        for ((param, kind), slot) in params.iter().zip(&self.kinds).zip(slots) {
            let bits = match kind {
                ParamKind::Double => param.double.to_bits(),
                ParamKind::Int | ParamKind::Bytes => param.int as u64,
            };
            if param.kind != *kind || param.is_null != 0 {
                output.truncate(start);
                return false;
            }
            slot[4..].copy_from_slice(&bits.to_be_bytes());
        }
        true
    }

    fn put_parts(&self, params: &[&Param], output: &mut Vec<u8>) -> Result<(), DbError> {
        if params.len() != usize::from(self.params) {
            return Err(self.wrong_count(params.len()));
        }
        let prefix = &self.template[..self.prefix_len as usize];
        let start = output.len();
        let as_declared = self.kinds.len() == params.len()
            && params
                .iter()
                .zip(&self.kinds)
                .all(|(param, kind)| param.kind == *kind);
        if as_declared {
            output.reserve(prefix.len() + 12 * params.len() + TAIL.len());
            output.extend_from_slice(prefix);
            for param in params {
                put_typed(output, param);
            }
        } else {
            self.put_mixed(params, output);
        }
        output.extend_from_slice(&TAIL[..2]);
        let length = output.len() - start - 1;
        if length > wire::MESSAGE_LEN_MAX {
            output.truncate(start);
            return Err(too_long(length));
        }
        wire::patch_length(output, start + 1);
        output.extend_from_slice(&TAIL[2..]);
        Ok(())
    }

    /// Sends parameters of kinds other than the declared ones as text, which the server converts.
    fn put_mixed(&self, params: &[&Param], output: &mut Vec<u8>) {
        let declared = |index: usize, param: &Param| self.kinds.get(index) == Some(&param.kind);
        let formats = params.iter().enumerate().map(|(index, param)| {
            if declared(index, param) {
                format_of(param.kind)
            } else {
                TEXT
            }
        });
        put_bind(output, self.name, self.params, formats);
        for (index, param) in params.iter().enumerate() {
            if declared(index, param) {
                put_typed(output, param);
            } else {
                put_as_text(output, param);
            }
        }
    }

    #[cold]
    fn wrong_count(&self, given: usize) -> DbError {
        let message = format!(
            "the prepared statement has {} parameters, but {given} were given",
            self.params
        );
        DbError::misuse(message)
    }
}

/// The error for a message longer than the server accepts.
pub(super) fn too_long(length: usize) -> DbError {
    let message = format!(
        "a statement of {length} bytes is longer than PostgreSQL accepts ({} bytes)",
        wire::MESSAGE_LEN_MAX
    );
    DbError::misuse(message)
}

fn format_of(kind: ParamKind) -> [u8; 2] {
    match kind {
        ParamKind::Int | ParamKind::Double => BINARY,
        ParamKind::Bytes => TEXT,
    }
}

/// Appends Bind up to the number of parameters; its length is patched later.
fn put_bind(
    output: &mut Vec<u8>,
    name: u32,
    params: u16,
    formats: impl ExactSizeIterator<Item = [u8; 2]>,
) {
    output.extend_from_slice(b"B\0\0\0\0\0");
    put_name(output, name);
    output.extend_from_slice(&(formats.len() as u16).to_be_bytes());
    for format in formats {
        output.extend_from_slice(&format);
    }
    output.extend_from_slice(&params.to_be_bytes());
}

/// Appends a parameter in the format of its kind.
#[inline]
fn put_typed(output: &mut Vec<u8>, param: &Param) {
    match param.value() {
        ParamValue::Null => output.extend_from_slice(&NULL),
        ParamValue::Int(value) => put_eight(output, value.to_be_bytes()),
        ParamValue::Double(value) => put_eight(output, value.to_bits().to_be_bytes()),
        ParamValue::Bytes(value) => put_bytes(output, value),
    }
}

#[inline]
fn put_eight(output: &mut Vec<u8>, value: [u8; 8]) {
    let mut field = [0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0];
    field[4..].copy_from_slice(&value);
    output.extend_from_slice(&field);
}

fn put_bytes(output: &mut Vec<u8>, value: &[u8]) {
    output.extend_from_slice(&(value.len() as u32).to_be_bytes());
    output.extend_from_slice(value);
}

fn put_as_text(output: &mut Vec<u8>, param: &Param) {
    match param.value() {
        ParamValue::Int(value) => put_bytes(output, itoa::Buffer::new().format(value).as_bytes()),
        // The shortest digits that parse to the same value; servers accept `NaN` and `inf`.
        ParamValue::Double(value) => put_bytes(output, value.to_string().as_bytes()),
        ParamValue::Null | ParamValue::Bytes(_) => put_typed(output, param),
    }
}

/// The statements by number; a number is reused after its statement was closed.
#[derive(Default)]
pub(super) struct Statements {
    slots: Vec<Option<Statement>>,
    names: u32,
}

impl Statements {
    /// Returns an unused name.
    pub(super) fn new_name(&mut self) -> u32 {
        self.names = self.names.wrapping_add(1);
        self.names
    }

    pub(super) fn insert(&mut self, statement: Statement) -> StatementId {
        let free = self.slots.iter().position(Option::is_none);
        let slot = free.unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(statement);
        slot as StatementId
    }

    #[inline]
    pub(super) fn find(&self, id: StatementId) -> Result<&Statement, DbError> {
        match self.slots.get(id as usize) {
            Some(Some(statement)) => Ok(statement),
            _ => Err(unknown(id)),
        }
    }

    pub(super) fn remove(&mut self, id: StatementId) {
        if let Some(slot) = self.slots.get_mut(id as usize) {
            *slot = None;
        }
    }
}

#[cold]
fn unknown(id: StatementId) -> DbError {
    let message = format!("statement {id} is not prepared on this connection");
    DbError::misuse(message)
}
