//! HAProxy's statistics socket: one command and one answer per connection.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::profile::{Ask, Figure, Kind, Latencies, Profile, Screen, Table, Values};
use crate::source::{Answer, Source, Trouble};

/// Timeout for connecting and for each read.
const PATIENCE: Duration = Duration::from_secs(5);
/// More than the statistics of ten thousand servers.
const ANSWER_BYTES_MAX: u64 = 32 << 20;
/// The command for a part of the statistics, before the name of the part.
const STAT: &str = "show stat";
const INFO: &str = "show info";

/// HAProxy's socket.
#[derive(Clone, Debug)]
pub struct HaProxy {
    endpoint: Endpoint,
    /// As typed by the user.
    name: String,
    /// Dyno's own traffic so far, which HAProxy includes in its counts.
    own: Own,
}

/// Questions to the socket, one connection each, and the bytes of their answers.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    questions: u64,
    bytes: u64,
}

#[derive(Clone, Debug)]
enum Endpoint {
    Unix(PathBuf),
    Tcp(String),
}

impl HaProxy {
    /// The socket at a path, or at `HOST:PORT`.
    ///
    /// # Errors
    /// Text that is neither.
    pub fn new(socket: &str) -> Result<Self, String> {
        let tcp = socket.rsplit_once(':').filter(|(host, port)| {
            !host.is_empty() && !host.contains('/') && port.parse::<u16>().is_ok()
        });
        let endpoint = match tcp {
            Some(_) => Endpoint::Tcp(socket.to_owned()),
            None if socket.is_empty() => {
                return Err("expected a path or HOST:PORT of HAProxy's `stats socket`".to_owned());
            }
            None => Endpoint::Unix(PathBuf::from(socket)),
        };
        Ok(Self {
            endpoint,
            name: socket.to_owned(),
            own: Own::default(),
        })
    }

    fn say(&mut self, command: &str) -> Result<String, Trouble> {
        let reply = self.exchange(command)?;
        self.own.questions += 1;
        self.own.bytes += reply.len() as u64;
        Ok(reply)
    }

    fn exchange(&self, command: &str) -> Result<String, Trouble> {
        let lost = |error: std::io::Error| {
            Trouble::Lost(format!(
                "cannot query HAProxy at {}: {error}; the socket is set with `stats socket` in the \
                 section global, and its user and mode must allow this user",
                self.name
            ))
        };
        match &self.endpoint {
            Endpoint::Unix(path) => {
                let stream = UnixStream::connect(path).map_err(lost)?;
                stream.set_read_timeout(Some(PATIENCE)).map_err(lost)?;
                stream.set_write_timeout(Some(PATIENCE)).map_err(lost)?;
                exchange(stream, command).map_err(lost)
            }
            Endpoint::Tcp(address) => {
                let addresses = address.to_socket_addrs().map_err(lost)?;
                let stream = connect(addresses).map_err(lost)?;
                stream.set_read_timeout(Some(PATIENCE)).map_err(lost)?;
                stream.set_write_timeout(Some(PATIENCE)).map_err(lost)?;
                exchange(stream, command).map_err(lost)
            }
        }
    }
}

/// The first address that accepts a connection.
fn connect(addresses: impl Iterator<Item = std::net::SocketAddr>) -> std::io::Result<TcpStream> {
    let mut why = std::io::Error::other("the host has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => why = error,
        }
    }
    Err(why)
}

