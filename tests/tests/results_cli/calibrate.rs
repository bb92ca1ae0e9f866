//! Measures the load generator's ceiling, and uses it in later runs.

use dyno_tests::Kind;

use crate::common::{Lab, finding, has, prepared};

#[test]
fn a_calibration_is_used_by_the_runs_that_follow() {
    let lab = Lab::new();
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let (_database, target) = prepared(&lab, kind);
        let options = format!("oltp_point_select {target} -c 2");
        let run = format!("run {options} -t 3s --warmup 0 -q --json");
        let never = lab.json(&format!("{run} --calibrate never"));
        let ceiling = finding(&never, "generator-ceiling");
        assert_eq!(ceiling["outcome"], "not_checked", "{kind}: {ceiling}");

        let printed = lab.dyno(&format!("calibrate {options}")).success();
        has(&printed, &["ceiling", "tx/s", "client CPU", "2 workers"]);
        let made = lab.json(&format!("calibrate {options} --json"));
        let ceiling = made["events_per_s_max"].as_f64().unwrap();
        assert!(ceiling > 0.0 && made["cpu_us_per_event"].as_f64().unwrap() > 0.0);
        assert_eq!(made["sessions"], 2);

        // The ceiling is now known, so a run does not calibrate again.
        let output = lab
            .dyno(&run.replace("-q --json", "--json=run.json"))
            .success();
        assert!(!output.stderr.contains("Calibrating"), "{}", output.stderr);
        let result = lab.json("show --json");
        let known = finding(&result, "generator-ceiling");
        assert_ne!(known["outcome"], "not_checked", "{kind}: {known}");
        let kept = lab.number(
            "SELECT value FROM fact WHERE name = 'calibration.ceiling_per_s' \
             ORDER BY run_id DESC LIMIT 1",
        );
        assert!(
            (kept - ceiling).abs() <= 0.1,
            "{kind}: {kept} for {ceiling}"
        );
        // Another number of sessions needs its own calibration.
        let other = run
            .replace("-c 2", "-c 3")
            .replace("-q --json", "--json=run.json");
        let output = lab.dyno(&other).success();
        has(&output, &["Calibrating: the same load"]);
    }
    lab.sqlite();
    let none = lab.dyno("calibrate oltp_point_select --target sqlite:small.db");
    has(
        &none.failure(1),
        &["there is nothing to calibrate", "inside the client"],
    );
}
