//! Command lines that are accepted, and those that are refused.

use std::collections::BTreeSet;

use dyno_tests::command::Output;
use dyno_tests::{dyno, sysbench};

use super::{assert_matches, body, ours, theirs};

fn plain(line: &str) -> Output {
    dyno(["sysbench"].into_iter().chain(line.split_whitespace()))
}

/// Names that still work but are not in the help.
const OLD_NAMES: [&str; 4] = ["num-threads", "max-requests", "max-time", "tx-rate"];

#[test]
fn version_is_one_line() {
    let output = plain("--version").success();
    assert_matches(&output.stdout, r"sysbench \d+\.\d+\.\d+\S*\n");
}

#[test]
fn help_knows_all_options_of_sysbench() {
    let names = |text: &str| -> BTreeSet<String> {
        let options = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("--"));
        let name = |option: &str| {
            let end = option.find(|c: char| !c.is_alphanumeric() && c != '-' && c != '_');
            option[..end.unwrap_or(option.len())].to_owned()
        };
        options.map(name).collect()
    };
    let help = plain("--help").success().stdout;
    let missing: Vec<String> = names(&sysbench(["--help"]).success().stdout)
        .difference(&names(&help))
        .filter(|name| !OLD_NAMES.contains(&name.as_str()))
        .cloned()
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    let spaced = regex::Regex::new(r"(?m)^ *--[a-z-]+ [A-Z]").expect("a valid expression");
    assert!(
        !spaced.is_match(&help),
        "values follow an equals sign:\n{help}"
    );
}

#[test]
fn a_scripts_help_is_sysbenchs() {
    let [ours, theirs] = [
        ours("options help").success(),
        theirs("options help").success(),
    ];
    assert_eq!(body(&ours), body(&theirs));
}

/// Lines that are refused, with their standard output and standard error.
const REFUSED: &[(&str, &str, &str)] = &[
    ("options --foo=1 run", "", "invalid option: --foo=1"),
    (
        "options --whole=x show",
        "",
        "Invalid value for the 'whole' option: 'x'",
    ),
    ("options --flag=5 show", "", "invalid option: --flag=5"),
    ("options --fla=5 show", "", "invalid option: --fla=5"),
    (
        "empty --threads=x run",
        "",
        "Invalid value for the 'threads' option: 'x'",
    ),
    (
        "empty --threads=0 run",
        "FATAL: Invalid value for --threads: 0.",
        "",
    ),
    (
        "empty --percentile=101 run",
        "FATAL: Invalid value for --percentile: 101",
        "",
    ),
    (
        "empty --histogram=yes run",
        "",
        "invalid option: --histogram=yes",
    ),
    (
        "empty --thread-stack-size=0 run",
        "FATAL: Invalid value for thread-stack-size: 0.",
        "",
    ),
    (
        "empty --rand-type=poisson run",
        "FATAL: Invalid random numbers distribution: poisson.",
        "",
    ),
    (
        "empty run again",
        "",
        "Unrecognized command line argument: again",
    ),
    ("empty dance", "", "Unknown command: dance"),
    (
        "empty prepare",
        "",
        "test does not implement the 'prepare' command.",
    ),
    (
        "empty cleanup",
        "",
        "test does not implement the 'cleanup' command.",
    ),
    ("no_such run", "FATAL: Cannot find benchmark '", ""),
    ("no_such", "': no such built-in test, file or module", ""),
    ("broken run", "broken.lua:1: at the top", ""),
    (
        "top_level run",
        "FATAL: cannot find the event() function in ",
        "",
    ),
    ("options declines", "", ""),
    (
        "options fails",
        "FATAL: `sysbench.cmdline.call_command' function failed: ",
        "",
    ),
    (
        "empty --percentile=0 --histogram run",
        "FATAL: --histogram cannot be used with --percentile=0",
        "",
    ),
];

#[test]
fn reports_why_a_parallel_command_failed() {
    let line = "options --threads=2 each-fails";
    let why = "`sysbench.cmdline.call_command' function failed: ";
    let fatal = |text: &str| {
        let line = text.lines().find(|line| line.contains(why));
        line.unwrap_or_default().to_owned()
    };
    let mine = fatal(&ours(line).failure(1).stdout);
    // sysbench exits with status 0.
    assert_eq!(mine, fatal(&theirs(line).success().stdout));
    assert!(mine.ends_with(": as each was asked"), "{mine}");
}

