//! Bad inputs: command lines, URLs, workloads, results files, logs, and output paths.

use std::ffi::CString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use dyno_core::rand::Stream;
use rusqlite::Connection;
use xtask::repository;

use crate::bed::{PASSWORD, dyno_command};
use crate::child::Running;

use super::mutate;

/// The options of a short run.
const SHORT: [&str; 6] = ["-t", "1s", "--warmup", "0", "--calibrate", "never"];

/// An invalid input that was added to a command.
pub(super) struct Input {
    pub(super) what: String,
    /// Files that must not change.
    pub(super) unchanged: Vec<PathBuf>,
    /// Whether the input is certainly invalid.
    pub(super) must_fail: bool,
    /// Whether it is a script, which may print anything.
    pub(super) prints: bool,
    /// Whether the command is certain to end soon.
    pub(super) ends: bool,
}

impl Input {
    fn new(what: &str) -> Self {
        Self {
            what: what.to_owned(),
            unchanged: Vec::new(),
            must_fail: false,
            prints: false,
            ends: false,
        }
    }

    /// Draws an input and creates its files in `folder`.
    pub(super) fn draw(command: &mut Command, folder: &Path, draws: &mut Stream) -> Result<Self> {
        match draws.below(12) {
            0..=2 => Ok(command_line(command, draws)),
            3..=4 => Ok(url(command, folder, draws)),
            5..=6 => workload(command, folder, draws),
            7..=8 => results_file(command, folder, draws),
            9..=10 => log(command, folder, draws),
            _ => output(command, folder, draws),
        }
    }
}

const COMMANDS: [&str; 19] = [
    "run",
    "prepare",
    "check",
    "cleanup",
    "saturate",
    "search",
    "calibrate",
    "show",
    "list",
    "report",
    "compare",
    "phases",
    "export",
    "import",
    "waive",
    "doctor",
    "sysbench",
    "help",
    "rm",
];
const WORDS: [&str; 12] = [
    "oltp_read_write",
    "oltp_point_select",
    "tpcb",
    "tpcc",
    "linkbench",
    "cpu",
    "fileio",
    "last",
    "1",
    "sysbench",
    "runs",
    "fairness=because",
];
const OPTIONS: [&str; 34] = [
    "-c",
    "-t",
    "--sessions",
    "--time",
    "--warmup",
    "--events",
    "--rate",
    "--arrivals",
    "--latency-limit",
    "--ramp-up",
    "--grace",
    "--workers",
    "--init-timeout",
    "--ps-mode",
    "--luajit-cmd",
    "--ignore-errors",
    "--lost-connections",
    "--seed",
    "--rand-type",
    "--rand-zipfian-exp",
    "--note",
    "--observe",
    "--ledger",
    "--claim",
    "--expect",
    "--calibrate",
    "--waive",
    "--percentiles",
    "--interval",
    "--json",
    "--tables",
    "--table-size",
    "--scale",
    "--ladder",
];
const VALUES: [&str; 12] = [
    "0", "1", "2", "1s", "500ms", "on", "off", "auto", "uniform", "50,99", "none", "all",
];

/// Random options and values in random order.
fn command_line(command: &mut Command, draws: &mut Stream) -> Input {
    fn pick<'a>(words: &[&'a str], draws: &mut Stream) -> &'a str {
        words[draws.below(words.len() as u64) as usize]
    }
    let mut arguments = vec![pick(&COMMANDS, draws).to_owned()];
    if draws.below(5) > 0 {
        arguments.push(pick(&WORDS, draws).to_owned());
    }
    for _ in 0..draws.below(5) {
        let option = pick(&OPTIONS, draws);
        let option = match draws.below(6) {
            0 => mutate::text(option, draws),
            _ => option.to_owned(),
        };
        let value = match draws.below(2) {
            0 => pick(&VALUES, draws).to_owned(),
            _ => mutate::token(draws),
        };
        match draws.below(4) {
            0 => arguments.push(option),
            1 => arguments.push(format!("{option}={value}")),
            _ => arguments.extend([option, value]),
        }
    }
    // Arguments cannot contain zero bytes.
    arguments
        .iter_mut()
        .for_each(|argument| argument.retain(|character| character != '\0'));
    // Put the time limit last, so that it overrides any other.
    if matches!(&*arguments[0], "run" | "saturate" | "calibrate") {
        arguments.extend(SHORT.map(str::to_owned));
    }
    command.args(&arguments);
    Input::new(&format!("command line {arguments:?}"))
}

