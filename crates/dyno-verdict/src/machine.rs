//! Checks 29 to 35: the machine of the server and the generator.

mod disk;
mod resources;

#[cfg(test)]
mod tests;

pub(crate) use resources::THROTTLED;

use dyno_core::catalogue::{Family, names};
use dyno_core::finding::Outcome;
use dyno_core::record::EventKind;

use crate::check::{Check, CheckResult, doubted, thresholds};
use crate::text;
use crate::time::other_load;
use crate::view::View;

pub(crate) const CHECKS: &[Check] = &[
    Check {
        number: 29,
        name: "cpu-frequency",
        title: "Governor, turbo and CPU frequency",
        rule: "Doubt if the fastest CPU slowed by {0} % from the first to the last third of the \
               measurement. Governor and turbo are only reported. Needs {1} samples.",
        thresholds: &[SLOWED, SAMPLES],
        make: frequency,
    },
    resources::RESOURCES,
    disk::DISK,
    Check {
        number: 32,
        name: "network",
        title: "Round trip, retransmitted segments and dropped packets",
        rule: "Doubt if {0} % of the TCP segments and {2} per second were retransmitted, or {1} \
               packets per second dropped.",
        thresholds: &[RETRANSMITS, DROPS, RETRANSMITS_FEW],
        make: network,
    },
    Check {
        number: 33,
        name: "kernel-log",
        title: "Kernel log: out of memory, I/O errors, machine checks, hung tasks",
        rule: "Doubt if the kernel logged one of these problems during the measurement.",
        thresholds: &[],
        make: kernel_log,
    },
    Check {
        number: 34,
        name: "other-processes",
        title: "CPU use of other processes",
        rule: "Doubt if processes other than generator and server used {0} % of the host's CPUs, \
               unless `other-load` reports it for a part. An unidentified server counts among \
               them, unless it is the only process with its name and age, or at the other end of \
               the observer's connection.",
        thresholds: &[OTHERS],
        make: other_processes,
    },
    Check {
        number: 35,
        name: "clock-steps",
        title: "Steps of the wall clock",
        rule: "Doubt if the wall clock was set by {0} ms within a second.",
        thresholds: &[STEP],
        make: clock_steps,
    },
];

thresholds! {
    SLOWED = 10.0, "percent", "fall of the frequency":
        "an exhausted thermal budget costs 10 to 30 %";
    SAMPLES = 9.0, "count", "samples": "three per third";
    RETRANSMITS = 1.0, "percent", "segments sent again":
        "each costs 200 ms or more (RFC 6298 and Linux's minimum), which p99 shows";
    RETRANSMITS_FEW = 1.0, "per second", "segments sent again":
        "on a quiet network, one segment of another program exceeds a percent";
    DROPS = 10.0, "per second", "packets dropped": "single drops are stray broadcasts";
    /// Also the limit for temporary other load, see `time::other_load`.
    pub(crate) OTHERS = 15.0, "percent of the host", "CPU of other processes":
        "monitoring and kernel threads stay below a tenth";
    STEP = 50.0, "ms", "step of the wall clock":
        "time services slew by 0.5 ms a second; a busy host reads two clocks ten milliseconds \
         apart";
}

fn frequency(view: &View) -> CheckResult {
    let facts = [
        ("governor", view.run.fact(names::HOST_CPU_GOVERNOR)),
        ("turbo", view.run.fact(names::HOST_CPU_TURBO)),
    ];
    let details: Vec<String> = facts
        .iter()
        .filter_map(|(name, value)| Some(format!("{name} {}", value.as_ref()?)))
        .collect();
    let values = view.values(names::HOST_CPU_FREQUENCY_MAX);
    if (values.len() as f64) < SAMPLES.value {
        return match details.is_empty() {
            true => {
                CheckResult::not_checked(format!("{}.", view.why_not(names::HOST_CPU_FREQUENCY)))
            }
            false => CheckResult::not_checked(format!(
                "The frequency over time is not known, only the {}.",
                text::list(&details)
            )),
        };
    }
    let third = values.len() / 3;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    let (first, last) = (
        mean(&values[..third]),
        mean(&values[values.len() - third..]),
    );
    let fall = if first > 0.0 {
        (1.0 - last / first) * 100.0
    } else {
        0.0
    };
    let named = match details.is_empty() {
        true => String::new(),
        false => format!(" ({})", details.join(", ")),
    };
    CheckResult::of(
        doubted(fall, &SLOWED),
        format!(
            "The fastest CPU ran at {} MHz in the first third and {} MHz in the last{named}.",
            text::plain(first),
            text::plain(last)
        ),
        "Let the machine cool down, fix the frequency (governor performance, turbo off), and run \
         again.",
    )
    .with("first third", first, "mhz")
    .with("last third", last, "mhz")
    .with("fall", fall, "percent")
}

