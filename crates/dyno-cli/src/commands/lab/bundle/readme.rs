//! The `README.md` of an archive: what was measured, on what, and how to repeat it.

use std::collections::BTreeSet;

use dyno_core::catalogue::names;
use dyno_core::clock::civil;
use dyno_core::record::{RESULTS_FILE, RunRecord};
use dyno_core::redact;
use dyno_core::text::shell_word;
use dyno_core::units::human_size;
use dyno_results::ExperimentHead;

use super::{DEFINITION, PAGE};
use crate::commands::lab::report::LabResult;

/// The results file of a repetition. In the archive's own file, all trials are already done.
const REPEATED: &str = "repeat.db";

/// The content of a `README.md`.
pub(super) struct About<'a> {
    /// The experiment as it is in the archive.
    pub head: &'a ExperimentHead,
    /// The paths of its scripts.
    pub scripts: &'a [String],
    /// Its answers and judged claims.
    pub findings: Vec<String>,
    /// Names and values of the conditions of the trials, such as server and host.
    pub conditions: Vec<(&'static str, String)>,
}

impl<'a> About<'a> {
    /// The content for an experiment with these results.
    pub(super) fn of(
        head: &'a ExperimentHead,
        scripts: &'a [String],
        found: &LabResult<'_>,
    ) -> Self {
        let claims = found.claims.iter();
        let claims = claims.map(|claim| format!("{}: {}", claim.judgement.word(), claim.text));
        let each = |of: fn(&RunRecord) -> String| distinct(found.runs().map(of));
        let name = match &head.scale {
            Some(scale) => format!("{}, at the scale {scale}", head.name),
            None => head.name.clone(),
        };
        Self {
            head,
            scripts,
            findings: found.answer.iter().cloned().chain(claims).collect(),
            conditions: vec![
                ("experiment", name),
                ("trials", found.counted()),
                ("date", dates(found.runs())),
                ("Dyno", each(|run| run.head.tool.clone())),
                ("server", each(server)),
                ("host", each(|run| host(|name| run.fact(name)))),
            ],
        }
    }
}

/// The text.
pub(super) fn text(about: &About<'_>) -> String {
    let head = about.head;
    let mut out = format!("# {}\n\n", one_line(&head.question));
    if !head.cite.is_empty() {
        out += &format!("Source: {}\n\n", one_line(&head.cite));
    }
    for finding in &about.findings {
        out += &format!("- {}\n", one_line(finding));
    }
    out += "\n| | |\n|---|---|\n";
    for (name, value) in &about.conditions {
        out += &format!("| {name} | {} |\n", one_line(value).replace('|', "\\|"));
    }
    out += &files(about.scripts);
    out + &commands(head)
}

/// The list of files.
fn files(scripts: &[String]) -> String {
    let mut out = "\n## Files\n\n| file | content |\n|---|---|\n".to_owned();
    for (name, content) in [
        (DEFINITION, "the experiment"),
        (
            RESULTS_FILE,
            "the results: runs with all observations, facts and settings, as an SQLite database",
        ),
        (PAGE, "the report"),
    ] {
        out += &format!("| `{name}` | {content} |\n");
    }
    for script in scripts {
        out += &format!("| `{script}` | a script or module of the workload |\n");
    }
    out
}

/// The commands that repeat the experiment and show its results.
fn commands(head: &ExperimentHead) -> String {
    let name = shell_word(&head.name);
    let scale = match &head.scale {
        Some(scale) => format!(" --scale {}", shell_word(scale)),
        None => String::new(),
    };
    let mut out = format!(
        "\n## Repeat it\n\n    \
         dyno lab run {DEFINITION}{scale} --name {name} --results {REPEATED}\n    \
         dyno lab report {DEFINITION} --name {name} --results {REPEATED}\n"
    );
    if head.definition.contains(redact::HIDDEN) {
        out += &format!(
            "\n`{}` in `{DEFINITION}` replaces a password: insert your own before you repeat it.\n",
            redact::HIDDEN
        );
    }
    out + &format!(
        "\n## Show these results\n\n    \
         dyno lab report {DEFINITION} --name {name} --results {RESULTS_FILE}\n    \
         dyno list runs --results {RESULTS_FILE}\n"
    )
}

