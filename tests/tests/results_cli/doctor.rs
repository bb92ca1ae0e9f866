//! `dyno doctor`: are the host and the server suitable for measurements?

use dyno_tests::{Database, Kind, kinds};

use crate::common::{Lab, finding, has, worst};

#[test]
fn examines_a_host() {
    let lab = Lab::new();
    let output = lab.dyno("doctor --time 300ms").success();
    has(&output, &["Linux", "host-noise:", "clock-source:"]);
    let result = lab.json("doctor --time 300ms --json");
    assert_eq!(result["verdict"], worst(&result));
    let findings = result["findings"].as_array().unwrap();
    assert!(findings.len() > 5, "{result:#}");
    for each in findings.iter().filter(|f| f["outcome"] == "doubt") {
        assert_ne!(each["advice"], "", "{each}");
    }
    assert!(result["facts"].as_array().unwrap().len() > 10);
    assert!(!lab.path("dyno.db").exists());
    for (line, expected) in [
        ("doctor mysql://root@localhost/x", "--target URL"),
        ("doctor --time soon", "--time: 'soon'"),
        ("doctor --target nonsense", "bad target URL"),
    ] {
        has(&lab.dyno(line).failure(2), &[expected]);
    }
}

#[test]
fn examines_servers() {
    let lab = Lab::new();
    for kind in kinds() {
        let database = Database::new(kind);
        let url = database.url();
        let output = lab.dyno(&format!("doctor --target {url} --time 300ms"));
        has(&output.success(), &[&url, "durability:", "server-cache:"]);
        let result = lab.json(&format!("doctor --target {url} --time 300ms --json"));
        assert!(result["settings"].as_array().unwrap().len() > 100, "{kind}");
        for check in ["server-build", "durability", "same-host", "server-cache"] {
            let made = finding(&result, check);
            assert_ne!(made["outcome"], "not_checked", "{kind}: {made}");
        }
        let name = match kind {
            Kind::Postgres => "shared_buffers",
            _ => "innodb_buffer_pool_size",
        };
        let evidence = finding(&result, "server-cache")["evidence"].to_string();
        assert!(evidence.contains(name), "{kind}: {evidence}");
    }
    lab.sqlite();
    let sqlite = lab.dyno("doctor --target sqlite:small.db --time 300ms");
    has(&sqlite.success(), &["sqlite:small.db"]);
    let missing = lab.dyno("doctor --target sqlite:none.db").failure(1);
    has(&missing, &["there is no file none.db"]);
    assert!(!lab.path("none.db").exists());
    let gone = lab
        .dyno("doctor --target mysql://u@127.0.0.1:1/d")
        .failure(1);
    has(&gone, &["cannot connect to 127.0.0.1:1"]);
}

#[test]
fn an_unsafe_server_is_noticed() {
    let lab = Lab::new();
    let private = dyno_tests::private::start_private_server_with(Kind::Postgres, &["-cfsync=off"]);
    let server = private.server();
    let url = format!("postgres://postgres@127.0.0.1:{}/postgres", server.port);
    let result = lab.json(&format!("doctor --target {url} --time 300ms --json"));
    let durability = finding(&result, "durability");
    assert_ne!(durability["outcome"], "pass", "{durability}");
    let evidence = durability["evidence"].to_string();
    assert!(evidence.contains("fsync"), "{evidence}");
    assert_ne!(result["verdict"], "valid");
}
