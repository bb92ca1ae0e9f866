//! Defaults from `dyno.toml`.

use serde_json::Value;

use crate::common::{Lab, has};

#[test]
fn a_file_sets_defaults_and_the_command_line_wins() {
    let lab = Lab::new();
    lab.file(
        "dyno.toml",
        "sessions = 3\ntarget = \"sqlite:small.db\"\n[run]\nwarmup = \"0s\"\n\
         [oltp_point_select]\ntable-size = 500\n",
    );
    let plan = |line: &str| -> Value { lab.json(&format!("run oltp_point_select --plan {line}")) };
    let planned = plan("");
    assert_eq!(planned["drive"]["sessions"], 3, "{planned}");
    assert_eq!(planned["drive"]["warmup_s"], 0.0, "{planned}");
    assert_eq!(planned["options"]["table_size"], 500, "{planned}");
    assert_eq!(plan("-c 2")["drive"]["sessions"], 2);
    let mut without = lab.command("run oltp_point_select --plan --target sqlite:small.db");
    without.env("DYNO_CONFIG", "none");
    let without = dyno_tests::command::run(&mut without, crate::common::LIMIT).success();
    let without: Value = serde_json::from_str(&without.stdout).unwrap();
    assert_eq!(without["drive"]["sessions"], 1);
    lab.file("dyno.toml", "sessions = 3\nsesions = 4\n");
    let error = lab.dyno("run oltp_point_select --plan").failure(2);
    has(
        &error,
        &["dyno.toml:2: dyno has no option --sesions; did you mean 'sessions'?"],
    );
}
