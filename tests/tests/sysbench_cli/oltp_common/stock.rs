//! Runs sysbench's own script files with Dyno by their paths, and Dyno's scripts with sysbench's
//! shared file. The files are read from the package's folder; this repository contains none of
//! them.

use std::fs;
use std::path::Path;

use dyno_tests::command::Output;
use dyno_tests::{Database, Kind};

use super::Tool;

/// The folder in which Debian's package installs them.
const STOCK: &str = "/usr/share/sysbench";
const SHARED: &str = "oltp_common.lua";

/// All scripts that are run, with their options.
const SCRIPTS: &[(&str, &[&str])] = &[
    ("bulk_insert", &[]),
    ("oltp_delete", &["--tables=2", "--table-size=100"]),
    ("oltp_insert", &["--tables=2", "--table-size=100"]),
    ("oltp_insert", &["--table-size=100", "--auto_inc=off"]),
    (
        "oltp_point_select",
        &["--tables=2", "--table-size=100", "--point-selects=3"],
    ),
    ("oltp_read_only", &["--tables=2", "--table-size=100"]),
    (
        "oltp_read_write",
        &["--tables=2", "--table-size=100", "--range-size=5"],
    ),
    ("oltp_update_index", &["--tables=2", "--table-size=100"]),
    (
        "oltp_update_non_index",
        &["--table-size=100", "--create-secondary=off"],
    ),
    (
        "oltp_write_only",
        &["--tables=2", "--table-size=100", "--skip_trx=on"],
    ),
    ("select_random_points", &["--table-size=100"]),
    ("select_random_ranges", &["--table-size=100"]),
];

/// What one session of a script does: the rows after `prepare`, the counts in the report, and the
/// tables that remain. Several sessions would collide at random.
#[derive(Debug, PartialEq, Eq)]
struct Result {
    rows: Vec<Vec<String>>,
    counts: std::collections::BTreeMap<String, String>,
    left: Vec<String>,
}

fn call(tool: Tool, database: &Database, folder: &Path, script: &str, words: &[&str]) -> Output {
    let mut line = database.sysbench_options();
    line.push(script.to_owned());
    line.extend(words.iter().map(|word| (*word).to_owned()));
    tool.call(folder, &line)
}

fn result(tool: Tool, kind: Kind, folder: &Path, script: &str, options: &[&str]) -> Result {
    let database = Database::new(kind);
    let go = |last: &[&str]| {
        let words = [options, &["--rand-seed=3"], last].concat();
        call(tool, &database, folder, script, &words).success()
    };
    go(&["prepare"]);
    let count = |table: &String| {
        database
            .query(&format!("SELECT COUNT(*) FROM {table}"))
            .concat()
    };
    let rows = database.tables().iter().map(count).collect();
    let output = go(&["--events=20", "--time=0", "run"]);
    go(&["cleanup"]);
    let mut counts = super::report(&output.stdout);
    if script.contains("oltp_delete") {
        // How many statements find a row depends on random draws.
        counts.retain(|name, _| name != "write" && name != "other");
    }
    Result {
        rows,
        counts,
        left: database.tables(),
    }
}

/// Runs each script as `name(script)` in a folder, and compares with sysbench running its own
/// script.
fn compare(folder: &Path, name: impl Fn(&str) -> String) {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        for (script, options) in SCRIPTS {
            let stock = format!("{STOCK}/{script}.lua");
            let elsewhere = Path::new("/");
            let expected = result(Tool::Sysbench, kind, elsewhere, &stock, options);
            let seen = result(Tool::Dyno, kind, folder, &name(script), options);
            assert_eq!(seen, expected, "{kind} {script} {options:?}");
        }
    }
}

#[test]
fn stock_files_run_by_their_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    compare(folder.path(), |script| format!("{STOCK}/{script}.lua"));
}

#[test]
fn built_in_scripts_run_next_to_sysbenchs_shared_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let shared = format!("{STOCK}/{SHARED}");
    fs::copy(shared, folder.path().join(SHARED)).expect("sysbench's file is there");
    compare(folder.path(), str::to_owned);
}

#[test]
fn a_patched_shared_file_is_used_by_built_in_scripts() {
    let folder = tempfile::tempdir().expect("a folder");
    let shared = format!("{STOCK}/{SHARED}");
    let mut text = fs::read_to_string(shared).expect("sysbench's file is there");
    text.push_str(
        "\nfunction execute_point_selects() con:query('SELECT 1') con:query('SELECT 2') end\n\
         function get_c_value() return 'patched' end\n",
    );
    fs::write(folder.path().join(SHARED), text).expect("the copy is written");
    for kind in [Kind::Mariadb, Kind::Postgres] {
        for tool in [Tool::Sysbench, Tool::Dyno] {
            let database = Database::new(kind);
            let go = |words: &[&str]| {
                call(tool, &database, folder.path(), "oltp_point_select", words).success()
            };
            go(&["--table-size=30", "prepare"]);
            let patched = "SELECT COUNT(*) FROM sbtest1 WHERE c = 'patched'";
            assert_eq!(database.query_one(patched), "30", "{kind} {tool:?}");
            let output = go(&["--events=5", "--time=0", "run"]);
            let counts = super::report(&output.stdout);
            assert_eq!(counts["read"], "10", "{kind} {tool:?} {output:?}");
        }
    }
}

#[test]
fn the_shared_file_is_not_a_test() {
    let folder = tempfile::tempdir().expect("a folder");
    for tool in [Tool::Sysbench, Tool::Dyno] {
        for word in ["oltp_common", "oltp_read_write"] {
            let output = tool.call(folder.path(), &[word.to_owned()]).failure(1);
            let asks = output
                .stdout
                .contains("Command is required. Supported commands: prepare");
            assert!(asks, "{tool:?} {output:?}");
        }
        let database = Database::new(Kind::Mariadb);
        let output = call(tool, &database, folder.path(), "oltp_common", &["run"]).failure(1);
        let refused = output.stdout.contains("FATAL: `init' function failed: ");
        assert!(refused, "{tool:?} {output:?}");
    }
}

#[test]
fn sessions_that_skip_a_parallel_command_do_not_block_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "require('oltp_read_only')\nsysbench.cmdline.commands.prepare = {function() \
                if sysbench.tid == 0 then cmd_prepare() end end, \
                sysbench.cmdline.PARALLEL_COMMAND}";
    fs::write(folder.path().join("own.lua"), text).expect("the script is written");
    for tool in [Tool::Sysbench, Tool::Dyno] {
        let database = Database::new(Kind::Mariadb);
        let words = ["--threads=3", "--table-size=500", "prepare"];
        call(tool, &database, folder.path(), "own.lua", &words).success();
        assert_eq!(
            database.query_one("SELECT COUNT(*) FROM sbtest1"),
            "500",
            "{tool:?}"
        );
    }
}
