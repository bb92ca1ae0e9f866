//! TPC-C-like order entry, observed at its statements: the random draws, and the keying and think
//! times.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use dyno_core::session::OperationEnd;

use crate::worker::{SqlitePort, Workload};

/// Its transactions in order of declaration.
const KINDS: [&str; 5] = [
    "new_order",
    "payment",
    "order_status",
    "delivery",
    "stock_level",
];

/// 1,000 items, 30 customers and orders in each district.
const SMALL: [(&str, &str); 2] = [("shrink", "100"), ("scale", "2")];

fn workload<'a>(options: &'a [(&'a str, &'a str)], sessions: u32) -> Workload<'a> {
    Workload {
        name: "tpcc",
        sessions,
        options,
    }
}

/// Creates a file with small tables in the folder.
fn prepared(folder: &Path) -> PathBuf {
    let file = folder.join("prepared.db");
    workload(&SMALL, 1).command(&file, "prepare");
    file
}

/// The drawn parts of the statements, as opposed to those read from the tables, for the session
/// numbers in `tids`.
fn drawn(port: &SqlitePort, tids: &[u32]) -> BTreeMap<u32, Vec<String>> {
    let mut streams: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for (session, text, params) in &port.executed {
        let has = |part: &str| text.contains(part);
        let drawn = if has("SELECT c_discount")
            || has("i_price")
            || has("c_last = ?")
            || has("SET w_ytd")
            || has("SELECT no_o_id")
        {
            params.join(" ")
        } else if has("COUNT(DISTINCT") {
            format!("{} {} {} {}", params[0], params[1], params[4], params[5])
        } else {
            continue;
        };
        let stream = streams.entry(tids[*session]).or_default();
        stream.push(format!("{}: {drawn}", &text[..20]));
    }
    streams
}

#[test]
fn a_seed_gives_each_session_its_statements_however_many_workers_drive_them() {
    let folder = tempfile::tempdir().unwrap();
    let fresh = prepared(folder.path());
    let streams = |number: usize, workers: &[&[u32]]| {
        let file = folder.path().join(format!("{number}.db"));
        fs::copy(&fresh, &file).unwrap();
        let mut all = BTreeMap::new();
        for tids in workers {
            let port = workload(&SMALL, 4).run_each(&file, 46, tids);
            all.extend(drawn(&port, tids));
        }
        all
    };
    let one = streams(1, &[&[0, 1, 2, 3]]);
    assert_eq!(one.len(), 4);
    for (tid, stream) in &one {
        // Two decks: 20 orders of ten lines on average.
        assert!(stream.len() > 200, "{tid}: {}", stream.len());
        assert_ne!(stream, &one[&((tid + 1) % 4)], "sessions differ");
    }
    assert_eq!(one, streams(2, &[&[2, 0], &[3, 1]]));
    assert_eq!(one, streams(4, &[&[3], &[1], &[0], &[2]]));
}

/// The number of times each kind was committed or rolled back.
fn counts(port: &SqlitePort) -> [f64; 5] {
    let mut counts = [0.0; 5];
    for (operation, _) in &port.ends {
        counts[usize::from(*operation)] += 1.0;
    }
    counts
}

/// Fails unless a share of this number of draws is within four standard deviations of its target.
fn near(what: &str, found: f64, of: f64, share: f64) {
    let room = 4.0 * (share * (1.0 - share) / of).sqrt();
    let found = found / of;
    assert!(
        (found - share).abs() < room,
        "{what}: {found} of {of}, not {share}"
    );
}

#[test]
fn a_deck_gives_exact_shares_and_draws_those_of_chance() {
    let folder = tempfile::tempdir().unwrap();
    let file = prepared(folder.path());
    let port = workload(&SMALL, 1).run(&file, 230);
    assert_eq!(counts(&port), [100.0, 100.0, 10.0, 10.0, 10.0]);
    let options = [&SMALL[..], &[("mix", "draw")]].concat();
    let port = workload(&options, 1).run(&file, 2300);
    for (kind, (count, cards)) in KINDS
        .iter()
        .zip(counts(&port).iter().zip([10, 10, 1, 1, 1]))
    {
        near(kind, *count, 2300.0, f64::from(cards) / 23.0);
    }
}

