//! `fileio` driven by workers on real files.
#![allow(clippy::unwrap_used)] // all of this is test, including the helper functions

use std::path::Path;
use std::sync::Arc;

use dyno_core::plan::{Drive, OptionValue, RandPlan};
use dyno_core::session::Entry;
use dyno_core::summary::RunEnd;
use dyno_host::{Edition, Kind, Plan, Program, Setting};
use dyno_load::{Run, RunConfig, RunOutcome, StopSignal};

/// The test with these options and defaults for the rest.
fn plan(folder: &Path, options: &[(&str, &str)]) -> Result<Plan, String> {
    let test = dyno_host::find("fileio").unwrap();
    let folder = folder.display().to_string();
    let small = [
        ("file-num", "3"),
        ("file-async-backlog", "8"),
        ("file-block-size", "4096"),
        ("file-total-size", "491520"),
        ("file-directory", &folder),
    ];
    let value = |definition: &dyno_host::Definition| {
        let given = options.iter().chain(&small);
        let mut given = given.filter(|(name, _)| *name == definition.name);
        let text = given.next().map_or(definition.default, |(_, text)| text);
        match definition.kind {
            Kind::Bool => OptionValue::Bool(text == "on"),
            Kind::Size if text == "2G" => OptionValue::Number(2e9),
            Kind::Int | Kind::Double | Kind::Size => OptionValue::Number(text.parse().unwrap()),
            Kind::Text => OptionValue::Text(text.to_owned()),
            Kind::List => OptionValue::List(text.split(',').map(str::to_owned).collect()),
        }
    };
    let options: Vec<_> = test
        .options
        .iter()
        .map(|definition| (definition.name.replace('-', "_"), value(definition)))
        .collect();
    let setting = Setting {
        edition: Edition::Dyno,
        sessions: SESSIONS,
        seed: 7,
        rand: RandPlan::default(),
    };
    Plan::new(test, &options, &setting)
}

const SESSIONS: u32 = 2;

fn prepare(plan: &Plan) {
    plan.command("prepare", &mut |_| {}, &|| false).unwrap();
}

fn run(plan: Plan, events: u64) -> RunOutcome {
    plan.ready().unwrap();
    let config = RunConfig {
        drive: Drive {
            sessions: SESSIONS,
            workers: SESSIONS,
            time: None,
            events: Some(events),
            ..Drive::default()
        },
        connector: None,
        stop: StopSignal::new(),
        entry: Entry::Run,
        operations: 3,
        gate: None,
        shapes: None,
        duet: None,
    };
    let shared = Arc::new(plan.share(SESSIONS).unwrap());
    let plan = Arc::new(plan);
    let factory = move |_| Ok(Program::new(Arc::clone(&plan), Arc::clone(&shared)));
    Run::start(config, factory, |_| {}).unwrap()
}

fn done(outcome: &RunOutcome) -> [u64; 3] {
    [0, 1, 2].map(|number| outcome.totals.operations[number].counters.done)
}

const ENGINES: [&str; 4] = ["sync", "mmap", "libaio", "io_uring"];

#[test]
fn every_mode_reads_and_writes_as_named_with_every_engine() {
    for engine in ENGINES {
        for (mode, reads, writes) in [
            ("seqwr", false, true),
            ("seqrewr", false, true),
            ("seqrd", true, false),
            ("rndrd", true, false),
            ("rndwr", false, true),
            ("rndrw", true, true),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let plan = |mode| {
                let options = [
                    ("file-test-mode", mode),
                    ("file-io-mode", engine),
                    ("validate", "on"),
                ];
                plan(folder.path(), &options).unwrap()
            };
            prepare(&plan("rndrd"));
            let outcome = run(plan(mode), 500);
            assert_eq!(outcome.end, RunEnd::Completed, "{engine} {mode}");
            let [read, written, flushed] = done(&outcome);
            let counters = outcome.totals.counters;
            assert_eq!(counters.events, 500, "{engine} {mode}");
            assert_eq!(read + written + flushed, 500, "{engine} {mode}");
            assert_eq!((read > 0, written > 0), (reads, writes), "{engine} {mode}");
            assert_eq!(counters.bytes_in, read * 4096, "{engine} {mode}");
            assert_eq!(counters.bytes_out, written * 4096, "{engine} {mode}");
            assert_eq!(flushed > 0, writes, "{engine} {mode}");
            if writes {
                // A reader then finds the written data, block by block.
                let outcome = run(plan("seqrd"), 120);
                assert_eq!(outcome.end, RunEnd::Completed, "{engine} {mode}");
            }
        }
    }
}

