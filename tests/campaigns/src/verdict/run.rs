//! Makes one run of the verdict campaign, disturbs it, and compares its findings with those
//! expected.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::bed::{dyno_command, in_folder, isolated};
use crate::child::{Ended, Running};
use crate::result::{finding, list};

use super::bed::Bed;
use super::case::{Act, Case, Expect, Stops};
use super::tools;

/// How much longer than planned a run may take.
const SLACK: Duration = Duration::from_secs(240);
/// What Dyno prints if the host did not give the run the same CPUs all the time.
const BY_THE_HOST: [&str; 3] = [
    "the CPUs were slower",
    "the hypervisor took CPU time",
    "host-resources speaks against it",
];
/// The programs of the campaign. Dyno is wrong if it blames one of these.
const OWN: [&str; 4] = ["mariadbd", "mysqld", "postgres", "dyno"];
/// The delay between the report of the first second and the first statement of a disturbance.
const FIRST: Duration = Duration::from_millis(200);

/// The time that InnoDB needs to write back the pages of small tables.
const WRITTEN_BACK: Duration = Duration::from_secs(4);
/// The time until the speed of writing to the disk is steady.
const SETTLED: Duration = Duration::from_secs(10);

/// The findings of a run, and what is wrong with them.
pub(super) struct Done {
    /// The findings against it, in one line.
    pub found: String,
    /// How they differ from what was expected.
    pub failures: Vec<String>,
    /// The length in seconds that Dyno advises, if that is its only objection.
    pub advised_s: Option<f64>,
    /// Dyno reported that the run did not have the same CPUs all the time.
    pub by_the_host: bool,
    /// Dyno reported that processes outside the campaign used CPU time.
    pub by_neighbours: bool,
    /// Dyno's only objection is that the rate varied too much to be known precisely.
    pub too_uneven: bool,
}

/// Makes a run, of this length in seconds if one is given, and checks its verdict.
///
/// # Errors
/// It cannot be run.
pub(super) fn run(
    bed: &mut Bed,
    case: &Case,
    length_s: Option<f64>,
    folder: &Path,
) -> Result<Done> {
    bed.renew()?;
    let words = |text: &str| -> Vec<String> { text.split_whitespace().map(script).collect() };
    let url = bed.url();
    let target = ["--target", &url];
    if !case.prepare.is_empty() {
        let own = words(case.prepare);
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        for url in bed.urls() {
            bed.dyno(&[&["prepare"][..], &own, &["--target", &url]].concat())?;
        }
    }
    if case.restored {
        tools::restored(bed, folder)?;
    }
    if !case.is_bad() {
        settle(bed)?;
    }
    statements(bed, case.before)?;
    let mut line = case.run.to_owned();
    if let Some(share) = placeholder(case.run) {
        let capacity = capacity(
            bed,
            &words(case.run.split(" --rate").next().unwrap_or_default()),
        )?;
        line = line.replace(&format!("{{{share}}}"), &format!("{:.0}", share * capacity));
    }
    if let Some(length_s) = length_s {
        line = format!("{line} -t {length_s:.0}s");
    }
    let mut command = match case.act {
        Act::Pinned(_) => {
            let mut command = Command::new("taskset");
            command.args(["-c", "0"]).arg(&bed.dyno);
            isolated(command)
        }
        _ => dyno_command(&bed.dyno),
    };
    command.arg("run").args(words(&line)).args(target);
    if !line.contains("--calibrate") {
        command.args(["--calibrate", "never"]);
    }
    command.args(["--results", "dyno.db", "--json=run.json"]);
    in_folder(&mut command, folder).env("XDG_CACHE_HOME", folder);
    let ended = disturbed(bed, case, &mut command)?;
    fs::write(folder.join("command"), format!("{command:?}\n"))?;
    ended.keep(folder)?;
    Ok(judge(case, &ended, folder))
}

/// A word of a command line, with a script's name replaced by its path.
fn script(word: &str) -> String {
    let file = match word {
        "SHAPES" => "shapes.lua",
        "TOUCHES" => "touches.lua",
        word => return word.to_owned(),
    };
    let path = xtask::repository().join("tests/scripts").join(file);
    path.display().to_string()
}

fn statements(bed: &Bed, all: &[&str]) -> Result<()> {
    if all.is_empty() {
        return Ok(());
    }
    let mut administrator = bed.administrator(true)?;
    all.iter().try_for_each(|sql| administrator.execute(sql))
}

/// Finishes the work that earlier runs and the load left to the server, such as writing back dirty
/// pages. Without this, a good run starts while the server is still busy with it, and Dyno is right
/// to report it.
fn settle(bed: &Bed) -> Result<()> {
    const SETTING: &str = "SET GLOBAL innodb_max_dirty_pages_pct =";
    if bed.is_postgres() {
        // Otherwise autovacuum does that during the run.
        return statements(bed, &["VACUUM (ANALYZE)", "CHECKPOINT"]);
    }
    if !bed.has_innodb() {
        return Ok(());
    }
    statements(bed, &[&format!("{SETTING} 0")])?;
    thread::sleep(WRITTEN_BACK);
    statements(bed, &[&format!("{SETTING} DEFAULT")])
}

