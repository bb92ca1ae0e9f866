use tempfile::TempDir;

use super::*;

fn trial(identity: &str) -> TrialRow {
    TrialRow {
        identity: identity.to_owned(),
        label: format!("memory=1G, repeat {identity}"),
        levels: Factors::from([("memory".to_owned(), "1G".to_owned())]),
        block: 0,
        repeat: 1,
        role: "repeat".to_owned(),
        made_of: serde_json::json!({"effective": {"server": {"kind": "mysql"}}}),
    }
}

fn head() -> ExperimentHead {
    ExperimentHead {
        name: "binlog".to_owned(),
        file: "binlog.toml".to_owned(),
        scale: Some("laptop".to_owned()),
        question: "What does it cost?".to_owned(),
        cite: String::new(),
        definition: "experiment = 1".to_owned(),
    }
}

#[test]
fn an_experiment_is_read_as_it_was_kept_and_replaced_by_a_later_plan() {
    let folder = TempDir::new().unwrap();
    let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
    let id = results
        .keep_experiment(&head(), &[trial("b"), trial("a")])
        .unwrap();
    let kept = results.experiment("binlog").unwrap().unwrap();
    assert_eq!(kept.id, id);
    assert_eq!(kept.head, head());
    assert_eq!(kept.trials, [trial("b"), trial("a")]);
    assert_eq!(results.keep_experiment(&head(), &[trial("c")]).unwrap(), id);
    let kept = results.experiment("binlog").unwrap().unwrap();
    assert_eq!(kept.trials, [trial("c")]);
    assert_eq!(results.experiment("other").unwrap(), None);
    assert_eq!(results.experiments().unwrap(), ["binlog"]);
}

#[test]
fn an_attempt_is_this_processs_until_it_ends() {
    let folder = TempDir::new().unwrap();
    let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
    let id = results.keep_experiment(&head(), &[trial("a")]).unwrap();
    let state = |results: &Results| results.trial_states(&["a"]).unwrap()["a"].clone();
    assert_eq!(state(&results).tried, Tried::Not);
    let attempt = results.begin_attempt(id, "a").unwrap();
    assert_eq!(state(&results).tried, Tried::Begun);
    assert_eq!(
        results.who_runs(id).unwrap(),
        Some(i64::from(std::process::id()))
    );
    let why = AttemptEnd::Failed("the server did not start".to_owned());
    let captured = Captured {
        bytes: 1_048_577,
        length_s: 2.5,
        statements: None,
        executed: Some(17),
    };
    let before = [
        Step::Text("page cache dropped".to_owned()),
        Step::NotReadBack {
            not_read_back: "port".to_owned(),
        },
        Step::Captured { captured },
    ];
    results.end_attempt(attempt, &why, &before).unwrap();
    let failed = state(&results);
    assert_eq!(
        failed.tried,
        Tried::Failed("the server did not start".to_owned())
    );
    assert_eq!((failed.attempts, &failed.done_before[..]), (1, &before[..]));
    assert_eq!(results.who_runs(id).unwrap(), None);
    // An attempt that ended as done does not count without a run: its runs were removed.
    let attempt = results.begin_attempt(id, "a").unwrap();
    results
        .end_attempt(attempt, &AttemptEnd::Done, &[])
        .unwrap();
    assert_eq!(state(&results).tried, Tried::Begun);
}

/// Inserts a run with this identity directly into the table.
fn run(results: &Results, name: &str, trial: &str, phase: Option<(&str, u32, u32)>) -> i64 {
    let head = match phase {
        None => serde_json::json!({}),
        Some((sequence, number, of)) => serde_json::json!({
            "phase": {"sequence": sequence, "number": number, "of": of}
        }),
    };
    results
        .connection
        .query_row(
            "INSERT INTO run (name, state, verdict, source, profile, tool, created_unix_s,
                 workload, command, target_url, product, server_version, note, events, head, trial)
             VALUES (?1, 'completed', 'doubtful', 'dyno', 'standard', 'dyno', 0, 'w', 'run', '',
                 '', '', '', 5, ?2, ?3)
             RETURNING id",
            (name, head.to_string(), trial),
            |row| row.get(0),
        )
        .unwrap()
}

#[test]
fn a_trial_is_done_when_all_its_runs_are() {
    let folder = TempDir::new().unwrap();
    let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
    results.keep_experiment(&head(), &[trial("a")]).unwrap();
    let tried =
        |results: &Results, of: &str| results.trial_states(&[of]).unwrap()[of].tried.clone();
    let done = |runs: &[i64]| Tried::Done {
        runs: runs.to_vec(),
        verdict: Some(dyno_core::finding::Verdict::Doubtful),
    };
    let one = run(&results, "one", "a", None);
    assert_eq!(tried(&results, "a"), done(&[one]));
    // The first sequence was killed in its second phase.
    run(&results, "p1", "b", Some(("s", 1, 2)));
    assert_eq!(tried(&results, "b"), Tried::Not);
    let first = run(&results, "p2", "b", Some(("t", 1, 2)));
    let second = run(&results, "p3", "b", Some(("t", 2, 2)));
    assert_eq!(tried(&results, "b"), done(&[first, second]));
    // A run that has no end or no events is not a trial.
    let bad = run(&results, "bad", "c", None);
    for change in ["state = 'running'", "state = 'completed', events = 0"] {
        let sql = format!("UPDATE run SET {change} WHERE id = {bad}");
        results.connection.execute(&sql, []).unwrap();
        assert_eq!(tried(&results, "c"), Tried::Not, "{change}");
    }
}

