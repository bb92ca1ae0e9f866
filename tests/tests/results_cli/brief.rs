//! The default summary of a run.

use dyno_tests::Output;

use crate::common::Lab;

/// Runs for a second on SQLite and returns the summary, for a terminal of this width or for a pipe.
fn shown(lab: &Lab, line: &str, columns: Option<&str>) -> Output {
    let mut command = lab.command(line);
    command.env("DYNO_VERBOSE", "0");
    command.env("COLUMNS", columns.unwrap_or("0"));
    dyno_tests::command::run(&mut command, crate::common::LIMIT)
}

#[test]
fn a_run_ends_with_its_figures_first() {
    let lab = Lab::new();
    let target = lab.sqlite();
    let line = format!("run oltp_read_only {target} -t 2s --warmup 0 -q --factor memory=1G");
    let output = shown(&lab, &line, Some("80")).success();
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(lines[0], "");
    let title = "oltp_read_only · SQLite";
    assert!(lines[1].starts_with(title), "{output:?}");
    assert!(lines[1].ends_with("1 session · 2 s"), "{output:?}");
    assert!(
        lines[2].contains(" tx/s") && lines[2].ends_with("0 errors"),
        "{output:?}"
    );
    assert!(lines[3].starts_with("  latency       p50 "), "{output:?}");
    for label in [
        "  over time ",
        "  ? doubtful",
        "  factors       memory=1G",
        "  run 1 ",
    ] {
        assert!(
            lines.iter().any(|line| line.starts_with(label)),
            "{label}: {output:?}"
        );
    }
    // The number of lines about doubts depends on the host: other tests run at the same time.
    let mut below = lines
        .iter()
        .skip_while(|line| !line.starts_with("  ? doubtful"));
    let first = below.next().into_iter().count();
    let doubts = first + below.take_while(|line| line.starts_with("   ")).count();
    assert!(lines.len() - doubts <= 10, "{output:?}");
    // Nothing was committed, so nothing can be lost.
    assert!(!output.stdout.contains("durability"), "{output:?}");
    for line in &lines {
        assert!(line.chars().count() <= 80, "{line}");
    }
    // `show` prints the same from the record, and a pipe folds no lines.
    let again = shown(&lab, "show", Some("80")).success();
    assert_eq!(again.stdout, output.stdout);
    let pipe = shown(&lab, "show", None).success();
    let doubt = pipe
        .stdout
        .lines()
        .find(|line| line.contains(" length: "))
        .unwrap();
    assert!(doubt.ends_with("precision of its mean."), "{pipe:?}");
    // `-v` prints more.
    let full = shown(&lab, "show -v", Some("80")).success();
    assert!(full.stdout.contains("distribution"), "{full:?}");
    assert!(!again.stdout.contains("distribution"));
}

#[test]
fn a_script_that_fails_at_once_prints_three_lines() {
    let lab = Lab::new();
    let script = lab.file("bad.lua", "function event() local x = nil; x.y = 1 end");
    let line = format!("run {script} --target sqlite:small.db --warmup 0 -q");
    let output = shown(&lab, &line, Some("120")).failure(1);
    let lines: Vec<&str> = output
        .stdout
        .lines()
        .filter(|line| !line.is_empty())
        .collect();
    assert_eq!(lines.len(), 3, "{output:?}");
    assert!(
        lines[1].contains("bad.lua:1: attempt to index local 'x'"),
        "{output:?}"
    );
    assert_eq!(output.stderr, "");
}
