//! `dyno rm`: removes runs from a results file.

use crate::common::{Lab, SHORT, has};

#[test]
fn removed_runs_leave_no_rows_and_their_numbers_are_not_reused() {
    let lab = Lab::new();
    let run = format!("run oltp_point_select {} {SHORT} -q", lab.sqlite());
    for _ in 0..3 {
        lab.dyno(&run).success();
    }
    let printed = lab.dyno("rm 1 3 1").success();
    has(
        &printed,
        &["dyno.db: removed runs 1, 3; it is", "MB smaller"],
    );
    let listed = lab.json("list runs --json");
    let ids = listed.as_array().unwrap().iter().map(|run| &run["id"]);
    assert!(ids.eq([2]), "{listed}");
    for table in ["interval", "span", "sample", "fact", "setting", "finding"] {
        let others = lab.number(&format!("SELECT count(*) FROM {table} WHERE run_id <> 2"));
        assert_eq!(others, 0.0, "{table}");
        let own = lab.number(&format!("SELECT count(*) FROM {table} WHERE run_id = 2"));
        assert!(own > 0.0, "{table}");
    }
    lab.dyno(&run).success();
    assert_eq!(lab.number("SELECT max(id) FROM run"), 4.0);
    // If one of the runs is missing, none is removed.
    has(&lab.dyno("rm 2 17").failure(1), &["17"]);
    assert_eq!(lab.number("SELECT count(*) FROM run"), 2.0);
    has(&lab.dyno("rm").failure(2), &["needs a RUN"]);
}
