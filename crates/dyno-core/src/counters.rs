//! One table of the counters of database servers. For each series that Dyno derives from a server's
//! counter, it lists the servers and versions, the kind and unit, the meaning of one count, when it
//! is reset and what it includes. `docs/observers.md` is generated from it.

mod mysql;
mod postgres;

#[cfg(test)]
pub(crate) mod guide;
#[cfg(test)]
mod tests;

/// A family of servers whose counters have the same meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// MariaDB.
    MariaDb,
    /// MySQL and its forks.
    MySql,
    /// PostgreSQL.
    Postgres,
}

/// Major and minor version.
pub type Version = (u16, u16);

/// A range of versions of a server: from the first on, before the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The server.
    pub server: Server,
    /// The first version that counts this way.
    pub since: Version,
    /// The first version that no longer does.
    pub before: Version,
}

const FIRST: Version = (0, 0);
const NEVER: Version = (u16::MAX, 0);

impl Span {
    const fn all(server: Server) -> Self {
        Self::between(server, FIRST, NEVER)
    }

    const fn since(server: Server, since: Version) -> Self {
        Self::between(server, since, NEVER)
    }

    const fn before(server: Server, before: Version) -> Self {
        Self::between(server, FIRST, before)
    }

    const fn between(server: Server, since: Version, before: Version) -> Self {
        Self {
            server,
            since,
            before,
        }
    }

    /// Whether the range contains a version.
    pub fn holds(&self, server: Server, version: Version) -> bool {
        self.server == server && (self.since..self.before).contains(&version)
    }
}

impl std::fmt::Display for Span {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.server {
            Server::MariaDb => "MariaDB",
            Server::MySql => "MySQL",
            Server::Postgres => "PostgreSQL",
        })?;
        let text = |(major, minor): Version| match self.server {
            Server::Postgres => major.to_string(),
            Server::MariaDb | Server::MySql => format!("{major}.{minor}"),
        };
        match (self.since == FIRST, self.before == NEVER) {
            (true, true) => Ok(()),
            (false, true) => write!(f, " since {}", text(self.since)),
            (true, false) => write!(f, " before {}", text(self.before)),
            (false, false) => {
                write!(
                    f,
                    " since {}, before {}",
                    text(self.since),
                    text(self.before)
                )
            }
        }
    }
}

/// How a counter becomes a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Class {
    /// Not recorded: a setting, a version, a mean since the start.
    Ignored,
    /// A gauge in this unit.
    Gauge(&'static str),
    /// A counter, recorded as a rate in this unit; one count is this many units.
    Rate(&'static str, f64),
}

/// The meaning of one count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "`words` says it")]
pub enum Counts {
    Block,
    Byte,
    Commit,
    Connection,
    Descent,
    Engine,
    Event,
    Lock,
    LogRecord,
    Mean,
    Node,
    Operation,
    Row,
    Session,
    Statement,
    Sync,
    Table,
    Time,
    Transaction,
    Wait,
}

impl Counts {
    /// In words, for the guide.
    pub fn words(self) -> &'static str {
        match self {
            Self::Block => "a block (page)",
            Self::Byte => "a byte",
            Self::Commit => "a commit written to the binary log",
            Self::Connection => "a connection",
            Self::Descent => "an index descent, or a table scan that a process starts",
            Self::Engine => "a statement's or transaction's commit in one engine",
            Self::Event => "an occurrence",
            Self::Lock => "a lock",
            Self::LogRecord => "a log record",
            Self::Mean => "a mean or ratio since the last reset",
            Self::Node => "a node",
            Self::Operation => "a kernel request for one or more blocks",
            Self::Row => "a row",
            Self::Session => "a session",
            Self::Statement => "a statement",
            Self::Sync => "a sync",
            Self::Table => "a table",
            Self::Time => "time",
            Self::Transaction => "a transaction",
            Self::Wait => "a wait that began",
        }
    }
}

/// What a counter includes in addition to what its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Also {
    /// One count for the end of each connection, or for its first queries.
    Connections,
    /// New blocks of tables and indexes, which nothing reads.
    NewBlocks,
    /// The write-ahead log.
    Wal,
}

/// Events that reset a counter to 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// A start of the server.
    Start,
    /// A start of the server, and `FLUSH STATUS`.
    FlushStatus,
    /// `pg_stat_reset()` and similar functions, and a crash; not a clean restart.
    Statistics,
    /// No event: the value is a gauge.
    State,
}

