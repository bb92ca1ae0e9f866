//! A blocking connection, for queries about a server outside of the load.

use std::io;
use std::os::fd::RawFd;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;
use dyno_core::db::{
    Connection, Connector, DbError, ErrorKind, OutcomeKind, Row, Scratch, ServerInfo, Submitted,
};

/// The longest single wait in the kernel; a deadline is missed by at most this.
const SLICE_MS_MAX: u64 = 100;

/// A row as text, `None` for NULL.
pub type TextRow = Vec<Option<String>>;

/// A connection that blocks its thread until the server answers or a timeout expires. An error that
/// ends the connection closes it: see [`Control::is_open`] and [`Control::reconnect`].
pub struct Control {
    connection: Box<dyn Connection>,
    scratch: Scratch,
    row: Row,
    /// The endpoint's name.
    name: String,
    open: bool,
}

impl Control {
    /// Connects to the connector's first endpoint within `timeout`.
    ///
    /// # Errors
    /// The reason why connecting failed.
    pub fn connect(connector: &dyn Connector, timeout: Duration) -> Result<Self, DbError> {
        Self::connect_unless(connector, timeout, &|| false)
    }

    /// Like [`Control::connect`], but gives up as soon as `stopped` returns true.
    ///
    /// # Errors
    /// The reason why connecting failed.
    pub fn connect_unless(
        connector: &dyn Connector,
        timeout: Duration,
        stopped: &dyn Fn() -> bool,
    ) -> Result<Self, DbError> {
        let mut control = Self {
            connection: connector.connect(0)?,
            scratch: Scratch::default(),
            row: Row::default(),
            name: connector.endpoints().into_iter().next().unwrap_or_default(),
            open: true,
        };
        control.greet(connector, timeout, stopped)?;
        Ok(control)
    }

    /// Closes the connection and makes a new one within `timeout`.
    ///
    /// # Errors
    /// The reason why connecting failed; the control connection is closed then.
    pub fn reconnect(
        &mut self,
        connector: &dyn Connector,
        timeout: Duration,
    ) -> Result<(), DbError> {
        self.close();
        self.connection = connector.connect(0)?;
        self.open = true;
        self.greet(connector, timeout, &|| false)
    }

    /// Runs one statement and returns its rows, none for a statement without a result set. Invalid
    /// UTF-8 in values is replaced.
    ///
    /// # Errors
    /// The server's error, or no answer within `timeout`, which closes the connection.
    pub fn query(&mut self, sql: &str, timeout: Duration) -> Result<Vec<TextRow>, DbError> {
        let mut rows = Vec::new();
        self.read(sql, timeout, |row| rows.push(text_row(row)))?;
        Ok(rows)
    }

    /// Like [`Control::query`], and returns the column names too.
    ///
    /// # Errors
    /// As [`Control::query`].
    pub fn query_named(
        &mut self,
        sql: &str,
        timeout: Duration,
    ) -> Result<(Vec<String>, Vec<TextRow>), DbError> {
        self.connection.keep_names();
        self.ask(sql, timeout)?;
        let names = self.connection.names().first().cloned().unwrap_or_default();
        let mut rows = Vec::new();
        self.take(timeout, |row| rows.push(text_row(row)))?;
        Ok((names, rows))
    }

    /// Runs one statement and passes its rows to `each` one by one, without keeping them. Of
    /// several results only the first is passed.
    ///
    /// # Errors
    /// As [`Control::query`].
    pub fn read(
        &mut self,
        sql: &str,
        timeout: Duration,
        each: impl FnMut(&Row),
    ) -> Result<(), DbError> {
        self.ask(sql, timeout)?;
        self.take(timeout, each)
    }

    /// The first half of [`Control::read`]: returns when the server has answered and the rows have
    /// arrived.
    ///
    /// # Errors
    /// As [`Control::query`].
    pub fn ask(&mut self, sql: &str, timeout: Duration) -> Result<(), DbError> {
        if !self.open {
            let message = format!("the connection to {} is closed", self.name);
            return Err(DbError::new(ErrorKind::Lost, message));
        }
        let submitted = self.connection.query(&mut self.scratch, sql.as_bytes());
        self.finish(submitted, timeout, &|| false)
    }

    /// The second half of [`Control::read`]: passes the rows to `each`.
    ///
    /// # Errors
    /// The errors of further results, which are skipped.
    pub fn take(&mut self, timeout: Duration, mut each: impl FnMut(&Row)) -> Result<(), DbError> {
        while self.connection.next_row(&mut self.row) {
            each(&self.row);
        }
        self.connection.free_result();
        while self.connection.outcome().more {
            let submitted = self.connection.next_result(&mut self.scratch);
            self.finish(submitted, timeout, &|| false)?;
            self.connection.free_result();
        }
        Ok(())
    }

