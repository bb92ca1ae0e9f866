//! Reads the server's answers packet by packet. Rows and definitions are skipped by their lengths,
//! and rows are copied once without parsing them.

use dyno_core::db::{ErrorKind, OutcomeKind};

use super::connect::Progress;
use super::errors::{self, client_error};
use super::session::{Mysql, State};
use super::values;
use super::wire::{
    self, HEADER, IN_TRANSACTION, MORE_RESULTS, Malformed, PACKET_MAX, Packet, Reader, capability,
};
use crate::channel::Next;

/// Maximum number of columns a result can have; MySQL allows 4,096.
const COLUMNS_MAX: u64 = 0xFFFF;

/// Maximum number of packets of a row, because a server permits rows of 1 GiB.
const ROW_PACKETS_MAX: u8 = 65;

/// How to continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Read the next packet.
    Continue,
    /// Wait for more input.
    Input,
    /// Stop, because the operation has ended.
    Finished,
    /// Start TLS.
    StartTls,
}

impl Mysql {
    /// Reads in one pass a result set that arrived whole, which is the usual case. Returns the
    /// bytes consumed, or `None` for anything else, whose packets are then read one by one.
    #[inline]
    pub(super) fn whole_result(&mut self, input: &[u8]) -> Option<usize> {
        if !self.is_usual() {
            return None;
        }
        // XORed with this, a header with the expected number is a length. Others are too large.
        let mut number = u32::from(self.sequence) << 24;
        let mut payload = |rest: &mut &[u8]| {
            let (header, after) = rest.split_first_chunk::<HEADER>()?;
            let len = (u32::from_le_bytes(*header) ^ number) as usize;
            number = number.wrapping_add(1 << 24);
            *rest = after;
            (len < PACKET_MAX).then_some(len)
        };
        let mut rest = input;
        let len = payload(&mut rest)?;
        let (&columns, after) = rest.split_first()?;
        if len != 1 || !(1..0xFB).contains(&columns) {
            return None;
        }
        rest = after;
        self.result.head(u32::from(columns), self.binary);
        let mut widths = [values::UNEVEN; values::FEW_COLUMNS];
        for column in 0..usize::from(columns) {
            let len = payload(&mut rest)?;
            let (definition, after) = rest.split_at_checked(len)?;
            if self.binary {
                let width = values::width(definition)?;
                if let Some(known) = widths.get_mut(column) {
                    *known = width;
                }
            }
            rest = after;
        }
        let widths = widths.get(..usize::from(columns)).filter(|_| self.binary);
        if !self.deprecate_eof {
            let len = payload(&mut rest)?;
            rest = rest.get(len..)?;
        }
        let rows_at = input.len() - rest.len();
        let mut rows = 0;
        let (end, at) = loop {
            let at = input.len() - rest.len();
            let len = payload(&mut rest)?;
            let (payload, after) = rest.split_at_checked(len)?;
            rest = after;
            if *payload.first()? >= wire::EOF {
                break (payload, at);
            }
            if !widths.is_some_and(|widths| values::is_plain_row(payload, widths)) {
                self.check(payload, &input[HEADER + 1..]).ok()?;
            }
            rows += 1;
        };
        let status = match *end {
            [wire::EOF, 0, 0, low, high, ..] if self.deprecate_eof => [low, high],
            [wire::EOF, _, _, low, high] if !self.deprecate_eof => [low, high],
            _ => return None,
        };
        if u16::from_le_bytes(status) & MORE_RESULTS != 0 {
            return None;
        }
        let head = HEADER + 1;
        self.result.fill(rows, input.get(head..at)?, rows_at - head);
        self.sequence = (number >> 24) as u8;
        self.has_rows(u32::from(columns), rows);
        Some(input.len() - rest.len())
    }

    #[inline(always)]
    fn has_rows(&mut self, columns: u32, rows: u64) {
        self.outcome.kind = OutcomeKind::Rows;
        self.outcome.columns = columns;
        self.outcome.rows = rows;
        self.outcome.affected = 0;
        self.outcome.more = false;
        self.state = State::Idle;
    }

    /// Checks a row of an unusual form. `definitions` starts with the column definitions.
    fn check(&mut self, row: &[u8], definitions: &[u8]) -> Result<(), Malformed> {
        if self.binary && !self.result.is_defined() {
            self.result.define_all(definitions)?;
        }
        self.result.check(row)
    }

