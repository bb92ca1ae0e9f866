//! The null server as a program. See the library.

use std::io::Write;
use std::process::ExitCode;

use dyno_null::{Listeners, OPEN_FILES, Speaks};
use dyno_sys::Args;

const USAGE: &str = "usage: null-server --protocol mysql|postgres --socket PATH [--port N]\n";

fn main() -> ExitCode {
    let error = match run() {
        Ok(()) => return ExitCode::SUCCESS,
        Err(error) => error,
    };
    // If stderr is closed, there is nowhere to report it.
    let _ = write!(std::io::stderr(), "null-server: {error}\n{USAGE}");
    ExitCode::FAILURE
}

fn run() -> Result<(), String> {
    let mut args = Args::parse(std::env::args().skip(1))?;
    let protocol: String = args.require("protocol")?;
    let socket: String = args.require("socket")?;
    let port: Option<u16> = args.take("port")?;
    args.finish()?;
    let speaks = match protocol.as_str() {
        "mysql" => Speaks::Mysql,
        "postgres" => Speaks::Postgres,
        other => {
            return Err(format!(
                "--protocol: `{other}` is neither mysql nor postgres"
            ));
        }
    };
    dyno_sys::process::raise_open_files(OPEN_FILES)
        .map_err(|error| format!("cannot open {OPEN_FILES} files: {error}"))?;
    let listeners = Listeners::bind(&socket, port)?;
    writeln!(std::io::stdout(), "ready")
        .and_then(|()| std::io::stdout().flush())
        .map_err(|error| format!("cannot say that it is ready: {error}"))?;
    dyno_null::serve(listeners, speaks, None)
        .map_err(|error| format!("the event loop ended: {error}"))
}
