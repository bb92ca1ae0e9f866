//! The sources: servers and proxies with a database's protocol, HAProxy's socket, and runs in a
//! results file.

mod haproxy;
mod mysql;
mod pgbouncer;
mod postgres;
mod proxysql;
mod run;
mod server;
mod sqlite;

pub use haproxy::HaProxy;
pub use run::Run;
pub use server::{Console, Server};

#[cfg(test)]
pub(crate) use {
    haproxy::profile as haproxy_profile, mysql::profile as mysql_profile,
    pgbouncer::profile as pgbouncer_profile, postgres::profile as postgres_profile,
    proxysql::profile as proxysql_profile, run::profile as run_profile,
    sqlite::profile as sqlite_profile,
};