fn network(view: &View) -> CheckResult {
    if view.embedded() {
        return CheckResult::not_checked("An embedded database has no network.");
    }
    let trip = dyno_stats::median(&view.values(names::DB_ROUND_TRIP));
    // A server in a container has a separate network on this host.
    match (Traffic::of(view, OF_HOST), Traffic::of(view, OF_SERVER)) {
        (None, None) => CheckResult::not_checked(format!("{}.", view.why_not(names::HOST_TCP))),
        (own, there) => network_result(own.as_ref(), there.as_ref(), trip),
    }
}

/// Segments sent again and sent, and dropped packets.
type TrafficSeries = ([&'static str; 2], [Family; 2]);

const OF_HOST: TrafficSeries = (
    [names::HOST_TCP_RETRANSMITS, names::HOST_TCP_OUT_SEGMENTS],
    [names::HOST_NETWORK_RX_DROPS, names::HOST_NETWORK_TX_DROPS],
);
const OF_SERVER: TrafficSeries = (
    [
        names::SERVER_TCP_RETRANSMITS,
        names::SERVER_TCP_OUT_SEGMENTS,
    ],
    [
        names::SERVER_NETWORK_RX_DROPS,
        names::SERVER_NETWORK_TX_DROPS,
    ],
);

/// Network losses by the counters of one end.
struct Traffic {
    /// Retransmitted segments, in percent and per second.
    again: Option<(f64, f64)>,
    /// Packets per second.
    dropped: Option<f64>,
}

impl Traffic {
    fn of(view: &View, ([again, all], drops): TrafficSeries) -> Option<Self> {
        let segments = view.mean(again).zip(view.mean(all));
        let dropped = drops
            .into_iter()
            .filter_map(|series| view.devices_mean(series))
            .reduce(|one, other| one + other);
        let share = |(again, all): (f64, f64)| {
            let percent = if all > 0.0 { again / all * 100.0 } else { 0.0 };
            (percent, again)
        };
        let again = segments.map(share);
        (again.is_some() || dropped.is_some()).then_some(Self { again, dropped })
    }

    fn outcome(&self) -> Outcome {
        let often = self
            .again
            .filter(|(_, per_s)| *per_s >= RETRANSMITS_FEW.value);
        let again = often.map_or(Outcome::Pass, |(share, _)| doubted(share, &RETRANSMITS));
        let dropped = self.dropped.map_or(Outcome::Pass, |it| doubted(it, &DROPS));
        again.max(dropped)
    }

    fn facts(&self) -> Vec<String> {
        let again = self.again.map(|(share, _)| {
            format!(
                "{} % of the segments were retransmitted",
                text::plain(share)
            )
        });
        let dropped = self
            .dropped
            .map(|it| format!("{} packets were dropped a second", text::plain(it)));
        again.into_iter().chain(dropped).collect()
    }
}

fn network_result(
    own: Option<&Traffic>,
    there: Option<&Traffic>,
    trip: Option<f64>,
) -> CheckResult {
    let both = own.into_iter().chain(there);
    let outcome = both.map(Traffic::outcome).max().unwrap_or(Outcome::Pass);
    let mut facts = own.map(Traffic::facts).unwrap_or_default();
    if let Some(there) = there {
        let there = text::list(&there.facts());
        facts.push(format!("at the server's end {there}"));
    }
    if let Some(trip) = trip {
        facts.push(format!("the observer's round trip took {}", text::ms(trip)));
    }
    let again = |of: Option<&Traffic>| of?.again.map(|(share, _)| share);
    let dropped = |of: Option<&Traffic>| of?.dropped;
    CheckResult::of(
        outcome,
        text::sentence(&text::list(&facts)),
        "Look at the interface's own counters (ip -s link, ethtool -S) and at what else uses the \
         path.",
    )
    .with_some("segments sent again", again(own), "percent")
    .with_some("packets dropped", dropped(own), "per second")
    .with_some(
        "segments that the server sent again",
        again(there),
        "percent",
    )
    .with_some(
        "packets dropped at the server",
        dropped(there),
        "per second",
    )
    .with_some("round trip, median", trip, "ms")
}

fn kernel_log(view: &View) -> CheckResult {
    let lines: Vec<String> = view
        .events(EventKind::Note)
        .iter()
        .filter(|event| !event.detail.on_server_host)
        .filter_map(|event| event.detail.kernel_log.clone())
        .collect();
    let kills = view
        .ends(names::HOST_OOM_KILLS)
        .map_or(0.0, |(first, last)| last - first);
    if !lines.is_empty() || kills > 0.0 {
        let killed = match kills > 0.0 {
            true => format!(
                "The kernel killed {} {} for memory. ",
                text::plain(kills),
                text::verb(kills, "process", "processes")
            ),
            false => String::new(),
        };
        let words = match lines.is_empty() {
            true => String::new(),
            false => format!("The kernel's log says: {}.", text::few(&lines, 3)),
        };
        return CheckResult::doubt(
            format!("{killed}{words}").trim().to_owned(),
            "See the kernel's log (dmesg -T) around the run.",
        )
        .with("lines that matter", lines.len() as f64, "count")
        .with("processes killed for memory", kills, "count");
    }
    match view.run.fact(names::HOST_KERNEL_LOG_READABLE) {
        Some("yes") => CheckResult::pass("The kernel's log shows no problem at this time.").with(
            "lines that matter",
            0.0,
            "count",
        ),
        Some(_) => CheckResult::not_checked("The kernel's log is not readable for this user."),
        None => CheckResult::not_checked(format!("{}.", view.why_not(names::HOST_KERNEL_LOG))),
    }
}

/// The share of the host's CPUs used by other processes, in percent, and in cores.
fn others(view: &View) -> Option<(f64, f64)> {
    let cores = view
        .mean(names::HOST_OTHERS_CPU)
        .or_else(|| all_others(view))?;
    let cpus = view.cpus()?;
    Some((cores / cpus * 100.0, cores))
}

/// All processes except Dyno's own, in cores, if the server's process is unknown.
fn all_others(view: &View) -> Option<f64> {
    if !view.unplaced() || !view.agents().is_empty() {
        return None;
    }
    let busy = view.host_busy()? / 100.0 * view.cpus()?;
    let own = view.mean_sum(&[names::CLIENT_CPU_USER, names::CLIENT_CPU_SYSTEM])?;
    Some((busy - own).max(0.0))
}

/// A note that the server may be one of the other processes, as a part of a sentence; and
/// candidates that are not counted, as a sentence.
pub(crate) fn server_among_others(view: &View) -> (String, String) {
    if !view.unplaced() {
        return (String::new(), String::new());
    }
    let fact = |name: &str| view.run.fact(name).map(|value| value.trim_end_matches('.'));
    let why = view.why_unplaced();
    let proxy = fact(names::SERVER_PROXY).map(|proxy| format!("{proxy} is in between"));
    match (fact(names::SERVER_PRESUMED), proxy) {
        (Some(server), proxy) => {
            let proxy = proxy.map_or_else(String::new, |proxy| format!("; {proxy}"));
            let why = format!(
                " By its name and age the server is {server}, which is not counted among \
                 them{proxy}."
            );
            (String::new(), why)
        }
        (None, proxy) => {
            let among = "; the server may be one of them, which could not be determined";
            let proxy = proxy.map_or_else(String::new, |proxy| format!(" {proxy}."));
            (format!("{among}{why}"), proxy)
        }
    }
}

pub(crate) fn against_others(view: &View) -> &'static str {
    match view.unplaced() {
        true => {
            "End other processes on this host, or use a dedicated host. Connect to the server \
             itself instead of a proxy, by its UNIX socket or as root, so that its process is \
             known."
        }
        false => "End other processes on this host, or use a dedicated host.",
    }
}

/// Whether the CPU use of other processes over the whole measurement is reported.
pub(crate) fn others_are_many(view: &View) -> bool {
    others(view).is_some_and(|(share, _)| doubted(share, &OTHERS) == Outcome::Doubt)
}

/// `sh (12) 1.5 cores` for the processes with the most CPU time; `None` if unknown. Processes that
/// begin and end between two samples have no names. The figures cover the run from connecting to
/// its end, so their sum may exceed [`others`], which covers the measurement.
pub(crate) fn others_by_name(view: &View) -> Option<String> {
    const BRIEF: &str = "processes that started and ended between two samples";
    const WHEN: &str = " (over the whole run)";
    let top = view.run.fact(names::HOST_OTHERS_TOP)?.trim();
    let top = Some(top.trim_end_matches('.')).filter(|top| !top.is_empty())?;
    let named = view.run.fact(names::HOST_OTHERS_TOP_CORES);
    let named = named.and_then(|cores| cores.parse::<f64>().ok());
    let all = others(view).map_or(0.0, |(_, cores)| cores);
    Some(match named.filter(|named| *named * 2.0 < all) {
        Some(named) if named > 0.0 => format!("mostly {BRIEF}, and {top}{WHEN}"),
        Some(_) => BRIEF.to_owned(),
        None => format!("{top}{WHEN}"),
    })
}

fn other_processes(view: &View) -> CheckResult {
    let Some((share, cores)) = others(view) else {
        return CheckResult::not_checked(format!("{}.", view.why_not(names::HOST_OTHERS)));
    };
    if others_are_many(view) && other_load::for_a_part(view) {
        return CheckResult::not_checked(
            "Other processes were busy for only part of the measurement (see `other-load`).",
        );
    }
    let (among, presumed) = server_among_others(view);
    let named = others_by_name(view);
    let named = named.map_or_else(String::new, |named| format!(": {named}"));
    CheckResult::of(
        doubted(share, &OTHERS),
        format!(
            "Other processes used {} cores, {} % of the host's CPUs{named}{among}.{presumed}",
            text::plain(cores),
            text::plain(share),
        ),
        against_others(view),
    )
    .with("other processes", cores, "cores")
    .with("other processes, share", share, "percent of the host")
}

fn clock_steps(view: &View) -> CheckResult {
    let offsets = view.points(names::HOST_CLOCK_STEP);
    if offsets.len() < 2 {
        return CheckResult::not_checked(format!("{}.", view.why_not(names::HOST_CLOCK_STEP)));
    }
    let largest = offsets
        .windows(2)
        .map(|pair| (pair[1].0, pair[1].1 - pair[0].1))
        .max_by(|one, other| one.1.abs().total_cmp(&other.1.abs()))
        .unwrap_or_default();
    let step = largest.1.abs();
    let outcome = doubted(step, &STEP);
    let evidence = match outcome {
        Outcome::Pass => format!(
            "The wall clock followed the monotonic clock within {} a second.",
            text::ms(step)
        ),
        _ => format!(
            "The wall clock was set by {} at {}.",
            text::ms(largest.1),
            text::seconds(largest.0)
        ),
    };
    CheckResult::of(
        outcome,
        evidence,
        "Let the time service settle before a run. Latencies use the monotonic clock and are \
         correct; times of day do not match other logs.",
    )
    .with("largest step", largest.1, "ms")
}
