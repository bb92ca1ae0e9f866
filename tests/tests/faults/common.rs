//! Command lines, and requirements for all output of Dyno.

use std::process::Command;
use std::time::Duration;

use dyno_tests::Output;
use dyno_tests::command::{dyno_path, run};

/// The time limit of a run on a busy machine.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// `dyno` with arguments separated by blanks. Runs are not calibrated by default, because tests
/// wait for the measurement to start.
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

/// Returns itself if nothing in it indicates a bug.
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

/// Fails unless each of these texts is in one of the streams.
pub(crate) fn has(output: &Output, texts: &[&str]) {
    let all = flat(&format!("{}\n{}", output.stdout, output.stderr));
    for text in texts {
        assert!(all.contains(text), "no '{text}' in\n{output:?}");
    }
}

/// Text without line breaks and indentation, which depend on the terminal's width.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs `dyno run --json` with further arguments and parses the result.
pub(crate) fn result(line: &str) -> serde_json::Value {
    let output = dyno(&format!("{line} --json -q")).success();
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}\n{output:?}"))
}