#[test]
fn a_flush_can_follow_each_write() {
    let folder = tempfile::tempdir().unwrap();
    let options = [("file-test-mode", "rndwr"), ("file-fsync-all", "on")];
    let plan = plan(folder.path(), &options).unwrap();
    prepare(&plan);
    let outcome = run(plan, 40);
    assert_eq!(outcome.totals.counters.events, 40);
    assert_eq!(done(&outcome), [0, 40, 40]);
}

#[test]
fn a_changed_byte_is_found() {
    for engine in ENGINES {
        let folder = tempfile::tempdir().unwrap();
        let options = [
            ("file-test-mode", "seqrd"),
            ("file-io-mode", engine),
            ("validate", "on"),
        ];
        let plan = plan(folder.path(), &options).unwrap();
        prepare(&plan);
        let path = folder.path().join("test_file.1");
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[9000] ^= 1;
        std::fs::write(&path, bytes).unwrap();
        let outcome = run(plan, 1000);
        let RunEnd::Failed(why) = &outcome.end else {
            panic!("{engine}: {:?}", outcome.end);
        };
        assert!(why.contains("test_file.1 at byte 8192"), "{engine}: {why}");
    }
}

#[test]
fn files_are_made_extended_reused_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let plan = plan(folder.path(), &[]).unwrap();
    let size = |number: u32| {
        let path = folder.path().join(format!("test_file.{number}"));
        std::fs::metadata(path).unwrap().len()
    };
    prepare(&plan);
    assert_eq!([0, 1, 2].map(size), [163_840; 3]);
    let first = folder.path().join("test_file.0");
    let before = std::fs::read(&first).unwrap();
    assert!(
        before
            .chunks(512)
            .all(|part| part.iter().any(|byte| *byte != 0))
    );
    std::fs::write(folder.path().join("test_file.1"), [1; 5000]).unwrap();
    let mut progress = Vec::new();
    plan.command("prepare", &mut |one| progress.push(one), &|| false)
        .unwrap();
    use dyno_host::fileio::Progress;
    assert_eq!(
        progress,
        [
            Progress::Begin,
            Progress::File("Reusing existing file", 0),
            Progress::File("Extending existing file", 1),
            Progress::File("Reusing existing file", 2),
            Progress::Written(163_840 - 4096),
        ]
    );
    assert_eq!(std::fs::read(&first).unwrap(), before);
    assert_eq!(size(1), 163_840);
    plan.command("cleanup", &mut |_| {}, &|| false).unwrap();
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn reports_missing_options_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let test = |options: &[(&str, &str)]| plan(folder.path(), options);
    let ready =
        |options: &[(&str, &str)]| test(options)?.ready().map_err(|error| error.to_string());
    let needs_prepare = |options: &[(&str, &str)]| {
        let error = test(options).unwrap().ready().unwrap_err();
        error.needs_prepare
    };
    let rndrd = ("file-test-mode", "rndrd");
    let missing = ready(&[]).unwrap_err();
    assert!(!needs_prepare(&[]) && needs_prepare(&[rndrd]));
    assert_eq!(missing, "Missing required argument: --file-test-mode");
    let missing = ready(&[rndrd]).unwrap_err();
    assert!(
        missing.contains("test_file.0") && missing.contains("prepare"),
        "{missing}"
    );
    std::fs::write(folder.path().join("test_file.0"), [0; 2048]).unwrap();
    let short = ready(&[rndrd]).unwrap_err();
    let says = "is 2KiB, but at least 160KiB is expected";
    assert!(short.contains(says), "{short}");
    assert!(needs_prepare(&[rndrd]));
    for (name, value, says) in [
        ("file-test-mode", "rnd", "'rnd' is not one of"),
        ("file-extra-flags", "sync,fast", "'fast' is not one of"),
        ("file-total-size", "5000", "less than one block"),
        ("file-num", "0", "at least 1"),
    ] {
        let error = ready(&[(name, value)]).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
    let odd = [("file-extra-flags", "direct"), ("file-block-size", "1000")];
    assert!(ready(&odd).unwrap_err().contains("multiple of 512"));
}
