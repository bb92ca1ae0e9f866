//! What to try when a run fails.

use dyno_core::Target;

use dyno_run::{Ready, RunError};

/// What servers say when a disk is full, or a file may not grow.
const NO_ROOM: [&str; 6] = [
    "database or disk is full",
    "errno = 1114",
    "errno = 1021",
    "53100",
    "No space left on device",
    "could not extend file",
];

/// The error with what to try on top of it, where that is known.
pub fn with_hint(error: anyhow::Error, ready: &Ready, workload: &str) -> anyhow::Error {
    // An error of the results file tells its path and what to try. It says nothing of the tables.
    let run = error.downcast_ref::<RunError>();
    if run.is_some_and(RunError::is_of_results) {
        return error;
    }
    match hint(&format!("{error:#}"), ready, workload) {
        Some(hint) => error.context(hint),
        None => error,
    }
}

/// What to try. A missing table most often means that the workload was not prepared, one that is
/// there that it was.
pub fn hint(why: &str, ready: &Ready, workload: &str) -> Option<String> {
    let tells = |codes: &[&str]| codes.iter().any(|code| why.contains(code));
    let label = ready.job.target.as_ref().map(Target::label);
    let target = label.unwrap_or_default();
    let full = [
        "Too many connections",
        "too many clients",
        "connection slots are reserved",
    ];
    if tells(&full) {
        let sessions = ready.job.drive.sessions;
        return Some(format!(
            "the server does not take {sessions} sessions beside Dyno's own connection, which \
             observes it: raise its max_connections, use fewer --sessions, or --observe off"
        ));
    }
    if tells(&NO_ROOM) {
        return Some(format!(
            "there is no room left for the tables: make some, then `dyno cleanup {workload} \
             --target '{target}'` drops what was loaded; a smaller load takes less"
        ));
    }
    let prepares = |name: &str| name == "prepare";
    let description = &ready.description;
    let prepared = description.commands.iter().any(|(name, _)| prepares(name))
        || description.functions.iter().any(|name| prepares(name));
    if prepared && tells(&["1146", "42P01", "42S02", "no such table"]) {
        return Some(format!(
            "the workload's tables are missing: try `dyno prepare {workload} --target '{target}'` \
             with the same options first"
        ));
    }
    tells(&["1050", "42P07", "42S01", "already exists"]).then(|| {
        format!(
            "the workload's tables are there already: `dyno cleanup {workload} --target \
             '{target}'` with the same options drops them"
        )
    })
}