/// The number in the braces.
fn placeholder(text: &str) -> Option<f64> {
    let (_, rest) = text.split_once('{')?;
    rest.split_once('}')?.0.parse().ok()
}

/// Measures the capacity in events per second with a run of two seconds.
fn capacity(bed: &Bed, words: &[String]) -> Result<f64> {
    let url = bed.url();
    let mut arguments = vec!["run"];
    arguments.extend(words.iter().map(String::as_str));
    arguments.extend(["-t", "2s", "--warmup", "1s", "--calibrate", "never"]);
    arguments.extend(["--target", &url, "--json", "-q"]);
    let ended = bed.dyno(&arguments)?;
    let result: Value = serde_json::from_slice(&ended.stdout).context("no result")?;
    let rate = &result["rates"]["events_per_s"];
    rate.as_f64().context("no rate")
}

/// Runs it with the case's disturbance.
fn disturbed(bed: &mut Bed, case: &Case, command: &mut Command) -> Result<Ended> {
    let mut load = match case.act {
        Act::Pinned(count) => burners(count, Some("0"))?,
        Act::OtherLoad(line) => vec![other_load(bed, line)?],
        Act::WritesThroughout => {
            let writer = tools::writer(bed.folder())?;
            thread::sleep(SETTLED);
            vec![writer]
        }
        _ => Vec::new(),
    };
    bed.relay.iter().for_each(|relay| relay.open(true));
    let mut running = Running::start(command)?;
    // The first second of the measurement, or of the warm-up.
    let began = running.wait_for_text(&["  1s "], SLACK);
    if began {
        running.run_for(FIRST);
        act(bed, case.act, &mut running, &mut load)?;
    }
    let ended = running.finish(SLACK);
    bed.relay.iter().for_each(|relay| relay.open(false));
    for mut child in load {
        // The process may already have ended.
        let _ = child.kill();
        let _ = child.wait();
    }
    ended
}

fn act(bed: &mut Bed, act: Act, running: &mut Running, load: &mut Vec<Child>) -> Result<()> {
    match act {
        Act::None | Act::Pinned(_) | Act::OtherLoad(_) | Act::WritesThroughout => {}
        Act::ServerStops(stops) => {
            let server = bed.server.as_ref().context("no server")?;
            each(stops, running, |stop| match stop {
                true => server.suspend(),
                false => server.resume(),
            });
        }
        Act::DynoStops(stops) => {
            let pid = running.pid().cast_signed();
            each(stops, running, |stop| {
                let signal = if stop { libc::SIGSTOP } else { libc::SIGCONT };
                // SAFETY: kill has no memory effects; the child has not been reaped.
                unsafe { libc::kill(pid, signal) };
            });
        }
        Act::Crash(at) => {
            running.run_for(Duration::from_secs_f64(at));
            let server = bed.server.as_mut().context("no server")?;
            server.kill()?;
            server.start_again()?;
        }
        Act::Restart(at) => {
            running.run_for(Duration::from_secs_f64(at));
            let server = bed.server.as_mut().context("no server")?;
            server.stop()?;
            server.start_again()?;
        }
        Act::Holds(at, held_s, all) => {
            running.run_for(Duration::from_secs_f64(at));
            let mut administrator = bed.administrator(true)?;
            all.iter().try_for_each(|sql| administrator.execute(sql))?;
            running.run_for(Duration::from_secs_f64(held_s));
        }
        Act::Between(at, for_s, [there, back]) => {
            running.run_for(Duration::from_secs_f64(at));
            bed.administrator(true)?.execute(there)?;
            running.run_for(Duration::from_secs_f64(for_s));
            bed.administrator(true)?.execute(back)?;
        }
        Act::KillsSessions(every_s, times) => {
            for _ in 0..times {
                running.run_for(Duration::from_secs_f64(every_s));
                bed.kill_sessions(false)?;
            }
        }
        Act::KillsObserver(at) => {
            running.run_for(Duration::from_secs_f64(at));
            bed.kill_sessions(true)?;
        }
        Act::Burners(at, per_cpu) => {
            running.run_for(Duration::from_secs_f64(at));
            let cpus = thread::available_parallelism()?.get();
            load.extend(burners(per_cpu * cpus, None)?);
        }
        Act::Backup(at) => {
            running.run_for(Duration::from_secs_f64(at));
            tools::backup(bed)?;
        }
    }
    Ok(())
}

fn each(stops: Stops, running: &mut Running, stop: impl Fn(bool)) {
    for _ in 0..stops.times {
        stop(true);
        thread::sleep(stops.length());
        stop(false);
        running.run_for(stops.between());
    }
}

