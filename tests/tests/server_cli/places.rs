//! Where a server runs: its limits, its own file system, a cold start, and a quiet host.
//!
//! A kernel or container may not permit its root to use control groups, loop devices or mounts. In
//! that case a test prints a note on standard error, and checks that Dyno gave the reason and left
//! nothing behind.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::common::{Lab, has};

/// The reasons why a host may refuse.
const REFUSALS: [&str; 5] = [
    "needs root",
    "controller '",
    "not a block device of this host",
    "loop device",
    "`mount -t",
];

/// Starts a server, if the host permits what it needs.
fn up(lab: &Lab, line: &str) -> Option<Value> {
    let up = lab.dyno(&format!("server up {line} --json"));
    if up.status.success() {
        return Some(serde_json::from_str(&up.stdout).unwrap());
    }
    let stderr = &up.stderr;
    let why = REFUSALS.iter().find(|reason| stderr.contains(**reason));
    assert!(why.is_some(), "dyno server up {line}: {stderr}");
    let left = fs::read_dir(lab.servers()).map_or(0, Iterator::count);
    assert_eq!(left, 0, "a refused server leaves nothing");
    // Not `eprintln!`, which the test harness hides in tests that pass.
    let loud = format!("\nNOT TESTED: this host does not permit `server up {line}`: {stderr}\n");
    std::io::stderr().write_all(loud.as_bytes()).unwrap();
    None
}

/// The control groups of servers of this name, in any hierarchy.
fn groups(name: &str) -> Vec<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let points = mounts
        .lines()
        .filter(|line| {
            line.split(' ')
                .nth(2)
                .is_some_and(|kind| kind.starts_with("cgroup"))
        })
        .filter_map(|line| line.split(' ').nth(1));
    let folders = points.flat_map(|point| fs::read_dir(point).into_iter().flatten().flatten());
    folders
        .map(|entry| entry.path())
        .filter(|path| {
            let group = path.file_name().unwrap().to_string_lossy().into_owned();
            group.starts_with("dyno-") && group.ends_with(&format!("-{name}"))
        })
        .collect()
}

/// A server name that no other test uses.
fn own_name(what: &str) -> String {
    format!("{what}{}", std::process::id())
}