fn url(command: &mut Command, folder: &Path, draws: &mut Stream) -> Input {
    let urls = [
        format!("mysql://u:{PASSWORD}@127.0.0.1:1/d?connect_timeout=1s"),
        format!("postgres://u:{PASSWORD}@127.0.0.1:1,localhost:2/d?sslmode=require"),
        format!("mariadb://u@localhost/d?socket=/nowhere/sock&password={PASSWORD}"),
        format!("postgresql://u@/d?host=/nowhere&port=1&user=x&password={PASSWORD}"),
        format!("sqlite:{}/t.db?busy_timeout=1s", folder.display()),
        "sqlite:///nowhere/t.db?journal_mode=wal".to_owned(),
    ];
    let url = &urls[draws.below(urls.len() as u64) as usize];
    let mut url = mutate::text(url, draws);
    url.retain(|character| character != '\0');
    // If the mutation removed what marks the password as one, it is an ordinary word.
    let named = [format!("password={PASSWORD}"), format!("u:{PASSWORD}")];
    if !named.iter().any(|named| url.contains(named.as_str())) {
        url = url.replace(PASSWORD, "canary");
    }
    command.args(["run", "oltp_point_select"]).args(SHORT);
    match draws.below(3) {
        0 => command.env("DYNO_TARGET", &url),
        1 => command.arg(format!("--target={url}")),
        _ => command.args(["-T", &url]),
    };
    let mut input = Input::new(&format!("URL {url:?}"));
    input.ends = true;
    input
}

/// Scripts that cannot succeed.
const SCRIPTS: [&str; 10] = [
    "function event() while true do end end",
    "function thread_init() while true do end end function event() end",
    "function event() error(string.rep('x', 1e7)) end",
    "function f() return 1 + f() end function event() f() end",
    "function event() error('\\27]0;owned\\7\\27[2J\\226\\128\\174') end",
    "function thread_init() error({}) end function event() end",
    "dyno.shared('a', 1e12) function event() end",
    "event = 5",
    "error()",
    "function event() sysbench.rand.uniform(nil, {}) end",
];

/// Draws one of them.
fn script(command: &mut Command, folder: &Path, draws: &mut Stream) -> Result<Input> {
    let text = SCRIPTS[draws.below(SCRIPTS.len() as u64) as usize];
    let path = folder.join("script.lua");
    fs::write(&path, text)?;
    command.arg("run").arg(&path).args(SHORT);
    let sessions = (1 + draws.below(4)).to_string();
    command.args(["-c", &sessions, "--init-timeout", "5s"]);
    let mut input = Input::new(&format!("script {text:?}"));
    input.must_fail = true;
    input.ends = true;
    input.unchanged = vec![path];
    Ok(input)
}

fn workload(command: &mut Command, folder: &Path, draws: &mut Stream) -> Result<Input> {
    if draws.below(3) == 0 {
        return script(command, folder, draws);
    }
    let sql = draws.below(3) == 0;
    let (name, text) = if sql {
        let text = "-- weight 3\n\\set id random(1, 100)\nSELECT 1 + :id;\n-- name other\n\
                    BEGIN;\nSELECT 2;\nCOMMIT;\n";
        ("queries.sql", text.to_owned())
    } else {
        let scripts = [
            "oltp_point_select",
            "oltp_common",
            "pgbench_common",
            "sql_file",
        ];
        let script = scripts[draws.below(4) as usize];
        let path = repository().join(format!("workloads/{script}.lua"));
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        ("script.lua", text)
    };
    let path = folder.join(name);
    match draws.below(10) {
        0 => fs::write(&path, mutate::bytes(text.as_bytes(), draws))?,
        1 => fs::create_dir(&path)?,
        2 => fifo(&path)?,
        3 => symlink(&path, &path)?,
        4 => symlink("/dev/zero", &path)?,
        _ if sql => fs::write(&path, mutate::text(&text, draws))?,
        _ => fs::write(&path, mutate::lines(&text, draws))?,
    }
    command.arg("run").arg(&path).args(SHORT);
    let mut input = Input::new(&format!("workload {name}"));
    input.prints = true;
    input.unchanged = vec![path];
    Ok(input)
}

