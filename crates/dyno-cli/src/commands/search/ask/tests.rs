//! Command lines of searches.

use super::*;

fn read(args: &[&str]) -> Result<Option<SearchCommand>> {
    let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
    SearchCommand::read("dyno", &args)
}

const T: &str = "--target=sqlite:t.db";

#[test]
fn accepts_the_promise_anywhere_but_in_a_value() {
    for args in [
        &["oltp_point_select", "p99 < 10ms", T, "--note", "a < b"][..],
        &["p99 < 10ms", "oltp_point_select", "--note=p95 < 1s", T],
        &[
            T,
            "oltp_point_select",
            "--skip-trx",
            "p99 < 10ms",
            "--note",
            "p50 < 1ms",
        ],
        &[
            "oltp_point_select",
            "--tables",
            "4",
            T,
            "p99 < 10ms",
            "--create-table-options",
            "a < b",
        ],
    ] {
        let ask = read(args).unwrap().unwrap().ask;
        assert_eq!(ask.terms.promise.to_string(), "p99 < 10 ms", "{args:?}");
        assert_eq!(ask.base.plan.workload, "oltp_point_select");
        let note = args.iter().position(|arg| arg.contains("note"));
        assert_eq!(ask.base.plan.record.note.is_empty(), note.is_none());
    }
}

#[test]
fn gives_runs_their_options_only() {
    let args = [
        "oltp_point_select",
        "--from",
        "500/s",
        T,
        "p99 < 10ms",
        "--votes=3",
        "--thorough",
        "-q",
        "--json=f.json",
        "--table-size",
        "10",
        "--width",
        "5%",
        "-c",
        "8",
    ];
    let ask = read(&args).unwrap().unwrap().ask;
    let own = args.map(str::to_owned);
    let (_, rest) = without_promise(&own, &known()).unwrap();
    let expected = ["oltp_point_select", T, "--table-size", "10", "-c", "8"];
    assert_eq!(of_runs(&rest), expected);
    assert_eq!(ask.base.plan.drive.sessions, 8);
    let terms = ask.terms;
    assert_eq!(
        (terms.from, terms.votes, terms.sessions),
        (Some(500.0), 3, 8)
    );
    assert_eq!(terms.goal.trial_duration, Duration::from_secs(60));
    assert_eq!(terms.goal.duration_sum, Duration::from_secs(180));
    assert_eq!(terms.goal.width, 0.05);
}

#[test]
fn defaults_match_the_guide() {
    let terms = |target: &str, promise: &str| {
        let search = read(&["oltp_point_select", target, promise]).unwrap();
        search.unwrap().ask.terms
    };
    let embedded = terms(T, "p95 < 10ms");
    assert_eq!(
        (embedded.votes, embedded.settle, embedded.sessions),
        (7, Duration::from_secs(3), dyno_run::cores())
    );
    assert_eq!(
        (embedded.goal.width, embedded.goal.trial_duration),
        (0.05, Duration::from_secs(10))
    );
    assert!(embedded.from.is_none());
    let remote = terms("--target=mysql://root@db/bench", "p99 < 10ms");
    assert_eq!((remote.sessions, remote.goal.width), (64, 0.02));
    let named = [
        "oltp_point_select",
        T,
        "p99 < 1ms",
        "--factor",
        "search=mine",
    ];
    assert_eq!(read(&named).unwrap().unwrap().ask.name, "mine");
}

#[test]
fn rejects_invalid_searches_before_anything_runs() {
    for (args, why) in [
        ("", "dyno search needs a promise, in quotes"),
        ("p99", "'p99' is not a promise: 'p99' has no '<'"),
        ("p99>10ms", "is a lower limit"),
        ("p99<1ms p95<1ms", "are two promises"),
        (
            "p99<1ms --rate 5",
            "--rate does not apply to a search: --from",
        ),
        ("p99<1ms --width 0.5%", "1 % of the events to be late"),
        ("p99<1ms --width no", "is not a share such as 1%"),
        ("p99<1ms --votes 0", "--votes must be between"),
        ("p99<1ms --time 0", "must be above 0"),
        ("p99<1ms --from 0", "--from must be above 0"),
        ("p99<1ms --sessions 0", "0 is not between 1 and"),
        (
            "p99<1ms --factor offered=1",
            "the search itself sets offered",
        ),
    ] {
        let words = args.split_whitespace();
        let args: Vec<&str> = [T, "oltp_point_select"].into_iter().chain(words).collect();
        refused(&args, why);
    }
    refused(&[T, "p99 < 10ms"], "dyno search needs a workload");
    refused(&[T, "no_such_workload", "p99 < 1ms"], "no_such_workload");
    let sessions = "max sessions with p99 < 1ms";
    refused(
        &[T, "oltp_point_select", sessions, "-c", "4"],
        "--sessions does not apply to 'max sessions'",
    );
    let two = "p99 < 1ms and p50 < 1ms";
    refused(
        &[T, "oltp_point_select", two, "--results", "none"],
        "name a --results file",
    );
    assert!(read(&["--help"]).unwrap().is_none());
}

fn refused(args: &[&str], why: &str) {
    let error = read(args).err().unwrap();
    let run = error.downcast_ref::<dyno_run::RunError>();
    assert!(run.is_some_and(dyno_run::RunError::is_usage), "{error}");
    assert!(error.to_string().contains(why), "{error}");
}
