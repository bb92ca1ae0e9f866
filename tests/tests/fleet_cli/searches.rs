//! Searches with several load generators per trial.

use dyno_tests::{Database, Kind};
use serde_json::Value;

use crate::common::{LIMIT, Lab, file};

/// The script holds its worker for 20 ms per event: a load generator with one worker makes at most
/// 50 events a second, whatever the server.
const HELD: &str = "\
local ffi = require('ffi')
ffi.cdef('int poll(void *, unsigned long, int)')
function event()
  ffi.C.poll(nil, 0, 20)
  dyno.sleep(0.005)
end
";

fn searched(lab: &Lab, database: &Database, agents: u32) -> Value {
    let script = file(lab, "held.lua", HELD);
    let line = format!(
        "search {script} --target {} -c 8 --workers 1 -t 700ms --warmup 0 --votes 1 --from 40/s \
         --width 100% --calibrate never --seed 3 --agents local:{agents} -q --json",
        database.url()
    );
    let mut command = lab.command(&line);
    command.arg("p50 < 200ms");
    let ended = dyno_tests::command::run(&mut command, LIMIT);
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr))
}

#[test]
fn several_agents_find_a_rate_that_one_cannot_make() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let one = searched(&lab, &database, 1);
    let four = searched(&lab, &database, 4);
    let lower = |found: &Value| found["lower"].as_f64().unwrap_or_default();
    assert!(lower(&one) < 55.0, "{one:#}");
    assert!(lower(&four) > 75.0, "{four:#}");
}

#[test]
fn a_search_begins_with_a_session_for_each_agent() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let script = file(
        &lab,
        "paused.lua",
        "function event() dyno.sleep(0.01) end\n",
    );
    let line = format!(
        "search {script} --target {} -c 8 -t 700ms --warmup 0 --votes 1 --width 100% --calibrate \
         never --agents local:3 -q --json",
        database.url()
    );
    let mut command = lab.command(&line);
    command.arg("p50 < 200ms");
    let ended = dyno_tests::command::run(&mut command, LIMIT);
    let found: Value = serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    assert_eq!(found["climb"][0]["sessions"], 3, "{found:#}");
}
