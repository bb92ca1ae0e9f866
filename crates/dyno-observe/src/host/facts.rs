//! Constant facts about a host, and the gaps in what can be observed on it.

use std::path::Path;

use dyno_core::catalogue::{Family, names};
use dyno_core::record::{Fact, NotObserved};

use super::cgroup::Places;
use super::disks::is_whole_disk;
use super::frequency::Frequency;
use super::pressure::Pressure;
use crate::process::descriptors_limit;
use crate::text::{ProcFile, lines, names_in, small, whole, words};

const CPU: &str = "/sys/devices/system/cpu";

/// Facts about the host without a run: names and sources are listed in the guide.
pub fn host_facts() -> Vec<Fact> {
    let mut facts = Facts(Vec::new());
    system(&mut facts);
    processor(&mut facts);
    memory(&mut facts);
    disks(&mut facts);
    limits(&mut facts);
    facts.0
}

/// The gaps that every run on this host has, with their reasons.
pub fn host_gaps() -> Vec<NotObserved> {
    let mut gaps = Vec::new();
    let mut gap = |what: &str, why: &str| {
        gaps.push(NotObserved {
            what: what.to_owned(),
            why: why.to_owned(),
        });
    };
    for (what, path) in [
        (names::HOST_CPU, "/proc/stat"),
        (names::HOST_LOAD1, "/proc/loadavg"),
        (names::HOST_MEMORY, "/proc/meminfo"),
        (names::HOST_SWAP, "/proc/vmstat"),
        (names::HOST_PAGE_FAULTS, "/proc/vmstat"),
        (names::HOST_OOM_KILLS, "/proc/vmstat"),
        (names::HOST_DISK, "/proc/diskstats"),
        (names::HOST_NETWORK, "/proc/net/dev"),
        (names::HOST_TCP, "/proc/net/snmp"),
    ] {
        if let Err(error) = std::fs::read(path) {
            gap(what, &format!("cannot read {path}: {error}"));
        }
    }
    if Pressure::find().is_none() {
        let why = "the kernel provides no pressure stall information: boot it with psi=1";
        gap(names::HOST_PRESSURE, why);
    }
    if Frequency::find(cpus_configured()).is_none() {
        let why = "neither the kernel nor the hypervisor reports the CPU frequency: there is no \
                   cpufreq below /sys/devices/system/cpu/cpu0";
        gap(names::HOST_CPU_FREQUENCY, why);
    }
    if super::Cgroup::of("self", names::HOST_CGROUP).is_none() {
        gap(
            names::HOST_CGROUP,
            "cannot read the files of this process's control group: mount /sys/fs/cgroup",
        );
    }
    if let Err(error) = kernel_log_error() {
        let why = format!(
            "cannot read /dev/kmsg: {error}; CAP_SYSLOG or kernel.dmesg_restrict=0 is needed"
        );
        gap(names::HOST_KERNEL_LOG, &why);
    }
    gaps
}

struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, name: &str, value: Option<String>, source: &str) {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.0.push(Fact::new(name, value, source));
        }
    }

    fn file(&mut self, name: &str, path: &str) {
        self.add(name, small(path), path);
    }

    /// The choice in brackets among `always [madvise] never`.
    fn choice(&mut self, name: &str, path: &str) {
        self.add(name, small(path).as_deref().and_then(chosen), path);
    }
}

fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    let (choice, _) = rest.split_once(']')?;
    Some(choice.to_owned())
}

fn system(facts: &mut Facts) {
    facts.file(names::HOST_NAME, "/proc/sys/kernel/hostname");
    let release = small("/etc/os-release").unwrap_or_default();
    facts.add(names::HOST_OS, pretty_name(&release), "/etc/os-release");
    facts.file(names::HOST_KERNEL, "/proc/sys/kernel/osrelease");
    facts.file(names::HOST_BOOT_ID, "/proc/sys/kernel/random/boot_id");
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    facts.file(names::HOST_CLOCK_SOURCE, clock);
    facts.add(
        names::HOST_CLOCK_RESOLUTION_NS,
        clock_resolution_ns().map(|ns| ns.to_string()),
        "clock_getres(CLOCK_MONOTONIC)",
    );
    let (value, source) = virtualization();
    facts.add(names::HOST_VIRTUALIZATION, Some(value), source);
    let readable = kernel_log_error().is_ok();
    let value = if readable { "yes" } else { "no" };
    facts.add(
        names::HOST_KERNEL_LOG_READABLE,
        Some(value.to_owned()),
        "/dev/kmsg",
    );
}

