//! Tests of decisions about a profile. The end-to-end tests cover perf itself.

use super::*;

#[test]
fn long_runs_are_sampled_more_seldom() {
    let hz = |length_s: u64, cpus| frequency_hz(Some(Duration::from_secs(length_s)), cpus);
    assert_eq!(hz(30, 2), 99);
    assert_eq!(hz(100, 2), 60);
    assert_eq!(hz(3600, 2), 1);
    assert_eq!(hz(60, 64), 3);
    assert_eq!(hz(86_400, 256), 1);
    assert_eq!(frequency_hz(None, 64), 99);
}

/// A part whose program is not perf and ends immediately.
fn part(attempts: u32) -> Part {
    let plan = Plan {
        of: Sampled::Threads(own_threads()),
        frequency_hz: 99,
        bytes_max: 1 << 20,
        call_graph: CALL_GRAPH,
    };
    Part {
        of: vec![ProfiledProcess::Client],
        sampled: plan.of.clone(),
        recorder: Recorder::start_as("true", &plan).expect("there is a program true"),
        started: Clock.now(),
        attempts,
        ended: None,
    }
}

#[test]
fn reports_the_seconds_that_a_profile_does_not_cover() {
    let mut part = part(1);
    part.recorder.join();
    let second = 1_000_000_000;
    let (from, to) = (10 * second, 40 * second);
    let found = Folded {
        last: Some(25 * second),
        ..Folded::default()
    };
    part.started = from - second;
    assert_eq!(part.cut((from, to), &found, false), None);
    part.started = from + 2 * second;
    part.ended = Some(30 * second);
    let gap = part.cut((from, to), &found, true).expect("it is cut");
    let expected = "It begins after 2.0 s. It ends after 20.0 s: the processes ended, or perf did. \
                    It ends after 15.0 s: reading the samples took longer than 60 s.";
    assert_eq!(gap, expected);
}

#[test]
fn perf_is_not_another_process_while_it_runs() {
    let mut part = part(1);
    let pid = part.recorder.pid;
    assert!(crate::helpers::processes().contains(&pid));
    part.recorder.join();
    assert!(!crate::helpers::processes().contains(&pid));
}

#[test]
fn reports_a_failing_program_once_and_continues() {
    let (_orders, received) = channel();
    let config = ProfileConfig {
        begin: Clock.now(),
        length: None,
        server: Arc::new(KnownServer::of(None)),
    };
    let mut work = Work::new(config, received);
    work.parts.push(part(ATTEMPTS));
    work.parts[0].recorder.join();
    work.look();
    assert!(work.parts.is_empty());
    // It wrote nothing and printed nothing.
    assert_eq!(work.gaps.len(), 1, "{:?}", work.gaps);
    assert_eq!(work.gaps[0].what, "profile.client");
    assert!(work.gaps[0].why.contains("perf record failed"));
}
