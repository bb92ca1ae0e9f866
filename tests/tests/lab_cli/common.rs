//! Code shared by the tests of `dyno lab`.

use std::collections::BTreeMap;

pub(super) use dyno_tests::command::has;
pub(super) use dyno_tests::own_servers::Lab;
use serde_json::Value;

/// Parses `dyno lab status`.
pub(super) fn status(lab: &Lab, words: &str) -> Value {
    let printed = lab.dyno(&format!("lab status {words} --json")).success();
    serde_json::from_str(&printed.stdout).unwrap()
}

/// The number of completed runs per trial.
pub(super) fn runs_by_trial(lab: &Lab) -> BTreeMap<String, usize> {
    let file = rusqlite::Connection::open(lab.path("dyno.db")).unwrap();
    let sql = "SELECT trial, count(*) FROM run
               WHERE trial IS NOT NULL AND state = 'completed' GROUP BY trial";
    let mut statement = file.prepare(sql).unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as usize)))
        .unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

pub(super) fn write(lab: &Lab, name: &str, text: &str) {
    std::fs::write(lab.path(name), text).unwrap();
}