fn processor(facts: &mut Facts) {
    let info = std::fs::read("/proc/cpuinfo").unwrap_or_default();
    let source = "/proc/cpuinfo";
    let model = cpuinfo(&info, "model name").next();
    let model = model.or_else(|| cpuinfo(&info, "CPU part").next());
    facts.add(names::HOST_CPU_MODEL, model, source);
    let threads = cpus_configured();
    facts.add(
        names::HOST_CPU_THREADS,
        Some(threads.to_string()),
        "sysconf(_SC_NPROCESSORS_CONF)",
    );
    facts.add(
        names::HOST_CPU_CORES,
        cores().map(|count| count.to_string()),
        CPU,
    );
    let status = std::fs::read("/proc/self/status").unwrap_or_default();
    let allowed = cpuinfo(&status, "Cpus_allowed_list").next();
    facts.add(names::HOST_CPU_ALLOWED, allowed, "/proc/self/status");
    let nodes = names_in("/sys/devices/system/node");
    let nodes = nodes.iter().filter(|name| numbered(name, "node").is_some());
    facts.add(
        names::HOST_NUMA_NODES,
        some_count(nodes.count()),
        "/sys/devices/system/node",
    );
    let source = format!("{CPU}/cpu*/cpufreq/scaling_governor");
    facts.add(names::HOST_CPU_GOVERNOR, governors(), &source);
    let (turbo, source) = turbo();
    facts.add(names::HOST_CPU_TURBO, turbo, source);
    facts.add(
        names::HOST_CPU_IDLE_STATES,
        idle_states(),
        &format!("{CPU}/cpu0/cpuidle"),
    );
    let source = format!("{CPU}/vulnerabilities");
    facts.add(names::HOST_CPU_MITIGATIONS, mitigations(&source), &source);
}

fn memory(facts: &mut Facts) {
    let info = std::fs::read("/proc/meminfo").unwrap_or_default();
    let size = |wanted: &[u8]| {
        let mut all = crate::text::named_numbers(&info);
        let (_, bytes) = all.find(|(name, _)| *name == wanted)?;
        Some(format!("{bytes:.0}"))
    };
    facts.add(names::HOST_MEMORY_TOTAL, size(b"MemTotal"), "/proc/meminfo");
    facts.add(names::HOST_SWAP_TOTAL, size(b"SwapTotal"), "/proc/meminfo");
    facts.choice(
        names::HOST_THP,
        "/sys/kernel/mm/transparent_hugepage/enabled",
    );
    facts.choice(
        names::HOST_THP_DEFRAG,
        "/sys/kernel/mm/transparent_hugepage/defrag",
    );
    facts.file(names::HOST_SWAPPINESS, "/proc/sys/vm/swappiness");
}

fn disks(facts: &mut Facts) {
    for name in names_in("/sys/block") {
        if !is_whole_disk(&name) {
            continue;
        }
        let queue = format!("/sys/block/{name}/queue");
        let full = |fact: Family| fact.of(name.replace('!', "/"));
        let path = format!("{queue}/scheduler");
        let scheduler = small(&path);
        // A queue with a single scheduler has no brackets.
        let scheduler = scheduler.map(|text| chosen(&text).unwrap_or(text));
        facts.add(&full(names::HOST_DISK_SCHEDULER), scheduler, &path);
        facts.file(
            &full(names::HOST_DISK_WRITE_CACHE),
            &format!("{queue}/write_cache"),
        );
        facts.file(
            &full(names::HOST_DISK_ROTATIONAL),
            &format!("{queue}/rotational"),
        );
        facts.file(
            &full(names::HOST_DISK_MODEL),
            &format!("/sys/block/{name}/device/model"),
        );
    }
}

fn limits(facts: &mut Facts) {
    let limits = small("/proc/self/limits").unwrap_or_default();
    let soft = descriptors_limit(&limits);
    facts.add(
        names::HOST_LIMITS_DESCRIPTORS,
        soft.map(str::to_owned),
        "/proc/self/limits",
    );
    facts.add(
        names::HOST_CGROUP_CPU_MAX,
        Places::find().cpu_max(),
        "control group",
    );
}

fn pretty_name(release: &str) -> Option<String> {
    let line = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(line.trim_matches('"').to_owned())
}

/// The values of a name in a file of `name : value` lines.
fn cpuinfo<'a>(text: &'a [u8], wanted: &'a str) -> impl Iterator<Item = String> + 'a {
    lines(text).filter_map(move |line| {
        let line = std::str::from_utf8(line).ok()?;
        let (name, value) = line.split_once(':')?;
        (name.trim() == wanted).then(|| value.trim().to_owned())
    })
}

pub(super) fn cpus_configured() -> usize {
    // SAFETY: a call without pointers.
    let count = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    usize::try_from(count).unwrap_or(1).max(1)
}

/// The CPU frequency governors: one name if all are the same.
fn governors() -> Option<String> {
    let cpus = names_in(CPU);
    let cpus = cpus.iter().filter(|name| numbered(name, "cpu").is_some());
    let found = cpus.filter_map(|name| small(format!("{CPU}/{name}/cpufreq/scaling_governor")));
    let found: std::collections::BTreeSet<String> = found.collect();
    (!found.is_empty()).then(|| found.into_iter().collect::<Vec<_>>().join(" "))
}

