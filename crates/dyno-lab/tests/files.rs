//! Experiment files: valid ones, and the errors of invalid ones.

#![allow(clippy::unwrap_used, clippy::panic)]

use dyno_lab::Experiment;

const SCHEMA: &str = include_str!("../../../docs/schema/experiment.json");

fn examples() -> Vec<(String, String)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/experiments");
    let files = std::fs::read_dir(folder)
        .unwrap()
        .map(|file| file.unwrap().path());
    let mut all: Vec<_> = files
        .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
        .map(|path| {
            (
                path.display().to_string(),
                std::fs::read_to_string(&path).unwrap(),
            )
        })
        .collect();
    all.sort();
    assert_eq!(all.len(), 6);
    all
}

#[test]
fn examples_are_read_whole_and_small() {
    let counts = examples().into_iter().map(|(name, text)| {
        let count = |scale| match Experiment::parse(&name, &text, scale) {
            Ok(experiment) => experiment.cells().len(),
            Err(why) => panic!("{scale:?}: {why}"),
        };
        (count(None), count(Some("laptop")))
    });
    let counts: Vec<_> = counts.collect();
    assert_eq!(
        counts,
        [(30, 8), (22, 4), (14, 3), (4, 2), (120, 4), (140, 12)]
    );
}

fn json(value: &toml::Value) -> serde_json::Value {
    match value {
        toml::Value::Datetime(date) => date.to_string().into(),
        toml::Value::Array(list) => list.iter().map(json).collect(),
        toml::Value::Table(table) => {
            let entries = table.iter().map(|(key, value)| (key.clone(), json(value)));
            serde_json::Value::Object(entries.collect())
        }
        other => serde_json::to_value(other).unwrap(),
    }
}

#[test]
fn examples_are_valid_by_the_schema() {
    let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    for (name, text) in examples() {
        let value = json(&toml::Value::Table(text.parse().unwrap()));
        let wrong: Vec<String> = validator
            .iter_errors(&value)
            .map(|e| e.to_string())
            .collect();
        assert!(wrong.is_empty(), "{name}: {wrong:#?}");
    }
    assert!(!validator.is_valid(&serde_json::json!({"experiment": 1, "question": "?", "x": 1})));
}

const BASE: &str = r#"experiment = 1
question = "?"
[server]
kind = "mysql"
[server.set]
sync_binlog = 1
[load]
workload = "tpcc"
time = "10s"
[[factor]]
name = "memory"
applies = "start"
setting = "innodb_buffer_pool_size"
levels = ["1G", "2G"]
[[factor]]
name = "sessions"
applies = "client"
levels = [1, 8, 64]
[design]
cross = ["memory", "sessions"]
"#;

/// Replacements in the base text; each makes it invalid.
const WRONG: [(&str, &str); 33] = [
    ("[design]", "[agents]\nhosts = [\"local2\"]\n[design]"),
    (
        "[design]",
        "[agents]\nhosts = [\"local:2\"]\non_loss = \"carry\"\n[design]",
    ),
    ("experiment = 1", "experiment = 2"),
    ("experiment = 1", "experiment = \"one\""),
    ("question = \"?\"\n", ""),
    ("question = \"?\"", "question = ?"),
    ("question = \"?\"", "question = \"?\"\nquestions = 1"),
    ("[load]", "[loads]"),
    ("kind = \"mysql\"", "knid = \"mysql\""),
    ("kind = \"mysql\"", "kind = 8"),
    ("kind = \"mysql\"", "kind = \"mysql\"\nurl = \"mysql://h/\""),
    (
        "kind = \"mysql\"",
        "kind = \"mysql\"\ntopology = \"galerra\"",
    ),
    ("sync_binlog = 1", "sync_binlog = [1]"),
    ("time = \"10s\"", "time = \"10 sec\""),
    ("time = \"10s\"", "time = true"),
    ("time = \"10s\"", "rate = \"fast\""),
    ("time = \"10s\"", "claim = \"in-memry\""),
    ("applies = \"client\"", "applies = \"clients\""),
    ("name = \"sessions\"", "name = \"memory\""),
    ("setting = \"innodb_buffer_pool_size\"\n", ""),
    ("[\"1G\", \"2G\"]", "[]"),
    ("[\"1G\", \"2G\"]", "[\"1G\", \"1G\"]"),
    ("[\"1G\", \"2G\"]", "[\"1G\", \"2,G\"]"),
    ("[\"1G\", \"2G\"]", "[{ name = \"a\", sett = { x = 1 } }]"),
    (
        "[\"1G\", \"2G\"]",
        "[{ name = \"a\", like = \"b\" }, { name = \"b\", like = \"a\" }]",
    ),
    (
        "[\"1G\", \"2G\"]",
        "[{ name = \"base\" }, { name = \"b\", like = \"bse\" }]",
    ),
    ("cross = [\"memory\"", "cross = [\"memroy\""),
    ("[design]", "[design]\npair = \"sessions\"\nrepeats = 0"),
    ("[design]", "[design]\nnest = [\"sessions\"]"),
    (
        "[design]",
        "[design]\nbaseline = { memory = \"3G\", session = 1 }",
    ),
    ("[design]", "[design]\norder = \"randon\""),
    (
        "levels = [1, 8, 64]",
        "levels = [1]\nset_by = { memry = { a = { x = 1 } } }",
    ),
    (
        "levels = [1, 8, 64]",
        "levels = [1]\nset_by = { memory = { 3G = { x = 1 } } }",
    ),
];

