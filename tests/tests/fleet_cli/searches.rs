//! Searches with several load generators per trial.

use std::thread;

use dyno_tests::{Database, Kind};
use serde_json::Value;

use super::common::{LIMIT, Lab, file};

/// The script blocks its worker for 20 ms per event, so a load generator with one worker makes at
/// most 50 events a second on any server.
const HELD: &str = "\
local ffi = require('ffi')
ffi.cdef('int poll(void *, unsigned long, int)')
function event()
  ffi.C.poll(nil, 0, 20)
  dyno.sleep(0.005)
end
";

fn searched(agents: u32) -> Value {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let script = file(&lab, "held.lua", HELD);
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
fn several_agents_reach_a_rate_that_one_cannot() {
    // The load generators mostly wait, so the searches do not disturb one another.
    let (one, four) = thread::scope(|scope| {
        let one = scope.spawn(|| searched(1));
        let four = searched(4);
        (one.join().unwrap(), four)
    });
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
