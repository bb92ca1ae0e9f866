use std::fs;
use std::io::Write as _;

use dyno_core::interval::Interval;
use dyno_core::plan::Shard;
use tempfile::TempDir;

use super::*;
use crate::agent::sha256;
use crate::agent::{Action, Agent, AgentConfig, LINGER_NS};
use crate::message::{Assignment, End, Hello, Message, Order, PROTOCOL, Task, pack};
use crate::names::RunId;
use crate::simulation::{Load, recorded};

pub(super) const SECOND: u64 = 1_000_000_000;
const LOAD: Load = Load {
    events: 300,
    operations: 3,
    interval_ns: SECOND,
};
pub(super) const AXIS: Axis = Axis {
    start: 5 * SECOND,
    start_unix_ns: 0,
    warmup_ns: 0,
    interval_ns: SECOND,
};

pub(super) fn head(number: u32, of: u32) -> FileHead {
    FileHead {
        v: PROTOCOL,
        run: RunId::new("r1").unwrap(),
        agent: AgentName::new(format!("gen{number}")).unwrap(),
        hello: Hello::default(),
        unix_ns: 7,
        assignment: Assignment {
            plan: "{}".to_owned(),
            plan_sha256: sha256("{}"),
            share: Shard::equal(number, of),
            orphan_ns: 10 * SECOND,
        },
    }
}

/// The messages that a real agent with this part stores in a run of this many intervals; the test
/// gives the orders.
pub(super) fn written(
    folder: &TempDir,
    number: u32,
    of: u32,
    intervals: u64,
    end: Option<End>,
) -> AgentFile {
    let head = head(number, of);
    let mut agent = Agent::new(
        AgentConfig {
            run: head.run.clone(),
            name: head.agent.clone(),
            instance: 1,
            hello: head.hello.clone(),
            join_ns: SECOND,
            linger_ns: LINGER_NS,
        },
        0,
        0,
    );
    let mut writer = FileWriter::begin(folder.path(), &head).unwrap();
    let order = |agent: &mut Agent, serial, task| {
        let message = Message {
            v: PROTOCOL,
            run: head.run.clone(),
            agent: head.agent.clone(),
            instance: 1,
            body: Body::Order(Box::new(Order { serial, task })),
        };
        agent.receive(message, 1);
    };
    order(&mut agent, 1, Task::Prepare(head.assignment.clone()));
    agent.prepared(1);
    let start = 10;
    order(&mut agent, 2, Task::Arm { attempt: 1, start });
    agent.began(start);
    for index in 0..intervals {
        let mut interval = recorded(&LOAD, 3, number as usize, index);
        interval.start += start;
        interval.end += start;
        agent.interval(&interval, interval.end).unwrap();
    }
    if let Some(end) = end {
        agent.outcome(pack(b"what it came to").unwrap());
        agent.ended(end, start + intervals * SECOND);
    }
    let later = 1_000 * SECOND;
    while let Some(action) = agent.next_action() {
        if let Action::Keep(kept) = action {
            writer.keep(&kept).unwrap();
            // A repeated message is skipped.
            writer.keep(&kept).unwrap();
            agent.confirmed(&kept.id, later);
        }
    }
    let path = writer.path().to_owned();
    drop(writer);
    AgentFile::open(&path).unwrap()
}

pub(super) fn merged(files: Vec<AgentFile>) -> (Report, Vec<Interval>) {
    let mut merged_intervals = Vec::new();
    let (report, ..) = Collection::new(files)
        .unwrap()
        .merge(AXIS, |merged| merged_intervals.push(merged.interval))
        .unwrap();
    (report, merged_intervals)
}

