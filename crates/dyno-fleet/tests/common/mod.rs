//! Fleets in real time with simulated loads.
#![allow(clippy::unwrap_used, clippy::print_stdout)] // tests may panic

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::interval::Interval;
use dyno_fleet::agent::{Agent, AgentConfig, Command, Exit, LINGER_NS};
use dyno_fleet::bus::{Bus, BusError};
use dyno_fleet::coordinator::{Coordinator, Event, FleetConfig, Report};
use dyno_fleet::division::Division;
use dyno_fleet::finding::Kind;
use dyno_fleet::merge::Merged;
use dyno_fleet::message::{Ceiling, End, Hello, PROTOCOL};
use dyno_fleet::names::{AgentName, RunId};
use dyno_fleet::pump::{LoadReport, coordinate, take_part, unix_ns};
use dyno_fleet::simulation::{Load, recorded};

/// The length of an interval.
pub(crate) const INTERVAL: u64 = 200_000_000;
const SEED: u64 = 3;

/// The configuration of a fleet.
pub(crate) fn config(run: &str, agents: &[AgentName], intervals: u64) -> FleetConfig {
    let run = RunId::new(run).unwrap();
    let division = Division::equal(agents.len()).unwrap();
    FleetConfig {
        plan: "{\"plan_version\":1}".to_owned(),
        interval_ns: INTERVAL,
        length_ns: Some(intervals * INTERVAL),
        ..FleetConfig::new(run, agents.to_vec(), division)
    }
}

/// Names for this number of agents.
pub(crate) fn names(count: usize) -> Vec<AgentName> {
    (1..=count)
        .map(|number| AgentName::new(format!("gen{number}")).unwrap())
        .collect()
}

/// Runs the agent with this number on a separate thread; returns its result.
pub(crate) fn agent<B: Bus>(
    config: &FleetConfig,
    number: usize,
    intervals: u64,
    connect: impl FnOnce() -> B + Send + 'static,
) -> JoinHandle<Result<Exit, BusError>> {
    let own = AgentConfig {
        run: config.run.clone(),
        name: config.agents[number].clone(),
        instance: 1 + number as u64,
        hello: Hello {
            protocols: vec![PROTOCOL],
            ..Hello::default()
        },
        join_ns: 20_000_000_000,
        linger_ns: LINGER_NS,
    };
    spawn(move || {
        let mut bus = connect();
        let (commands, orders) = channel();
        let (report_sender, reports) = channel();
        let load = spawn(move || load(number, intervals, &orders, &report_sender));
        let mut agent = Agent::new(own, Clock.now(), unix_ns());
        let exit = take_part(&mut agent, &mut bus, &commands, &reports);
        drop(commands);
        load.join().unwrap();
        exit
    })
}

/// A load whose records depend only on its number and the interval.
fn load(
    number: usize,
    intervals: u64,
    orders: &Receiver<Command>,
    report_sender: &Sender<LoadReport>,
) {
    let shape = shape();
    let mut start = None;
    let mut made = 0;
    loop {
        let next = start.map(|start: u64| start + (made + 1) * INTERVAL);
        let wait = next.map_or(1_000_000_000, |at| at.saturating_sub(Clock.now()));
        match orders.recv_timeout(Duration::from_nanos(wait)) {
            Ok(Command::Calibrate(_)) => {
                let report = LoadReport::Calibrated(Ceiling::default());
                report_sender.send(report).unwrap();
            }
            Ok(Command::Prepare(_)) => report_sender.send(LoadReport::Prepared).unwrap(),
            Ok(Command::Start { at }) => {
                let left = at.saturating_sub(Clock.now());
                std::thread::sleep(Duration::from_nanos(left));
                report_sender.send(LoadReport::Began(Clock.now())).unwrap();
                start = Some(at);
            }
            Ok(Command::CallOff) => start = None,
            Ok(Command::Stop { .. }) => {
                let _ = report_sender.send(LoadReport::Ended(End::Stopped));
                start = None;
            }
            Ok(Command::Exit(_)) => return,
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => return,
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {
                let Some(start_at) = start else {
                    continue;
                };
                let mut interval = recorded(&shape, SEED, number, made);
                interval.start += start_at;
                interval.end += start_at;
                let _ = report_sender.send(LoadReport::Interval(Box::new(interval)));
                made += 1;
                if made == intervals {
                    let _ = report_sender.send(LoadReport::Ended(End::Completed));
                    start = None;
                }
            }
        }
    }
}

fn shape() -> Load {
    Load {
        events: 300,
        operations: 2,
        interval_ns: INTERVAL,
    }
}

/// The sum of what this number of agents records in this number of intervals.
pub(crate) fn everything(agents: usize, intervals: u64) -> Interval {
    let mut all = Interval::default();
    for number in 0..agents {
        for index in 0..intervals {
            all.merge_sums(&recorded(&shape(), SEED, number, index));
        }
    }
    all
}

/// The outputs of a coordinator.
#[derive(Default)]
pub(crate) struct Outputs {
    pub merged: Vec<Merged>,
    pub kinds: Vec<Kind>,
    pub report: Option<Report>,
}

/// Coordinates to the end. `at` is called with the number of each complete interval.
pub(crate) fn lead(config: FleetConfig, bus: &mut impl Bus, mut at: impl FnMut(u64)) -> Outputs {
    let mut coordinator = Coordinator::new(config, Clock.now(), unix_ns()).unwrap();
    let mut outputs = Outputs::default();
    let event = |event| match event {
        Event::Interval(merged) => {
            if merged.complete {
                at(merged.index);
            }
            outputs.merged.push(*merged);
        }
        Event::Finding(finding) => {
            println!("{finding}");
            outputs.kinds.push(finding.kind);
        }
        Event::Ended(report) => outputs.report = Some(*report),
        Event::Phase(phase) => println!("{phase:?}"),
        Event::Joined(..) | Event::Divided(_) => {}
    };
    coordinate(&mut coordinator, bus, event, || None).unwrap();
    outputs
}
