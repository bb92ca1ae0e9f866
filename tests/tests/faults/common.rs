//! Command lines, and what all output of Dyno must satisfy.

use std::process::Command;
use std::time::Duration;

use dyno_tests::Output;
pub(crate) use dyno_tests::command::has;
use dyno_tests::command::{dyno_path, run};

/// How long a run may take on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A `dyno` command; blanks separate its arguments. Runs are not calibrated by default, because
/// tests wait for the measurement to start.
pub(crate) fn command(line: &str) -> Command {
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

pub(crate) fn dyno(line: &str) -> Output {
    sound(run(&mut command(line), LIMIT))
}

/// Returns the output unless something in it indicates a bug.
pub(crate) fn sound(output: Output) -> Output {
    for text in [&output.stdout, &output.stderr] {
        assert!(
            !text.contains("panicked") && !text.contains("RUST_BACKTRACE"),
            "{output:?}"
        );
    }
    // 101 is a panic, and `None` a signal.
    assert!(
        matches!(output.status.code(), Some(0..=3 | 130)),
        "{output:?}"
    );
    output
}

/// Runs `dyno run --json` with further arguments and parses the result.
pub(crate) fn result(line: &str) -> serde_json::Value {
    let output = dyno(&format!("{line} --json -q")).success();
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{output:?}"))
}
