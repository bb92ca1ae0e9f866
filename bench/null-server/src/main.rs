//! A server that answers at once with canned rows, so that the client is what is measured.
//!
//! It speaks enough of the MySQL and PostgreSQL protocols for load generators: they log in as
//! anyone, prepare, execute, query and load. Every `SELECT` gives one row of one text column.

mod mysql;
mod postgres;
mod server;
mod sql;

use std::io::Write;
use std::process::ExitCode;

use bench_sys::Args;

use server::{Listeners, serve};

const USAGE: &str = "usage: null-server --protocol mysql|postgres --socket PATH [--port N]\n";

fn main() -> ExitCode {
    let error = match run() {
        Ok(()) => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    // When stderr is gone there is nobody left to tell.
    let _ = write!(std::io::stderr(), "null-server: {error}\n{USAGE}");
    ExitCode::FAILURE
}

fn run() -> Result<(), String> {
    let mut args = Args::parse(std::env::args().skip(1))?;
    let protocol: String = args.require("protocol")?;
    let socket: String = args.require("socket")?;
    let port: Option<u16> = args.take("port")?;
    args.finish()?;
    bench_sys::process::raise_open_files(server::OPEN_FILES)
        .map_err(|error| format!("cannot open {} files: {error}", server::OPEN_FILES))?;
    let listeners = Listeners::bind(&socket, port)?;
    let ended = match protocol.as_str() {
        "mysql" => serve(listeners, &mysql::Replies::new(), mysql::Session::new),
        "postgres" => serve(listeners, &postgres::Replies::new(), postgres::Session::new),
        other => {
            return Err(format!(
                "--protocol: `{other}` is neither mysql nor postgres"
            ));
        }
    };
    ended.map_err(|error| format!("the event loop ended: {error}"))
}