/// Processes that only use CPU.
fn burners(count: usize, cpu: Option<&str>) -> Result<Vec<Child>> {
    let burner = |_| {
        let mut command = match cpu {
            Some(cpu) => {
                let mut command = Command::new("taskset");
                command.args(["-c", cpu, "sh"]);
                command
            }
            None => Command::new("sh"),
        };
        let child = command.args(["-c", "while :; do :; done"]).spawn();
        child.context("cannot start a process that uses CPU")
    };
    (0..count).map(burner).collect()
}

fn other_load(bed: &Bed, line: &str) -> Result<Child> {
    let mut command = dyno_command(&bed.dyno);
    command.arg("run");
    command.args(line.split_whitespace().map(script));
    command.args(["--target", &bed.url(), "--observe", "off", "-q"]);
    command
        .args(["--calibrate", "never"])
        .env("DYNO_RESULTS", "none");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().context("cannot start the other load")
}

fn judge(case: &Case, ended: &Ended, folder: &Path) -> Done {
    let text = fs::read_to_string(folder.join("run.json")).unwrap_or_default();
    let result: Value = serde_json::from_str(&text).unwrap_or_default();
    let against: Vec<&Value> = list(&result["findings"])
        .iter()
        .filter(|finding| finding["outcome"] == "doubt" || finding["outcome"] == "refuse")
        .collect();
    let name = |finding: &Value| finding["check"].as_str().unwrap_or_default().to_owned();
    let found: Vec<String> = against.iter().map(|finding| name(finding)).collect();
    let stderr = ended.stderr();
    let last = stderr.lines().last().unwrap_or_default();
    let mut failures = missed(case, &result, &against, ended);
    let mut expected = case.also.to_vec();
    if let Expect::Check(check, ..) = case.finds {
        expected.push(check);
    }
    if text.is_empty() && matches!(case.finds, Expect::Nothing | Expect::Check(..)) {
        failures.push(format!("no result: {last}"));
    }
    // A short run is always reported as too short.
    let short = result["measured_s"].as_f64().is_some_and(|s| s < 29.9);
    for finding in &against {
        let check = name(finding);
        let excused = expected.contains(&check.as_str()) || short && check == "length";
        if !excused {
            let evidence = finding["evidence"].as_str().unwrap_or_default();
            failures.push(format!("{check} has an unexpected finding: {evidence}"));
        }
    }
    let found = match (found.is_empty(), text.is_empty()) {
        (false, _) => found.join(", "),
        (true, false) => "nothing".to_owned(),
        (true, true) => last.to_owned(),
    };
    let (too_uneven, advised_s) = match &against[..] {
        [finding] if finding["check"] == "length" => {
            (true, number(finding, "length that would do"))
        }
        _ => (false, None),
    };
    let is_of_the_host = |failure: &String| BY_THE_HOST.iter().any(|words| failure.contains(words));
    let by_the_host = match case.is_bad() {
        // Its own finding may mention the CPUs, too.
        true => !failures.is_empty() && failures.iter().all(is_of_the_host),
        false => failures.iter().any(is_of_the_host),
    };
    let by_neighbours = failures.iter().any(|failure| {
        failure.starts_with("other-load") && !OWN.iter().any(|name| failure.contains(name))
    });
    Done {
        found,
        failures,
        advised_s,
        by_the_host,
        by_neighbours,
        too_uneven,
    }
}

/// What the case expects and the run does not have.
fn missed(case: &Case, result: &Value, against: &[&Value], ended: &Ended) -> Vec<String> {
    let (code, stderr) = (ended.code(), ended.stderr());
    let ended_with = |status: i32, words: &str| code == status && stderr.contains(words);
    match case.finds {
        Expect::Check(check, outcome, words) => {
            let finding = against.iter().find(|finding| finding["check"] == check);
            let evidence = finding.and_then(|finding| finding["evidence"].as_str());
            let evidence = evidence.unwrap_or_default();
            if finding.is_none_or(|finding| finding["outcome"] != outcome) {
                let all = all(result, check);
                vec![format!("the outcome of {check} is not {outcome}: {all}")]
            } else if !evidence.to_lowercase().contains(&words.to_lowercase()) {
                vec![format!(
                    "the evidence of {check} lacks '{words}': {evidence}"
                )]
            } else {
                Vec::new()
            }
        }
        Expect::Before(words) if !ended_with(3, words) => {
            vec![format!(
                "not refused before the load: status {code}, {stderr}"
            )]
        }
        Expect::Failure(words) if !ended_with(1, words) => {
            vec![format!(
                "did not fail with '{words}': status {code}, {stderr}"
            )]
        }
        Expect::Nothing | Expect::Before(_) | Expect::Failure(_) => Vec::new(),
    }
}

/// A number of a finding.
fn number(finding: &Value, name: &str) -> Option<f64> {
    let numbers = finding["numbers"].as_array()?;
    let number = numbers.iter().find(|number| number["name"] == name)?;
    number["value"].as_f64()
}

/// The evidence of a check in all its findings, whatever their outcome.
fn all(result: &Value, check: &str) -> String {
    finding(result, check).map_or("there is no such check".to_owned(), |finding| {
        format!("{}: {}", finding["outcome"], finding["evidence"])
    })
}
