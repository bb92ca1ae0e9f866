//! The published JSON schema of experiment files.

use super::Experiment;

const SCHEMA: &str = include_str!("../../../../docs/schema/experiment.json");

#[test]
fn the_published_schema_is_that_of_the_type() {
    let mut schema = serde_json::to_value(schemars::schema_for!(Experiment)).unwrap();
    schema["$id"] = "https://dyno.invalid/schema/experiment.json".into();
    schema["title"] = "Dyno's file of an experiment".into();
    let text = format!("{schema:#}\n");
    if std::env::var_os("DYNO_WRITE_SCHEMA").is_some() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/schema/experiment.json"
        );
        std::fs::write(path, &text).unwrap();
        return;
    }
    assert!(
        text == SCHEMA,
        "docs/schema/experiment.json is not that of dyno_lab::Experiment"
    );
}
