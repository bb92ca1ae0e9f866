//! Servers, and the consoles of proxies that speak their protocols.

use std::fs::File;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use dyno_core::Target;
use dyno_core::db::{Connector, DbError, ErrorKind, Family};
use dyno_core::target::JournalMode;
use dyno_drivers::Control;

use super::{mysql, pgbouncer, postgres, proxysql, sqlite};
use crate::profile::Profile;
use crate::source::{Answer, Source, Trouble};

/// Timeout of an answer, after which the connection is closed.
const PATIENCE: Duration = Duration::from_secs(5);
/// A query that ProxySQL answers itself, on both of its interfaces.
const WHO: &str = "select @@version_comment limit 1";
/// First statements on MySQL and MariaDB: limits on the duration of our questions. The first is
/// MySQL's, in milliseconds, the second MariaDB's, in seconds; each rejects the other's.
const BOUNDS_MYSQL: [&str; 2] = [
    "SET SESSION max_execution_time = 5000",
    "SET SESSION max_statement_time = 5",
];
/// The same for PostgreSQL, where questions about sizes may also wait for locks.
const BOUNDS_POSTGRES: [&str; 2] = ["SET statement_timeout = 5000", "SET lock_timeout = 500"];

/// The console, if the user names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Console {
    /// Detected by asking.
    #[default]
    Asked,
    /// ProxySQL's admin interface.
    ProxySql,
    /// pgbouncer's console.
    PgBouncer,
}

/// A server that is asked over one connection.
pub struct Server {
    target: Target,
    /// Set since the first attempt to connect.
    connector: Option<Arc<dyn Connector>>,
    console: Console,
    control: Option<Control>,
}

/// Asks during [`Source::open`].
pub(crate) type Asking<'a> = &'a mut dyn FnMut(&str) -> Result<Answer, Trouble>;

impl Server {
    /// The server of a target; nothing is sent before it is opened.
    pub fn new(target: Target, console: Console) -> Self {
        Self {
            target,
            connector: None,
            console,
            control: None,
        }
    }

    fn connect(&mut self) -> Result<&mut Control, Trouble> {
        self.control = None;
        let target = self.target.label();
        let lost =
            |error: DbError| Trouble::Lost(format!("cannot use the target {target}: {error}"));
        let connector = match &self.connector {
            Some(connector) => Arc::clone(connector),
            None => {
                if self.target.family == Family::Sqlite {
                    leave_as_it_is(&mut self.target)?;
                }
                let connector = dyno_drivers::connector(&self.target).map_err(lost)?;
                Arc::clone(self.connector.insert(connector))
            }
        };
        let timeout = Duration::from_millis(self.target.connect_timeout_ms);
        let control = Control::connect(connector.as_ref(), timeout).map_err(lost)?;
        Ok(self.control.insert(control))
    }

    /// Recognises the console or server, after a connection was made.
    fn recognised(&mut self) -> Result<Kind, Trouble> {
        let family = self.target.family;
        let product = match &self.control {
            Some(control) => control.server().clone(),
            None => return Err(closed()),
        };
        let misplaced = |what: &str, scheme: &str| {
            Trouble::Lost(format!("{what} needs a {scheme} URL, not {}", self.target))
        };
        match (self.console, family) {
            (Console::ProxySql, Family::Mysql) => return Ok(Kind::ProxySql),
            (Console::ProxySql, _) => return Err(misplaced("ProxySQL", "mysql://")),
            (Console::PgBouncer, Family::Postgres) => return Ok(Kind::PgBouncer),
            (Console::PgBouncer, _) => return Err(misplaced("pgbouncer", "postgres://")),
            (Console::Asked, _) => {}
        }
        Ok(match family {
            // Its console reports this as the server's version.
            Family::Postgres if product.version.ends_with("/bouncer") => Kind::PgBouncer,
            Family::Postgres => Kind::Postgres,
            Family::Sqlite => Kind::Sqlite,
            Family::Mysql => match self.ask(WHO) {
                Ok(answer) if says(&answer, "ProxySQL Admin") => Kind::ProxySql,
                Ok(answer) if says(&answer, "ProxySQL") => Kind::Mysql { proxied: true },
                Err(lost) if lost.is_lost() => return Err(lost),
                Ok(_) | Err(_) => Kind::Mysql { proxied: false },
            },
        })
    }
}

