use super::*;
use proptest::prelude::*;

const OLD: &str = "\
$ pgbench -c 2 -T 3 bench
starting vacuum...end.
progress: 1.0 s, 85.0 tps, lat 11.013 ms stddev 0.5
transaction type: TPC-B (sort of)
scaling factor: 1
query mode: prepared
number of clients: 2
number of threads: 1
duration: 3 s
number of transactions actually processed: 255
latency average: 11.013 ms
tps = 85.184871 (including connections establishing)
tps = 85.296346 (excluding connections establishing)
$ pgbench -c 4 -T 3 bench
transaction type: TPC-B (sort of)
number of clients: 4
number of transactions actually processed: 300/300
tps = 100.5 (without initial connection time)
";

#[test]
fn runs_follow_each_other() {
    let runs = read("out", OLD);
    assert_eq!(runs.len(), 2);
    assert_eq!(runs[0].tps, Some(85.296346));
    assert_eq!(runs[0].latency_ms, Some(11.013));
    assert_eq!(runs[0].points[0].stddev_ms, Some(0.5));
    assert_eq!(runs[0].argv[..3], ["pgbench", "-c", "2"]);
    assert_eq!((runs[1].clients, runs[1].processed), (Some(4), Some(300)));
    assert_eq!(runs[1].line, 15);
    assert!(runs[1].is_whole());
}

#[test]
fn a_query_mode_without_its_end_is_left_out() {
    let found = |line: &str| {
        let begin = "progress: 1.0 s, 85.0 tps, lat 11.013 ms stddev 0.5\nscaling factor: 1\n";
        let runs = read("out", &format!("{begin}{line}"));
        let said: Vec<String> = runs[0].said.iter().map(|(_, text)| text.clone()).collect();
        (runs[0].protocol.clone(), said.join("; "))
    };
    for mode in ["simple", "extended", "prepared"] {
        for end in ["", "\n"] {
            let whole = (Some(mode.to_owned()), String::new());
            assert_eq!(found(&format!("query mode: {mode}{end}")), whole);
        }
    }
    for line in ["query mode: simp", "query mode:"] {
        let text = "the log ends within this line, which is skipped";
        assert_eq!(found(line), (None, text.to_owned()));
    }
    let text = "the query mode 'simp' is cut off or unknown; it is skipped";
    let line = "query mode: simp\nnumber of clients: 2\n";
    assert_eq!(found(line), (None, text.to_owned()));
}

#[test]
fn means_of_statements_of_each_version() {
    let text = |line: &str| statement(line).map(|s| (s.mean_ms, s.text));
    assert_eq!(
        text("0.063           0  BEGIN;"),
        Some((0.063, "BEGIN;".into()))
    );
    assert_eq!(
        text("0.038           0           0  select 1;"),
        Some((0.038, "select 1;".into()))
    );
    assert_eq!(
        text("0.188  UPDATE a SET b = 1;").unwrap().1,
        "UPDATE a SET b = 1;"
    );
    // Version 18 prints a single blank before the text.
    let counted = |line: &str| statement(line).map(|s| (s.counts, s.text));
    assert_eq!(
        counted(r"0.001           0 \set aid 1"),
        Some((vec![0], r"\set aid 1".into()))
    );
    assert_eq!(
        counted("0.862         100        198 commit;"),
        Some((vec![100, 198], "commit;".into()))
    );
    assert_eq!(
        counted("0.862  7 is text"),
        Some((vec![], "7 is text".into()))
    );
    assert_eq!(text("tps = 5"), None);
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(
        lines in prop::collection::vec(
            "(progress: |tps = |transaction type: |SQL script |number of )?\\PC{0,40}", 0..30,
        ),
    ) {
        let _ = read("x", &lines.join("\n"));
    }
}