/// Puts an invalid file in place of the results file.
fn results_file(command: &mut Command, folder: &Path, draws: &mut Stream) -> Result<Input> {
    let path = folder.join("dyno.db");
    let what = draws.below(9);
    let name = match what {
        0..=3 => {
            let whole = recorded(command, folder)?;
            fs::write(&path, mutate::bytes(&whole, draws))?;
            "damaged"
        }
        4 => {
            fifo(&path)?;
            "FIFO"
        }
        5 => {
            fs::create_dir(&path)?;
            "folder"
        }
        6 => {
            let other = Connection::open(&path)?;
            other.execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)")?;
            "another program's"
        }
        7 => {
            fs::write(&path, "These are my notes.\n")?;
            "text"
        }
        _ => {
            let device = ["/dev/zero", "/dev/null", "/dev/full", "/proc/self/mem"];
            symlink(device[draws.below(4) as usize], &path)?;
            "device"
        }
    };
    let commands: [&[&str]; 6] = [
        &["show", "last"],
        &["list", "runs"],
        &["report", "last", "-o", "page.html"],
        &["export", "last"],
        &["compare", "1", "1"],
        &[
            "run",
            "oltp_point_select",
            "-t",
            "1s",
            "--warmup",
            "0",
            "--calibrate",
            "never",
        ],
    ];
    let chosen = draws.below(6) as usize;
    command.args(commands[chosen]).arg("--results").arg(&path);
    let mut input = Input::new(&format!("results file, {name}: {:?}", commands[chosen]));
    // A damaged file that can still be used may be written to.
    if what > 3 {
        input.unchanged = vec![path];
    }
    input.must_fail = matches!(what, 4..=7);
    input.ends = true;
    Ok(input)
}

/// The bytes of a results file with a run in it.
fn recorded(command: &Command, folder: &Path) -> Result<Vec<u8>> {
    let path = folder.join("whole.db");
    let mut run = dyno_command(Path::new(command.get_program()));
    run.args([
        "run",
        "cpu",
        "--events",
        "50",
        "--warmup",
        "0",
        "-q",
        "--results",
    ]);
    run.arg(&path).env("TMPDIR", folder.join("tmp"));
    let ended = Running::start(&mut run)?.finish(Duration::from_secs(60))?;
    if !ended.status.success() {
        anyhow::bail!("no run to damage: {}", ended.stderr());
    }
    // Move the contents of the log into the file.
    let file = Connection::open(&path)?;
    file.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    drop(file);
    Ok(fs::read(&path)?)
}

fn log(command: &mut Command, folder: &Path, draws: &mut Stream) -> Result<Input> {
    let fixtures = repository().join("crates/dyno-import/fixtures");
    let mut names: Vec<PathBuf> = fs::read_dir(&fixtures)?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "out"))
        .collect();
    names.sort();
    let sample = &names[draws.below(names.len() as u64) as usize];
    let bytes = fs::read(sample)?;
    let path = folder.join("log.out");
    let mutated = match draws.below(3) {
        0 => mutate::bytes(&bytes, draws),
        _ => mutate::lines(&String::from_utf8_lossy(&bytes), draws).into_bytes(),
    };
    fs::write(&path, mutated)?;
    command.args(["import", "sysbench"]).arg(&path);
    if draws.below(3) == 0 {
        let beside = folder.join("vmstat.out");
        let text = fs::read_to_string(fixtures.join("ladder-vmstat.out"))?;
        fs::write(&beside, mutate::lines(&text, draws))?;
        command.arg("--vmstat").arg(&beside);
    }
    command.arg("--results").arg(folder.join("dyno.db"));
    let name = sample.file_name().unwrap_or_default().to_string_lossy();
    let mut input = Input::new(&format!("log like {name}"));
    input.unchanged = vec![path];
    input.ends = true;
    Ok(input)
}

/// An output path that cannot be written to.
fn output(command: &mut Command, folder: &Path, draws: &mut Stream) -> Result<Input> {
    let path = folder.join("out");
    let what = match draws.below(5) {
        0 => {
            fs::create_dir(&path)?;
            "folder"
        }
        1 => {
            symlink("/dev/full", &path)?;
            "full device"
        }
        2 => {
            symlink(folder.join("no/such/folder"), &path)?;
            "dangling link"
        }
        3 => {
            symlink(&path, &path)?;
            "link to itself"
        }
        _ => {
            symlink("/proc/version", &path)?;
            "file that nobody writes to"
        }
    };
    command.args(["run", "cpu", "--events", "20", "--warmup", "0"]);
    command.arg(format!("--json={}", path.display()));
    let mut input = Input::new(&format!("--json to a {what}"));
    input.must_fail = true;
    input.ends = true;
    input.unchanged = vec![path];
    Ok(input)
}

fn fifo(path: &Path) -> Result<()> {
    let name = CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the name lives during the call.
    let made = unsafe { libc::mkfifo(name.as_ptr(), 0o600) };
    anyhow::ensure!(made == 0, "cannot make a FIFO at {}", path.display());
    Ok(())
}