fn exchange(mut stream: impl Read + Write, command: &str) -> std::io::Result<String> {
    stream.write_all(format!("{command}\n").as_bytes())?;
    let mut bytes = Vec::new();
    stream.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

impl Source for HaProxy {
    fn open(&mut self) -> Result<Profile, Trouble> {
        let info = self.say(INFO)?;
        let fields = pairs(&info);
        if fields.rows.is_empty() {
            let first = info.lines().next().unwrap_or_default();
            return Err(Trouble::Lost(format!(
                "{} does not answer as HAProxy's stats socket does: '{first}'",
                self.name
            )));
        }
        let version = (0..fields.rows.len())
            .find(|row| fields.field(*row, 0) == Some("Version"))
            .and_then(|row| fields.field(row, 1));
        Ok(profile(format!(
            "HAProxy {} · {}",
            version.unwrap_or("?"),
            self.name
        )))
    }

    fn ask(&mut self, question: &str) -> Result<Answer, Trouble> {
        if question == INFO {
            // While it answers, the question is already counted, but not the answer.
            let own = Own {
                questions: self.own.questions + 1,
                ..self.own
            };
            return Ok(own.without(pairs(&self.say(INFO)?)));
        }
        // The rows of the statistics to keep: see the screens below.
        let part = question.strip_prefix(STAT).unwrap_or_default().trim();
        let text = self.say(STAT)?;
        match text.strip_prefix("# ") {
            Some(csv) => Ok(only(part, comma_separated(csv))),
            None => Err(Trouble::Refused(
                text.lines().next().unwrap_or_default().to_owned(),
            )),
        }
    }
}

impl Own {
    /// HAProxy's report on itself, without Dyno's traffic.
    fn without(self, mut info: Answer) -> Answer {
        for row in &mut info.rows {
            let [Some(name), Some(value)] = row.as_mut_slice() else {
                continue;
            };
            let own = match name.as_str() {
                "CumConns" | "CumReq" => self.questions,
                "TotalBytesOut" | "Total_bytes_out" => self.bytes,
                _ => continue,
            };
            if let Ok(all) = value.parse::<u64>() {
                *value = all.saturating_sub(own).to_string();
            }
        }
        info
    }
}

/// Parses lines of `Name: value`.
fn pairs(text: &str) -> Answer {
    let rows = text.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some(vec![
            Some(name.trim().to_owned()),
            Some(value.trim().to_owned()),
        ])
    });
    Answer {
        names: vec!["name".to_owned(), "value".to_owned()],
        rows: rows.collect(),
    }
}

/// Comma-separated values with their names in the first line; empty fields are missing.
fn comma_separated(text: &str) -> Answer {
    let reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let mut records = reader.into_records().filter_map(Result::ok);
    let names = records.next().unwrap_or_default();
    let present = |field: &str| (!field.is_empty()).then(|| field.to_owned());
    Answer {
        names: names.iter().map(str::to_owned).collect(),
        rows: records
            .map(|record| record.iter().map(present).collect())
            .collect(),
    }
}

/// The rows of frontends, of backends, or of servers, which HAProxy reports in one table.
fn only(part: &str, mut answer: Answer) -> Answer {
    let Some(column) = answer.column("svname") else {
        return answer;
    };
    answer.rows.retain(|row| {
        let name = row
            .get(column)
            .and_then(Option::as_deref)
            .unwrap_or_default();
        match part {
            "frontends" => name == "FRONTEND",
            "backends" => name == "BACKEND",
            "servers" => name != "FRONTEND" && name != "BACKEND",
            _ => true,
        }
    });
    answer
}

/// The screens.
pub(crate) fn profile(title: String) -> Profile {
    Profile {
        title,
        screens: SCREENS,
        values: VALUES,
        latencies: Latencies::Absent("HAProxy provides only means of its last 1,024 sessions"),
        line: &[
            CONNECTIONS,
            SESSIONS,
            REQUESTS,
            CURRENT,
            BYTES_OUT,
            IDLE,
            QUEUED,
        ],
        abilities: Vec::new(),
        schema: String::new(),
        remarks: &[],
        notes: Vec::new(),
    }
}

const VALUES: &[Values] = &[Values::rows(Ask::plain(INFO))];

/// A millisecond, the unit of its times.
const MS: f64 = 1e-3;

const CONNECTIONS: Figure = Figure::rate("conns/s", "CumConns");
const SESSIONS: Figure = Figure::count("sessions/s", "SessRate");
const REQUESTS: Figure = Figure::rate("requests/s", "CumReq");
const CURRENT: Figure = Figure::count("connected", "CurrConns");
const BYTES_OUT: Figure = Figure::byte_rate("sent/s", "TotalBytesOut|Total_bytes_out");
const IDLE: Figure = Figure {
    scale: 0.01,
    ..Figure::new("idle", "Idle_pct", Kind::Share)
};
const QUEUED: Figure = Figure::count("run queue", "Run_queue");