/// Checks that a file contains none of these texts.
fn lacks(path: &std::path::Path, texts: &[&str]) {
    let bytes = std::fs::read(path).unwrap();
    for text in texts {
        let mut parts = bytes.windows(text.len());
        assert!(!parts.any(|part| part == text.as_bytes()), "{text}");
    }
}

#[test]
fn a_copy_of_one_experiment_contains_no_other_runs() {
    let folder = TempDir::new().unwrap();
    let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
    let named = |name: &str| ExperimentHead {
        name: name.to_owned(),
        ..head()
    };
    let id = results
        .keep_experiment(&head(), &[trial("a"), trial("b")])
        .unwrap();
    let other = results
        .keep_experiment(&named("foreign-experiment"), &[trial("b"), trial("c")])
        .unwrap();
    let own = run(&results, "own-run", "a", None);
    let shared = run(&results, "shared-run", "b", None);
    run(&results, "foreign-run", "c", None);
    let single = run(&results, "single-run", "d", None);
    let sql = "UPDATE run SET trial = NULL WHERE id = ?1";
    results.connection.execute(sql, [single]).unwrap();
    // The other experiment ran the trial that they have in common.
    for (experiment, trial) in [(id, "a"), (other, "b"), (other, "c")] {
        let attempt = results.begin_attempt(experiment, trial).unwrap();
        results
            .end_attempt(attempt, &AttemptEnd::Done, &[])
            .unwrap();
    }
    let new = ExperimentHead {
        file: "experiment.toml".to_owned(),
        definition: "experiment = 1 # ***".to_owned(),
        ..head()
    };
    let into = folder.path().join("copy.db");
    assert_eq!(results.extract(&new, &into).unwrap(), 2);
    lacks(
        &into,
        &[
            "foreign-experiment",
            "foreign-run",
            "single-run",
            "repeat c",
        ],
    );
    assert!(!folder.path().join("copy.db-wal").exists());

    let copy = Results::open_read(&into).unwrap();
    assert_eq!(copy.experiments().unwrap(), ["binlog"]);
    let kept = copy.experiment("binlog").unwrap().unwrap();
    assert_eq!((&kept.head, kept.trials.len()), (&new, 2));
    let states = copy.trial_states(&["a", "b", "c"]).unwrap();
    for (trial, run) in [("a", own), ("b", shared)] {
        let state = &states[trial];
        assert_eq!(state.attempts, 1);
        assert!(
            matches!(&state.tried, Tried::Done { runs, .. } if *runs == [run]),
            "{state:?}"
        );
    }
    assert_eq!((states["c"].attempts, &states["c"].tried), (0, &Tried::Not));
    // The original file is unchanged, and an existing file is not replaced.
    assert_eq!(results.experiments().unwrap().len(), 2);
    assert!(results.extract(&new, &into).is_err());
    assert!(
        results
            .extract(&named("missing"), &folder.path().join("x.db"))
            .is_err()
    );
}

#[test]
fn a_completed_run_of_a_failed_trial_does_not_count() {
    let folder = TempDir::new().unwrap();
    let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
    let id = results.keep_experiment(&head(), &[trial("a")]).unwrap();
    let attempt = results.begin_attempt(id, "a").unwrap();
    let kept = run(&results, "without-its-server", "a", None);
    let failed = AttemptEnd::Failed("sessions had lost their connections".to_owned());
    results.end_attempt(attempt, &failed, &[]).unwrap();
    let tried = |results: &Results| results.trial_states(&["a"]).unwrap()["a"].tried.clone();
    assert!(matches!(tried(&results), Tried::Failed(_)));
    let attempt = results.begin_attempt(id, "a").unwrap();
    let again = run(&results, "again", "a", None);
    results
        .end_attempt(attempt, &AttemptEnd::Done, &[])
        .unwrap();
    assert!(
        matches!(tried(&results), Tried::Done { runs, .. } if runs == [again] && again != kept)
    );
}

#[test]
fn a_side_of_a_duet_has_the_duets_verdict() {
    use dyno_core::catalogue::names::DUET_VERDICT;
    use dyno_core::finding::Verdict;
    use dyno_core::record::Fact;
    let folder = TempDir::new().unwrap();
    let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
    results.keep_experiment(&head(), &[trial("a")]).unwrap();
    let one = run(&results, "one", "a", None);
    assert_eq!(results.fact(one, DUET_VERDICT).unwrap(), None);
    let fact = Fact::new(DUET_VERDICT, "valid".to_owned(), "dyno duet");
    results.add_facts(&[one], &[fact]).unwrap();
    let state = results.trial_states(&["a"]).unwrap()["a"].tried.clone();
    let verdict = Some(Verdict::Valid);
    assert_eq!(
        state,
        Tried::Done {
            runs: vec![one],
            verdict
        }
    );
    let kept = results.fact(one, DUET_VERDICT).unwrap();
    assert_eq!(kept.as_deref(), Some("valid"));
}
