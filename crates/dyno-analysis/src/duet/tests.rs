use super::*;
use dyno_core::finding::Outcome;

fn work(cpu_ns: u64, written_bytes: u64) -> Option<ServerWork> {
    Some(ServerWork {
        cpu_ns,
        written_bytes: Some(written_bytes),
    })
}

/// Blocks in which B has `ratio` times the events of A, whose speed swings by half.
fn duet(blocks: usize, ratio: f64) -> DuetMeasurement {
    let block = |at: usize| {
        let speed = if at.is_multiple_of(2) { 1.5 } else { 0.5 };
        // Blocks differ, so that the interval has a width.
        let noise = 1.0 + 0.001 * ((at * 7_919) % 11) as f64;
        let side = |factor: f64, neighbours: Option<[f64; 2]>| BlockSide {
            events: 100.0 * speed * factor,
            client_ns: 1_000.0 * speed * factor,
            server: work((5_000.0 * speed) as u64, 1_000),
            idle: work(10, 10),
            neighbours,
        };
        [
            side(1.0, at.is_multiple_of(2).then_some([50.0, 50.0])),
            side(
                ratio * noise,
                (!at.is_multiple_of(2)).then_some([50.0, 50.1]),
            ),
        ]
    };
    DuetMeasurement {
        blocks: (0..blocks).map(block).collect(),
        counted_s: 0.1,
        latencies: [1.0, 2.0].map(|factor| {
            let batch = |number| {
                let latency = |at: u64| ((1_000_000.0 + 1_000.0 * at as f64) * factor) as u64;
                (number, (0..500).map(|at| (latency(at), 1)).collect())
            };
            (0..20).map(batch).collect()
        }),
        is_one_server: false,
        takes_turns: true,
        subject: None,
    }
}

#[test]
fn figures_compare_the_sides() {
    let figures = duet(40, 0.9).figures(&[50.0, 99.0, 99.9]);
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    let costs = ["client CPU per event", "server CPU per event"];
    assert_eq!(names, ["rate", "p50", "p99", "p99.9", costs[0], costs[1]]);
    let rate = &figures[0];
    assert!((rate.a.unwrap() - 1_000.0).abs() < 1e-9);
    assert!((rate.ratio.unwrap() - 0.9).abs() < 0.01);
    assert!(rate.high.unwrap() < 0.92);
    let p50 = &figures[1];
    assert!((p50.ratio.unwrap() - 2.0).abs() < 1e-3);
    assert_eq!(p50.pairs, 20);
    // A batch of 500 has less than five samples beyond it: ten batches make a pair.
    assert_eq!((figures[3].pairs, figures[3].ratio), (2, None));
    // The same CPU time of the server for fewer events.
    let server = &figures[5];
    assert!((server.ratio.unwrap() - 1.0 / 0.9).abs() < 0.02);
    assert!((server.a.unwrap() - 0.05).abs() < 1e-9);
}

#[test]
fn an_open_loop_is_about_a_percentile() {
    let mut open = duet(40, 1.0);
    open.subject = Some(50.0);
    let figures = open.figures(&[50.0, 99.0]);
    let names: Vec<&str> = figures.iter().map(|figure| figure.name.as_str()).collect();
    assert_eq!(names[..3], ["p50", "rate", "p99"]);
    assert!((open.ratio().unwrap().ratio() - 2.0).abs() < 1e-3);
    assert_eq!(figures[0].ratio, Some(open.ratio().unwrap().ratio()));
}

#[test]
fn an_unobserved_server_has_no_cost() {
    let mut blind = duet(40, 1.0);
    for block in &mut blind.blocks {
        block[1].server = None;
    }
    let figures = blind.figures(&[]);
    assert!(
        figures
            .iter()
            .all(|figure| figure.name != "server CPU per event")
    );
    let few = duet(5, 1.0).figures(&[]);
    assert_eq!(few[0].ratio, None);
    assert!(few[0].a.is_some());
}

#[test]
fn the_answer_depends_on_the_margin() {
    let rate = |ratio| duet(40, ratio).ratio().unwrap();
    let decide = |ratio, margin| answer(Some(&rate(ratio)), margin, 60.0);
    assert_eq!(decide(0.9, None), DuetAnswer::Different);
    assert_eq!(decide(0.9, Some(0.02)), DuetAnswer::Different);
    assert_eq!(
        decide(0.995, Some(0.02)),
        DuetAnswer::Same { measurable: false }
    );
    assert_eq!(
        decide(0.985, Some(0.02)),
        DuetAnswer::Same { measurable: true }
    );
    assert_eq!(
        answer(None, Some(0.02), 60.0),
        DuetAnswer::Undecided { needs_s: None }
    );
    let DuetAnswer::Undecided { needs_s } = decide(0.995, Some(1e-4)) else {
        panic!("decided");
    };
    assert!(needs_s.unwrap() > 60.0);
}

#[test]
fn carry_over_and_background_work_are_doubts() {
    let outcomes = |duet: &DuetMeasurement| -> Vec<Outcome> {
        duet.findings().iter().map(|one| one.outcome).collect()
    };
    assert_eq!(outcomes(&duet(40, 1.0)), [Outcome::Pass, Outcome::Pass]);
    let mut carried = duet(60, 1.0);
    for (at, block) in carried.blocks.iter_mut().enumerate() {
        if let Some(pair) = &mut block[1].neighbours {
            *pair = [47.0 + (at % 3) as f64, 50.0];
        }
    }
    let found = carried.findings();
    assert_eq!(found[0].outcome, Outcome::Doubt);
    assert!(
        found[0].evidence.starts_with("Side B finished "),
        "{}",
        found[0].evidence
    );
    let mut busy = duet(40, 1.0);
    for block in &mut busy.blocks {
        block[0].idle = work(2_000, 10);
    }
    let found = busy.findings();
    assert_eq!(found[1].outcome, Outcome::Doubt);
    assert!(
        found[1].evidence.contains("side A used 40 %"),
        "{}",
        found[1].evidence
    );
    for block in &mut busy.blocks {
        block[0].idle = work(10, 400);
    }
    let found = busy.findings();
    assert_eq!(found[1].outcome, Outcome::Pass, "{}", found[1].evidence);
    for side in busy.blocks.iter_mut().flatten() {
        side.server = work(5_000, 2_000_000);
        side.idle = work(10, 800_000);
    }
    let found = busy.findings();
    assert_eq!(found[1].outcome, Outcome::Doubt);
    for part in [
        "server of side A wrote 32.0 MB, 40 %",
        "server of side B wrote 32.0 MB, 40 %",
    ] {
        assert!(found[1].evidence.contains(part), "{}", found[1].evidence);
    }
    busy.is_one_server = true;
    assert_eq!(busy.findings()[1].outcome, Outcome::NotChecked);
    busy.takes_turns = false;
    assert!(busy.findings().is_empty());
}
