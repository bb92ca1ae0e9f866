//! Compares `dyno sysbench` with sysbench: the command line, the output, the script API, and what
//! scripts do to a server.
#![cfg(feature = "servers")]
// This file is all tests, including the helper functions.
#![allow(clippy::expect_used, clippy::panic)]

mod api;
mod command_line;
mod lifecycle;
mod oltp_common;
mod oracle;
mod reports;
mod same;
mod scripts;

use dyno_tests::command::Output;
use dyno_tests::{Database, dyno, sysbench};

/// The folder of these tests' scripts.
const SCRIPTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts");

fn script(name: &str) -> String {
    format!("{SCRIPTS}/{name}.lua")
}

/// Splits `line` into words, and replaces the first, the name of a script, by its path.
fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    words[0] = script(&words[0]);
    words
}

/// Runs a script of these tests with `dyno sysbench`.
fn ours(line: &str) -> Output {
    let sysbench = ["sysbench".to_owned()];
    dyno(sysbench.into_iter().chain(words(line)))
}

/// Runs a script of these tests with sysbench.
fn theirs(line: &str) -> Output {
    sysbench(words(line))
}

/// Runs a script of these tests with `dyno sysbench` on a database.
fn ours_on(database: &Database, line: &str) -> Output {
    let sysbench = ["sysbench".to_owned()];
    let options = database.sysbench_options();
    dyno(sysbench.into_iter().chain(options).chain(words(line)))
}

/// Runs a script of these tests with sysbench on a database.
fn theirs_on(database: &Database, line: &str) -> Output {
    sysbench(database.sysbench_options().into_iter().chain(words(line)))
}

/// The output after the line that names the program.
fn body(output: &Output) -> &str {
    let text = output.stdout.split_once("\n\n");
    text.unwrap_or_else(|| panic!("no banner in {:?}", output.stdout))
        .1
}

/// The number that follows `label` in a report.
fn figure(text: &str, label: &str) -> f64 {
    let line = text.lines().find(|line| line.trim().starts_with(label));
    let line = line.unwrap_or_else(|| panic!("no '{label}' in\n{text}"));
    let rest = &line.trim()[label.len()..];
    let number = rest.split_whitespace().next().unwrap_or_default();
    number
        .trim_end_matches('s')
        .parse()
        .unwrap_or_else(|_| panic!("no number in '{line}'"))
}

/// Asserts that the pattern matches the whole text.
fn assert_matches(text: &str, pattern: &str) {
    let whole = format!("^(?:{pattern})$");
    let regex = regex::Regex::new(&whole).expect("a valid expression");
    assert!(regex.is_match(text), "{text:?}\ndoes not match\n{pattern}");
}
