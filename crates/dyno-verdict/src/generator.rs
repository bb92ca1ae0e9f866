//! Checks 1 to 10: whether the load generator distorted the figures.

mod fairness;
pub(crate) mod open_loop;
mod roles;
mod samples;
pub(crate) mod sessions;
mod workers;

#[cfg(test)]
mod fleet_tests;
#[cfg(test)]
mod logs_tests;
#[cfg(test)]
mod session_tests;
#[cfg(test)]
mod tests;

use dyno_core::catalogue::names;
use dyno_core::finding::{Cause, Outcome};
use dyno_core::summary::AgentSummary;

use crate::check::{Check, CheckResult, doubt_if, doubted, graded, thresholds};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

/// The name of the number with the ceiling in the finding `generator-ceiling`, in events
/// per second.
pub const CEILING: &str = "ceiling";

pub(crate) const CHECKS: &[Check] = &[
    Check {
        number: 1,
        name: "generator-ceiling",
        title: "Throughput against the generator's ceiling for this script",
        rule: "Doubt from {0} % of the ceiling, refusal from {1} %. The ceiling is the calibrated \
               rate, or what the CPU time per event allows, whichever is higher.",
        thresholds: &[CEILING_DOUBT, CEILING_REFUSE],
        make: ceiling,
    },
    workers::CLIENT_CPU,
    open_loop::SCHEDULE_LAG,
    open_loop::OFFERED_RATE,
    roles::ROLE_RATES,
    open_loop::ARRIVALS,
    Check {
        number: 6,
        name: "clock",
        title: "Source and resolution of the latency clock",
        rule: "Doubt if the clock source is slow or coarse, or a tick is {0} % of the shortest \
               percentile shown.",
        thresholds: &[CLOCK_TICK],
        make: clock,
    },
    fairness::FAIRNESS,
    sessions::IDLE_SESSIONS,
    samples::UNSERVED,
    samples::SAMPLES,
    Check {
        number: 10,
        name: "same-host",
        title: "Whether generator and server share a host",
        rule: "Always reported. Doubt only if the host's CPUs were {0} % busy and the generator \
               took more than {1} % of that.",
        thresholds: &[SHARED_BUSY, SHARED_CLIENT],
        make: same_host,
    },
];

thresholds! {
    CEILING_DOUBT = 70.0, "percent", "share of the ceiling, doubt":
        "beyond it, queueing in the generator lengthens latencies";
    CEILING_REFUSE = 90.0, "percent", "share of the ceiling, refusal":
        "the throughput is the generator's, not the server's";
    CLOCK_TICK = 1.0, "percent of the shortest percentile", "tick of the clock":
        "latencies are compared to two digits";
    SHARED_BUSY = 95.0, "percent", "busy CPU of the host":
        "a closed loop without pauses fills a shared host's CPUs";
    SHARED_CLIENT = 50.0, "percent", "generator's share of the busy CPU":
        "the generator then used more CPU than everything else on the host";
}

fn ceiling(view: &View) -> CheckResult {
    if view.embedded() {
        return CheckResult::not_checked(
            "An embedded database runs inside the generator, so the generator alone has no \
             ceiling.",
        );
    }
    let Some(calibration) = &view.context.calibration else {
        if view.imported() {
            return Missing::Ceiling.result();
        }
        return CheckResult::not_checked(
            "There is no calibration of this script against a null target on this host.",
        );
    };
    let (Some(rate), true) = (view.events_per_s(), calibration.ceiling_per_s > 0.0) else {
        return CheckResult::not_checked("No event ended, or the calibration is empty.");
    };
    let own = own_ceiling(view, calibration.ceiling_per_s);
    let ceiling = own.unwrap_or(calibration.ceiling_per_s);
    let share = rate / ceiling * 100.0;
    let outcome = graded(share, &CEILING_DOUBT, &CEILING_REFUSE);
    let by = match own {
        Some(_) => "by its CPU time per event in this run; the calibration found less",
        None => "without a server",
    };
    let other = match view.drive() {
        Some(drive) if drive.workers != calibration.workers && view.agents().is_empty() => format!(
            ", which was measured with {} worker{} instead of {}",
            calibration.workers,
            text::plural(calibration.workers),
            drive.workers
        ),
        _ => String::new(),
    };
    CheckResult::of(
        outcome,
        format!(
            "The run reached {} events per second, {} % of the {} that the generator can offer \
             {by}{other}.",
            text::rate(rate),
            text::plain(share),
            text::rate(ceiling)
        ),
        "Give the generator more --workers on a host with more cores, or a cheaper script, and \
         calibrate again.",
    )
    .with("events", rate, "per second")
    .with(CEILING, ceiling, "per second")
    .with("share of the ceiling", share, "percent")
    .with(
        "client CPU of the calibration",
        calibration.cpu_us_per_event,
        "us per event",
    )
    .with(
        "99.9th percentile of the calibration",
        calibration.p999_ms,
        "ms",
    )
}

/// The capacity of the workers by their CPU time in the run, if that is above the calibration's.
/// With few sessions a calibration measures wake-ups instead of work, and a busy host makes
/// everything slower.
fn own_ceiling(view: &View, calibrated: f64) -> Option<f64> {
    let busy = &view.summary()?.client.as_ref()?.worker_busy;
    let mean = dyno_stats::mean(busy).filter(|busy| *busy > 0.0)?;
    let own = view.events_per_s()? / mean;
    (own > calibrated).then_some(own)
}

