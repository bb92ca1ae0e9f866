//! CPU profiles of the server and the client if perf may sample them on this machine, or else the
//! message about it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use dyno_tests::command::{Running, run};
use dyno_tests::{Kind, Output};

use crate::common::{LIMIT, Lab, finding, flat, has, prepared, sound};

/// Whether perf itself says that it can sample these here.
fn perf_works(of: &[&str]) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let perf = Command::new("perf")
        .args(["record", "-F", "99", "-o"])
        .arg(folder.path().join("perf.data"))
        .args(of)
        .args(["--", "sleep", "0.1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    perf.is_ok_and(|status| status.success())
}

/// The processes of a run that perf can sample on this machine.
fn visible(lab: &Lab, run: u32, processes: &[&'static str]) -> Vec<&'static str> {
    let own = std::process::id().to_string();
    let pid = |process: &str| match process {
        "client" => own.clone(),
        _ => {
            let sql =
                format!("SELECT value FROM fact WHERE run_id = {run} AND name = 'server.pid'");
            lab.sql(&sql)[0][0].clone()
        }
    };
    let host = perf_works(&["-a"]);
    let seen = processes.iter().copied();
    seen.filter(|process| host || perf_works(&["-p", &pid(process)]))
        .collect()
}

/// Makes a run of `line` whose temporary files are in a test's folder.
fn profiled(lab: &Lab, line: &str) -> Output {
    let temporary = lab.path("tmp");
    fs::create_dir_all(&temporary).unwrap();
    let mut command = lab.command(line);
    command.env("TMPDIR", &temporary);
    let output = sound(run(&mut command, LIMIT)).success();
    let left: Vec<_> = fs::read_dir(&temporary).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    output
}

/// The samples of each process in the export.
fn exported(lab: &Lab, run: u32) -> BTreeMap<String, u64> {
    let folded = lab.dyno(&format!("export {run} --format folded")).success();
    let mut samples = BTreeMap::new();
    for line in folded.stdout.lines() {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        let frames: Vec<&str> = stack.split(';').collect();
        assert!(
            frames.len() > 2 && frames.iter().all(|frame| !frame.is_empty()),
            "{line}"
        );
        *samples.entry(frames[0].to_owned()).or_default() += count.parse::<u64>().unwrap();
    }
    samples
}

/// The samples of each of these processes in the run. Those that perf cannot sample here must be
/// missing, with the reason in the record and in one warning.
fn samples_of(
    lab: &Lab,
    run: u32,
    output: &Output,
    processes: &[&'static str],
) -> BTreeMap<String, u64> {
    let sql = format!("SELECT process, samples FROM cpu_profile WHERE run_id = {run}");
    let rows = lab.sql(&sql).into_iter();
    let kept: BTreeMap<String, u64> = rows
        .map(|row| (row[0].clone(), row[1].parse().unwrap()))
        .collect();
    let seen = visible(lab, run, processes);
    assert_eq!(kept.len(), seen.len(), "{seen:?}: {kept:?}\n{output:?}");
    assert!(seen.iter().all(|process| kept[*process] > 10), "{kept:?}");
    let sql =
        format!("SELECT what, why FROM not_observed WHERE run_id = {run} AND what LIKE 'profile%'");
    let gaps = lab.sql(&sql);
    assert_eq!(gaps.len(), processes.len() - seen.len(), "{gaps:?}");
    let warnings = output.stderr.matches("no CPU profile").count();
    assert_eq!(warnings, usize::from(!gaps.is_empty()), "{output:?}");
    for gap in &gaps {
        let printed = flat(&output.stderr);
        assert!(printed.contains(&gap[1]), "{gap:?}: {output:?}");
    }
    match kept.is_empty() {
        false => assert_eq!(exported(lab, run), kept),
        true => {
            let none = lab.dyno(&format!("export {run} --format folded"));
            has(&none.failure(1), &["it has no CPU profile"]);
        }
    }
    kept
}

const BOTH: [&str; 2] = ["server", "client"];

#[test]
fn profiles_server_and_client_during_the_measurement() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let lab = Lab::new();
        let (_database, target) = prepared(&lab, kind);
        let line = "run oltp_read_only -t 5s --warmup 1s --calibrate never -c 4 --cpu-profile -q";
        let output = profiled(&lab, &format!("{line} {target}"));
        let kept = samples_of(&lab, 1, &output, &BOTH);
        lab.dyno("report 1 -o r.html").success();
        let page = fs::read_to_string(lab.path("r.html")).unwrap();
        assert!(page.contains("Where the CPU time went"));
        assert_eq!(page.matches("data-flame=\"").count(), kept.len());
        let shown = lab.dyno("show 1 --cpu-profile").success();
        let Some(samples) = kept.get("client") else {
            has(&shown, &["CPU profile", "none: "]);
            continue;
        };
        has(&shown, &["samples at 99 Hz", "by total time"]);
        let fact = "SELECT value FROM fact WHERE name = 'profile.client.samples'";
        assert_eq!(lab.number(fact), *samples as f64);
        let run = lab.json("show 1 --json");
        let cost = finding(&run, "observer-cost");
        let evidence = cost["evidence"].as_str().unwrap();
        assert!(
            evidence.starts_with("The observers and perf used"),
            "{cost:#}"
        );
        // The record must not contain the server's command line.
        let folded = lab.dyno("export 1 --format folded").success().stdout;
        assert!(
            !folded.contains("--defaults") && !folded.contains("-D "),
            "{folded}"
        );
    }
}

#[test]
fn the_profile_includes_processes_that_start_later() {
    let lab = Lab::new();
    let (_database, target) = prepared(&lab, Kind::Postgres);
    let line = "run oltp_point_select -t 5s --warmup 1s --calibrate never -c 4 --reconnect 20";
    let output = profiled(&lab, &format!("{line} --cpu-profile -q {target}"));
    let Some(samples) = samples_of(&lab, 1, &output, &BOTH).remove("server") else {
        return;
    };
    let mean = |name: &str| {
        let sql = format!(
            "SELECT avg(value) FROM what_was_seen WHERE series = '{name}' AND at_s BETWEEN 1 AND 5"
        );
        lab.number(&sql)
    };
    let cores = mean("server.cpu.user") + mean("server.cpu.system");
    // Each process lived for some milliseconds. Sampling only those that exist at the start would
    // yield almost no samples.
    let due = cores * 5.0 * 99.0;
    assert!(samples as f64 > due * 0.3, "{samples} of about {due}");
}

#[test]
fn an_embedded_database_is_the_client() {
    let lab = Lab::new();
    let line = format!(
        "run oltp_point_select {} -t 2s --calibrate never",
        lab.sqlite()
    );
    let output = profiled(&lab, &format!("{line} --cpu-profile -q"));
    samples_of(&lab, 1, &output, &["client"]);
}

#[test]
fn a_run_without_perf_continues_and_prints_how_to_install_it() {
    let lab = Lab::new();
    let (_database, target) = prepared(&lab, Kind::Mariadb);
    let line = "run oltp_point_select -t 3s --warmup 0 --calibrate never --cpu-profile -q";
    let mut command = lab.command(&format!("{line} {target}"));
    command.env("PATH", "/nowhere");
    let output = sound(run(&mut command, LIMIT)).success();
    let gaps = "SELECT count(*) FROM not_observed WHERE what LIKE 'profile.%'";
    assert_eq!(lab.number(gaps), 2.0);
    assert_eq!(lab.number("SELECT count(*) FROM cpu_profile"), 0.0);
    assert_eq!(output.stderr.matches("no CPU profile").count(), 1);
    let all = flat(&output.stderr);
    let text = "no CPU profile of the server and the client: perf is not installed: apt install \
                linux-perf";
    assert!(all.contains(text), "{all}");
    let shown = lab.dyno("show 1 --cpu-profile").success();
    has(&shown, &["none: perf is not installed"]);
    lab.dyno("report 1 -o r.html").success();
    let page = fs::read_to_string(lab.path("r.html")).unwrap();
    assert!(page.contains("none: perf is not installed"));
    // A search cannot be profiled, because it makes one trial after another.
    let search = lab.dyno(&format!(
        "search oltp_point_select 'p99 < 1s' --cpu-profile {target}"
    ));
    has(
        &search.failure(2),
        &["--cpu-profile", "at the rate that was found"],
    );
}

/// The pids of the perf processes that have a file in this folder open.
fn samplers(folder: &Path) -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let names = processes.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let of = |pid: &String| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        let files = fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten();
        let mut links = files
            .flatten()
            .filter_map(|file| fs::read_link(file.path()).ok());
        name.trim() == "perf" && links.any(|link| link.starts_with(folder))
    };
    names.filter(of).collect()
}

#[test]
fn perf_dies_with_a_run_that_is_killed() {
    let lab = Lab::new();
    let (_database, target) = prepared(&lab, Kind::Mariadb);
    let temporary = lab.path("tmp");
    fs::create_dir_all(&temporary).unwrap();
    let line = "run oltp_point_select -t 60s --warmup 1s --calibrate never --cpu-profile";
    let own = std::process::id().to_string();
    let works = perf_works(&["-a"]) || perf_works(&["-p", &own]);
    for signal in [libc::SIGKILL, libc::SIGINT] {
        let mut command = lab.command(&format!("{line} {target}"));
        command.env("TMPDIR", &temporary);
        let mut running = Running::start(&mut command);
        running.measuring();
        assert_eq!(!samplers(&temporary).is_empty(), works);
        running.signal(signal);
        running.finish(LIMIT);
        let deadline = Clock.now() + LIMIT.as_nanos() as u64;
        while !samplers(&temporary).is_empty() {
            assert!(Clock.now() < deadline, "{:?}", samplers(&temporary));
            thread::sleep(Duration::from_millis(10));
        }
        let left: Vec<_> = fs::read_dir(&temporary).unwrap().collect();
        assert!(left.is_empty(), "{left:?}");
    }
}