#[test]
fn dynos_suggestions_are_on_a_separate_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let script = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let empty = script("empty.lua", "");
    let table = |name, table| script(name, &format!("sysbench.cmdline.options = {table}"));
    let driver = "function init() sysbench.sql.driver() end function event() end";
    let prints = "print('top') function event() print('an', 'event') end";
    let (driver, prints) = (script("driver.lua", driver), script("prints.lua", prints));
    for line in [
        "fileio --fle-num=3 run".to_owned(),
        format!("{empty} --my-sql=3 help"),
        format!(
            "{} --flag=5 help",
            table("flag.lua", "{ flag = {'f', false} }")
        ),
        format!(
            "{} --my-flag=5 help",
            table("my.lua", "{ my_flag = {'f', false} }")
        ),
        "oltp_raed_only run".to_owned(),
        format!("{} help", table("entries.lua", "{ {} }")),
        format!("{} help", table("words.lua", "{ a = 'text' }")),
        format!("{} help", table("bare.lua", "{ a = {} }")),
        format!("{} help", table("kind.lua", "'text'")),
        format!("{} help", table("default.lua", "{ a = {'an option', ''} }")),
        format!("--db-driver=none {driver} run"),
        format!("--max-requests=1 --events=9 --num-threads=1 {prints} run"),
        "cpu --time=x run".to_owned(),
    ] {
        let outputs = [plain(&line), sysbench(line.split_whitespace())];
        let [ours, theirs] = outputs.map(|output| {
            let (_, text) = output.stdout.split_once("\n\n").unwrap_or_default();
            let lines = text.lines().chain(output.stderr.lines());
            let shown = lines
                .filter(|line| !line.contains("Latency"))
                .map(str::to_owned);
            shown
                .take_while(|line| line != "General statistics:")
                .collect::<Vec<_>>()
        });
        let missing: Vec<_> = theirs.iter().filter(|line| !ours.contains(line)).collect();
        assert!(missing.is_empty(), "{line}: {missing:?} in {ours:#?}");
    }
}

#[test]
fn refuses_bad_command_lines_as_sysbench_does() {
    for (line, out, err) in REFUSED {
        for output in [ours(line), theirs(line)] {
            let output = output.failure(1);
            assert!(output.stdout.contains(out), "{line}: {output:?}");
            assert!(output.stderr.contains(err), "{line}: {output:?}");
        }
    }
}

#[test]
fn refuses_unsupported_options() {
    let options = [
        "--mysql-dry-run",
        "--mysql-compression",
        "--mysql-ssl-cipher=AES",
    ];
    for option in options {
        let output = ours(&format!("empty {option} --events=1 run")).failure(1);
        assert!(output.stdout.contains("is not supported"), "{output:?}");
    }
    let output = ours("empty --rate=5/s,9/s run").failure(1);
    let why = "FATAL: --rate: sysbench takes one rate, and dyno run a schedule such as";
    assert!(output.stdout.contains(why), "{output:?}");
    let output = plain("cpu").failure(1);
    assert!(output.stderr.contains("requires a command"), "{output:?}");
    let output = plain("cpu prepare").failure(1);
    assert!(output.stderr.contains("does not implement"), "{output:?}");
    let output = plain("mutex --warmup-time=1 run").failure(1);
    assert!(
        output.stdout.contains("a warm-up would leave nothing"),
        "{output:?}"
    );
}

#[test]
fn options_without_effect_warn() {
    for option in ["--thread-stack-size=1M", "--db-debug", "--mysql-debug=on"] {
        let output = ours(&format!("empty {option} --events=1 run")).success();
        assert!(output.stderr.contains("has no effect"), "{output:?}");
    }
    let output = ours("empty --mysql-debug=off --events=1 run").success();
    assert_eq!(output.stderr, "");
}

#[test]
fn options_reach_scripts_as_from_sysbench() {
    for line in [
        "options show",
        "options --my_number=7 --text=q --flag --names=x,y,z --whole=9 --size=2M show",
        "options --my-number=0.5 --flag=off --threads=3 --unset=u show",
    ] {
        let [ours, theirs] = [ours(line).success(), theirs(line).success()];
        assert_eq!(body(&ours), body(&theirs), "{line}");
    }
}

#[test]
fn old_names_work_and_warn() {
    let path = super::script("empty");
    let line = format!("--test={path} --num-threads=2 --max-requests=7 --max-time=5 run");
    let output = plain(&line).success();
    for (old, new) in [
        ("num-threads", "threads"),
        ("max-requests", "events"),
        ("max-time", "time"),
    ] {
        let warning = format!("WARNING: --{old} is deprecated, use --{new} instead\n");
        assert!(output.stdout.contains(&warning), "{output:?}");
    }
    assert!(output.stderr.contains("the --test option is deprecated"));
    assert!(output.stdout.contains("Number of threads: 2\n"));
    assert!(
        output
            .stdout
            .contains("total number of events:              7\n")
    );
}

#[test]
fn a_config_file_sets_all_kinds_of_options() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("sysbench.conf");
    let text = "# a comment\nthreads=2\nmy-number = 8\ntext=\"quoted\"\n";
    std::fs::write(&path, text).expect("written");
    let file = format!("--config-file={}", path.display());
    let shown = ours(&format!("options {file} --text=typed show"))
        .success()
        .stdout;
    for line in [
        "my_number\tnumber\t8",
        "threads\tnumber\t2",
        "text\tstring\ttyped",
    ] {
        assert!(shown.contains(line), "{shown}");
    }
    let output = ours("options --config-file=/nowhere/at.all show").failure(1);
    assert!(output.stdout.contains("/nowhere/at.all"), "{output:?}");
}

#[test]
fn verbosity_is_honoured() {
    let output = ours("empty --verbosity=0 --events=1 run").success();
    assert_eq!(output.stdout, "");
    let output = ours("fails_in_event --verbosity=0 run").failure(1);
    assert_matches(
        &output.stdout,
        "FATAL: `thread_run' function failed: .*: the fifth\n",
    );
    ours("empty --verbosity=6 --events=1 run").failure(1);
}
