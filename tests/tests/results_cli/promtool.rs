//! Checks a page of metrics with Prometheus' own tool.

use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::ports::free_port;
use dyno_tests::{Database, Kind};

use crate::common::{LIMIT, Lab};
use crate::metrics::{get, since};

/// promtool must accept all names, including those of server variables.
#[test]
fn promtool_accepts_the_page_of_a_server() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let lab = Lab::new();
        let database = Database::new(kind);
        let options = format!("--target {} --tables 1 --table-size 1000", database.url());
        lab.dyno(&format!("prepare oltp_point_select {options}"))
            .success();
        let port = free_port().unwrap();
        let mut running = lab.start(&format!(
            "run oltp_point_select {options} -c 2 -t 3s --warmup 0 --calibrate never \
             --metrics {port} --metrics-linger 60s"
        ));
        running.measuring();
        let begun = Clock.now();
        let page = loop {
            let page = get(port, "/metrics");
            if let Some(page) = page.filter(|page| page.contains("phase=\"ended\"} 1")) {
                break page;
            }
            assert!(since(begun) < LIMIT, "the end is not reported");
            thread::sleep(Duration::from_millis(100));
        };
        running.finish(Duration::from_secs(30)).success();
        assert!(page.contains("dyno_db_"), "{page}");
        fs::write(lab.path("page"), &page).unwrap();
        let mut promtool = Command::new("promtool");
        promtool.args(["check", "metrics"]);
        promtool.stdin(fs::File::open(lab.path("page")).unwrap());
        let output = promtool.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success() && printed.is_empty(),
            "{kind:?}: {printed}"
        );
    }
}