/// Opening an SQLite database for a load creates it if missing and sets its journal mode, which
/// persists. Watching must do neither.
fn leave_as_it_is(target: &mut Target) -> Result<(), Trouble> {
    /// The file format write version in the header: 2 is a write-ahead log. Source:
    /// <https://www.sqlite.org/fileformat.html>, 1.3.3.
    const WRITE_VERSION_AT: usize = 18;
    let mut header = [0; WRITE_VERSION_AT + 1];
    let file = target.file.display().to_string();
    let read = File::open(&target.file).and_then(|mut file| file.read_exact(&mut header));
    target.sqlite.journal_mode = match read {
        Ok(()) if header[WRITE_VERSION_AT] == 2 => JournalMode::Wal,
        Ok(()) => JournalMode::Delete,
        Err(error) => {
            let why = format!("cannot open the SQLite database {file}: {error}");
            return Err(Trouble::Lost(why));
        }
    };
    Ok(())
}

enum Kind {
    Mysql { proxied: bool },
    Postgres,
    Sqlite,
    ProxySql,
    PgBouncer,
}

fn says(answer: &Answer, words: &str) -> bool {
    let text = answer.field(0, 0);
    text.is_some_and(|text| text.contains(words))
}

fn closed() -> Trouble {
    Trouble::Lost("there is no connection".to_owned())
}

impl Source for Server {
    fn open(&mut self) -> Result<Profile, Trouble> {
        let info = self.connect()?.server().clone();
        let kind = self.recognised()?;
        let bounds = match kind {
            Kind::Mysql { .. } => &BOUNDS_MYSQL[..],
            Kind::Postgres => &BOUNDS_POSTGRES[..],
            Kind::Sqlite | Kind::ProxySql | Kind::PgBouncer => &[],
        };
        for bound in bounds {
            match self.ask(bound) {
                Err(lost) if lost.is_lost() => return Err(lost),
                Ok(_) | Err(_) => {}
            }
        }
        let place = self.target.label();
        let product = info.product;
        // Without the distribution's package version.
        let version = info.version.split(" (").next().unwrap_or_default();
        let title = format!("{product} {version} · {place}");
        let asking: Asking<'_> = &mut |question| self.ask(question);
        match kind {
            Kind::Mysql { proxied } => mysql::profile(asking, title, product == "MariaDB", proxied),
            Kind::Postgres => postgres::profile(asking, title),
            Kind::Sqlite => sqlite::profile(asking, title),
            Kind::ProxySql => proxysql::profile(asking, &place),
            Kind::PgBouncer => pgbouncer::profile(asking, &place),
        }
    }

    fn ask(&mut self, question: &str) -> Result<Answer, Trouble> {
        let control = self.control.as_mut().ok_or_else(closed)?;
        let (names, rows) = control.query_named(question, PATIENCE).map_err(trouble)?;
        Ok(Answer { names, rows })
    }
}

fn trouble(error: DbError) -> Trouble {
    let text = error.to_string();
    match error.kind {
        _ if error.ends_connection => Trouble::Lost(text),
        ErrorKind::Statement | ErrorKind::NoTable | ErrorKind::Unsupported => {
            Trouble::Unknown(text)
        }
        _ => Trouble::Refused(text),
    }
}

/// The first field of the first row; `None` if the question is refused.
///
/// # Errors
/// The connection was lost.
pub(crate) fn one(asking: Asking<'_>, question: &str) -> Result<Option<String>, Trouble> {
    match asking(question) {
        Ok(answer) => Ok(answer.field(0, 0).map(str::to_owned)),
        Err(lost) if lost.is_lost() => Err(lost),
        Err(_) => Ok(None),
    }
}