    /// Whether the fast path applies to an answer.
    #[inline]
    fn is_usual(&self) -> bool {
        let needs_all = self.bulk.is_some() || self.rest.is_some() || self.wants_names();
        self.state == State::Header && !needs_all
    }

    /// Whether to keep the names of columns, which only text results need.
    #[inline]
    fn wants_names(&self) -> bool {
        self.names.is_some() && !self.binary
    }

    /// Reads all packets that have arrived completely.
    #[inline(never)]
    pub(super) fn read(
        &mut self,
        input: &[u8],
        at: &mut usize,
        output: &mut Vec<u8>,
    ) -> Result<Next, Malformed> {
        if self.rest.is_some() {
            self.begin_rest();
        }
        loop {
            let step = match self.state {
                State::Columns => self.columns(input, at)?,
                State::Rows => self.rows(input, at, output)?,
                State::Definitions => self.definitions(input, at)?,
                _ => match wire::packet(&input[*at..]) {
                    Some(packet) => {
                        *at += HEADER + packet.payload.len();
                        self.packet(packet, output)?
                    }
                    None => Step::Input,
                },
            };
            match step {
                Step::Continue => {}
                Step::Input => return Ok(Next::Input),
                Step::Finished => return Ok(Next::Finished),
                Step::StartTls if *at < input.len() => {
                    return Err(Malformed("unencrypted bytes where TLS should begin"));
                }
                Step::StartTls => return Ok(Next::StartTls),
            }
        }
    }

    /// Reads one packet that is neither a column's definition nor a row.
    fn packet(&mut self, packet: Packet<'_>, output: &mut Vec<u8>) -> Result<Step, Malformed> {
        // A server that shuts down, or ends an idle connection, sends its error with an unexpected
        // number.
        if packet.sequence != self.sequence && !errors::is_error(packet.payload) {
            return Err(Malformed("a packet is out of order"));
        }
        self.sequence = packet.sequence.wrapping_add(1);
        match self.state {
            State::Handshake => self.handshake(packet, output),
            State::Header | State::Rest => self.header(packet.payload, output),
            State::Prepared => self.prepared(packet.payload, output),
            State::Sending => self.interrupted(packet.payload),
            _ => Err(Malformed("a packet answers no request")),
        }
    }

    fn handshake(&mut self, packet: Packet<'_>, output: &mut Vec<u8>) -> Result<Step, Malformed> {
        let Some(handshake) = &mut self.handshake else {
            return Err(Malformed("the handshake was over"));
        };
        let unanswered = output.len();
        match handshake.packet(packet, output)? {
            Progress::Wait => {
                let answered = u8::from(output.len() > unanswered);
                self.sequence = self.sequence.wrapping_add(answered);
                Ok(Step::Continue)
            }
            Progress::StartTls => Ok(Step::StartTls),
            Progress::Connected => {
                let capabilities = handshake.capabilities();
                self.deprecate_eof = capabilities & capability::DEPRECATE_EOF != 0;
                self.local_infile = capabilities & capability::LOCAL_FILES != 0;
                if let Some(handshake) = self.handshake.take() {
                    self.server = handshake.into_server();
                }
                self.outcome.kind = OutcomeKind::Connected;
                self.state = State::Idle;
                Ok(Step::Finished)
            }
            Progress::Refused(error) => {
                self.handshake = None;
                self.set_failed(error);
                self.state = State::Closed;
                Ok(Step::Finished)
            }
        }
    }

    /// Handles the first packet of an answer.
    #[inline]
    fn header(&mut self, payload: &[u8], output: &mut Vec<u8>) -> Result<Step, Malformed> {
        let mut reader = Reader::new(payload);
        match payload.first() {
            Some(&wire::OK) => {
                reader.u8()?;
                let affected = reader.lenenc()?;
                let _last_insert_id = reader.lenenc()?;
                let status = reader.u16()?;
                self.warnings = reader.u16()?;
                self.more = status & MORE_RESULTS != 0;
                self.in_transaction = status & IN_TRANSACTION != 0;
                self.outcome.kind = OutcomeKind::Done;
                self.outcome.affected = affected;
                self.outcome.rows = 0;
                self.outcome.columns = 0;
                if let Some(file) = self.refused_file.take() {
                    self.set_file_refused(&file);
                }
                self.finish(output)
            }
            Some(&wire::ERR) => self.failed(payload, output),
            Some(&wire::LOCAL_INFILE) => self.local_infile(&payload[1..], output),
            _ => {
                let columns = reader.lenenc()?;
                if columns == 0 || columns > COLUMNS_MAX || !reader.rest().is_empty() {
                    return Err(Malformed("an answer has an impossible number of columns"));
                }
                let columns = columns as u32;
                self.outcome.columns = columns;
                self.result.begin(columns, self.binary);
                self.definitions = columns + u32::from(!self.deprecate_eof);
                if self.wants_names()
                    && let Some(names) = &mut self.names
                {
                    names.push(Vec::new());
                }
                self.state = State::Columns;
                Ok(Step::Continue)
            }
        }
    }

