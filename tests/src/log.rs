//! Reads the statements in a server's own log, to compare two load generators.

use std::collections::BTreeMap;
use std::fs;

use xtask::servers::Kind;

use crate::private::start_private_server_with;
use crate::{PrivateServer, Server};

/// How often the server saw each statement shape. A key is the command (`Query`, `Prepare`,
/// `Execute`) and the statement, in which `?` replaces each literal.
pub type Shapes = BTreeMap<String, u64>;

/// A private server that logs the statements of one user.
pub struct LoggingServer {
    private: PrivateServer,
}

impl LoggingServer {
    /// The user whose statements are counted. Those of the administrator are not.
    pub const USER: &'static str = "oracle";

    /// Starts one.
    ///
    /// # Panics
    /// It does not start.
    pub fn start(kind: Kind) -> Self {
        // No test kills this server, so it does not need to wait for the disk.
        let arguments: &[&str] = match kind {
            Kind::Mariadb | Kind::Mysql => &[
                "--log-output=TABLE",
                "--general-log=ON",
                "--innodb-flush-method=nosync",
            ],
            Kind::Postgres => &[
                "-c",
                "log_statement=all",
                "-c",
                "log_line_prefix=%u|",
                "-c",
                "fsync=off",
            ],
        };
        let private = start_private_server_with(kind, arguments);
        let (server, user) = (private.server(), Self::USER);
        match kind {
            Kind::Mariadb | Kind::Mysql => {
                for host in ["127.0.0.1", "localhost"] {
                    server.execute(None, &format!("CREATE USER {user}@'{host}'"));
                    server.execute(None, &format!("GRANT ALL ON *.* TO {user}@'{host}'"));
                }
            }
            Kind::Postgres => server.execute(None, &format!("CREATE ROLE {user} SUPERUSER LOGIN")),
        }
        Self { private }
    }

    /// Its address.
    pub fn server(&self) -> Server {
        self.private.server()
    }

    /// Runs `work` and returns the statements of [`Self::USER`] meanwhile.
    ///
    /// # Panics
    /// The log cannot be read.
    pub fn shapes_of(&self, work: impl FnOnce()) -> Shapes {
        let server = self.server();
        let before = match server.kind {
            Kind::Mariadb | Kind::Mysql => {
                server.execute(None, "TRUNCATE mysql.general_log");
                0
            }
            Kind::Postgres => self.postgres_log().len(),
        };
        work();
        let mut shapes = Shapes::new();
        let statements = match server.kind {
            Kind::Mariadb | Kind::Mysql => mysql_statements(&server),
            Kind::Postgres => postgres_statements(&self.postgres_log()[before..]),
        };
        for (way, statement) in statements {
            *shapes
                .entry(format!("{way} {}", shape(&statement)))
                .or_default() += 1;
        }
        shapes
    }

    fn postgres_log(&self) -> String {
        fs::read_to_string(self.private.log()).expect("the server's log is readable")
    }
}

fn mysql_statements(server: &Server) -> Vec<(String, String)> {
    let sql = format!(
        "SELECT command_type, argument FROM mysql.general_log \
         WHERE user_host LIKE '{}[%' AND command_type IN ('Query', 'Prepare', 'Execute')",
        LoggingServer::USER
    );
    let rows = server.query(None, &sql).into_iter();
    rows.map(|row| (row[0].clone(), row[1].clone())).collect()
}

/// The statements in PostgreSQL's log, which does not log prepares.
fn postgres_statements(log: &str) -> Vec<(String, String)> {
    let head = format!("{}|LOG:  ", LoggingServer::USER);
    let mut statements: Vec<(String, String)> = Vec::new();
    let mut continues = false;
    for line in log.lines() {
        let entry = line
            .strip_prefix(&head)
            .and_then(|entry| entry.split_once(": "));
        match (entry, line.strip_prefix('\t')) {
            (Some((way, statement)), _) => {
                let way = if way == "statement" {
                    "Query"
                } else {
                    "Execute"
                };
                statements.push((way.to_owned(), statement.to_owned()));
                continues = true;
            }
            (None, Some(rest)) if continues => {
                if let Some((_, statement)) = statements.last_mut() {
                    *statement += "\n";
                    *statement += rest;
                }
            }
            _ => continues = false,
        }
    }
    statements
}