impl Reset {
    /// In words, for the guide.
    pub fn words(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::FlushStatus => "start, `FLUSH STATUS`",
            Self::Statistics => "`pg_stat_reset…()`, crash",
            Self::State => "–",
        }
    }
}

/// A counter of some servers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Counter {
    /// The series; with `*` at the end, all series with that prefix.
    pub series: &'static str,
    /// The server's name for it.
    pub source: &'static str,
    /// The servers that count it this way.
    pub on: &'static [Span],
    /// Kind and unit of the series.
    pub class: Class,
    /// The meaning of one count.
    pub counts: Counts,
    /// What it also includes.
    pub also: &'static [Also],
    /// Events that reset it to 0.
    pub reset: Reset,
    /// A warning against misreading it.
    pub remark: &'static str,
}

impl Counter {
    const fn new(series: &'static str, source: &'static str, on: &'static [Span]) -> Self {
        Self {
            series,
            source,
            on,
            class: Class::Rate("count/s", 1.0),
            counts: Counts::Event,
            also: &[],
            reset: Reset::Start,
            remark: "",
        }
    }

    const fn counts(self, counts: Counts) -> Self {
        let class = match counts {
            Counts::Byte => Class::Rate("bytes/s", 1.0),
            _ => self.class,
        };
        Self {
            counts,
            class,
            ..self
        }
    }

    const fn state(self, counts: Counts, unit: &'static str) -> Self {
        Self {
            counts,
            class: Class::Gauge(unit),
            reset: Reset::State,
            ..self
        }
    }

    /// Time in a unit of this many seconds, as seconds per second.
    const fn seconds(self, scale: f64) -> Self {
        Self {
            counts: Counts::Time,
            class: Class::Rate("ratio", scale),
            ..self
        }
    }

    /// A mean since the last reset. It does not describe a run, so Dyno does not record it.
    const fn mean(self) -> Self {
        Self {
            counts: Counts::Mean,
            class: Class::Ignored,
            ..self
        }
    }

    const fn also(self, also: &'static [Also]) -> Self {
        Self { also, ..self }
    }

    const fn reset(self, reset: Reset) -> Self {
        Self { reset, ..self }
    }

    const fn only(self, on: &'static [Span]) -> Self {
        Self { on, ..self }
    }

    const fn note(self, remark: &'static str) -> Self {
        Self { remark, ..self }
    }

    /// Whether it includes that.
    pub fn includes(&self, also: Also) -> bool {
        self.also.contains(&also)
    }

    fn matches(&self, series: &str) -> bool {
        match self.series.strip_suffix('*') {
            Some(beginning) => series.starts_with(beginning),
            None => self.series == series,
        }
    }
}

/// All counters, those of MySQL and MariaDB first.
pub fn all() -> impl Iterator<Item = &'static Counter> {
    mysql::COUNTERS.iter().chain(postgres::COUNTERS)
}

/// The rows of a series; an exact name takes precedence over a prefix.
fn rows(series: &str) -> impl Iterator<Item = &'static Counter> {
    let exact = all().any(|counter| counter.series == series);
    let longest = (all().filter(|counter| counter.matches(series)))
        .map(|counter| counter.series.len())
        .max();
    all().filter(move |counter| match exact {
        true => counter.series == series,
        false => counter.matches(series) && Some(counter.series.len()) == longest,
    })
}

/// What a series counts on any server; the first row if it depends on the version.
pub fn of(series: &str) -> Option<&'static Counter> {
    rows(series).next()
}

/// What a series counts on a server of that version; `None` if unknown.
pub fn meaning(series: &str, server: Server, version: Version) -> Option<&'static Counter> {
    rows(series).find(|counter| counter.on.iter().any(|span| span.holds(server, version)))
}

/// Whether a series of a server of that version also counts that; false if unknown.
pub fn includes(series: &str, server: Server, version: Version, also: Also) -> bool {
    meaning(series, server, version).is_some_and(|counter| counter.includes(also))
}

/// What a variable of MySQL's or MariaDB's `SHOW GLOBAL STATUS` counts, by its name in lower case.
pub fn status(name: &str) -> Option<&'static Counter> {
    of(&crate::catalogue::names::DB_STATUS_EACH.of(name))
}

/// Major and minor version from a server's version string: `10.11.19-MariaDB`, `18.6 (Debian)`.
pub fn version(text: &str) -> Option<Version> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let mut parts = text[..end.unwrap_or(text.len())].split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next().and_then(|minor| minor.parse().ok());
    Some((major, minor.unwrap_or(0)))
}