/// Clock sources that access a device, or that tick coarsely (Linux kernel documentation, "Clock
/// sources, Clock events, sched_clock() and delay timers").
const SLOW_CLOCKS: [&str; 4] = ["acpi_pm", "hpet", "jiffies", "pit"];

/// The finest resolution of a kernel clock, in nanoseconds.
const FINE_NS: f64 = 1.0;

fn clock(view: &View) -> CheckResult {
    let Some(source) = view.run.fact(names::HOST_CLOCK_SOURCE) else {
        return CheckResult::not_checked(format!("{}.", view.why_not(names::HOST_CLOCK_SOURCE)));
    };
    let resolution: Option<f64> = view
        .run
        .fact(names::HOST_CLOCK_RESOLUTION_NS)
        .and_then(|ns| ns.trim().parse().ok());
    let shortest_ms = view
        .latency()
        .into_iter()
        .flat_map(|latency| &latency.percentiles)
        .filter_map(|percentile| percentile.value_ms)
        .filter(|ms| *ms > 0.0)
        .reduce(f64::min);
    let tick = resolution
        .zip(shortest_ms)
        .map(|(ns, ms)| ns / 1e6 / ms * 100.0);
    let slow = SLOW_CLOCKS.contains(&source.trim());
    let coarse = tick.is_some_and(|tick| tick >= CLOCK_TICK.value);
    let outcome = doubt_if(slow || coarse);
    let ticks = resolution.map_or_else(String::new, |ns| {
        format!(", with a resolution of {} ns", text::plain(ns))
    });
    let short = match (coarse, shortest_ms) {
        (true, Some(ms)) => format!(", and the shortest percentile is {}", text::ms(ms)),
        _ => String::new(),
    };
    let advice = match slow || resolution.is_none_or(|ns| ns > FINE_NS) {
        true => {
            "Let the kernel use the CPU's own counter: see \
             /sys/devices/system/clocksource/clocksource0/available_clocksource."
        }
        false => "Let each event do more: events as short as this measure the clock.",
    };
    CheckResult::of(
        outcome,
        format!("The clock source is {}{ticks}{short}.", source.trim()),
        advice,
    )
    .naming((coarse && !slow).then_some(Cause::ShortEvents))
    .with_some("resolution", resolution, "ns")
    .with_some("tick", tick, "percent of the shortest percentile")
}

fn same_host(view: &View) -> CheckResult {
    if view.embedded() {
        return CheckResult::pass(
            "The database is embedded: generator and database are one process.",
        );
    }
    if view.family().is_none() && !view.imported() {
        return CheckResult::not_checked("No database was used.");
    }
    match view.same_host() {
        None => CheckResult::not_checked(match view.run.fact(names::SERVER_SAME_HOST) {
            Some(_) => format!(
                "Whether the server runs on this host could not be determined{}.",
                view.why_unplaced()
            ),
            None => format!("{}.", view.why_not(names::SERVER_SAME_HOST)),
        }),
        Some(false) => CheckResult::pass(match view.agents().is_empty() {
            true => "The server runs on another host than the generator.",
            false => "The server runs on another host than the coordinator.",
        }),
        Some(true) => shared(view),
    }
}

/// CPU time of the generator on this host, in cores: of all its processes, if there are several.
fn generator_cores(view: &View) -> Option<f64> {
    let own = view.mean_sum(&[names::CLIENT_CPU_USER, names::CLIENT_CPU_SYSTEM])?;
    agents_here(view).try_fold(own, |sum, agent| Some(sum + agent.cpu_cores?))
}

fn agents_here<'a>(view: &View<'a>) -> impl Iterator<Item = &'a AgentSummary> + use<'a> {
    let host = view.run.fact(names::HOST_NAME).map(str::trim);
    let all = view.agents().iter();
    all.filter(move |agent| host.is_none_or(|host| agent.host.is_empty() || agent.host == host))
}

fn shared(view: &View) -> CheckResult {
    if !view.agents().is_empty() && agents_here(view).next().is_none() {
        return CheckResult::pass(
            "The coordinator runs on the server's host, and the load generators on others.",
        );
    }
    let client = generator_cores(view);
    let server = view.mean_sum(&[names::SERVER_CPU_USER, names::SERVER_CPU_SYSTEM]);
    let busy = view.host_busy();
    let (Some(client), Some(busy), Some(cpus)) = (client, busy, view.cpus()) else {
        return CheckResult::pass(
            "The generator runs on the server's host; how much of its CPUs each used was not \
             observed.",
        );
    };
    let busy_cores = busy / 100.0 * cpus;
    let part = if busy_cores > 0.0 {
        client / busy_cores * 100.0
    } else {
        0.0
    };
    let outcome = match busy >= SHARED_BUSY.value {
        true => doubted(part, &SHARED_CLIENT),
        false => Outcome::Pass,
    };
    let who = match agents_here(view).count() {
        0 => "generator".to_owned(),
        agents => format!(
            "coordinator and {agents} load generator{}",
            text::plural(agents as u64)
        ),
    };
    let servers = server.map_or_else(String::new, |server| {
        format!(", the server {}", text::plain(server))
    });
    CheckResult::of(
        outcome,
        format!(
            "The {} on the server's host: its {} CPUs were {} % busy; the {who} used {} \
             cores{servers}.",
            match view.agents().is_empty() {
                true => "generator runs",
                false => "load generators run",
            },
            text::plain(cpus),
            text::plain(busy),
            text::plain(client)
        ),
        "Run the generator on a separate host.",
    )
    .with("busy CPU of the host", busy, "percent")
    .with("generator", client, "cores")
    .with_some("server", server, "cores")
    .with("generator's part of the busy CPU", part, "percent")
}
