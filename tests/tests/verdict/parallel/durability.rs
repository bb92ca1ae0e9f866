//! Durability settings that have no effect because of tables, disks or scripts.

mod matrix;

use std::fs;
use std::path::Path;

use dyno_tests::Kind;
use dyno_tests::private::{at_once, start_private_server_with};

use crate::common::{Judged, dyno, in_parallel, judged, private, with_database};

const TABLE: &str = "oltp_update_non_index --table-size 500 -c 2";
/// Long enough for two samples of the counters, even while other tests use the CPUs.
const RUN: &str = "-t 4s --warmup 0";

/// Writes and rolls back.
const ROLLS_BACK: &str = r#"
function thread_init()
   con = sysbench.sql.driver():connect()
end
function event()
   con:query("BEGIN")
   con:query("UPDATE sbtest1 SET k = k + 1 WHERE id = " .. sysbench.rand.uniform(1, 500))
   con:query("ROLLBACK")
end
"#;

/// Writes and never commits.
const TURNS_OFF: &str = r#"
function thread_init()
   con = sysbench.sql.driver():connect()
   con:query("SET autocommit = 0")
end
function event()
   con:query("UPDATE sbtest1 SET k = k + 1 WHERE id = " .. (1 + sysbench.tid * 250 +
      sysbench.rand.uniform(1, 200)))
end
"#;

/// Commits as a participant in distributed transactions.
const DISTRIBUTED: &str = r#"
function thread_init()
   con = sysbench.sql.driver():connect()
   count = 0
end
function event()
   count = count + 1
   local id = string.format("'%d-%d'", sysbench.tid, count)
   con:query("XA START " .. id)
   con:query("UPDATE sbtest1 SET k = k + 1 WHERE id = " .. (1 + sysbench.tid * 250 +
      sysbench.rand.uniform(1, 200)))
   con:query("XA END " .. id)
   con:query("XA PREPARE " .. id)
   con:query("XA COMMIT " .. id)
end
"#;

/// Weakens the server while its sessions begin, and sets it back at their end.
const WEAKENS: &str = r#"
function thread_init()
   con = sysbench.sql.driver():connect()
   con:query("SET GLOBAL innodb_flush_log_at_trx_commit = 0")
end
function event()
   con:query("UPDATE sbtest1 SET k = k + 1 WHERE id = " .. sysbench.rand.uniform(1, 500))
end
function thread_done()
   con:query("SET GLOBAL innodb_flush_log_at_trx_commit = 1")
end
"#;

fn class(run: &Judged) -> String {
    let evidence = run.finding("durability")["evidence"].as_str().unwrap();
    evidence.to_lowercase()
}

#[test]
fn reports_a_storage_engine_without_a_log() {
    let _turn = in_parallel();
    let (server, url) = private(Kind::Mariadb);
    let server = server.server();
    dyno(&format!("prepare {TABLE} --target {url}"));
    let run = || judged(&format!("{TABLE} --target {url} {RUN}"));
    let durable = run();
    durable.passed("durability");
    assert!(
        class(&durable).starts_with("each commit durable"),
        "{}",
        durable.findings_text()
    );
    for (engine, outcome, words) in [
        (
            "MyISAM",
            "doubt",
            "may be damaged because the engine myisam of sbtest1",
        ),
        (
            "MEMORY",
            "doubt",
            "tables emptied by a crash because the engine memory of sbtest1",
        ),
        ("Aria TRANSACTIONAL=0", "doubt", "may be damaged because"),
        (
            "Aria TRANSACTIONAL=1",
            "pass",
            "each statement durable, without transactions",
        ),
    ] {
        // MEMORY has no long text columns, but these columns have a fixed length.
        server.execute(
            Some("verdict"),
            &format!("ALTER TABLE sbtest1 ENGINE={engine}"),
        );
        let run = run();
        let finding = run.finding("durability");
        assert_eq!(
            finding["outcome"],
            outcome,
            "{engine}: {}",
            run.findings_text()
        );
        assert!(
            class(&run).starts_with(words),
            "{engine}: {}",
            run.findings_text()
        );
    }
    // Tables that the run does not use must not matter.
    server.execute(Some("verdict"), "ALTER TABLE sbtest1 ENGINE=InnoDB");
    server.execute(Some("verdict"), "CREATE TABLE notes (id INT) ENGINE=MyISAM");
    let run = run();
    assert!(
        class(&run).starts_with("each commit durable"),
        "{}",
        run.findings_text()
    );
}

#[test]
fn reports_a_setting_that_the_script_weakens() {
    let _turn = in_parallel();
    let (_server, url) = private(Kind::Mariadb);
    dyno(&format!("prepare {TABLE} --target {url}"));
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("weakens.lua");
    fs::write(&script, WEAKENS).unwrap();
    let run = judged(&format!("{} --target {url} -c 2 {RUN}", script.display()));
    let words = "lost on process crash because innodb_flush_log_at_trx_commit = 0";
    assert!(class(&run).starts_with(words), "{}", run.findings_text());
}