/// Kills a server and its supervisor at once, like a crash of the host.
fn crash(lab: &Lab, name: &str) {
    let text = fs::read(lab.servers().join(name).join("supervisor.json")).unwrap();
    let running: Value = serde_json::from_slice(&text).unwrap();
    let pids = ["supervisor", "server"].map(|process| running[process]["pid"].as_i64().unwrap());
    for pid in pids {
        // SAFETY: kill has no memory effects; the processes belong to this test's server.
        unsafe { libc::kill(i32::try_from(pid).unwrap(), libc::SIGKILL) };
    }
    // A large process takes a while to exit, and has no command line meanwhile.
    let is_gone = |pid: &i64| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    for _ in 0..1_500 {
        if pids.iter().all(is_gone) {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    lab.wait_for_nobody();
}

/// Unmounts a file system, as a reboot would. Killed processes may still be exiting.
fn unmount(folder: &Path) {
    for _ in 0..500 {
        if Command::new("umount")
            .arg(folder)
            .output()
            .unwrap()
            .status
            .success()
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    panic!("{} cannot be unmounted", folder.display());
}

/// The CPU time of a process in seconds.
fn cpu_s(pid: i64) -> f64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let fields: Vec<&str> = stat.rsplit_once(") ").unwrap().1.split(' ').collect();
    let ticks: f64 = fields[11].parse::<f64>().unwrap() + fields[12].parse::<f64>().unwrap();
    // USER_HZ is 100 on all Linux platforms here.
    ticks / 100.0
}

#[test]
fn a_server_is_limited_from_its_first_instruction_on() {
    let lab = Lab::new();
    let name = own_name("limited");
    let line = format!("mariadb --name {name} --cpus 0.5 --memory 512M");
    let Some(server) = up(&lab, &line) else {
        return;
    };
    assert_eq!(server["limits"]["cpus"], 0.5);
    assert_eq!(server["limits"]["memory"], 512 << 20);
    let seen = server["limits_seen"].to_string();
    assert!(
        seen.contains("50000") && seen.contains("536870912"),
        "{seen}"
    );
    let pid = server["pid"].as_i64().unwrap();
    let own = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap();
    assert!(own.contains(&format!("-{name}")), "{own}");

    let load = format!("--tables 1 --table-size 1000 --target server:{name} -q");
    lab.dyno(&format!("prepare oltp_point_select {load}"))
        .success();
    let clock = dyno_core::Clock;
    let (begun, before) = (clock.now(), cpu_s(pid));
    let plan = "-t 4s --warmup 0 -c 4 --calibrate never";
    lab.dyno(&format!("run oltp_point_select {load} {plan}"))
        .success();
    let share = (cpu_s(pid) - before) / ((clock.now() - begun) as f64 / 1e9);
    assert!(share < 0.6, "{share} processors");

    // A restart can change the limits.
    let restart = lab
        .dyno(&format!("server restart {name} --cpus none --json"))
        .success();
    let server: Value = serde_json::from_str(&restart.stdout).unwrap();
    assert_eq!(server["limits"]["cpus"], Value::Null);
    assert!(!server["limits_seen"].to_string().contains("50000"));
    lab.dyno(&format!("server down {name} --keep-data"))
        .success();
    assert_eq!(
        groups(&name),
        Vec::<PathBuf>::new(),
        "they go with the server"
    );

    // The limits are found again after all processes were killed.
    lab.dyno(&format!("server restart {name}")).success();
    crash(&lab, &name);
    assert!(!groups(&name).is_empty());
    has(
        &lab.dyno("server list").success(),
        &[
            "removed the remains of a killed server",
            "512 MiB of memory",
        ],
    );
    assert_eq!(groups(&name), Vec::<PathBuf>::new());
    lab.dyno(&format!("server restart {name}")).success();
    crash(&lab, &name);
    lab.dyno(&format!("server down {name}")).success();
    assert_eq!(groups(&name), Vec::<PathBuf>::new());
}

#[test]
fn all_processes_of_a_server_are_limited() {
    let lab = Lab::new();
    let name = own_name("many");
    let Some(server) = up(&lab, &format!("postgresql --name {name} --memory 300M")) else {
        return;
    };
    let pid = server["pid"].as_u64().unwrap();
    let listed = groups(&name)
        .iter()
        .map(|group| fs::read_to_string(group.join("cgroup.procs")).unwrap())
        .collect::<String>();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
    assert!(children.split_whitespace().count() > 2, "{children}");
    for pid in children.split_whitespace().chain([&*pid.to_string()]) {
        assert!(
            listed.lines().any(|line| line == pid),
            "{pid} is not in {listed}"
        );
    }
}

#[test]
fn a_disk_is_limited() {
    let lab = Lab::new();
    let name = own_name("slow");
    let Some(server) = up(&lab, &format!("mariadb --name {name} --write-iops 30")) else {
        return;
    };
    let seen = server["limits_seen"].to_string();
    assert!(seen.contains("30"), "{seen}");
    let load = format!("--tables 1 --table-size 100 --target server:{name} -q");
    lab.dyno(&format!("prepare oltp_update_index {load}"))
        .success();
    let plan = "-t 4s --warmup 0 -c 1 --calibrate never --json";
    let run = lab
        .dyno(&format!("run oltp_update_index {load} {plan}"))
        .success();
    let run: Value = serde_json::from_str(&run.stdout).unwrap();
    // Each commit writes the redo log, so there are fewer commits than writes.
    let count = run["totals"]["events"].as_u64().unwrap();
    assert!(count <= 200, "{count} commits in 4 s");
}

#[test]
fn reports_impossible_options_before_anything_is_made() {
    let lab = Lab::new();
    for (line, status, why) in [
        ("--cpus 0", 2, "at least 0.01 processors"),
        ("--cpus half", 2, "'half' is not a number of processors"),
        ("--memory 0", 2, "a limit of 0"),
        ("--memory much", 2, "--memory: 'much'"),
        ("--iops x", 2, "--iops: 'x'"),
        ("--fs ntfs", 2, "expected ext4, xfs, btrfs or zfs"),
        ("--mount noatime", 2, "set its kind with --fs"),
        ("--fs ext4 --fs-size 1M", 2, ", not 1.00 MiB"),
        ("--fs ext4 --mount a;b", 2, "is not a valid mount option"),
    ] {
        let up = lab
            .dyno(&format!("server up mariadb {line}"))
            .failure(status);
        has(&up, &[why]);
    }
    let huge = lab.dyno("server up mariadb --fs ext4 --fs-size 900T");
    has(&huge.failure(1), &["a file system of"]);
    let mut without = lab.command("server up mariadb --fs zfs");
    let output = without.env("PATH", "/nowhere").output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    if !PathBuf::from("/usr/sbin/zpool").exists() && !PathBuf::from("/sbin/zpool").exists() {
        let known = ["package zfsutils-linux", "needs root"];
        assert!(known.iter().any(|part| stderr.contains(part)), "{stderr}");
    }
    assert!(fs::read_dir(lab.servers()).map_or(0, Iterator::count) == 0);
}

#[test]
fn a_server_uses_its_own_file_system() {
    let lab = Lab::new();
    let line = "postgresql --name own --fs ext4 --fs-size 512M --mount noatime";
    let Some(server) = up(&lab, line) else { return };
    assert_eq!(server["mounted"]["file_system"], "ext4");
    let options = server["mounted"]["options"].as_str().unwrap();
    assert!(
        options.split(',').any(|option| option == "noatime"),
        "{options}"
    );
    let load = "--tables 1 --table-size 500 --target server:own -q";
    lab.dyno(&format!("prepare oltp_read_write {load}"))
        .success();
    lab.dyno("server snapshot own loaded").success();
    lab.dyno(&format!("cleanup oltp_read_write {load}"))
        .success();
    lab.dyno("server restore own loaded").success();
    let run = format!("run oltp_point_select {load} -t 1s --warmup 0 --calibrate never");
    lab.dyno(&run).success();

    // A reboot leaves the image and an empty folder behind.
    crash(&lab, "own");
    let folder = lab.servers().join("own");
    unmount(&folder);
    let listed = lab.dyno("server list --json").success();
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(listed["unmounted"][0], "own");
    has(
        &lab.dyno("server list").success(),
        &["own: its file system is not mounted"],
    );
    has(
        &lab.dyno("server up postgresql --name own").failure(2),
        &["already"],
    );
    lab.dyno("server restart own").success();
    lab.dyno(&run).success();
    crash(&lab, "own");
    unmount(&folder);
    has(
        &lab.dyno("server down own").success(),
        &["its data is removed"],
    );
    assert_eq!(
        fs::read_dir(lab.servers()).unwrap().count(),
        0,
        "nothing is left"
    );
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(
        !mounts.contains(&lab.servers().display().to_string()),
        "{mounts}"
    );
}

#[test]
fn a_mounted_server_is_removed_whole_and_a_failed_start_leaves_nothing() {
    let lab = Lab::new();
    let place = "--fs ext4 --fs-size 512M";
    if up(&lab, &format!("mariadb --name one {place}")).is_none() {
        return;
    }
    has(
        &lab.dyno("server down one").success(),
        &["its data is removed"],
    );
    let failed = lab.dyno(&format!(
        "server up mariadb {place} --set table_open_cache=1"
    ));
    has(&failed.failure(1), &["changed or ignored settings"]);
    let failed = lab.dyno("server up mariadb --fs ext4 --fs-size 512M --mount nosuchoption");
    has(&failed.failure(1), &["loop,nosuchoption"]);
    assert_eq!(fs::read_dir(lab.servers()).unwrap().count(), 0);
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(
        !mounts.contains(&lab.servers().display().to_string()),
        "{mounts}"
    );
}

#[test]
fn restores_one_image_in_several_places() {
    let lab = Lab::new();
    lab.dyno("server up mariadb --name one").success();
    lab.dyno("server up mariadb --name two").success();
    lab.dyno("server up postgresql").success();
    let load = "--tables 1 --table-size 500 -q";
    lab.dyno(&format!(
        "prepare oltp_read_write {load} --target server:one"
    ))
    .success();
    lab.dyno("server snapshot one loaded").success();
    lab.dyno("server snapshot two empty").success();
    lab.dyno("server restore two loaded --from one").success();
    let plan = "-t 1s --warmup 0 --calibrate never";
    let run = format!("run oltp_point_select {load} {plan} --target server:two");
    lab.dyno(&run).success();
    // The copy has its own users.
    lab.dyno("server restore two empty").success();
    has(&lab.dyno(&run).failure(1), &["missing"]);
    lab.dyno("server restore two loaded").success();
    lab.dyno(&run).success();
    has(
        &lab.dyno("server restore two loaded --from one").failure(2),
        &["already"],
    );
    let other = lab
        .dyno("server restore postgresql loaded --from one")
        .failure(2);
    has(&other, &["only a server of the same kind and version"]);
}

#[test]
fn a_trial_starts_on_a_cold_cache_and_a_quiet_host() {
    let lab = Lab::new();
    lab.dyno("server up mariadb --name one").success();
    let load = "--tables 1 --table-size 2000 --target server:one -q";
    lab.dyno(&format!("prepare oltp_read_write {load}"))
        .success();
    has(
        &lab.dyno("server snapshot one loaded --settle 20s")
            .success(),
        &["quiet after"],
    );
    let restart = lab
        .dyno("server restart one --cold --trim --settle 10s --json")
        .success();
    let server: Value = serde_json::from_str(&restart.stdout).unwrap();
    let (done, not_done) = (
        server["reset"]["done"].to_string(),
        &server["reset"]["not_done"],
    );
    let steps = format!("{done}{not_done}");
    assert!(
        steps.contains("page cache") && steps.contains("trim"),
        "{steps}"
    );
    if !done.contains("the host's page cache was dropped") {
        let loud = format!("\nNOT TESTED: the page cache cannot be dropped here: {not_done}\n");
        std::io::stderr().write_all(loud.as_bytes()).unwrap();
        assert!(done.contains("posix_fadvise"), "{done}");
    }
    let cold = server["cold"].to_string();
    assert!(
        cold.contains("innodb_buffer_pool_load_at_startup=off"),
        "{cold}"
    );
    let settled = &server["settled"];
    assert!(settled["waited_s"].as_f64().unwrap() < 15.0, "{settled}");
    let left = settled["left"].as_array().unwrap();
    assert_eq!(
        settled["quiet"].as_bool().unwrap(),
        left.is_empty(),
        "{settled}"
    );

    let warm = "--set innodb_buffer_pool_load_at_startup=ON --cold";
    has(
        &lab.dyno(&format!("server restart one {warm}")).success(),
        &["is not cold"],
    );
    lab.dyno("server up postgresql --name two").success();
    has(
        &lab.dyno("server restart two --cold --settle 5s").success(),
        &["pg_prewarm is not loaded", "quiet after"],
    );
    lab.dyno("server down two --keep-data").success();
    has(
        &lab.dyno("server snapshot two a --settle 5s").success(),
        &["nothing to wait for"],
    );
}

#[test]
fn reports_sizes_by_class() {
    let lab = Lab::new();
    lab.dyno("server up mariadb --set log_bin=true").success();
    lab.dyno("server up postgresql").success();
    std::thread::sleep(Duration::from_millis(100));
    for name in ["mariadb", "postgresql"] {
        let sizes = &lab.server(name)["sizes"];
        let bytes = |class: &str| sizes[class].as_u64().unwrap();
        assert!(
            bytes("data") > 1 << 20 && bytes("redo") > 1 << 20,
            "{sizes}"
        );
        assert_eq!(bytes("binlog") > 0, name == "mariadb", "{sizes}");
    }
}