/// The statement with `?` for each literal and parameter, `#` for the numbers of sysbench's tables,
/// and single spaces.
pub fn shape(statement: &str) -> String {
    let chars: Vec<char> = statement.trim().trim_end_matches(';').chars().collect();
    let mut shape = String::with_capacity(chars.len());
    let mut at = 0;
    while at < chars.len() {
        let c = chars[at];
        let rest = &chars[at..];
        if c.is_whitespace() {
            at += count(rest, |c| c.is_whitespace());
            shape.push(' ');
        } else if c == '\'' {
            at += quoted_length(rest);
            shape.push('?');
        } else if c.is_ascii_digit() || c == '$' && rest.get(1).is_some_and(char::is_ascii_digit) {
            at += 1 + count(&rest[1..], |c| c.is_ascii_digit() || c == '.');
            shape.push('?');
        } else if c.is_alphabetic() || c == '_' {
            let length = count(rest, |c| c.is_alphanumeric() || c == '_');
            let word: String = rest[..length].iter().collect();
            shape += &table_shape(&word);
            at += length;
        } else {
            shape.push(c);
            at += 1;
        }
    }
    shape.trim_end().to_owned()
}

/// Keeps only the kind of a table, because events pick a table at random.
fn table_shape(word: &str) -> String {
    match word.strip_prefix("sbtest") {
        Some(number) if !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()) => {
            "sbtest#".to_owned()
        }
        _ => word.to_owned(),
    }
}

fn count(chars: &[char], wanted: impl Fn(char) -> bool) -> usize {
    chars.iter().take_while(|c| wanted(**c)).count()
}

/// The length of the quoted text at the start of `chars`. A text with a doubled quote counts as two
/// texts, which become `??` in every statement that has one.
fn quoted_length(chars: &[char]) -> usize {
    let mut end = 1;
    while end < chars.len() && chars[end] != '\'' {
        end += if chars[end] == '\\' { 2 } else { 1 };
    }
    (end + 1).min(chars.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_vanish_and_names_stay() {
        for (statement, expected) in [
            (
                "SELECT c FROM sbtest12 WHERE id=5;",
                "SELECT c FROM sbtest# WHERE id=?",
            ),
            (
                "SELECT c  FROM\n sbtest1 WHERE id = $1",
                "SELECT c FROM sbtest# WHERE id = ?",
            ),
            (
                "INSERT INTO t2 (c) VALUES ('a\\'b', 1.5, -3)",
                "INSERT INTO t2 (c) VALUES (?, ?, -?)",
            ),
            ("SELECT 'unfinished", "SELECT ?"),
            ("sbtest sbtestx k_1", "sbtest sbtestx k_1"),
            ("a BETWEEN ? AND ?", "a BETWEEN ? AND ?"),
        ] {
            assert_eq!(shape(statement), expected);
        }
    }

    #[test]
    fn the_postgres_log_is_read_by_user() {
        let log = "oracle|LOG:  statement: BEGIN\n\
            postgres|LOG:  statement: SELECT 1\n\
            oracle|LOG:  execute p1: SELECT c\n\tFROM t WHERE id=$1\n\
            oracle|DETAIL:  parameters: $1 = '5'\n\tnot a statement\n";
        let expected = [
            ("Query", "BEGIN"),
            ("Execute", "SELECT c\nFROM t WHERE id=$1"),
        ];
        let expected = expected.map(|(way, text)| (way.to_owned(), text.to_owned()));
        assert_eq!(postgres_statements(log), expected);
    }
}
