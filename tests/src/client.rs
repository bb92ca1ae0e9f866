//! Database clients that share no code with Dyno.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use mysql::prelude::Queryable;
use xtask::servers::Kind;

use crate::Server;

/// How long to wait for an answer.
const ANSWER_LIMIT: Duration = Duration::from_secs(60);

/// An administrator's connection, which stays open when others can no longer connect.
pub enum Client {
    /// MariaDB or MySQL.
    Mysql(Box<mysql::Conn>),
    /// PostgreSQL.
    Postgres(Box<postgres::Client>),
}

impl Client {
    /// Connects over the server's socket, and selects the database if one is given.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn connect(server: &Server, database: Option<&str>) -> Result<Self> {
        let what = || format!("cannot connect to {} as its administrator", server.kind);
        Ok(match server.kind {
            Kind::Mariadb | Kind::Mysql => {
                let options = mysql::OptsBuilder::new()
                    .socket(Some(server.socket.to_string_lossy()))
                    .user(Some(server.user()))
                    .db_name(database)
                    .read_timeout(Some(ANSWER_LIMIT));
                Self::Mysql(Box::new(mysql::Conn::new(options).with_context(what)?))
            }
            Kind::Postgres => {
                let client = postgres::Config::new()
                    .host_path(server.socket.parent().unwrap_or(Path::new("/")))
                    .port(server.port)
                    .user(server.user())
                    .dbname(database.unwrap_or("postgres"))
                    .connect_timeout(ANSWER_LIMIT)
                    .connect(postgres::NoTls);
                Self::Postgres(Box::new(client.with_context(what)?))
            }
        })
    }

    /// Runs a statement and discards its rows.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn execute(&mut self, sql: &str) -> Result<()> {
        match self {
            Self::Mysql(client) => client.query_drop(sql).with_context(|| sql.to_owned()),
            Self::Postgres(client) => client.batch_execute(sql).with_context(|| sql.to_owned()),
        }
    }

    /// Runs a statement and returns its rows, with every field as text and NULL as `NULL`.
    ///
    /// # Errors
    /// The server refuses it.
    pub fn query(&mut self, sql: &str) -> Result<Vec<Vec<String>>> {
        match self {
            Self::Mysql(client) => {
                let rows: Result<Vec<mysql::Row>, _> = client.query(sql);
                let rows = rows.with_context(|| sql.to_owned())?;
                Ok(rows.into_iter().map(mysql_fields).collect())
            }
            Self::Postgres(client) => {
                let messages = client.simple_query(sql);
                let messages = messages.with_context(|| sql.to_owned())?;
                Ok(messages.iter().filter_map(postgres_fields).collect())
            }
        }
    }

    /// The server's ids of a user's sessions.
    ///
    /// # Errors
    /// The server refuses to list them.
    pub fn sessions(&mut self, user: &str) -> Result<Vec<String>> {
        let sql = match self {
            Self::Postgres(_) => {
                format!("SELECT pid FROM pg_stat_activity WHERE usename = '{user}'")
            }
            Self::Mysql(_) => {
                format!("SELECT id FROM information_schema.processlist WHERE user = '{user}'")
            }
        };
        Ok(self.query(&sql)?.into_iter().flatten().collect())
    }

    /// Ends a session. Does nothing if the session has already ended.
    pub fn kill_session(&mut self, id: &str) {
        let sql = match self {
            Self::Postgres(_) => format!("SELECT pg_terminate_backend({id})"),
            Self::Mysql(_) => format!("KILL {id}"),
        };
        // The session may have ended since the query.
        let _ = self.execute(&sql);
    }
}

fn mysql_fields(row: mysql::Row) -> Vec<String> {
    let field = |value: mysql::Value| match value {
        mysql::Value::Bytes(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        mysql::Value::NULL => "NULL".to_owned(),
        other => other.as_sql(true),
    };
    row.unwrap().into_iter().map(field).collect()
}

fn postgres_fields(message: &postgres::SimpleQueryMessage) -> Option<Vec<String>> {
    let postgres::SimpleQueryMessage::Row(row) = message else {
        return None;
    };
    let fields = (0..row.len()).map(|index| row.get(index).unwrap_or("NULL").to_owned());
    Some(fields.collect())
}
