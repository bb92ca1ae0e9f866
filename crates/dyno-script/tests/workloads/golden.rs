//! The statements of workloads, byte for byte, for each family of servers. To change them on
//! purpose, run with `DYNO_GOLDEN=write` and review the difference.

use std::fs;
use std::path::PathBuf;

use crate::worker::Workload;

const WORKLOADS: &[&str] = &[
    "insert_benchmark",
    "linkbench",
    "many_tables",
    "oltp_fair",
    "tpcb",
    "tpcc",
];

#[test]
fn statements_are_unchanged_for_every_family() {
    let folder = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/workloads/golden"
    ));
    for name in WORKLOADS {
        let workload = Workload {
            name,
            sessions: 1,
            options: &[],
        };
        for family in ["mysql", "postgres", "sqlite"] {
            let rendered = workload.statements(family);
            let file = folder.join(format!("{name}.{family}.sql"));
            if std::env::var_os("DYNO_GOLDEN").is_some_and(|how| how == "write") {
                fs::create_dir_all(&folder).unwrap();
                fs::write(&file, &rendered).unwrap();
            }
            let golden = fs::read_to_string(&file).unwrap();
            assert_eq!(rendered, golden, "{}", file.display());
        }
    }
}
