//! Command lines and what every output of Dyno owes its reader.

use std::process::Command;
use std::time::Duration;

use dyno_tests::command::{dyno_path, run};
use dyno_tests::{Database, Kind, Output, Server};

/// How long a run that ends by itself may take on a busy machine.
pub const LIMIT: Duration = Duration::from_secs(60);

/// The servers' drivers by their URL schemes.
pub fn scheme(kind: Kind) -> &'static str {
    match kind {
        Kind::Mariadb | Kind::Mysql => "mysql",
        Kind::Postgres => "postgres",
    }
}

/// The drivers' names in sysbench's options.
pub fn driver(kind: Kind) -> &'static str {
    match kind {
        Kind::Mariadb | Kind::Mysql => "mysql",
        Kind::Postgres => "pgsql",
    }
}

/// The administrator's URL of a database on a server, by TCP.
pub fn url(server: &Server, database: &str) -> String {
    let (scheme, user) = (scheme(server.kind), server.user());
    format!("{scheme}://{user}@127.0.0.1:{}/{database}", server.port)
}

/// The administrator's URL of a test's database.
pub fn url_of(database: &Database) -> String {
    url(&database.server, &database.name)
}

/// `dyno` with arguments that are separated by blanks. A run is not calibrated unless it says so:
/// a calibration comes before the run, which tests wait for to hurt it.
pub fn command(line: &str) -> Command {
    let mut command = Command::new(dyno_path());
    command.args(line.split_whitespace());
    if line.starts_with("run ") && !line.contains("--calibrate") {
        command.args(["--calibrate", "never"]);
    }
    command
        .env_remove("DYNO_TARGET")
        .env("DYNO_RESULTS", "none");
    command
}

/// Runs `dyno` to its end.
pub fn dyno(line: &str) -> Output {
    sound(run(&mut command(line), LIMIT))
}

/// Itself, if nothing in it is a bug's.
pub fn sound(output: Output) -> Output {
    for text in [&output.stdout, &output.stderr] {
        assert!(
            !text.contains("panicked") && !text.contains("RUST_BACKTRACE"),
            "{output:?}"
        );
    }
    // 101 is a panic, and none is a signal.
    assert!(
        matches!(output.status.code(), Some(0..=3 | 130)),
        "{output:?}"
    );
    output
}

/// Fails unless the output has all of these texts, in either stream.
pub fn has(output: &Output, texts: &[&str]) {
    let all = flat(&format!("{}\n{}", output.stdout, output.stderr));
    for text in texts {
        assert!(all.contains(text), "no '{text}' in\n{output:?}");
    }
}

/// Text without line breaks and indentation, which follow the terminal's width.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs `dyno run --json` on top of other arguments and reads the result.
pub fn result(line: &str) -> serde_json::Value {
    let output = dyno(&format!("{line} --json -q")).success();
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{output:?}"))
}