/// A run's server and its version.
fn server(run: &RunRecord) -> String {
    let summary = run.summary.as_ref();
    let target = summary.map_or(&run.head.target, |summary| &summary.target);
    format!("{} {}", target.product, target.version)
}

/// A host from its facts: processor, cores, memory, system, kernel.
fn host<'a>(fact: impl Fn(&str) -> Option<&'a str>) -> String {
    let counted = |name: &str, one: &str| {
        fact(name).map(|count| match count {
            "1" => format!("1 {one}"),
            count => format!("{count} {one}s"),
        })
    };
    let bytes = fact(names::HOST_MEMORY_TOTAL).and_then(|bytes| bytes.parse().ok());
    let parts = [
        fact(names::HOST_CPU_MODEL).map(str::to_owned),
        counted(names::HOST_CPU_CORES, "core"),
        counted(names::HOST_CPU_THREADS, "hardware thread"),
        bytes.map(|bytes| format!("{} of memory", human_size(bytes))),
        fact(names::HOST_OS).map(str::to_owned),
        fact(names::HOST_KERNEL).map(|kernel| format!("Linux {kernel}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The first and the last day of the runs, in UTC.
fn dates<'a>(runs: impl Iterator<Item = &'a RunRecord>) -> String {
    let days = runs.map(|run| civil(run.head.created_unix_s, "%Y-%m-%d"));
    let days: BTreeSet<String> = days.collect();
    match (days.first(), days.last()) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (Some(day), _) => day.clone(),
        _ => distinct(std::iter::empty()),
    }
}

/// Different values, in order.
fn distinct(values: impl Iterator<Item = String>) -> String {
    let mut all: Vec<String> = Vec::new();
    for value in values {
        let value = value.trim();
        if !value.is_empty() && !all.iter().any(|other| other == value) {
            all.push(value.to_owned());
        }
    }
    match all.is_empty() {
        true => "unknown".to_owned(),
        false => all.join("; "),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_readme_repeats_the_experiment_as_it_was_named() {
        let mut head = ExperimentHead {
            name: "my flush-laptop".to_owned(),
            file: DEFINITION.to_owned(),
            scale: Some("laptop".to_owned()),
            question: "What does a sync\ncost?".to_owned(),
            cite: String::new(),
            definition: "experiment = 1\n".to_owned(),
        };
        let about = |head: &ExperimentHead| {
            text(&About {
                head,
                scripts: &["lib/a.lua".to_owned()],
                findings: vec!["agrees: a sync is not free".to_owned()],
                conditions: vec![("server", "MariaDB 10.11|x".to_owned())],
            })
        };
        let made = about(&head);
        for part in [
            "# What does a sync cost?\n\n- agrees: a sync is not free\n\n| | |\n",
            "| server | MariaDB 10.11\\|x |\n",
            "| `lib/a.lua` | a script or module of the workload |\n",
            "    dyno lab run experiment.toml --scale laptop --name 'my flush-laptop' --results \
             repeat.db\n",
            "    dyno lab report experiment.toml --name 'my flush-laptop' --results dyno.db\n",
        ] {
            assert!(made.contains(part), "{part}: {made}");
        }
        assert!(!made.contains("Source:") && !made.contains("password"));
        head.scale = None;
        head.cite = "a page".to_owned();
        head.definition += "url = 'mysql://me:***@db1/x'\n";
        let made = about(&head);
        for part in [
            "Source: a page\n",
            "experiment.toml --name",
            "`***` in `experiment.toml` replaces a password",
        ] {
            assert!(made.contains(part), "{part}: {made}");
        }
    }

    #[test]
    fn a_host_is_described_by_the_facts_that_are_known() {
        let all = |name: &str| match name {
            "host.cpu.model" => Some("A CPU"),
            "host.cpu.cores" => Some("1"),
            "host.cpu.threads" => Some("2"),
            "host.memory.total" => Some("8589934592"),
            "host.kernel" => Some("6.1.0"),
            _ => None,
        };
        assert_eq!(
            host(all),
            "A CPU, 1 core, 2 hardware threads, 8.00 GiB of memory, Linux 6.1.0"
        );
        assert_eq!(host(|_| None), "");
        let values = ["a 1", "b", " a 1", ""].map(str::to_owned);
        assert_eq!(distinct(values.into_iter()), "a 1; b");
        assert_eq!(distinct(std::iter::empty()), "unknown");
    }
}