    /// What is known about the server.
    pub fn server(&self) -> &ServerInfo {
        self.connection.server()
    }

    /// The socket; `None` for an embedded database and a closed connection.
    pub fn fd(&self) -> Option<RawFd> {
        self.connection.fd().filter(|_| self.open)
    }

    /// Whether the connection can be used.
    pub fn is_open(&self) -> bool {
        self.open
    }

    /// Closes the connection politely, as far as possible without waiting.
    pub fn close(&mut self) {
        if std::mem::take(&mut self.open) {
            self.connection.close();
        }
    }

    fn greet(
        &mut self,
        connector: &dyn Connector,
        timeout: Duration,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), DbError> {
        let submitted = self.connection.advance(&mut self.scratch);
        let deadline = Clock.now().saturating_add(timeout.as_nanos() as Nanos);
        let mut greeted = self.finish(submitted, timeout, stopped);
        if let Err(error) = &mut greeted
            && Clock.now() >= deadline
            && connector.connect_timeout() == Some(timeout)
        {
            let end = if error.message.ends_with('?') {
                ""
            } else {
                "."
            };
            error.message += end;
            error.message += " Set the limit for an attempt with the target's parameter \
                              connect_timeout.";
        }
        greeted
    }

    /// Waits for the operation's end.
    fn finish(
        &mut self,
        mut submitted: Submitted,
        timeout: Duration,
        stopped: &dyn Fn() -> bool,
    ) -> Result<(), DbError> {
        let deadline = Clock.now().saturating_add(timeout.as_nanos() as Nanos);
        while submitted == Submitted::Pending {
            // Rounded up: a wait of 0 ms would spin.
            let left_ms = deadline.saturating_sub(Clock.now()).div_ceil(1_000_000);
            let waited = match left_ms {
                0 => Err(self.silent(timeout)),
                _ if stopped() => {
                    let why = format!("interrupted before {} answered", self.name);
                    Err(DbError::new(ErrorKind::Lost, why))
                }
                _ => self.wait(left_ms).map_err(|error| {
                    DbError::new(
                        ErrorKind::Lost,
                        format!("cannot wait for {}: {error}", self.name),
                    )
                }),
            };
            if let Err(error) = waited {
                // The remaining bytes would be taken for the answer to the next query.
                self.close();
                return Err(error);
            }
            submitted = self.connection.advance(&mut self.scratch);
        }
        let outcome = self.connection.outcome();
        if outcome.kind != OutcomeKind::Failed {
            return Ok(());
        }
        let error = outcome.error.as_deref().cloned();
        let error = error.unwrap_or_else(|| DbError::new(ErrorKind::Lost, "no connection"));
        if error.ends_connection {
            self.close();
        }
        Err(error)
    }

    fn silent(&self, timeout: Duration) -> DbError {
        let message = format!(
            "{} did not answer within {:.1} s: is it a database server, and is it running?",
            self.name,
            timeout.as_secs_f64()
        );
        DbError::new(ErrorKind::Lost, message)
    }

    fn wait(&self, timeout_ms: u64) -> io::Result<()> {
        let Some(fd) = self.connection.fd() else {
            return Ok(());
        };
        let writing = match self.connection.wants_write() {
            true => libc::POLLOUT,
            false => 0,
        };
        let mut poll = libc::pollfd {
            fd,
            events: libc::POLLIN | writing,
            revents: 0,
        };
        let timeout_ms = timeout_ms.min(SLICE_MS_MAX) as libc::c_int;
        // SAFETY: `poll` is one valid pollfd.
        let ready = unsafe { libc::poll(&raw mut poll, 1, timeout_ms) };
        let error = io::Error::last_os_error();
        if ready < 0 && error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
        Ok(())
    }
}

fn text_row(row: &Row) -> TextRow {
    let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
    let fields = 0..row.ends.len();
    fields.map(|index| row.field(index).map(text)).collect()
}

impl Drop for Control {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::Target;

    use super::*;

    #[test]
    fn a_result_comes_with_the_names_of_its_columns() {
        let patience = Duration::from_secs(10);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("names.db");
        let target = Target::parse(&format!("sqlite:{}", file.display())).unwrap();
        let connector = crate::connector(&target).unwrap();
        let mut control = Control::connect(connector.as_ref(), patience).unwrap();
        for sql in [
            "SELECT 1 AS one, NULL AS none",
            "SELECT 1 AS one, NULL AS none LIMIT 0",
        ] {
            let (names, rows) = control.query_named(sql, patience).unwrap();
            assert_eq!(names, ["one", "none"]);
            let expected = vec![Some("1".to_owned()), None];
            assert_eq!(rows, vec![expected; usize::from(!sql.ends_with('0'))]);
        }
        let (names, rows) = control.query_named("CREATE TABLE t (a)", patience).unwrap();
        assert!(names.is_empty() && rows.is_empty());
    }
}
