use super::*;

/// The candidates for the last word of a line.
fn complete(line: &str) -> Vec<String> {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let (current, before) = words.split_last().unwrap();
    let answer = words::after(before, current).beginning_with(current);
    let names = answer.candidates.into_iter().map(|(name, _)| name);
    names.collect()
}

#[test]
fn each_place_has_its_own_candidates() {
    for (line, expected) in [
        ("wa", &["warmup", "waive"][..]),
        ("--v", &["--version"]),
        ("run tpc", &["tpcb", "tpcc"]),
        ("run --quiet cp", &["cpu"]),
        ("run tpcc --mi", &["--mix"]),
        ("run tpcc --mix ", &["auto", "deck", "draw"]),
        ("run tpcc -c 4 --mix=d", &["--mix=deck", "--mix=draw"]),
        ("run tpcc --arrivals c", &["constant"]),
        ("run tpcc --arr", &["--arrivals"]),
        ("run tpcc --ob", &["--observe"]),
        ("run tpcc --observe on --ob", &[]),
        ("run tpcc --sessions ", &[]),
        ("run tpcc -T post", &["postgres://"]),
        (
            "run tpcc --ignore-errors conflict,dupl",
            &["conflict,duplicate"],
        ),
        ("saturate oltp_read_write --table_si", &["--table-size"]),
        ("search tpc", &["tpcb", "tpcc"]),
        ("search oltp_read_write --thor", &["--thorough"]),
        ("search oltp_read_write --rat", &[]),
        ("run oltp_read_write --thor", &[]),
        ("run cpu --cpu-max", &["--cpu-max-prime"]),
        ("export --format hl", &["hlog"]),
        ("export --ch", &["--chart"]),
        ("list ", &["workloads", "runs"]),
        ("list runs --verdict d", &["doubtful"]),
        ("completions f", &["fish"]),
        ("history --by ver", &["version"]),
        ("help compa", &["compare"]),
        ("top --pr", &["--proxysql"]),
        ("waive 3 steady", &["steady-state="]),
        ("sysbench oltp_read_o", &["oltp_read_only"]),
        (
            "sysbench --thread",
            &[
                "--threads=",
                "--thread-stack-size=",
                "--thread-init-timeout=",
            ],
        ),
        ("sysbench oltp_insert --table_s", &["--table-size="]),
        ("sysbench oltp_insert cl", &["cleanup"]),
        ("nonsense here ", &[]),
        ("--nonsense ", &[]),
    ] {
        assert_eq!(complete(line), expected, "{line}");
    }
}

#[test]
fn a_script_that_cannot_be_loaded_leaves_the_options_of_dyno() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("broken.lua");
    std::fs::write(&script, "this is no Lua").unwrap();
    let line = format!("run {} --arr", script.display());
    assert_eq!(complete(&line), ["--arrivals"]);
}

#[test]
fn files_are_left_to_the_shell() {
    for (line, files) in [
        ("run tpcc --results", false),
        ("import sysbench lo", true),
        ("run ./scr", true),
        ("show ", false),
    ] {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let (current, before) = words.split_last().unwrap();
        assert_eq!(words::after(before, current).files, files, "{line}");
    }
    let before = ["run", "tpcc", "--results"].map(str::to_owned);
    assert!(words::after(&before, "dy").files);
}

#[test]
fn words_come_as_the_shell_would_hand_them_on() {
    assert_eq!(unquoted("'my file.db'"), "my file.db");
    assert_eq!(unquoted("\"my fi"), "my fi");
    assert_eq!(unquoted("plain"), "plain");
    let answer = Answer {
        candidates: vec![
            ("a".to_owned(), "two\nlines".to_owned()),
            ("b\nc".to_owned(), String::new()),
        ],
        files: true,
        open: true,
    };
    assert_eq!(answer.text(), "a\ttwo lines\n:files\n:nospace\n");
}