#[test]
fn reports_mistakes_with_their_positions() {
    Experiment::parse("base.toml", BASE, None).unwrap();
    let mut messages = String::new();
    for (there, instead) in WRONG {
        let text = BASE.replacen(there, instead, 1);
        assert_ne!(text, BASE, "{there}");
        let error = Experiment::parse("x.toml", &text, None).expect_err(instead);
        messages.push_str(&format!("# {instead:?}\n{error}\n\n"));
    }
    let twice = BASE.replace(
        "levels = [1, 8, 64]",
        "setting = \"innodb_buffer_pool_size\"\nlevels = [1]",
    );
    let twice = twice.replace("\"client\"", "\"start\"");
    for (text, scale) in [(twice.as_str(), None), (BASE, Some("laptop"))] {
        let error = Experiment::parse("x.toml", text, scale).unwrap_err();
        messages.push_str(&format!("# {scale:?}\n{error}\n\n"));
    }
    insta::assert_snapshot!(messages);
}

#[test]
fn numbers_keep_their_text() {
    let text = BASE.replace("[1, 8, 64]", "[1.50, 8]");
    // The `sessions` factor takes only whole numbers.
    let text = text.replace("\"sessions\"", "\"range_size\"");
    let experiment = Experiment::parse("x", &text, None).unwrap();
    let cells = experiment.cells();
    assert_eq!(cells[0].levels["range_size"], "1.50");
}

#[test]
fn bundles_are_resolved() {
    let (name, text) = &examples()[2];
    let experiment = Experiment::parse(name, text, None).unwrap();
    let set = |level: &str| {
        let cells = experiment.cells();
        let cell = cells
            .into_iter()
            .find(|cell| cell.levels["config"] == level);
        let effective = cell.unwrap().effective;
        let of = effective
            .server
            .set
            .iter()
            .map(|(key, value)| format!("{key}={value}"));
        (
            effective.server.kind.unwrap_or_default(),
            of.collect::<Vec<_>>().join(" "),
        )
    };
    let both = set("a22").1;
    assert!(both.contains("innodb_page_cleaners=8 "), "{both}");
    assert!(both.contains("innodb_max_purge_lag=200000 "), "{both}");
    let (kind, mariadb) = set("mariadb-11.4");
    assert_eq!(kind, "mariadb-11.4");
    let expected = "innodb_buffer_pool_size=80G innodb_io_capacity=10000 innodb_log_file_size=50G";
    assert_eq!(mariadb, expected);
    assert_eq!(set("pg18").1, "max_wal_size=50G shared_buffers=70G");
}

#[test]
fn settings_that_factors_change_or_imply_are_listed() {
    let (name, text) = &examples()[0];
    assert!(text.contains("implies = [\"log_replica_updates\", \"relay_log_*\"]"));
    let experiment = Experiment::parse(name, text, None).unwrap();
    let expected = [
        "innodb_buffer_pool_size",
        "log_bin",
        "log_replica_updates",
        "relay_log_",
        "sync_binlog",
    ];
    assert_eq!(experiment.varied(), expected);
}