#[test]
fn reports_a_table_that_a_crash_empties() {
    let _turn = in_parallel();
    let (server, url) = private(Kind::Postgres);
    dyno(&format!("prepare {TABLE} --target {url}"));
    let server = server.server();
    server.execute(Some("verdict"), "ALTER TABLE sbtest1 SET UNLOGGED");
    let run = judged(&format!("{TABLE} --target {url} {RUN}"));
    run.caught(
        "durability",
        "doubt",
        "tables emptied by a crash because sbtest1 is unlogged",
    );
}

#[test]
fn reports_a_server_that_may_lose_its_data() {
    let _turn = in_parallel();
    let arguments = ["-c", "fsync=off", "-c", "full_page_writes=off"];
    let server = start_private_server_with(Kind::Postgres, &arguments);
    let url = with_database(&server);
    dyno(&format!("prepare {TABLE} --target {url}"));
    let line = format!("{TABLE} --target {url} -t 1s --warmup 0");
    let unsafe_one = judged(&line);
    unsafe_one.caught("durability", "doubt", "fsync = off");
    let waived = judged(&format!("{line} --waive durability=scratch"));
    assert_eq!(
        waived.finding("durability")["waived"],
        "scratch",
        "{}",
        waived.findings_text()
    );
}

#[test]
fn reports_a_file_in_memory() {
    let _turn = in_parallel();
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let url = format!("sqlite:{}", folder.path().join("fleeting.db").display());
    dyno(&format!("prepare {TABLE} --target {url}"));
    let run = judged(&format!("{TABLE} --target {url} {RUN}"));
    run.caught(
        "durability",
        "doubt",
        "all data lost on os crash because the data is on tmpfs",
    );
}

#[test]
fn reports_work_that_is_never_committed() {
    let _turn = in_parallel();
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("rolls_back.lua"), ROLLS_BACK).unwrap();
    let databases: [fn(&Path); 3] = [on_mariadb, on_postgresql, on_sqlite];
    at_once(databases, |on| on(folder.path()));
}

/// Prepares the table at this URL, and runs the script that rolls back.
fn rolls_back(folder: &Path, url: &str, sessions: u32, expected: &str) {
    dyno(&format!("prepare {TABLE} --target {url}"));
    let script = folder.join("rolls_back.lua");
    let script = script.display();
    let run = judged(&format!("{script} --target {url} -c {sessions} {RUN}"));
    run.caught("durability", "doubt", expected);
}

/// The reason in the finding on a server. It names the smaller of the server's and the client's
/// counts, and in a few seconds that may be either.
const COUNTED: &str = "not committed because the";

fn on_mariadb(folder: &Path) {
    let (server, url) = private(Kind::Mariadb);
    rolls_back(folder, &url, 2, COUNTED);
    let server = server.server();
    server.execute(None, "SET GLOBAL autocommit = 0");
    let open = judged(&format!("{TABLE} --target {url} {RUN}"));
    open.caught(
        "durability",
        "doubt",
        "not committed because autocommit = off",
    );
    server.execute(None, "SET GLOBAL autocommit = 1");
    let own = folder.join("turns_off.lua");
    fs::write(&own, TURNS_OFF).unwrap();
    let own = judged(&format!("{} --target {url} -c 2 {RUN}", own.display()));
    own.caught(
        "durability",
        "doubt",
        "not committed because autocommit = off",
    );
    server.execute(None, "SET GLOBAL autocommit = 0");
    commits_as_a_participant(&url, folder);
    // Transactions that end with COMMIT do not need autocommit.
    let committed = "oltp_write_only --table-size 500 -c 2";
    let committed = judged(&format!("{committed} --target {url} {RUN}"));
    assert!(
        class(&committed).starts_with("each commit durable"),
        "{}",
        committed.findings_text()
    );
}

fn on_postgresql(folder: &Path) {
    let (_server, url) = private(Kind::Postgres);
    rolls_back(folder, &url, 2, COUNTED);
}

fn on_sqlite(folder: &Path) {
    let url = format!("sqlite:{}", folder.join("rolled.db").display());
    rolls_back(folder, &url, 1, "not committed because statements wrote");
    let kept = judged(&format!("{TABLE} --target {url} {RUN}"));
    kept.passed("durability");
}

/// `XA COMMIT` commits, whatever autocommit is.
fn commits_as_a_participant(url: &str, folder: &Path) {
    let script = folder.join("distributed.lua");
    fs::write(&script, DISTRIBUTED).unwrap();
    let run = judged(&format!("{} --target {url} -c 2 {RUN}", script.display()));
    assert!(
        class(&run).starts_with("each commit durable"),
        "{}",
        run.findings_text()
    );
}