#[test]
fn remote_by_name_and_rolled_back_shares_match_the_specification() {
    let folder = tempfile::tempdir().unwrap();
    let file = prepared(folder.path());
    let port = workload(&SMALL, 1).run(&file, 4600);
    let of = |part: &str| {
        let statements = port.executed.iter();
        let found = statements.filter(|(_, text, _)| text.contains(part));
        found.map(|(_, _, params)| params).collect::<Vec<_>>()
    };
    let [new_orders, payments, statuses, ..] = counts(&port);
    assert_eq!((new_orders, payments, statuses), (2000.0, 2000.0, 200.0));
    // quantity, ordered, whether remote, item, warehouse.
    let lines = of("s_remote_cnt = s_remote_cnt + ?");
    let remote = lines.iter().filter(|params| params[2] == "1").count();
    near("remote lines", remote as f64, lines.len() as f64, 0.01);
    let ordered: f64 = lines
        .iter()
        .map(|params| params[1].parse::<f64>().unwrap())
        .sum();
    let mean = ordered / lines.len() as f64;
    assert!((mean - 5.5).abs() < 0.1, "{mean}");
    // The customer's district, warehouse and number, then the district and the warehouse.
    let paid = of("INSERT INTO history1");
    let remote = paid.iter().filter(|params| params[1] != params[4]).count();
    near("remote payments", remote as f64, paid.len() as f64, 0.15);
    let by_name = of("c_last = ?").len();
    near("by name", by_name as f64, payments + statuses, 0.6);
    let taken_back = |&&(operation, end): &&(u16, OperationEnd)| {
        operation == 0 && end == OperationEnd::RolledBack
    };
    let taken_back = port.ends.iter().filter(taken_back).count();
    near("taken back", taken_back as f64, new_orders, 0.01);
    // 5 to 15 lines, for committed orders.
    let orders = of("INSERT INTO orders1");
    let mean = orders
        .iter()
        .map(|params| params[4].parse::<f64>().unwrap());
    let mean = mean.sum::<f64>() / orders.len() as f64;
    assert!((mean - 10.0).abs() < 0.3, "{mean}");
}

#[test]
fn keying_and_think_times_match_the_specification() {
    let folder = tempfile::tempdir().unwrap();
    let file = prepared(folder.path());
    let options = [&SMALL[..], &[("think_keying", "standard")]].concat();
    let port = workload(&options, 1).run(&file, 2300);
    assert_eq!(port.thoughts.len(), 2300);
    // Keying before an event follows the think time of the previous one.
    let keying = [18.0, 3.0, 2.0, 2.0, 2.0];
    let thinking = [12.0, 12.0, 10.0, 5.0, 5.0];
    let mut thought: [Vec<f64>; 5] = Default::default();
    for (number, (&pause_ns, &(operation, _))) in port.thoughts.iter().zip(&port.ends).enumerate() {
        let rest = pause_ns as f64 / 1e9 - keying[usize::from(operation)];
        let Some(before) = number.checked_sub(1) else {
            assert!(
                rest.abs() < 1e-6,
                "nothing was thought about before the first: {rest}"
            );
            continue;
        };
        let kind = usize::from(port.ends[before].0);
        assert!(
            rest > -1e-6 && rest <= 10.0 * thinking[kind] + 1e-6,
            "{rest}"
        );
        thought[kind].push(rest);
    }
    for ((kind, thought), mean) in KINDS.iter().zip(&thought).zip(thinking) {
        // The deviation of an exponential distribution is its mean.
        let room = 4.0 * mean / (thought.len() as f64).sqrt();
        let found = thought.iter().sum::<f64>() / thought.len() as f64;
        assert!((found - mean).abs() < room, "{kind}: {found} s, not {mean}");
    }
    // Without it there are no think times.
    let port = workload(&SMALL, 1).run(&file, 23);
    assert!(port.thoughts.is_empty());
}

#[test]
fn texts_repeat_as_much_as_is_asked_for() {
    // How often a character of a text equals the previous one.
    let repeats = |share: &str| {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data.db");
        let options = [&SMALL[..], &[("data_compressibility", share)]].concat();
        workload(&options, 1).command(&file, "prepare");
        let texts: Vec<String> = crate::query(&file, "SELECT c_data FROM customer1");
        let pairs: usize = texts.iter().map(|text| text.len() - 1).sum();
        let same = texts.iter().flat_map(|text| text.as_bytes().windows(2));
        same.filter(|pair| pair[0] == pair[1]).count() as f64 / pairs as f64
    };
    let [none, half, all] = ["0", "0.5", "1"].map(repeats);
    assert!(none < 0.05, "{none}");
    assert!((0.4..0.6).contains(&half), "{half}");
    assert!(all > 0.95, "{all}");
}
