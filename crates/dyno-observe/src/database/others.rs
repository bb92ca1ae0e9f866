//! Sessions that do not belong to the run, identified by what the server reports about them.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::os::fd::RawFd;

use dyno_core::Clock;
use dyno_core::catalogue::names;
use dyno_core::db::DbError;

use super::{Asking, is_lost, refusal};
use crate::helpers;
use crate::process::{own_ports, ports_of};
use crate::sink::{Gauge, SampleBuffer};
use crate::text::{fraction, whole};

/// Minimum number of samples between reads of the list.
const SEVERAL: u64 = 3;
/// The wait grows by one sample for each multiple of this duration that a read takes.
const LOOK_NS: u64 = 20_000_000;
/// Maximum number of samples between reads.
const SELDOM: u64 = 5;
/// Maximum number of groups named.
const NAMED_MAX: usize = 4;
/// Maximum number of groups distinguished; the names come from the server.
const WHO_MAX: usize = 100;
/// The longest name, in characters.
const NAME_MAX: usize = 40;

/// How a server lists its sessions.
pub(super) struct List {
    pub sql: &'static str,
    /// Parses a row; `None` for sessions that serve no client.
    pub row: fn(&[Option<String>]) -> Option<Session>,
    /// The query for the number of the current session.
    pub own: &'static str,
    pub source: &'static str,
    /// The privileges that a user needs to see all sessions.
    pub needed: &'static str,
}

/// A session in the server's list.
pub(super) struct Session {
    pub number: u64,
    pub who: Who,
    /// The client's port; `None` for a local socket.
    pub port: Option<u16>,
    /// It is executing a statement, or has just done so.
    pub is_active: bool,
    /// The statement has run for a second, so the run cannot have just closed the session.
    pub is_long: bool,
    /// The server hides whether it is active.
    pub is_hidden: bool,
}

/// The owner of a session.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Who {
    pub user: String,
    /// `None` if the server does not report it.
    pub address: Option<String>,
    pub program: String,
}

pub(super) struct Others {
    list: Option<&'static List>,
    count: Gauge,
    active: Gauge,
    /// The highest number of each at one time.
    most: BTreeMap<Who, usize>,
    /// Sessions of the last read with the run's user, address and program, but none of its sockets.
    /// The run may have just closed such a session.
    doubtful: HashSet<u64>,
    /// The run's sessions cannot be distinguished from others with the same user, address and
    /// program.
    alike: bool,
    /// The run has other endpoints: its sessions may come through them, as from a proxy.
    several: bool,
    /// Whether the server hides what some others do.
    hidden: bool,
    samples: u64,
    next: u64,
    looks: u64,
}

impl Others {
    pub(super) fn new(list: &'static List, several: bool) -> Self {
        Self {
            list: Some(list),
            count: Gauge::new(names::DB_OTHER_SESSIONS, "count", list.source).seldom(),
            active: Gauge::new(names::DB_OTHER_SESSIONS_ACTIVE, "count", list.source).seldom(),
            most: BTreeMap::new(),
            doubtful: HashSet::new(),
            alike: several,
            several,
            hidden: false,
            samples: 0,
            next: 0,
            looks: 0,
        }
    }

    /// Reads the list if it is due.
    ///
    /// # Errors
    /// The connection is lost. A refusal becomes a gap.
    pub(super) fn sample(
        &mut self,
        asking: &mut Asking<'_>,
        recorder: &mut SampleBuffer,
    ) -> Result<(), DbError> {
        let Some(list) = self.list.filter(|_| self.samples >= self.next) else {
            self.samples += 1;
            return Ok(());
        };
        let begun = Clock.now();
        let number = asking.one(list.own)?;
        let number = number.and_then(|text| whole(text.as_bytes()));
        match asking.control.query(list.sql, asking.timeout) {
            Ok(rows) => {
                let rows = rows.iter().filter_map(|row| (list.row)(row));
                let (own, others): (Vec<_>, Vec<_>) =
                    rows.partition(|session| Some(session.number) == number);
                if let Some(own) = own.first() {
                    let (count, active) = self.look(own, &others, asking.control.fd());
                    self.count.put(recorder, count as f64);
                    if !self.hidden {
                        self.active.put(recorder, active as f64);
                    }
                }
            }
            Err(error) if is_lost(&error) => return Err(error),
            Err(error) => {
                asking
                    .sink
                    .gap(names::SERVER_OTHER_SESSIONS, refusal(&error, list.needed));
                self.list = None;
            }
        }
        let rests = (Clock.now() - begun) / LOOK_NS;
        self.next = self.samples + (SEVERAL + rests).min(SELDOM);
        self.samples += 1;
        Ok(())
    }

