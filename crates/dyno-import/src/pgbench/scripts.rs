//! Names of scripts.

use super::output::Output;

/// A script's file without its folders.
pub(super) fn short(name: &str) -> String {
    ending(name, 1)
}

/// The last components of a script's path.
fn ending(name: &str, steps: usize) -> String {
    let name = name.trim_start_matches("<builtin: ").trim_end_matches('>');
    let start = name.rmatch_indices('/').nth(steps - 1);
    dyno_core::redact::text(start.map_or(name, |(at, _)| &name[at + 1..]))
}

/// The scripts' names, each with as many folders as distinguish it from the others. A script that
/// occurs twice gets a number.
pub(super) fn labels(output: &Output) -> Vec<String> {
    const STEPS_MAX: usize = 64;
    let names: Vec<&str> = output.scripts.iter().map(|one| one.name.as_str()).collect();
    let label = |(index, name): (usize, &&str)| {
        let same = |steps: usize| {
            let others = names
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != index);
            let own = ending(name, steps);
            others
                .filter(|(_, other)| ending(other, steps) == own)
                .count()
                > 0
        };
        match (1..STEPS_MAX).find(|steps| !same(*steps)) {
            Some(steps) => ending(name, steps),
            None => format!("{} (script {})", short(name), index + 1),
        }
    };
    names.iter().enumerate().map(label).collect()
}
