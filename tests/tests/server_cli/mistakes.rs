//! Invalid requests, and servers that do not do what they should.

use std::fs;

use super::common::{Lab, has};

#[test]
fn a_setting_that_the_server_changes_is_an_error_and_nothing_is_left() {
    let lab = Lab::new();
    let up = lab
        .dyno("server up mariadb --set table_open_cache=1")
        .failure(1);
    has(
        &up,
        &[
            "changed or ignored settings",
            "table_open_cache: asked for 1",
        ],
    );
    has(&up, &["the server has 10"]);
    lab.wait_for_nobody();
    assert_eq!(fs::read_dir(lab.servers()).unwrap().count(), 0);
}

#[test]
fn a_server_that_cannot_be_restarted_keeps_its_settings_and_its_data() {
    let lab = Lab::new();
    lab.dyno("server up postgresql --set work_mem=8MB")
        .success();
    let restart = lab
        .dyno("server restart postgresql --set shared_buffers=900TB")
        .failure(1);
    has(
        &restart,
        &[
            "runs again with its previous settings",
            "did not start",
            "shared_buffers",
        ],
    );
    assert_eq!(lab.server("postgresql")["state"], "up");
    let settings = &lab.server("postgresql")["settings"];
    assert_eq!(settings, &serde_json::json!({ "work_mem": "8MB" }));
    // Wrong arguments are reported even while the server runs.
    let wrong = lab
        .dyno("server restart postgresql --set shared_bufers=1GB")
        .failure(2);
    has(&wrong, &["did you mean shared_buffers?"]);
    let wrong = lab
        .dyno("server restart postgresql --unset work_men")
        .failure(2);
    has(
        &wrong,
        &["you have not set it on this server; you have set work_mem"],
    );
    assert_eq!(lab.server("postgresql")["state"], "up");
    let before = lab.server("postgresql")["pid"].clone();
    let wrong = lab.dyno("server restore postgresql nix").failure(2);
    has(&wrong, &["has no snapshot 'nix'; it has none"]);
    assert_eq!(
        lab.server("postgresql")["pid"],
        before,
        "it was not stopped for nothing"
    );
}

#[test]
fn reports_invalid_words_with_valid_ones() {
    let lab = Lab::new();
    for (line, expected) in [
        ("server up", "needs one KIND"),
        ("server up mariadb mysql", "needs one KIND"),
        ("server up mariadbb", "did you mean mariadb?"),
        (
            "server up mysql-new",
            "'new' in 'mysql-new' is not a version",
        ),
        ("server up ./nowhere", "cannot read the folder"),
        ("server up ssh:host", "write ssh:HOST:/FOLDER"),
        (
            "server up mariadb --basedir /nowhere",
            "there is no folder /nowhere (--basedir)",
        ),
        (
            "server up mariadb --basedir /tmp",
            "there is no server program in /tmp",
        ),
        ("server up mariadb --name A", "'A' is not a server name"),
        ("server up mariadb --port 0", "--port takes a number"),
        ("server up mariadb --set sync_binlog", "write NAME=VALUE"),
        ("server up mariadb --set port=1", "Dyno sets port itself"),
        (
            "server up mariadb --set snyc_binlog=1",
            "did you mean sync_binlog?",
        ),
        (
            "server up mariadb --tcp",
            "dyno server up has no option --tcp",
        ),
        ("server up mariadb --start-timeout x", "--start-timeout"),
        ("server dwon x", "did you mean 'down'?"),
        ("server stop x", "did you mean 'down'?"),
        ("server down", "needs the NAME of a server, or --all"),
        ("server down nix", "there is no server 'nix'"),
        ("server down nix --all", "not both"),
        ("server logs", "needs the NAME of one server"),
        (
            "server snapshot nix",
            "needs the NAME of a server and of a SNAPSHOT",
        ),
        (
            "run oltp_point_select --target server:nix",
            "there is no server 'nix'",
        ),
    ] {
        let output = lab.dyno(line);
        let status = output.status.code();
        has(&output, &[expected]);
        let refused = [Some(1), Some(2)].contains(&status);
        assert!(refused, "{line}: {status:?}");
        let lines = output.stderr.lines().count();
        assert!(
            lines == 1 || line == "server down",
            "{line}: {}",
            output.stderr
        );
    }
    lab.wait_for_nobody();
}

#[test]
fn folders_without_a_server_are_left_alone() {
    let lab = Lab::new();
    lab.dyno("server list").success();
    let precious = lab.servers().join("precious");
    fs::create_dir_all(&precious).unwrap();
    fs::write(precious.join("file"), "text").unwrap();
    has(
        &lab.dyno("server list").success(),
        &["precious is not a server's folder"],
    );
    has(
        &lab.dyno("server down --all").success(),
        &["left as it is", "there are no servers"],
    );
    has(
        &lab.dyno("server down precious").failure(2),
        &["there is no server 'precious'"],
    );
    assert_eq!(fs::read_to_string(precious.join("file")).unwrap(), "text");
}