/// The number of cores, which may have several threads each.
fn cores() -> Option<usize> {
    let mut cores = std::collections::HashSet::new();
    for name in names_in(CPU) {
        if numbered(&name, "cpu").is_none() {
            continue;
        }
        let topology = format!("{CPU}/{name}/topology");
        let core = small(format!("{topology}/core_id"))?;
        let package = small(format!("{topology}/physical_package_id"))?;
        cores.insert((package, core));
    }
    (!cores.is_empty()).then_some(cores.len())
}

/// Parses `node3` as number 3 of `node`.
fn numbered(name: &str, kind: &str) -> Option<u64> {
    whole(name.strip_prefix(kind)?.as_bytes())
}

fn some_count(count: usize) -> Option<String> {
    (count > 0).then(|| count.to_string())
}

fn turbo() -> (Option<String>, &'static str) {
    let intel = "/sys/devices/system/cpu/intel_pstate/no_turbo";
    let other = "/sys/devices/system/cpu/cpufreq/boost";
    let answer = |on: bool| Some(if on { "on" } else { "off" }.to_owned());
    match (small(intel), small(other)) {
        (Some(text), _) => (answer(text == "0"), intel),
        (None, Some(text)) => (answer(text == "1"), other),
        (None, None) => (None, other),
    }
}

/// The enabled idle states of the first CPU, shallowest first.
fn idle_states() -> Option<String> {
    let folder = format!("{CPU}/cpu0/cpuidle");
    let mut names = Vec::new();
    for state in names_in(&folder) {
        if small(format!("{folder}/{state}/disable")).as_deref() == Some("0") {
            names.extend(small(format!("{folder}/{state}/name")));
        }
    }
    (!names.is_empty()).then(|| names.join(" "))
}

/// Vulnerabilities that are mitigated or open, by the kernel's names.
fn mitigations(folder: &str) -> Option<String> {
    let mut states = Vec::new();
    for name in names_in(folder) {
        let state = small(Path::new(folder).join(&name))?;
        if state != "Not affected" {
            states.push(format!("{name}: {state}"));
        }
    }
    (!states.is_empty()).then(|| states.join("; "))
}

fn virtualization() -> (String, &'static str) {
    let info = std::fs::read("/proc/cpuinfo").unwrap_or_default();
    let virtual_machine = cpuinfo(&info, "flags").next();
    let flags = virtual_machine.unwrap_or_default();
    let vendor = small("/sys/class/dmi/id/sys_vendor").unwrap_or_default();
    let product = small("/sys/class/dmi/id/product_name").unwrap_or_default();
    let hypervisor = small("/sys/hypervisor/type");
    if let Some(name) = hypervisor {
        return (name, "/sys/hypervisor/type");
    }
    if words(flags.as_bytes()).any(|flag| flag == b"hypervisor") {
        let machine = format!("{vendor} {product}");
        let value = match machine.trim() {
            "" => "virtual machine".to_owned(),
            name => format!("virtual machine ({name})"),
        };
        return (value, "/proc/cpuinfo, /sys/class/dmi/id");
    }
    ("none seen".to_owned(), "/proc/cpuinfo")
}

fn clock_resolution_ns() -> Option<i64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec.
    let result = unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &raw mut time) };
    (result == 0).then_some(time.tv_sec * 1_000_000_000 + time.tv_nsec)
}

fn kernel_log_error() -> std::io::Result<()> {
    ProcFile::open("/dev/kmsg").map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_is_known_without_a_run() {
        let facts = host_facts();
        let value = |name: &str| {
            let found = facts.iter().find(|fact| fact.name == name);
            found.map(|fact| fact.value.clone())
        };
        for name in [
            "host.name",
            "host.kernel",
            "host.cpu.threads",
            "host.memory.total",
        ] {
            assert!(value(name).is_some(), "{name}: {facts:?}");
        }
        let cpus: usize = value("host.cpu.threads").unwrap().parse().unwrap();
        assert!(cpus >= 1);
        assert!(facts.iter().all(|fact| !fact.source.is_empty()));
    }

    #[test]
    fn gaps_have_a_reason() {
        for gap in host_gaps() {
            assert!(gap.what.starts_with("host."), "{gap:?}");
            assert!(gap.why.len() > 20, "{gap:?}");
        }
    }

    #[test]
    fn odd_texts_are_understood() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("none"), None);
        assert_eq!(
            pretty_name("NAME=x\nPRETTY_NAME=\"A B\"\n").as_deref(),
            Some("A B")
        );
        let info = b"processor\t: 0\nmodel name\t: One: two\n";
        assert_eq!(
            cpuinfo(info, "model name").next().as_deref(),
            Some("One: two")
        );
        assert_eq!(numbered("node12", "node"), Some(12));
        assert_eq!(numbered("node", "node"), None);
    }
}
