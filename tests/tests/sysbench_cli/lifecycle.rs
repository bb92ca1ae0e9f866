//! The script functions that run before and after the events.

use dyno_tests::{Database, Kind, dyno};

use super::{assert_matches, body, figure, ours, ours_on, script, theirs, theirs_on};

const ORACLES: [Kind; 2] = [Kind::Mariadb, Kind::Postgres];

#[test]
fn states_can_query_anywhere() {
    for kind in ORACLES {
        let database = Database::new(kind);
        let line = "queries_anywhere --threads=2 --time=2 --report-interval=1 run";
        for output in [ours_on(&database, line), theirs_on(&database, line)] {
            let text = output.success().stdout;
            // Once each in the main state, in the report's state and in both threads. sysbench's
            // threads print into one another's lines.
            assert_eq!(text.matches("top").count(), 4, "{kind}\n{text}");
            assert!(text.contains("line\t3\t2\n"), "{kind}\n{text}");
            assert!(text.ends_with("end\t4\t0\ndone\t5\n"), "{kind}\n{text}");
        }
    }
}

#[test]
fn a_top_level_may_query_without_a_command() {
    let database = Database::new(Kind::Mariadb);
    for output in [
        ours_on(&database, "queries_anywhere"),
        theirs_on(&database, "queries_anywhere"),
    ] {
        assert_eq!(body(&output.success()), "top\t1\n");
    }
}

#[test]
fn a_failing_end_function_does_not_stop_the_others() {
    let line = "fails_at_the_end --threads=2 --events=4 --time=0 run";
    // sysbench exits with status 0, so only its log shows the failure.
    for output in [ours(line).failure(1), theirs(line).success()] {
        let text = &output.stdout;
        for function in ["thread_done", "report_cumulative", "done"] {
            let expected = format!("FATAL: `{function}' function failed: ");
            assert!(text.contains(&expected), "{function}\n{text}");
        }
        assert!(text.contains("\ndone\n"), "{text}");
    }
}

#[test]
fn a_host_without_address_is_an_error_of_connecting() {
    let line = "catches_connect --mysql-host=absent.invalid --events=1 --time=0 run";
    for output in [ours(line), theirs(line)] {
        let text = output.success().stdout;
        assert!(text.contains("caught\tfalse\n"), "{text}");
        assert_eq!(figure(&text, "total number of events:"), 1.0, "{text}");
    }
}

#[test]
fn a_run_without_events_has_a_duration() {
    let text = ours("long_event --warmup-time=1 --time=1 run")
        .success()
        .stdout;
    assert_eq!(figure(&text, "total number of events:"), 0.0, "{text}");
    let total = figure(&text, "total time:");
    assert!((0.9..10.0).contains(&total), "{text}");
}

#[test]
fn version_output_can_be_parsed() {
    for (style, version) in [("1.0", r"1\.0\.20"), ("1.1", r"1\.1\.0(-[a-f0-9]+)?")] {
        let style = format!("--report-style={style}");
        let text = dyno(["sysbench", &style, "--version"]).success().stdout;
        assert_matches(&text, &format!("sysbench {version}\n"));
        let line = [script("no_such_event"), style];
        let text = dyno(["sysbench".to_owned()].into_iter().chain(line)).failure(1);
        let first = text.stdout.lines().next().unwrap_or_default().to_owned();
        assert_matches(&first, &format!(r"sysbench {version} \(using .*\)"));
    }
}

#[test]
fn sessions_own_coroutines_cannot_yield() {
    for output in [ours("yields run"), theirs("yields run")] {
        let text = output.failure(1).stdout;
        let expected = "attempt to yield across C-call boundary";
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn malformed_options_are_refused() {
    for name in ["options_text", "options_kind", "options_bare"] {
        for output in [
            ours(&format!("{name} help")),
            theirs(&format!("{name} help")),
        ] {
            output.failure(1);
        }
    }
}
