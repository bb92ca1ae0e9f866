//! Finds the commands that the guide shows.

use std::fs;
use std::path::{Path, PathBuf};

/// A line that begins with one of these programs is a command even without a prompt.
const PROGRAMS: &[&str] = &[
    "cargo",
    "docker",
    "dyno",
    "export",
    "kill",
    "nats-server",
    "printf",
    "sqlite3",
    "sudo",
    "tar",
    "time",
];

/// The folder of the sources.
fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// A file of the sources.
pub(super) fn source(path: &str) -> String {
    let path = sources().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The guide's pages, as paths within the sources.
pub(super) fn pages() -> Vec<String> {
    let mut found = vec!["README.md".to_owned()];
    let mut folders = vec!["docs".to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(sources().join(&folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                folders.push(path);
            } else if path.ends_with(".md") {
                found.push(path);
            }
        }
    }
    found
}

/// A page's commands in their order, without the five paths of `docs/recipes.md`.
pub(super) fn commands(page: &str) -> Vec<String> {
    let text = source(page);
    match page {
        "docs/recipes.md" => find(text.split_once("\n## More\n").unwrap().1),
        _ => find(&text),
    }
}

/// Commands are indented, and follow a prompt or begin with a known program. A loop is one command.
fn find(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(line) = line.strip_prefix("    ") else {
            continue;
        };
        let typed = line.strip_prefix("$ ");
        if typed.is_none() && !is_command(line) {
            continue;
        }
        let mut whole = typed.unwrap_or(line).to_owned();
        while let Some(head) = whole.strip_suffix('\\') {
            whole = format!("{head}{}", lines.next().unwrap_or_default().trim());
        }
        while whole.starts_with("for ") && count(&whole, "do") > count(&whole, "done") {
            let next = lines.next().unwrap_or("done");
            whole = format!("{whole}\n{}", next.trim());
        }
        found.push(whole);
    }
    found
}

fn is_command(line: &str) -> bool {
    let program = line.split(' ').next().unwrap_or_default();
    PROGRAMS.contains(&program) || (program == "for" && line.contains("; do"))
}

fn count(text: &str, word: &str) -> usize {
    text.split_whitespace().filter(|&one| one == word).count()
}

#[test]
fn loops_and_long_lines_are_one_command() {
    let page = "text

    $ cat a
    output
    dyno run a \\
        -c 2
    for a in 1 2; do
      for b in 1; do
        dyno show
      done
    done
    for round in 1; do dyno list; done
    for all of them
    dyno: a message
";
    assert_eq!(
        find(page),
        [
            "cat a",
            "dyno run a -c 2",
            "for a in 1 2; do\nfor b in 1; do\ndyno show\ndone\ndone",
            "for round in 1; do dyno list; done",
        ]
    );
}
