//! Tables that already exist on running servers are used if they fit, and dropped only by
//! `--reload`.

use rusqlite::Connection;

use super::common::{Lab, has};

/// The rows of the user's table, and whether they are unchanged.
fn rows(lab: &Lab) -> (i64, bool) {
    let there = Connection::open(lab.path("u.db")).unwrap();
    let sql = "SELECT count(*), max(pad = 'mine') FROM sbtest1";
    let read = there.query_row(sql, [], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? == 1)));
    read.unwrap()
}

/// Creates a table with 100 rows that belongs to the user.
fn with_table() -> Lab {
    let lab = Lab::new();
    lab.dyno("prepare oltp_point_select --table-size=100 -T sqlite:u.db")
        .success();
    let there = Connection::open(lab.path("u.db")).unwrap();
    there
        .execute("UPDATE sbtest1 SET pad = 'mine'", [])
        .unwrap();
    lab
}

const LINE: &str = "oltp_point_select -T sqlite:u.db -t 0.2s --warmup 0s --repeats 1";

#[test]
fn uses_existing_tables_that_fit() {
    let lab = with_table();
    let line = format!("lab --vary sessions=1,2 {LINE} --table-size=100");
    let planned = lab.dyno(&format!("{line} --plan")).success();
    let said = format!("{}{}", planned.stdout, planned.stderr);
    assert!(!said.contains("trials done"), "{said}");
    has(&lab.dyno(&line).success(), &["all 2 trials done"]);
    assert_eq!(rows(&lab), (100, true));
    // `--reload` permits it.
    let line = format!("{line} --name again --results other.db --reload");
    has(
        &lab.dyno(&line).success(),
        &["Dropping", "all 2 trials done"],
    );
    assert_eq!(rows(&lab), (100, false));
}

#[test]
fn refuses_to_drop_the_users_tables() {
    let lab = with_table();
    for (line, why) in [
        (
            format!("lab --vary sessions=1,2 {LINE} --table-size=50"),
            "sbtest1 has 100 rows, not 50",
        ),
        (
            format!("lab --vary sessions=1,2 {LINE} --table-size=200"),
            "sbtest1 has 100 rows, not 200",
        ),
        (
            format!("lab --vary sessions=1,2 {LINE} --table-size=100 --tables=2"),
            "sbtest2",
        ),
        (
            format!("lab --vary table_size=50,100 {LINE}"),
            "2 different data sets",
        ),
    ] {
        let output = lab.dyno(&line).failure(2);
        has(&output, &[why, "Nothing was touched; --reload"]);
        assert_eq!(rows(&lab), (100, true), "{line}");
    }
    // `--reload` does not drop a table of another program, either.
    let there = Connection::open(lab.path("u.db")).unwrap();
    let mine = "ALTER TABLE sbtest1 ADD COLUMN mine INT";
    there.execute(mine, []).unwrap();
    for reload in ["", " --reload"] {
        let line = format!("lab --vary sessions=1,2 {LINE} --table-size=100{reload}");
        let output = lab.dyno(&line).failure(2);
        has(
            &output,
            &["it has a column mine", "Nothing was touched; rename"],
        );
        assert_eq!(rows(&lab), (100, true), "{line}");
    }
    // An experiment may reload its own tables.
    let line = format!("lab --vary table_size=50,100 {LINE}").replace("u.db", "new.db");
    has(&lab.dyno(&line).success(), &["all 2 trials done"]);
}
