//! Bulk loading by COPY.

use dyno_core::bulk::{BulkFormat, BulkLoad, RowSource};

use super::wire::{self, MESSAGE_LEN_MAX};

/// Bytes of rows per message. Large enough to make framing and system calls negligible, small
/// enough to stay in the processor's cache.
const CHUNK_LEN: usize = 128 * 1024;

/// A COPY in progress.
pub(super) struct Load {
    rows: Box<dyn RowSource>,
    stage: Stage,
    /// The server's count of rows.
    loaded: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// COPY was sent.
    Asked,
    /// The server accepts rows.
    Sending,
    /// Everything was sent, or the server has stopped accepting rows.
    Sent,
}

impl Load {
    /// Returns the load and its first statement.
    pub(super) fn new(load: BulkLoad) -> (Self, String) {
        let columns = match load.columns.as_slice() {
            [] => String::new(),
            columns => format!(" ({})", columns.join(", ")),
        };
        let sql = format!("COPY {}{columns} FROM STDIN", load.table);
        let load = Self {
            rows: load.rows,
            stage: Stage::Asked,
            loaded: None,
        };
        (load, sql)
    }

    pub(super) fn begin(&mut self) {
        if self.stage == Stage::Asked {
            self.stage = Stage::Sending;
        }
    }

    /// The server reported an error; it discards the rows under way.
    pub(super) fn stop(&mut self) {
        self.stage = Stage::Sent;
    }

    pub(super) fn complete(&mut self, loaded: u64) {
        self.loaded = Some(loaded);
    }

    pub(super) fn loaded(&self) -> Option<u64> {
        self.loaded
    }

    /// Appends the next rows, or the end of the data.
    pub(super) fn produce(&mut self, output: &mut Vec<u8>) {
        if self.stage != Stage::Sending {
            return;
        }
        let start = output.len();
        output.extend_from_slice(b"d\0\0\0\0");
        let rows = self.rows.fill(output, BulkFormat::TabText, CHUNK_LEN);
        let length = output.len() - start;
        if rows > 0 && length <= MESSAGE_LEN_MAX {
            wire::patch_length(output, start + 1);
            return;
        }
        output.truncate(start);
        if rows == 0 {
            wire::message(output, b'c', |_| {});
        } else {
            let reason = b"a row is longer than PostgreSQL accepts";
            wire::message(output, b'f', |body| wire::put_text(body, reason));
        }
        self.stage = Stage::Sent;
    }
}