    /// The number of others' sessions, apart from the observer's, and how many of them are
    /// executing a statement.
    fn look(
        &mut self,
        own: &Session,
        sessions: &[Session],
        socket: Option<RawFd>,
    ) -> (usize, usize) {
        self.looks += 1;
        // Behind a proxy the server sees ports that are not this host's.
        let ports = socket
            .and_then(ports_of)
            .filter(|(local, _)| own.port == Some(*local))
            .map(|(_, peer)| own_ports(peer));
        self.alike |= ports.is_none();
        let mut doubtful = HashSet::new();
        let mut found: BTreeMap<&Who, usize> = BTreeMap::new();
        let mut active = 0;
        // The ports of the run's load generators on other hosts are unknown here.
        let mut elsewhere = helpers::sessions();
        for session in sessions {
            if elsewhere > 0 && session.who.is_like(&own.who) && !Self::is_here(session, own) {
                elsewhere -= 1;
                continue;
            }
            let is_other = match (&ports, session.port) {
                _ if self.several && session.who.is_like(&own.who) => false,
                _ if session.who.differs(&own.who) => true,
                (Some(ports), Some(port)) if !ports.contains(&port) => {
                    doubtful.insert(session.number);
                    session.is_long || self.doubtful.contains(&session.number)
                }
                _ => false,
            };
            if is_other {
                *found.entry(&session.who).or_default() += 1;
                active += usize::from(session.is_active);
                self.hidden |= session.is_hidden;
            }
        }
        self.doubtful = doubtful;
        let count = found.values().sum();
        for (who, count) in found {
            if let Some(most) = self.most.get_mut(who) {
                *most = count.max(*most);
            } else if self.most.len() < WHO_MAX {
                self.most.insert(who.clone(), count);
            }
        }
        (count, active)
    }

    /// Whether a session comes from the same address as the observer's.
    fn is_here(session: &Session, own: &Session) -> bool {
        session.who.address == own.who.address
    }

    /// Reports the owners of sessions, at the end.
    pub(super) fn report(&self, asking: &Asking<'_>) {
        let Some(list) = self.list.filter(|_| self.looks > 0) else {
            return;
        };
        let source = format!("{}, sampled {} times", list.source, self.looks);
        asking.fact(
            names::SERVER_OTHER_SESSIONS,
            Some(named(&self.most)),
            &source,
        );
        if self.hidden {
            let why = format!("what other sessions do is hidden: {}", list.needed);
            asking.sink.gap(names::DB_OTHER_SESSIONS_ACTIVE, &why);
        }
        if self.alike {
            let why = match self.several {
                true => {
                    "sessions with the run's user and program cannot be distinguished from its \
                     own: it has several endpoints, which may be proxies of the same server"
                }
                false => {
                    "sessions with the run's user, address and program cannot be distinguished \
                     from its own: the server does not see the ports of this host"
                }
            };
            asking.sink.gap(names::SERVER_OTHER_SESSIONS_ALIKE, why);
        }
    }
}

impl Who {
    /// Whether it is the same user and program, from any address.
    fn is_like(&self, own: &Self) -> bool {
        let begins = self.program.is_empty();
        self.user == own.user && (self.program == own.program || begins)
    }

    /// Whether this is certainly somebody else. A session that is starting has no program yet.
    fn differs(&self, own: &Self) -> bool {
        let begins = self.program.is_empty();
        self.user != own.user
            || self.address != own.address
            || self.program != own.program && !begins
    }
}

/// Formats the groups, largest first.
fn named(most: &BTreeMap<Who, usize>) -> String {
    let mut all: Vec<(&Who, usize)> = most.iter().map(|(who, count)| (who, *count)).collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let more = all.len().saturating_sub(NAMED_MAX);
    let shown = all.iter().take(NAMED_MAX);
    let mut names: Vec<String> = shown
        .map(|(who, count)| format!("{count} of {who}"))
        .collect();
    match more {
        0 => {}
        more => names.push(format!("those of {more} others")),
    }
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |text: &str| -> String {
            let plain = text.chars().filter(|c| !c.is_control());
            plain.take(NAME_MAX).collect()
        };
        write!(f, "{}", name(&self.user))?;
        if let Some(address) = &self.address {
            write!(f, " from {}", name(address))?;
        }
        match self.program.is_empty() {
            true => Ok(()),
            false => write!(f, " ({})", name(&self.program)),
        }
    }
}

