//! Unasked bytes: messages between operations, and the state they leave.

use dyno_core::db::{DbError, OutcomeKind, Row, Submitted};

use super::echo::{Echo, MysqlEcho, PostgresEcho};
use super::{Script, Talk, frame_mysql, frame_postgres, talk_mysql, talk_postgres};
use crate::channel::Protocol;

/// Longer than any message that is completed here.
const COMPLETED_MAX: usize = 0x1_0000;

/// Bytes that arrive on an idle connection, raw or well framed, in pieces and whole.
///
/// # Panics
/// When their handling panics or breaks its contract, or the next operation takes them for its
/// answer.
pub fn unasked(script: &[u8]) {
    let mut script = Script(script);
    let (how, piece) = (script.byte(), usize::from(script.byte()) + 1);
    let (is_mysql, is_framed) = (how & 1 == 0, how & 2 == 0);
    let bytes = match (is_framed, is_mysql) {
        (false, _) => script.0.to_vec(),
        (true, true) => frame_mysql(script.0),
        (true, false) => frame_postgres(script.0),
    };
    let mut answer = Vec::new();
    if is_mysql {
        MysqlEcho::new(false).stray_answer(&mut answer);
        judge(&bytes, piece, || talk_mysql(true), &answer, complete_mysql);
    } else {
        PostgresEcho::new(false).stray_answer(&mut answer);
        let complete = complete_postgres;
        judge(&bytes, piece, || talk_postgres(true), &answer, complete);
    }
}

fn judge<P: Protocol>(
    bytes: &[u8],
    piece: usize,
    new: impl Fn() -> Talk<P>,
    answer: &[u8],
    complete: fn(&mut Vec<u8>) -> bool,
) {
    let mut talk = new();
    let whole = talk.rest(bytes, usize::MAX);
    // If the connection survives the pieces, it must survive the whole.
    if new().rest(bytes, piece).is_ok() {
        assert!(whole.is_ok(), "{whole:?}");
    }
    if let Err(error) = whole {
        assert!(error.ends_connection, "{error:?}");
        talk.protocol.fail(error);
        let submitted = talk.protocol.query(b"SELECT 1", &mut talk.output);
        assert_eq!(submitted, Submitted::Ready);
        assert_eq!(talk.protocol.outcome().kind, OutcomeKind::Failed);
        return;
    }
    // The answer to an operation follows once the leftover message is complete.
    let was_clean = talk.partial.is_empty();
    let submitted = talk.protocol.query(b"SELECT 1", &mut talk.output);
    assert_eq!(submitted, Submitted::Pending);
    if !was_clean && !complete(&mut talk.partial) {
        return;
    }
    talk.hear(answer);
    let outcome = talk.protocol.outcome();
    if outcome.kind == OutcomeKind::Failed {
        return assert!(!was_clean, "{outcome:?}");
    }
    let seen = (outcome.kind, outcome.rows, outcome.more);
    assert_eq!(seen, (OutcomeKind::Rows, 1, false), "{outcome:?}");
    let mut row = Row::default();
    assert!(talk.protocol.next_row(&mut row));
    assert_eq!(row.field(0), Some(&b"999999"[..]));
}

impl<P: Protocol> Talk<P> {
    /// Takes bytes in while no operation is under way, as a channel does.
    fn rest(&mut self, bytes: &[u8], piece: usize) -> Result<(), DbError> {
        for piece in bytes.chunks(piece) {
            self.partial.extend_from_slice(piece);
            let consumed = self.protocol.unasked(&self.partial)?;
            assert!(consumed <= self.partial.len());
            self.partial.drain(..consumed);
            // Leftover bytes must give the same result when they are checked again.
            assert_eq!(self.protocol.unasked(&self.partial)?, 0);
        }
        Ok(())
    }
}

/// Completes a packet; false if it is too long for that.
fn complete_mysql(partial: &mut Vec<u8>) -> bool {
    let header = partial.first_chunk::<4>().copied().unwrap_or_default();
    fill(
        partial,
        (u32::from_le_bytes(header) & 0xFF_FFFF) as usize + 4,
    )
}

/// Completes a message; false if it is too long for that.
fn complete_postgres(partial: &mut Vec<u8>) -> bool {
    let Some([_, length @ ..]) = partial.first_chunk::<5>() else {
        return false;
    };
    let length = u32::from_be_bytes(*length) as usize;
    fill(partial, length + 1)
}

fn fill(partial: &mut Vec<u8>, length: usize) -> bool {
    let is_short = length <= COMPLETED_MAX && partial.len() < length;
    if is_short {
        partial.resize(length, 0);
    }
    is_short
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    /// What servers say between operations, and what they must not: whole, and cut anywhere.
    #[test]
    fn unsolicited_messages_are_classified() {
        let (mut reason, mut stray) = (Vec::new(), Vec::new());
        MysqlEcho::new(false).farewell(&mut reason);
        MysqlEcho::new(false).stray_answer(&mut stray);
        let (mut fatal, mut answer) = (Vec::new(), Vec::new());
        PostgresEcho::new(false).farewell(&mut fatal);
        PostgresEcho::new(false).stray_answer(&mut answer);
        let notices = b"N\0\0\0\x08abc\0S\0\0\0\x08a\0b\0A\0\0\0\x0a\0\0\0\x07a\0".to_vec();
        let raw = [
            (0, &reason),
            (0, &stray),
            (1, &fatal),
            (1, &answer),
            (1, &notices),
        ];
        for (family, bytes) in raw {
            for end in 0..=bytes.len() {
                for piece in [0, 4, 255] {
                    unasked(&[&[family | 2, piece], &bytes[..end]].concat());
                }
            }
        }
        // Notices are skipped; other bytes end the connection.
        assert!(talk_postgres(true).rest(&notices, 3).is_ok());
        for bytes in [&fatal, &answer] {
            assert!(talk_postgres(true).rest(bytes, usize::MAX).is_err());
        }
        for bytes in [&reason, &stray] {
            assert!(talk_mysql(true).rest(bytes, usize::MAX).is_err());
        }
    }

    proptest! {
        #[test]
        fn unrequested_bytes_answer_no_request(
            how in 0..4_u8,
            bytes in vec(any::<u8>(), 0..300),
        ) {
            unasked(&[&[how][..], &bytes].concat());
        }

        /// Allowed tags and first bytes, to get past the first message.
        #[test]
        fn unrequested_messages_answer_no_request(
            piece in any::<u8>(),
            messages in vec((0..9_usize, vec(any::<u8>(), 0..30)), 0..6),
        ) {
            let tag = |index: &usize| b"NSAENSA\xFF\0"[*index];
            let mut mysql = vec![0, piece, 0];
            let mut postgres = vec![1, piece];
            for (index, body) in &messages {
                mysql.extend([body.len() as u8 + 1, tag(index)]);
                postgres.extend([tag(index), body.len() as u8]);
                mysql.extend(body);
                postgres.extend(body);
            }
            unasked(&mysql);
            unasked(&postgres);
        }
    }
}