    /// Handles an error packet, which ends a request.
    #[cold]
    fn failed(&mut self, payload: &[u8], output: &mut Vec<u8>) -> Result<Step, Malformed> {
        let error = errors::server_error(payload)?;
        self.more = false;
        self.result.clear();
        if self.binary {
            self.statements.forget_kinds(self.executing);
        }
        self.set_failed(error);
        if let Some(file) = self.refused_file.take() {
            self.set_file_refused(&file);
        }
        self.finish(output)
    }

    /// Handles the end of a result, or of its error.
    #[inline]
    fn finish(&mut self, output: &mut Vec<u8>) -> Result<Step, Malformed> {
        if self.rest.is_some() {
            return Ok(self.pass_rest());
        }
        self.state = State::Idle;
        self.outcome.more = self.more;
        if self.bulk.is_some() {
            return self.bulk_next(output);
        }
        Ok(Step::Finished)
    }

    /// First reads the rest of an earlier execution's results.
    #[cold]
    fn begin_rest(&mut self) {
        if let Some(rest) = self.rest.as_mut().filter(|rest| rest.answer.is_none()) {
            std::mem::swap(&mut self.sequence, &mut rest.sequence);
            rest.answer = Some((self.state, self.binary));
            (self.state, self.binary) = (State::Rest, true);
        }
    }

    /// Handles the end of one of these results. The answer follows the last one.
    #[cold]
    fn pass_rest(&mut self) -> Step {
        self.result.clear();
        self.outcome.error = None;
        self.state = State::Rest;
        if let Some(rest) = self.rest.take_if(|_| !self.more) {
            self.sequence = rest.sequence;
            (self.state, self.binary) = rest.answer.unwrap_or((State::Header, self.binary));
        }
        Step::Continue
    }

    /// Handles the server's request for a local file. Only the rows of a bulk load are ever sent.
    #[cold]
    fn local_infile(&mut self, name: &[u8], output: &mut Vec<u8>) -> Result<Step, Malformed> {
        if let Some(bulk) = &mut self.bulk
            && bulk.announced(name)
        {
            self.state = State::Sending;
            return Ok(Step::Continue);
        }
        let name = String::from_utf8_lossy(&name[..name.len().min(200)]);
        self.refused_file = Some(name.into());
        let start = wire::begin(output);
        self.sequence = wire::finish(output, start, self.sequence);
        Ok(Step::Continue)
    }

    fn set_file_refused(&mut self, file: &str) {
        let message = format!(
            "the server asked for the local file {file:?}, which was refused: LOAD DATA LOCAL \
             sends only the rows of bulk loads"
        );
        let error = client_error(ErrorKind::Unsupported, errors::LOCAL_FILE_REFUSED, message);
        self.set_failed(error);
    }

    /// Handles the answer to a prepare.
    fn prepared(&mut self, payload: &[u8], output: &mut Vec<u8>) -> Result<Step, Malformed> {
        if errors::is_error(payload) {
            return self.failed(payload, output);
        }
        let mut reader = Reader::new(payload);
        if reader.u8()? != wire::OK {
            return Err(Malformed("an unknown packet answered a prepare"));
        }
        let server_id = reader.u32()?;
        let columns = reader.u16()?;
        let params = reader.u16()?;
        self.outcome.kind = OutcomeKind::Prepared;
        self.outcome.statement = self.statements.add(server_id, params);
        self.outcome.rows = 0;
        self.outcome.columns = u32::from(columns);
        let ends = u32::from(columns > 0) + u32::from(params > 0);
        let ends = if self.deprecate_eof { 0 } else { ends };
        self.definitions = u32::from(columns) + u32::from(params) + ends;
        self.state = State::Definitions;
        Ok(Step::Continue)
    }

