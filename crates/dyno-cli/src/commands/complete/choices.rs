//! Values of Dyno's own options.

use dyno_core::db::ErrorKind;
use dyno_core::record::RESULTS_FILE;

use super::{Answer, recorded};
use crate::options::Opt;
use crate::run_store;
use dyno_run::builtins;

/// URL schemes of targets.
const SCHEMES: [&str; 4] = ["mysql://", "mariadb://", "postgres://", "sqlite:"];

/// Completes an option's value.
pub(super) fn values(opt: &Opt, current: &str, results: Option<&str>) -> Answer {
    let file = || run_store::named(results, Some(RESULTS_FILE));
    let open = |answer| Answer {
        open: true,
        ..answer
    };
    match (opt.name, opt.value) {
        ("target", Some("URL")) if !current.contains(':') => open(Answer::of(SCHEMES)),
        ("target", Some("URL")) => match current.starts_with("sqlite:") {
            true => Answer::of_files(),
            false => Answer::default(),
        },
        ("show", Some("NAME")) => Answer {
            candidates: workloads().filter(|(name, _)| is_script(name)).collect(),
            ..Answer::default()
        },
        ("run", Some("RUN")) => recorded::runs(file(), current),
        ("haproxy", _) => Answer::of_files(),
        ("waive", _) => open(checks()),
        ("ignore-errors", _) => listed(current, &["all", "none"]),
        ("factor" | "where", Some("NAME=LEVEL" | "NAME=LEVEL,…")) => {
            recorded::levels(file(), current)
        }
        ("factor" | "rows" | "columns", _) => recorded::factors(file()),
        ("by", _) => {
            let mut names = recorded::factors(file());
            names.candidates.extend(Answer::of(opt.choices).candidates);
            names
        }
        (_, Some("FILE")) => Answer::of_files(),
        _ => Answer::of(opt.choices),
    }
}

/// The built-in workloads and the tests of the host.
pub(super) fn workloads() -> impl Iterator<Item = (String, String)> {
    let own = |(name, about): &(&str, &str)| ((*name).to_owned(), (*about).to_owned());
    let scripts = builtins::ABOUT
        .iter()
        .filter(|(_, about)| !about.is_empty());
    let tests = dyno_host::TESTS.iter();
    let tests = tests.map(|test| (test.name.to_owned(), format!("this host: {}", test.about)));
    scripts.map(own).chain(tests)
}

fn is_script(name: &str) -> bool {
    dyno_host::find(name).is_none()
}

/// The checks, by the names that `waive` takes.
pub(super) fn checks() -> Answer {
    let checks = dyno_verdict::checks().iter();
    Answer {
        candidates: checks
            .map(|check| (format!("{}=", check.name), check.title.to_owned()))
            .collect(),
        open: true,
        ..Answer::default()
    }
}

/// Kinds of errors that are not in the list yet.
fn listed(current: &str, others: &[&str]) -> Answer {
    let before = current.rfind(',').map_or("", |comma| &current[..=comma]);
    let kinds = ErrorKind::ALL.map(ErrorKind::name);
    Answer::of(kinds.iter().chain(others)).behind(before)
}

#[cfg(test)]
mod tests {
    use crate::commands::catalogue;

    #[test]
    fn help_names_every_choice_of_an_option() {
        for opt in catalogue::COMMANDS
            .iter()
            .flat_map(|command| command.options())
        {
            let missing = opt.choices.iter().find(|word| !opt.help.contains(*word));
            assert_eq!(missing, None, "the help of --{}", opt.name);
        }
    }
}
