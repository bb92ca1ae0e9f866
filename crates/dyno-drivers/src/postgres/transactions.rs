//! Counts the transactions that an operation ended, as the server counts them in
//! `pg_stat_database`: one for each that committed or rolled back, however many statements it had.
//!
//! The server ends the transaction of a request before ReadyForQuery, unless BEGIN keeps it open
//! (`finish_xact_command` in PostgreSQL's `src/backend/tcop/postgres.c`). This also holds for a
//! failed request, an empty one, and a Parse; a Close alone starts no transaction. The command tags
//! show the ends before that. The server counts a failed block already at its error; here it counts
//! when it ends.

use super::Postgres;
use super::session::Activity;

/// What the server did last in a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Last {
    /// It ended a transaction, or did nothing.
    #[default]
    End,
    /// Work in a transaction.
    Work,
    /// ROLLBACK, perhaps to a savepoint.
    Rollback,
}

impl Postgres {
    /// A statement with this command tag is complete.
    #[inline(always)]
    pub(super) fn note_tag(&mut self, tag: &[u8]) {
        // SELECT, INSERT, UPDATE, and others that end no transaction.
        if let Some(b'S' | b'I' | b'U') = tag.first() {
            self.last = Last::Work;
        } else {
            self.note_rarer_tag(tag);
        }
    }

    /// The whole answer to one statement: its command tag and ReadyForQuery. The same as
    /// [`Self::note_tag`] and [`Self::become_idle`] in fewer instructions.
    #[inline(always)]
    pub(super) fn end_single(&mut self, tag: &[u8], status: u8) {
        if let Some(b'S' | b'I' | b'U') = tag.first() {
            self.activity = Activity::Idle;
            self.status = status;
            self.last = Last::End;
            self.outcome.transactions.certain += u32::from(status == b'I');
            self.note_abort();
        } else {
            self.note_rarer_tag(tag);
            self.become_idle(status);
        }
    }

    #[inline(never)]
    fn note_rarer_tag(&mut self, tag: &[u8]) {
        let ended = &mut self.outcome.transactions;
        self.last = match tag {
            b"COMMIT" => {
                ended.certain += 1;
                Last::End
            }
            b"ROLLBACK" => {
                ended.possible += 1;
                Last::Rollback
            }
            // It is counted when another statement ends it.
            b"PREPARE TRANSACTION" => Last::End,
            // Besides the statement's own transaction.
            b"COMMIT PREPARED" | b"ROLLBACK PREPARED" => {
                ended.certain += 1;
                Last::Work
            }
            // Outside of a transaction, procedures and blocks may commit.
            b"CALL" | b"DO" if self.status == b'I' => {
                ended.possible += 1;
                Last::Work
            }
            _ => Last::Work,
        };
    }

    /// The server worked in a transaction without completing a statement.
    #[inline]
    pub(super) fn note_work(&mut self) {
        self.last = Last::Work;
    }

    /// The log-in is a transaction, unless a pooler answered it. A session may also end in a
    /// transaction, which the server then rolls back.
    pub(super) fn note_log_in(&mut self) {
        self.outcome.transactions.possible += 2;
    }

    /// ReadyForQuery, with this transaction status.
    #[inline(always)]
    pub(super) fn become_idle(&mut self, status: u8) {
        self.activity = Activity::Idle;
        self.status = status;
        if status == b'I' && self.last != Last::End {
            let ended = &mut self.outcome.transactions;
            ended.certain += 1;
            if self.last == Last::Rollback {
                // There was no savepoint: it ended the transaction.
                ended.possible = ended.possible.saturating_sub(1);
            }
        }
        self.last = Last::End;
        self.note_abort();
    }
}