    /// Skips definitions by their length. Only those of binary rows are parsed.
    #[inline]
    fn skip_definitions(&mut self, input: &[u8], at: &mut usize) -> Result<bool, Malformed> {
        while self.definitions > 0 {
            let Some(packet) = wire::packet(&input[*at..]) else {
                return Ok(false);
            };
            if packet.sequence != self.sequence || packet.payload.len() == PACKET_MAX {
                return Err(Malformed("a definition is out of order or too long"));
            }
            // The last packet is the EOF after the definitions, if the server sends one.
            if self.binary && (self.deprecate_eof || self.definitions > 1) {
                self.result.define(packet.payload)?;
            }
            if self.state == State::Columns
                && self.wants_names()
                && let Some(names) = &mut self.names
                && (self.deprecate_eof || self.definitions > 1)
                && let Some(last) = names.last_mut()
            {
                last.push(column_name(packet.payload)?);
            }
            self.sequence = self.sequence.wrapping_add(1);
            *at += HEADER + packet.payload.len();
            self.definitions -= 1;
        }
        Ok(true)
    }

    #[inline]
    fn columns(&mut self, input: &[u8], at: &mut usize) -> Result<Step, Malformed> {
        if !self.skip_definitions(input, at)? {
            return Ok(Step::Input);
        }
        self.row_packets = 0;
        self.state = State::Rows;
        Ok(Step::Continue)
    }

    fn definitions(&mut self, input: &[u8], at: &mut usize) -> Result<Step, Malformed> {
        if !self.skip_definitions(input, at)? {
            return Ok(Step::Input);
        }
        self.state = State::Idle;
        Ok(Step::Finished)
    }

    /// Keeps rows without parsing them, up to the packet that ends them.
    #[inline]
    fn rows(
        &mut self,
        input: &[u8],
        at: &mut usize,
        output: &mut Vec<u8>,
    ) -> Result<Step, Malformed> {
        let mut from = *at;
        let end = loop {
            let Some(packet) = wire::packet(&input[*at..]) else {
                break None;
            };
            let payload = packet.payload;
            let first = payload.first();
            let continues = payload.len() == PACKET_MAX;
            let begins = self.row_packets == 0;
            if begins {
                if first == Some(&wire::ERR) {
                    self.sequence = packet.sequence;
                }
                if matches!(first, Some(&wire::EOF | &wire::ERR)) && !continues {
                    break Some(packet);
                }
                match continues {
                    true => self.result.begin_long_row(*at - from),
                    false => self.result.check(payload)?,
                }
                self.result.count_row();
            }
            if packet.sequence != self.sequence {
                return Err(Malformed("a row is out of order"));
            }
            self.sequence = self.sequence.wrapping_add(1);
            self.row_packets = if continues { self.row_packets + 1 } else { 0 };
            if self.row_packets == ROW_PACKETS_MAX {
                return Err(Malformed("a row is longer than 1 GiB"));
            }
            *at += HEADER + payload.len();
            if !begins && !continues {
                self.result.keep(&input[from..*at]);
                self.result.check_long_row()?;
                from = *at;
            }
        };
        self.result.keep(&input[from..*at]);
        let Some(packet) = end else {
            return Ok(Step::Input);
        };
        *at += HEADER + packet.payload.len();
        self.rows_end(packet, output)
    }

    #[inline]
    fn rows_end(&mut self, packet: Packet<'_>, output: &mut Vec<u8>) -> Result<Step, Malformed> {
        if packet.sequence != self.sequence {
            return Err(Malformed("the end of the rows is out of order"));
        }
        self.sequence = self.sequence.wrapping_add(1);
        if errors::is_error(packet.payload) {
            return self.failed(packet.payload, output);
        }
        let mut reader = Reader::new(packet.payload);
        reader.u8()?;
        if self.deprecate_eof {
            reader.lenenc()?;
            reader.lenenc()?;
        } else {
            let _warnings = reader.u16()?;
        }
        self.more = reader.u16()? & MORE_RESULTS != 0;
        self.outcome.kind = OutcomeKind::Rows;
        self.outcome.rows = self.result.rows();
        self.outcome.affected = 0;
        self.finish(output)
    }
}

/// The name in a column definition, after catalogue, schema, table and original table.
fn column_name(definition: &[u8]) -> Result<String, Malformed> {
    let mut reader = Reader::new(definition);
    for _ in 0..4 {
        reader.lenenc_bytes()?;
    }
    Ok(String::from_utf8_lossy(reader.lenenc_bytes()?).into_owned())
}
