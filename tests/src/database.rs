//! Databases for single tests.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::Server;
use xtask::servers::Kind;

/// A new, empty database, which is dropped at the end of the test even if the test fails.
pub struct Database {
    /// Its server.
    pub server: Server,
    /// Its name, unique among the running tests.
    pub name: String,
}

impl Database {
    /// Creates a database on the server of this kind in the environment.
    ///
    /// # Panics
    /// The environment has no such server.
    pub fn new(kind: Kind) -> Self {
        Self::on(&Server::of(kind))
    }

    /// Creates a database on this server.
    ///
    /// # Panics
    /// The server refuses it.
    pub fn on(server: &Server) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("dyno_test_{}_{count}", std::process::id());
        // An earlier process with the same pid may have been killed before its cleanup.
        server.execute(None, &format!("DROP DATABASE IF EXISTS {name}"));
        server.execute(None, &format!("CREATE DATABASE {name}"));
        let server = server.clone();
        Self { server, name }
    }

    /// sysbench's options for this database, as the administrator.
    pub fn sysbench_options(&self) -> Vec<String> {
        self.server.sysbench_options(self.server.user(), &self.name)
    }

    /// The administrator's URL of this database, over TCP.
    pub fn url(&self) -> String {
        self.server.url(&self.name)
    }

    /// The first field of a query's first row.
    ///
    /// # Panics
    /// The server refuses it, or returns no row.
    pub fn query_one(&self, sql: &str) -> String {
        self.server.query_one(Some(&self.name), sql)
    }

    /// The rows of a query.
    ///
    /// # Panics
    /// The server refuses it.
    pub fn query(&self, sql: &str) -> Vec<Vec<String>> {
        self.server.query(Some(&self.name), sql)
    }

    /// Runs a statement without a result set.
    ///
    /// # Panics
    /// The server refuses it.
    pub fn execute(&self, sql: &str) {
        self.server.execute(Some(&self.name), sql);
    }

    /// The sorted names of its tables.
    ///
    /// # Panics
    /// The server refuses to list them.
    pub fn tables(&self) -> Vec<String> {
        let schema = match self.server.kind {
            Kind::Mariadb | Kind::Mysql => self.name.as_str(),
            Kind::Postgres => "public",
        };
        let sql = format!(
            "SELECT table_name FROM information_schema.tables \
             WHERE table_schema = '{schema}' ORDER BY table_name"
        );
        self.query(&sql).into_iter().flatten().collect()
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        let force = match self.server.kind {
            Kind::Mariadb | Kind::Mysql => "",
            // Connections of a client that was killed may still exist.
            Kind::Postgres => " WITH (FORCE)",
        };
        let drop = format!("DROP DATABASE IF EXISTS {}{force}", self.name);
        if std::thread::panicking() {
            // The test has already failed, perhaps because the server is gone: a second panic would
            // hide the first.
            let execute = || self.server.execute(None, &drop);
            let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(execute));
        } else {
            self.server.execute(None, &drop);
        }
    }
}