#[test]
fn agents_files_add_up_to_their_measurements() {
    let folder = TempDir::new().unwrap();
    let files = |folder| {
        let end = Some(End::Completed);
        vec![
            written(folder, 2, 3, 12, end),
            written(folder, 1, 3, 12, end),
            written(folder, 3, 3, 12, end),
        ]
    };
    let (report, merged_intervals) = merged(files(&folder));
    assert_eq!(report.failed, None, "{:?}", report.findings);
    assert_eq!(merged_intervals.len(), 12);
    let mut all = Interval::default();
    for (index, interval) in merged_intervals.iter().enumerate() {
        let mut second = Interval::default();
        for agent in 1..=3 {
            let own = recorded(&LOAD, 3, agent, index as u64);
            second.merge(&own);
            all.merge_sums(&own);
        }
        assert_eq!(interval.counters, second.counters);
        assert_eq!(interval.latencies, second.latencies);
        assert_eq!(interval.operations, second.operations);
        assert_eq!(interval.start, AXIS.start + index as u64 * SECOND);
    }
    assert_eq!(report.total.counters, all.counters);
    assert_eq!(report.total.latencies, all.latencies);
    let names: Vec<&str> = report.agents.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["gen1", "gen2", "gen3"]);
    let outcome = report.agents[1].outcome.as_ref().unwrap();
    let json = crate::message::unpack(outcome.iter().map(String::as_str)).unwrap();
    assert_eq!(json, b"what it came to");
}

#[test]
fn reports_a_file_that_is_missing_or_ends_early() {
    let folder = TempDir::new().unwrap();
    let whole = written(&folder, 1, 3, 5, Some(End::Completed));
    let cut = written(&folder, 3, 3, 3, None);
    let (report, merged_intervals) = merged(vec![whole, cut]);
    let kinds: Vec<Kind> = report.findings.iter().map(|one| one.kind).collect();
    assert_eq!(kinds, [Kind::AgentMissing, Kind::Clocks, Kind::AgentLost]);
    assert!(report.failed.is_some());
    assert_eq!(merged_intervals.len(), 5);
    let lost: Vec<bool> = report.agents.iter().map(|one| one.lost).collect();
    assert_eq!(lost, [false, true, true]);
    assert_eq!(report.agents[2].sums.counters.events, 900);
    assert_eq!(report.total.counters.events, 5 * 300 + 900);
}

#[test]
fn reports_a_load_that_ended_by_itself() {
    let folder = TempDir::new().unwrap();
    let files = vec![written(&folder, 1, 1, 4, Some(End::Orphaned))];
    let (report, _) = merged(files);
    let why = report.failed.unwrap();
    assert!(
        why.contains("gen1") && why.contains("lost contact"),
        "{why}"
    );
}

#[test]
fn a_line_that_is_cut_off_is_the_end() {
    let folder = TempDir::new().unwrap();
    let file = written(&folder, 1, 1, 4, Some(End::Completed));
    let path = file.path().to_owned();
    let whole = fs::read(&path).unwrap();
    for cut in [whole.len() - 1, whole.len() - 40, whole.len() / 2] {
        fs::write(&path, &whole[..cut]).unwrap();
        let (report, merged_intervals) = merged(vec![AgentFile::open(&path).unwrap()]);
        assert!(report.agents[0].lost, "{cut}");
        assert!(merged_intervals.len() <= 4, "{cut}");
    }
}

#[test]
fn files_of_other_runs_and_of_none_are_refused() {
    let folder = TempDir::new().unwrap();
    let one = || written(&folder, 1, 2, 1, Some(End::Completed));
    let refused = |files: Vec<AgentFile>| Collection::new(files).unwrap_err().to_string();
    assert!(refused(Vec::new()).contains("no agent's file"));
    assert!(refused(vec![one(), one()]).contains("two files of agent gen1"));
    let other = TempDir::new().unwrap();
    let alone = written(&other, 2, 3, 1, None);
    assert!(refused(vec![one(), alone]).contains("has 3 load generators, that of others 2"));
    let path = folder.path().join("x");
    for text in ["", "x\n", "dyno-agent {}\n", "dyno-agent {\"v\":1}\n"] {
        fs::write(&path, text).unwrap();
        assert!(AgentFile::open(&path).is_err(), "{text}");
    }
    let file = one();
    let path = file.path().to_owned();
    let mut more = fs::OpenOptions::new().append(true).open(&path).unwrap();
    more.write_all(b"hb {}\n").unwrap();
    let alone = Collection::new(vec![AgentFile::open(&path).unwrap()]).unwrap();
    assert!(alone.merge(AXIS, |_| {}).is_err());
}

#[test]
fn a_file_that_is_still_written_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let writer = FileWriter::begin(folder.path(), &head(1, 2)).unwrap();
    let path = writer.path().to_owned();
    let early = AgentFile::open(&path).unwrap_err().to_string();
    assert!(early.contains("its agent is still writing it"), "{early}");
    drop(writer);
    assert_eq!(AgentFile::open(&path).unwrap().head().run.as_str(), "r1");
}