/// MySQL's and MariaDB's list: `HOST` is `address:port`, or `localhost` for a local socket.
pub(super) const PROCESSLIST: List = List {
    sql: "SHOW PROCESSLIST",
    row: |row| {
        let field = |index: usize| {
            row.get(index)
                .and_then(Option::as_deref)
                .unwrap_or_default()
        };
        // The server's own threads, and sessions that have not logged in yet.
        let own = ["system user", "event_scheduler", "unauthenticated user"];
        if own.contains(&field(1)) || field(4) == "Daemon" {
            return None;
        }
        let (address, port) = match field(2).rsplit_once(':') {
            Some((address, port)) => (address, port.parse().ok()),
            None => (field(2), None),
        };
        Some(Session {
            number: whole(field(0).as_bytes())?,
            who: Who {
                user: field(1).to_owned(),
                address: Some(address.to_owned()).filter(|address| !address.is_empty()),
                // A job of the event scheduler belongs to no client.
                program: match field(4) == "Connect" && !field(7).is_empty() {
                    true => "event scheduler".to_owned(),
                    false => String::new(),
                },
            },
            port,
            // A replica waits for changes from the log.
            is_active: !field(4).is_empty()
                && field(4) != "Sleep"
                && !field(4).starts_with("Binlog Dump"),
            is_long: field(4) == "Query" && fraction(field(5).as_bytes()) >= Some(1.0),
            is_hidden: false,
        })
    },
    own: "SELECT CONNECTION_ID()",
    source: "the list of processes",
    needed: "GRANT PROCESS ON *.* TO the user of the target",
};

