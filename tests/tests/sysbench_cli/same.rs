//! Small scripts, which must print the same text and exit with the same status in both programs.
//! Their first lines contain their command lines as `-- run: …`, and `-- sql` if they need a
//! database.

use std::path::{Path, PathBuf};

use dyno_tests::command::Output;
use dyno_tests::{Database, Kind, dyno, sysbench};
use regex::Regex;

use super::SCRIPTS;

/// How often to run sysbench before a difference counts.
const TRIES: u32 = 3;

#[test]
fn small_scripts_do_the_same_in_both() {
    let mut differences = Vec::new();
    let mut runs = 0;
    for path in scripts() {
        let text = std::fs::read_to_string(&path).expect("the script is readable");
        let lines = text.lines().filter_map(|line| line.strip_prefix("-- run:"));
        let lines: Vec<Vec<String>> = lines
            .map(|line| line.split_whitespace().map(str::to_owned).collect())
            .collect();
        assert!(!lines.is_empty(), "{path:?} names no command line");
        let kinds = match text.starts_with("-- sql\n") {
            true => vec![Some(Kind::Mariadb), Some(Kind::Postgres)],
            false => vec![None],
        };
        for kind in kinds {
            // Each tool has its own database for all lines of a script, because they build on one
            // another.
            let databases = [(), ()].map(|()| kind.map(Database::new));
            for line in &lines {
                runs += 1;
                let own = ["sysbench".to_owned()].into_iter();
                let ours = dyno(own.chain(words(&path, databases[1].as_ref(), line)));
                let seen = comparable(&ours);
                let theirs = || comparable(&sysbench(words(&path, databases[0].as_ref(), line)));
                let mut expected = theirs();
                // sysbench's threads sometimes print into one another's lines.
                for _ in 1..TRIES {
                    if expected != seen {
                        expected = theirs();
                    }
                }
                if expected != seen {
                    differences.push(format!(
                        "{path:?} {line:?} {kind:?}\n--- sysbench\n{expected}\n--- dyno\n{seen}"
                    ));
                }
            }
        }
    }
    assert!(runs > 60, "only {runs} runs");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

fn scripts() -> Vec<PathBuf> {
    let files = std::fs::read_dir(Path::new(SCRIPTS).join("same")).expect("the scripts are there");
    let files = files.map(|file| file.expect("a file").path());
    let mut files: Vec<PathBuf> = files
        .filter(|path| path.extension().is_some_and(|extension| extension == "lua"))
        .collect();
    files.sort();
    files
}

fn words(script: &Path, database: Option<&Database>, line: &[String]) -> Vec<String> {
    let mut words = database.map(Database::sysbench_options).unwrap_or_default();
    words.push(script.display().to_string());
    words.extend_from_slice(line);
    words
}

/// The status and both streams, without what depends on time, addresses or the program.
fn comparable(output: &Output) -> String {
    let stdout = output.stdout.split_once('\n').map_or("", |(_, rest)| rest);
    let mut text = format!("{:?}\n{stdout}\n{}", output.status.code(), output.stderr);
    for (pattern, by) in [
        (r"\(last message repeated.*\)\n", ""),
        // Threads may print before the main thread reports that they have started.
        (r"Threads started!\n", ""),
        (r"-?\d+\.\d{2,4}", "F"),
        (r"0x[0-9a-f]+", "0x"),
        (r"dyno_test_\d+_\d+", "database"),
        (r"error: \S*/", "error: "),
        (r" +", " "),
        (r"\n+", "\n"),
    ] {
        let regex = Regex::new(pattern).expect("a valid expression");
        text = regex.replace_all(&text, by).into_owned();
    }
    text
}