const SCREENS: &[Screen] = &[
    Screen {
        title: "Servers",
        figures: &[
            CONNECTIONS,
            CURRENT,
            Figure::count("limit", "Maxconn"),
            SESSIONS,
            BYTES_OUT,
            IDLE,
            QUEUED,
            Figure::count("threads", "Nbthread"),
            Figure::time("uptime", "Uptime_sec", 1.0),
        ],
        heat: false,
        tables: &[Table {
            title: "Servers",
            asks: &[Ask::plain("show stat servers")],
            columns: &[
                Figure::text("proxy", "pxname"),
                Figure::text("server", "svname"),
                Figure::text("status", "status"),
                Figure::count("sessions", "scur"),
                Figure::count("most", "smax"),
                Figure::rate("new/s", "stot"),
                Figure::slow_byte_rate("in/s", "bin", "scur"),
                Figure::slow_byte_rate("out/s", "bout", "scur"),
                Figure::count("queue", "qcur"),
                Figure::rate("errors/s", "econ+eresp"),
                Figure::time("connect", "ctime", MS),
                Figure::time("total", "ttime", MS),
                Figure::count("downs", "chkdown"),
                Figure::text("check", "check_status"),
            ],
            key: &["pxname", "svname"],
            sort: 5,
            empty: "no server",
        }],
    },
    Screen {
        title: "Proxies",
        figures: &[],
        heat: false,
        tables: &[
            Table {
                title: "Frontends",
                asks: &[Ask::plain("show stat frontends")],
                columns: &[
                    Figure::text("proxy", "pxname"),
                    Figure::text("status", "status"),
                    Figure::count("sessions", "scur"),
                    Figure::count("most", "smax"),
                    Figure::count("limit", "slim"),
                    Figure::rate("new/s", "stot"),
                    Figure::slow_byte_rate("in/s", "bin", "scur"),
                    Figure::slow_byte_rate("out/s", "bout", "scur"),
                    Figure::rate("denied/s", "dreq+dcon+dses"),
                    Figure::rate("errors/s", "ereq"),
                ],
                key: &["pxname"],
                sort: 5,
                empty: "no frontend",
            },
            Table {
                title: "Backends",
                asks: &[Ask::plain("show stat backends")],
                columns: &[
                    Figure::text("proxy", "pxname"),
                    Figure::text("status", "status"),
                    Figure::count("servers up", "act"),
                    Figure::count("sessions", "scur"),
                    Figure::count("queue", "qcur"),
                    Figure::rate("new/s", "stot"),
                    Figure::slow_byte_rate("out/s", "bout", "scur"),
                    Figure::rate("errors/s", "econ+eresp"),
                    Figure::rate("retries/s", "wretr"),
                    Figure::rate("redisp./s", "wredis"),
                    Figure::time("queued", "qtime", MS),
                    Figure::time("connect", "ctime", MS),
                ],
                key: &["pxname"],
                sort: 5,
                empty: "no backend",
            },
        ],
    },
    Screen {
        title: "Info",
        figures: &[],
        heat: false,
        tables: &[Table {
            title: "HAProxy process",
            asks: &[Ask::plain(INFO)],
            columns: &[
                Figure::text("name", "name"),
                Figure::rate("change/s", "value"),
                Figure::text("value", "value"),
            ],
            key: &["name"],
            sort: 0,
            empty: "nothing",
        }],
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_are_paths_or_hosts_with_ports() {
        let tcp = |text: &str| matches!(HaProxy::new(text).unwrap().endpoint, Endpoint::Tcp(_));
        assert!(tcp("127.0.0.1:9999") && tcp("[::1]:9999") && tcp("lb:1"));
        assert!(!tcp("/run/haproxy.sock") && !tcp("./a:1/b:2") && !tcp("admin.sock"));
        assert!(HaProxy::new("").is_err());
    }

    #[test]
    fn statistics_are_read_by_name_with_quotes_and_gaps() {
        let answer = comma_separated("pxname,svname,scur,\nfe,FRONTEND,1,\nbe,\"a,\"\"b\",,\n");
        assert_eq!(answer.names, ["pxname", "svname", "scur", ""]);
        assert_eq!(answer.field(1, 1), Some("a,\"b"));
        assert_eq!(answer.field(1, 2), None);
        assert_eq!(only("servers", answer.clone()).rows.len(), 1);
        assert_eq!(only("frontends", answer.clone()).rows.len(), 1);
        assert_eq!(only("backends", answer).rows.len(), 0);
    }

    proptest::proptest! {
        #[test]
        fn no_answer_panics(text in "[ -~\n\t\",:#é]{0,80}") {
            let answer = comma_separated(&text);
            for part in ["frontends", "backends", "servers", ""] {
                proptest::prop_assert!(only(part, answer.clone()).rows.len() <= answer.rows.len());
            }
            proptest::prop_assert!(pairs(&text).rows.iter().all(|row| row.len() == 2));
        }
    }

    #[test]
    fn skips_lines_that_are_not_pairs() {
        let answer = pairs("Name: HAProxy\nVersion: 2.6.12\n\nnothing\n");
        assert_eq!(answer.rows.len(), 2);
        assert_eq!(answer.field(1, 1), Some("2.6.12"));
    }
}
