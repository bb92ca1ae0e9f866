//! The whole life cycle of each server kind.

use super::common::{Lab, has};

/// Starts a server, loads, changes, copies, empties and restores it, and stops it.
fn lives(kind: &str, title: &str, setting: (&str, &str), query: &str) {
    let lab = Lab::new();
    let load = "--tables 2 --table-size 500 --target server:one -q";
    let up = lab.dyno(&format!("server up {kind} --name one")).success();
    has(
        &up,
        &[&format!("one is up: {title}"), "--target server:one"],
    );
    lab.dyno(&format!("prepare oltp_read_write {load}"))
        .success();

    let (name, value) = setting;
    let changed = lab
        .dyno(&format!("server restart one --set {name}={value} --json"))
        .success();
    let changed: serde_json::Value = serde_json::from_str(&changed.stdout).unwrap();
    assert_eq!(
        (&changed["state"], &changed["settings"][name]),
        (&"up".into(), &value.into())
    );
    let plan = "-t 1s --warmup 0 --calibrate never";
    let seen = lab.dyno(&format!(
        "run oltp_point_select {load} {plan} --expect {query}"
    ));
    has(&seen.success(), &["transactions"]);

    has(
        &lab.dyno("server snapshot one loaded").success(),
        &["snapshot loaded"],
    );
    assert_eq!(lab.server("one")["state"], "up", "it runs again");
    lab.dyno(&format!("cleanup oltp_read_write {load}"))
        .success();
    has(
        &lab.dyno(&format!("run oltp_point_select {load} {plan}"))
            .failure(1),
        &["missing"],
    );
    has(
        &lab.dyno("server restore one loaded").success(),
        &["loaded is restored"],
    );
    lab.dyno(&format!("run oltp_point_select {load} {plan}"))
        .success();

    let stopped = lab.dyno("server down one --keep-data").success();
    has(&stopped, &["one is down; its data is kept in"]);
    lab.wait_for_nobody();
    has(
        &lab.dyno(&format!("run oltp_point_select {load}"))
            .failure(2),
        &["is not running"],
    );
    has(&lab.dyno("server restart one").success(), &["one is up"]);
    lab.dyno(&format!("run oltp_point_select {load} {plan}"))
        .success();
    has(
        &lab.dyno("server down one").success(),
        &["its data is removed"],
    );
    lab.wait_for_nobody();
    assert_eq!(
        std::fs::read_dir(lab.servers()).unwrap().count(),
        0,
        "nothing is left"
    );
}

#[test]
fn mariadb_has_a_whole_life_cycle() {
    let setting = ("innodb-buffer-pool-size", "64M");
    let setting = (setting.0.replace('-', "_"), setting.1);
    lives(
        "mariadb",
        "mariadb 10.",
        (&setting.0, setting.1),
        "innodb_buffer_pool_size=67108864",
    );
}

#[test]
fn mysql_has_a_whole_life_cycle() {
    lives(
        "mysql",
        "mysql 9.",
        ("sync_binlog", "1000"),
        "sync_binlog=1000",
    );
}

#[test]
fn postgresql_has_a_whole_life_cycle() {
    lives(
        "postgresql",
        "postgresql 1",
        ("shared_buffers", "32MB"),
        "shared_buffers=32MB",
    );
}

#[test]
fn settings_apply_when_the_data_directory_is_created() {
    let lab = Lab::new();
    lab.dyno("server up mariadb --set innodb_page_size=4k --set log_bin=true")
        .success();
    let restart = lab
        .dyno("server restart mariadb --set innodb_page_size=8k")
        .failure(2);
    has(
        &restart,
        &["innodb_page_size is fixed when the data directory is created"],
    );
    assert_eq!(lab.server("mariadb")["state"], "up", "it was not touched");
    lab.dyno("server up postgresql --set data_checksums=on --set max_wal_size=2GB")
        .success();
}

#[test]
fn a_server_has_a_port_and_a_url_for_tcp() {
    let lab = Lab::new();
    lab.dyno("server up postgresql").success();
    let url = lab.dyno("server url postgresql --tcp").success().stdout;
    let port = lab.server("postgresql")["port"].to_string();
    assert!(url.contains(&format!("127.0.0.1:{port}/sbtest")), "{url}");
    let doctor = lab.dyno(&format!("doctor --target {}", url.trim()));
    has(&doctor, &["shared_buffers is"]);
    // No other server may use the port while this one runs.
    let taken = lab
        .dyno(&format!("server up mariadb --port {port}"))
        .failure(1);
    has(&taken, &[&format!("cannot use port {port} of 127.0.0.1")]);
}
