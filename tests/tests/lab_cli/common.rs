//! What the tests of `dyno lab` share.

use std::collections::BTreeMap;

pub use dyno_tests::own_servers::{Lab, has};
use serde_json::Value;

/// What `dyno lab status` says, as JSON.
pub fn status(lab: &Lab, words: &str) -> Value {
    let told = lab.dyno(&format!("lab status {words} --json")).success();
    serde_json::from_str(&told.stdout).unwrap()
}

/// How many completed runs each trial has.
pub fn runs_by_trial(lab: &Lab) -> BTreeMap<String, usize> {
    let file = rusqlite::Connection::open(lab.path("dyno.db")).unwrap();
    let sql = "SELECT trial, count(*) FROM run
               WHERE trial IS NOT NULL AND state = 'completed' GROUP BY trial";
    let mut statement = file.prepare(sql).unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as usize)))
        .unwrap();
    rows.collect::<rusqlite::Result<_>>().unwrap()
}

/// Writes a file of an experiment.
pub fn write(lab: &Lab, name: &str, text: &str) {
    std::fs::write(lab.path(name), text).unwrap();
}
