//! Plans and costs of runs are read without loading them.

use dyno_core::plan::OptionValue;
use dyno_core::record::{RunHead, RunState};
use dyno_results::Results;
use dyno_samples::values;
use tempfile::TempDir;

use crate::common::{head, latencies, summary};

#[test]
fn runs_of_one_plan_are_alike_and_have_their_costs() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let record = |head: RunHead, state: RunState| {
        let mut writer = Results::open(&path).unwrap().begin(&head).unwrap();
        let event = latencies(60, 4);
        let interval = values::interval(1.0, 60);
        writer.interval(&interval, &[("event", &event)]).unwrap();
        let totals = [("event", &event)];
        writer.finish(&summary(), state, &totals, &[]).unwrap();
    };
    record(head("a"), RunState::Completed);
    let mut other_seed = head("b");
    let drive = other_seed.drive.as_mut().unwrap();
    (drive.seed, drive.time) = (7, None);
    other_seed.target = values::target("mariadb://db2/bench", "MariaDB", "11.4.2");
    record(other_seed, RunState::Completed);
    let mut more_sessions = head("c");
    more_sessions.drive.as_mut().unwrap().sessions = 32;
    record(more_sessions, RunState::Completed);
    let mut other_option = head("d");
    other_option.workload = values::workload(&[("tables", OptionValue::Number(8.0))], &["tables"]);
    record(other_option, RunState::Completed);
    record(head("e"), RunState::Failed);
    let found = Results::open_read(&path).unwrap();
    let found = found.plans_and_costs().unwrap();
    let plan = |id: i64| found[&id].plan.as_str();
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4]);
    assert_eq!(plan(1), plan(2), "length, seed and server do not matter");
    assert_ne!(plan(1), plan(3), "sessions");
    assert_ne!(plan(1), plan(4), "options");
    assert_eq!(found[&1].costs, summary().costs);
}
