use dyno_core::plan::OptionValue;

use crate::{Imported, Log, Options, Tool, import};

const SECRET: &str = "S3cr3tX";
const SYSBENCH: &str = include_str!("../../fixtures/consistent.out");
const PGBENCH: &str = include_str!("../../fixtures/pgbench-rate.out");
const HAMMERDB: &str = include_str!("../../fixtures/written-hammerdb.log");
const FIO: &str = include_str!("../../fixtures/fio-jobs.json");

/// Imports a log, and checks that no part of the result contains the secret.
fn read(tool: Tool, text: &str) -> Imported {
    assert!(text.contains(SECRET));
    let log = Log::new("log", text);
    let imported = import(tool, &[log], &[], &Options::default()).unwrap();
    assert!(!imported.runs.is_empty());
    let all = format!("{imported:?}");
    let at = all.find(SECRET).map(|at| &all[at.saturating_sub(200)..at]);
    assert_eq!(at, None);
    imported
}

fn argv(tool: Tool, text: &str) -> String {
    read(tool, text).runs[0].head.argv.join(" ")
}

#[test]
fn secrets_in_sysbench_commands_are_hidden() {
    for (options, kept) in [
        (
            "--mysql-password=a\\ S3cr3tX --tables=2",
            "--mysql-password=*** --tables=2",
        ),
        ("--mysql-password=$(echo S3cr3tX)", "--mysql-password=***"),
        ("--mysql-password=`echo S3cr3tX`", "--mysql-password=`***`"),
        ("--mysql-password 'a S3cr3tX'", "--mysql-password ***"),
        ("--api_token=S3cr3tX", "--api_token=***"),
        (
            "--url=http://x?access_key=S3cr3tX",
            "--url=http://x?access_key=***",
        ),
        (
            "--hook='curl -u u:S3cr3tX http://x'",
            "--hook=curl -u u:*** http://x",
        ),
    ] {
        let line = format!("$ sysbench oltp_insert {options} --threads=4 run\n{SYSBENCH}");
        let expected = format!("sysbench oltp_insert {kept} --threads=4 run");
        assert_eq!(argv(Tool::Sysbench, &line), expected);
    }
    let before = "export MYSQL_PWD=S3cr3tX; sshpass -p S3cr3tX ssh host sysbench oltp_insert";
    let line = format!("$ {before} --threads=4 run\n{SYSBENCH}");
    assert_eq!(
        argv(Tool::Sysbench, &line),
        "sysbench oltp_insert --threads=4 run"
    );
}

#[test]
fn secrets_in_pgbench_commands_are_hidden() {
    for (command, kept) in [
        (
            "pgbench \"host=db user=x password='a S3cr3tX' dbname=b\" -c 1",
            "pgbench host=db user=x password='***' dbname=b -c 1",
        ),
        (
            "pgbench 'host=db password = S3cr3tX' -c 1",
            "pgbench host=db password = *** -c 1",
        ),
        (
            "pgbench 'host=db password='\\''a S3cr3tX'\\'' dbname=b' -c 1",
            "pgbench host=db password='***' dbname=b -c 1",
        ),
        (
            "pgbench -c 1 'postgresql://h/db?sslpassword=S3cr3tX&sslmode=require'",
            "pgbench -c 1 postgresql://h/db?sslpassword=***&sslmode=require",
        ),
        ("PGPASSWORD='a S3cr3tX' pgbench -c 1", "pgbench -c 1"),
        (
            "bash -c \"PGPASSWORD=S3cr3tX pgbench -c 1\"",
            "pgbench -c 1",
        ),
    ] {
        assert_eq!(
            argv(Tool::Pgbench, &format!("$ {command}\n{PGBENCH}")),
            kept
        );
    }
}

#[test]
fn secrets_in_messages_are_hidden() {
    let fatal = "FATAL: cannot connect with 'host=db password=S3cr3tX'\n";
    read(Tool::Sysbench, &format!("{SYSBENCH}{fatal}"));
    let error = "pgbench: error: no connection to host=db password='a S3cr3tX'\n";
    read(Tool::Pgbench, &format!("{error}{PGBENCH}"));
    let error = "Vuser 2:Error in Virtual User 2: cannot connect as u, password=S3cr3tX\n";
    let sets = "hammerdb>diset tpcc maria_pass S3cr3tX\n";
    read(Tool::Hammerdb, &format!("{sets}{HAMMERDB}{error}"));
}

#[test]
fn secrets_in_fio_options_are_hidden() {
    let mut document: serde_json::Value = serde_json::from_str(FIO).unwrap();
    let jobs = document["jobs"].as_array_mut().unwrap();
    for job in jobs {
        for (name, value) in [
            ("http_user", "u"),
            ("http_pass", "S3cr3tX"),
            ("http_s3_key", "S3cr3tX2"),
            ("http_swift_auth_token", "a S3cr3tX"),
            ("filename", "https://u:S3cr3tX@h/x"),
            ("exec_prerun", "curl -u user:S3cr3tX http://x"),
        ] {
            job["job options"][name] = value.into();
        }
    }
    let imported = read(Tool::Fio, &document.to_string());
    let run = &imported.runs[0];
    let option = |name: &str| {
        let mut options = run.head.workload.options.iter();
        options
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.clone())
    };
    let text = |text: &str| Some(OptionValue::Text(text.to_owned()));
    for name in ["http_pass", "http_s3_key", "http_swift_auth_token"] {
        assert_eq!(option(name), text("***"), "{name}");
    }
    assert_eq!(option("http_user"), text("u"));
    assert_eq!(option("filename"), text("https://u:***@h/x"));
    assert_eq!(option("exec_prerun"), text("curl -u user:*** http://x"));
}
