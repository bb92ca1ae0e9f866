//! The command lines of the guide: each is one that Dyno takes.

use std::fs;
use std::path::{Path, PathBuf};

use dyno_host::Edition;
use dyno_run::{Job, Loaded, Workload};

use super::catalogue::{self, Words};
use crate::options::{Script, parse};

fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => pages(&path, found),
            false if path.extension().is_some_and(|ending| ending == "md") => found.push(path),
            false => {}
        }
    }
}

/// The command lines of a page, which are indented or follow a prompt.
fn lines(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = page.lines();
    while let Some(line) = rest.next() {
        let Some(line) = line.strip_prefix("    ") else {
            continue;
        };
        let line = line.strip_prefix("$ ").unwrap_or(line);
        if !line.starts_with("dyno ") {
            continue;
        }
        let mut whole = line.to_owned();
        while let Some(head) = whole.strip_suffix('\\') {
            whole = format!("{head}{}", rest.next().unwrap_or_default().trim());
        }
        found.push(whole);
    }
    found
}

/// Its words as a shell splits them, up to a comment, a pipe, a redirection or another command.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '>' | '|' | ';' | '&') => break,
            (None, ' ') => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// What is wrong with a command line.
fn wrong(line: &str) -> Option<String> {
    let words = words(line);
    let name = words.get(1)?;
    let Some(command) = catalogue::find(name) else {
        return Some("there is no such command".to_owned());
    };
    let args = &words[2..];
    let options = command.options();
    let grammar = command.grammar();
    let error = |script: Script<'_>| {
        let parsed = parse(args, &options, script, grammar);
        parsed.err().map(|error| error.to_string())
    };
    match command.words {
        Words::Workload => {
            let first = parse(args, &options, Script::Unknown, grammar);
            let first = first.map_err(|error| error.to_string());
            let workload = match first {
                Ok(parsed) => parsed.words.first().cloned()?,
                Err(error) => return Some(error),
            };
            let work = match Workload::find(&workload, Edition::Dyno) {
                Ok(work) => work,
                // A placeholder, or a file of the reader's.
                Err(_) if workload.contains(['.', 'A']) => return None,
                Err(error) => return Some(error.to_string()),
            };
            let loaded = Loaded::new(Job::of(work)).unwrap();
            error(Script::Declares(loaded.description.options.as_deref()?))
        }
        // Their options may be a workload's.
        Words::Experiments | Words::Sides => error(Script::TakesAny),
        Words::Sysbench => None,
        _ => error(Script::Declares(&[])),
    }
}

#[test]
fn dyno_accepts_every_command_line_of_the_guide() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut all = vec![root.join("README.md")];
    pages(&root.join("docs"), &mut all);
    let mut count = 0;
    let mut faults = Vec::new();
    for path in all {
        for line in lines(&fs::read_to_string(&path).unwrap()) {
            count += 1;
            let why = wrong(&line);
            faults.extend(why.map(|why| format!("{}: {line}: {why}", path.display())));
        }
    }
    assert!(count > 150, "{count} lines");
    assert_eq!(faults, [] as [String; 0], "{}", faults.join("\n"));
}

#[test]
fn a_line_with_an_unknown_option_is_wrong() {
    for line in [
        "dyno run oltp_read_write --tabels 4",
        "dyno compare 1 2 --factors a",
        "dyno rnu tpcc",
    ] {
        assert!(wrong(line).is_some(), "{line}");
    }
}

#[test]
fn lines_are_read_as_a_shell_reads_them() {
    let page =
        "text\n    $ dyno run a \\\n        -c 2  # why\n    output\n    dyno show 1 > 'a b'\n";
    let found = lines(page);
    let read: Vec<Vec<String>> = found.iter().map(|line| words(line)).collect();
    assert_eq!(read[0], ["dyno", "run", "a", "-c", "2"]);
    assert_eq!(read[1], ["dyno", "show", "1"]);
    assert_eq!(
        words("dyno search a 'p99 < 1ms'"),
        ["dyno", "search", "a", "p99 < 1ms"]
    );
}
