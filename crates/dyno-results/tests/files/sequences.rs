//! Finds the runs that are the phases of a sequence.

use crate::common::head;
use dyno_core::record::RunState;
use dyno_results::{BackgroundWriter, Results};
use dyno_samples::{assert_has, values};

#[test]
fn a_sequence_is_found_by_its_name_and_by_any_of_its_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("dyno.db");
    let phases = [
        ("one", Some("20261121-alpha-1")),
        ("two", Some("20261121-alpha-1")),
        ("alone", None),
        ("three", Some("20261121-beta-2")),
        ("four", Some("20261121-alpha-1")),
    ];
    for (name, sequence) in phases {
        let mut head = head(name);
        head.phase = sequence.map(|sequence| values::phase(sequence, name));
        BackgroundWriter::start(&path, &head)
            .unwrap()
            .abandon(RunState::Failed, "made up")
            .unwrap();
    }
    let results = Results::open_read(&path).unwrap();
    let of = |wanted: &str| results.sequence(wanted).map_err(|error| error.to_string());
    for wanted in ["20261121-alpha-1", "20261121-a", "one", "2", "5", "last"] {
        assert_eq!(of(wanted), Ok(vec![1, 2, 5]), "{wanted}");
    }
    assert_eq!(of("three"), Ok(vec![4]));
    let error = |wanted: &str| of(wanted).unwrap_err();
    assert_has(&error("alone"), "not a phase of a sequence");
    assert_has(&error("20261121"), "20261121-beta-2");
    assert_has(&error("gone"), "no run `gone`");
}