/// PostgreSQL's sessions of all databases. With short statements a session looks idle most of the
/// time, so one that was active a tenth of a second ago counts as active. Without pg_monitor, only
/// database and user of others' sessions are visible.
pub(super) const ACTIVITY: List = List {
    sql: "SELECT pid, usename, coalesce(host(client_addr), CASE WHEN client_port = -1 THEN \
          'localhost' END), nullif(client_port, -1), CASE WHEN datname = current_database() \
          THEN application_name ELSE concat_ws(' in ', nullif(application_name, ''), \
          'database ' || datname) END, state = 'active' \
          OR state_change > clock_timestamp() - interval '0.1 s', \
          state = 'active' AND query_start < clock_timestamp() - interval '1 s', \
          backend_type IS NULL \
          FROM pg_catalog.pg_stat_activity WHERE backend_type = 'client backend' \
          OR backend_type IS NULL AND datname IS NOT NULL",
    row: |row| {
        let field = |index: usize| row.get(index).and_then(Option::as_deref);
        let number = |index: usize| field(index).map(str::as_bytes).and_then(whole);
        // Not logged in yet.
        field(1)?;
        Some(Session {
            number: number(0)?,
            who: Who {
                user: field(1).unwrap_or_default().to_owned(),
                address: field(2).map(str::to_owned),
                program: field(4).unwrap_or_default().to_owned(),
            },
            port: number(3).and_then(|port| port.try_into().ok()),
            is_active: field(5) == Some("t"),
            is_long: field(6) == Some("t"),
            is_hidden: field(7) == Some("t"),
        })
    },
    own: "SELECT pg_backend_pid()",
    source: "pg_stat_activity",
    needed: "GRANT pg_monitor TO the user of the target",
};

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;

    fn session(number: u64, user: &str, port: Option<u16>, program: &str) -> Session {
        Session {
            number,
            who: Who {
                user: user.to_owned(),
                address: Some("127.0.0.1".to_owned()),
                program: program.to_owned(),
            },
            port,
            is_active: number.is_multiple_of(2),
            is_long: false,
            is_hidden: false,
        }
    }

    #[test]
    fn distinguishes_others_from_sessions_of_the_run() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let place = listener.local_addr().unwrap();
        let [asks, of_run] = [(); 2].map(|()| std::net::TcpStream::connect(place).unwrap());
        let port = |stream: &std::net::TcpStream| Some(stream.local_addr().unwrap().port());
        let own = session(1, "bench", port(&asks), "dyno");
        let socket = Some(std::os::fd::AsRawFd::as_raw_fd(&asks));
        let all = [
            session(2, "bench", port(&of_run), "dyno"),
            // Port 1 does not belong to this process.
            session(3, "bench", Some(1), "dyno"),
            session(4, "bench", Some(1), "sysbench"),
            session(5, "app", port(&of_run), "dyno"),
            // One that is starting.
            session(6, "bench", port(&of_run), ""),
        ];
        let mut others = Others::new(&ACTIVITY, false);
        assert_eq!(others.look(&own, &all, socket), (2, 1));
        assert_eq!(others.look(&own, &all, socket), (3, 1));
        assert!(!others.alike);
        let expected = "1 of app from 127.0.0.1 (dyno), 1 of bench from 127.0.0.1 (dyno), 1 of \
                        bench from 127.0.0.1 (sysbench)";
        assert_eq!(named(&others.most), expected);
        // The run did not just close a session that executes a long statement.
        let long = Session {
            is_long: true,
            ..session(8, "bench", Some(1), "dyno")
        };
        assert_eq!(
            Others::new(&ACTIVITY, false).look(&own, &[long], socket),
            (1, 1)
        );
        // Another of several endpoints may lead here too.
        let elsewhere = Session {
            who: Who {
                address: Some("10.0.0.9".to_owned()),
                ..own.who.clone()
            },
            ..session(9, "bench", Some(1), "dyno")
        };
        let mut several = Others::new(&ACTIVITY, true);
        for _ in 0..2 {
            assert_eq!(several.look(&own, &all, socket), (2, 1));
            assert_eq!(several.look(&own, from_ref(&elsewhere), socket), (0, 0));
        }
        assert!(several.alike);
        // Through a proxy only names distinguish sessions.
        let seen = session(1, "bench", Some(1), "dyno");
        assert_eq!(others.look(&seen, &all, socket), (2, 1));
        assert!(others.alike);
        assert_eq!(named(&BTreeMap::new()), "none");
    }

    #[test]
    fn rows_of_both_lists_are_read() {
        let row = |fields: &[&str]| -> Vec<Option<String>> {
            let fields = fields.iter();
            fields.map(|field| Some((*field).to_owned())).collect()
        };
        let read = |fields: &[&str]| {
            let session = (PROCESSLIST.row)(&row(fields))?;
            Some((
                session.number,
                session.who.to_string(),
                session.port,
                session.is_active,
            ))
        };
        let tcp = ["7", "app", "10.0.0.7:53211", "shop", "Sleep", "3", "", ""];
        assert_eq!(
            read(&tcp),
            Some((7, "app from 10.0.0.7".to_owned(), Some(53_211), false))
        );
        let local = ["8", "root", "localhost", "", "Query", "0", "", "SELECT 1"];
        assert_eq!(
            read(&local),
            Some((8, "root from localhost".to_owned(), None, true))
        );
        assert_eq!(
            read(&["5", "event_scheduler", "localhost", "", "Daemon"]),
            None
        );
        assert_eq!(read(&["9", "unauthenticated user", "10.0.0.7:1"]), None);
        let dump = [
            "9",
            "repl",
            "10.0.0.8:1",
            "",
            "Binlog Dump GTID",
            "3",
            "",
            "",
        ];
        assert!(read(&dump).is_some_and(|(.., is_active)| !is_active));
        let activity = ["7", "app", "10.0.0.7", "53211", "my\napp", "t", "t"];
        let session = (ACTIVITY.row)(&row(&activity)).unwrap();
        assert_eq!(session.who.to_string(), "app from 10.0.0.7 (myapp)");
        assert_eq!(session.port, Some(53_211));
        assert!(session.is_active && session.is_long);
    }

    #[test]
    fn jobs_of_the_server_and_long_statements_are_distinguished() {
        let of = |line: &str| {
            let fields = line.split('|').map(|field| Some(field.to_owned()));
            (PROCESSLIST.row)(&fields.collect::<Vec<_>>()).unwrap()
        };
        let job = of("6|root|localhost|db|Connect|0|Executing|DO 1");
        assert_eq!(job.who.to_string(), "root from localhost (event scheduler)");
        assert!(job.is_active && !job.is_long);
        assert!(of("8|root|10.0.0.7:1||Query|2||ALTER TABLE t").is_long);
    }
}
