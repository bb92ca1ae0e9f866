//! Runs the commands that the guide shows, in the order of each page, on small data and for a
//! second each. `server_cli/documented.rs` runs the five short paths of `docs/recipes.md`.

mod cases;
mod commands;
mod follow;
mod pages;

use cases::{NOT_RUN, SUBSTITUTIONS};
use commands::{commands, pages};
use follow::{follow, substituted};
use pages::{GROUPS, Page};

/// The beginning in `NOT_RUN` that a command has.
fn exception(command: &str) -> Option<&'static str> {
    let mut starts = NOT_RUN.iter().map(|&(start, _)| start);
    starts.find(|start| command.starts_with(start))
}

/// The commands of a page that a test runs.
fn commands_to_run(page: &str) -> Vec<String> {
    let mut all = commands(page);
    all.retain(|command| exception(command).is_none());
    all
}

fn all_to_run() -> impl Iterator<Item = &'static Page> {
    GROUPS.iter().copied().flatten()
}

#[test]
fn every_command_of_the_guide_is_run_or_listed() {
    let mut faults = Vec::new();
    let mut texts = Vec::new();
    for page in pages() {
        let times = all_to_run().filter(|known| known.path == page).count();
        match commands_to_run(&page).first() {
            Some(command) if times != 1 => {
                faults.push(format!("{page} is {times} times in pages.rs: {command}"));
            }
            None if times > 0 => faults.push(format!("{page} shows no command to run")),
            _ => {}
        }
        texts.extend(commands(&page));
    }
    assert!(texts.len() > 150, "{} commands", texts.len());
    for (start, reason) in NOT_RUN {
        if !texts.iter().any(|text| text.starts_with(start)) {
            faults.push(format!("no command begins with '{start}' ({reason})"));
        }
    }
    for (printed, _) in SUBSTITUTIONS {
        if !texts.iter().any(|text| text.contains(printed)) {
            faults.push(format!("no command contains '{printed}'"));
        }
    }
    for page in all_to_run() {
        let shown = commands_to_run(page.path);
        for (start, _) in page.steps {
            if !shown.iter().any(|text| text.starts_with(start)) {
                faults.push(format!("{}: no command begins with '{start}'", page.path));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn times_and_servers_are_substituted() {
    let shown = "dyno sysbench a --mysql-host=127.0.0.1 --time=60 run";
    assert_eq!(
        substituted(shown),
        "dyno sysbench a --mysql-host=127.0.0.1 --mysql-port={port} --time=1 run"
    );
    assert_eq!(
        substituted("dyno run a --target mysql://root@db1/bench -c 32"),
        "dyno run a --target {url} -c 4"
    );
}

#[test]
fn commands_of_the_first_pages_work() {
    follow(GROUPS[0]);
}

#[test]
fn commands_on_runs_work() {
    follow(GROUPS[1]);
}

#[test]
fn commands_of_workloads_work() {
    follow(GROUPS[2]);
}

#[test]
fn commands_that_start_servers_work() {
    follow(GROUPS[3]);
}
