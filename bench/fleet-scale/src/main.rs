//! Measures what many agents cost a coordinator: `fleet-scale [AGENTS] [SECONDS] [OPERATIONS]
//! [EVENTS]`.
//!
//! The agents, their loads and the bus are simulated in virtual time, but the coordinator is real.
//! Its CPU time and memory are counted separately from theirs.

mod memory;
mod message;

use dyno_fleet::bus::simulated::Faults;
use dyno_fleet::coordinator::FleetConfig;
use dyno_fleet::division::Division;
use dyno_fleet::merge::Merged;
use dyno_fleet::names::{AgentName, RunId};
use dyno_fleet::simulation::{Load, Scenario, Setup, Simulated, Watch, run};

#[global_allocator]
static MEMORY: memory::Counted = memory::Counted;

const SECOND: u64 = 1_000_000_000;

/// What the simulation observes.
#[derive(Default)]
struct Observations {
    intervals: u64,
    events: u64,
    /// The coordinator's memory at the end of each tenth of the run, in bytes.
    memory: Vec<u64>,
    every: u64,
}

impl Watch for Observations {
    fn interval(&mut self, merged: Merged) -> Option<Merged> {
        self.intervals += u64::from(merged.complete);
        self.events += merged.interval.counters.events * u64::from(merged.complete);
        if merged.index % self.every == self.every - 1 {
            self.memory.push(memory::live());
        }
        None
    }

    fn turn(&mut self, begins: bool) {
        memory::count(begins);
    }
}

#[allow(clippy::print_stdout)] // its purpose
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut numbers = std::env::args().skip(1).map(|text| text.parse::<u64>());
    let mut next = |usual: u64| numbers.next().unwrap_or(Ok(usual));
    let (agents, seconds) = (next(1000)?, next(120)?);
    let (operations, events) = (next(1)? as u32, next(2000)? as u32);
    println!("{agents} agents, {seconds} s, {operations} operations, {events} events/s each\n");
    for line in message::sizes(events, operations)? {
        println!("{line}");
    }
    let load = Load {
        events,
        operations,
        interval_ns: SECOND,
    };
    let scenario = scenario(agents as usize, seconds, load)?;
    let mut seen = Observations {
        every: (seconds / 10).max(1),
        ..Observations::default()
    };
    let out = run(&scenario, &mut seen).ok_or("the scenario is none")?;
    for line in report_lines(&out, &seen, (agents, seconds)) {
        println!("{line}");
    }
    Ok(())
}

fn scenario(
    agents: usize,
    seconds: u64,
    load: Load,
) -> Result<Scenario, Box<dyn std::error::Error>> {
    let names = (1..=agents).map(|number| AgentName::new(format!("gen{number}")));
    let host = |index: u64| Setup {
        clock_ns: 1_000 * SECOND + index * 7_919_000_001 % (3_600 * SECOND),
        drift: (index % 41) as f64 * 1e-6 - 20e-6,
        intervals: seconds,
        ..Setup::default()
    };
    Ok(Scenario {
        config: FleetConfig {
            length_ns: Some(seconds * SECOND),
            ..FleetConfig::new(
                RunId::new("scale")?,
                names.collect::<Result<_, _>>()?,
                Division::equal(agents)?,
            )
        },
        hosts: (0..agents as u64).map(host).collect(),
        load,
        faults: Faults {
            delay_ns: (50_000, 2_000_000),
            ..Faults::default()
        },
        keeps_recorded: false,
        coordinator_dies_at: None,
        until: (seconds + 300) * SECOND,
        seed: 7,
    })
}

fn report_lines(
    out: &Simulated,
    seen: &Observations,
    (agents, seconds): (u64, u64),
) -> Vec<String> {
    let per_second = |count: u64| count as f64 / seconds as f64;
    let mib = |bytes: f64| bytes / f64::from(1 << 20);
    let traffic = out.traffic;
    let cpu_ms = out.coordinator_cpu_ns as f64 / 1e6 / seconds as f64;
    let failed = out.report.as_ref().map(|report| &report.failed);
    let mut lines = vec![
        String::new(),
        format!("ended: {failed:?}, {} findings", out.findings.len()),
        format!(
            "intervals complete: {}, events {}",
            seen.intervals, seen.events
        ),
        format!(
            "coordinator CPU per second of the run: {cpu_ms:.2} ms, {:.1} µs per agent",
            cpu_ms * 1e3 / agents as f64
        ),
        format!(
            "up: {:.0} messages/s, {:.3} MiB/s, of which kept by the bus {:.3} MiB/s",
            per_second(traffic.messages_up),
            mib(per_second(traffic.bytes_up)),
            mib(per_second(traffic.bytes_stored))
        ),
        format!(
            "down: {:.0} messages/s, {:.3} MiB/s",
            per_second(traffic.messages_down),
            mib(per_second(traffic.bytes_down))
        ),
        format!(
            "coordinator memory, highest: {:.1} MiB",
            mib(memory::highest() as f64)
        ),
    ];
    let steps = seen
        .memory
        .iter()
        .map(|bytes| format!("{:.1}", mib(*bytes as f64)));
    let steps: Vec<String> = steps.collect();
    lines.push(format!("by tenths of the run: {} MiB", steps.join(", ")));
    lines
}
