//! One line for each interval.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::Value;

use crate::line::{Lines, lines, rounded};
use crate::poll::Poller;
use crate::profile::{Ask, Figure, Latencies, Profile, Values};
use crate::source::{Answer, Source, Trouble};

const LINE: &[Figure] = &[
    Figure::count("running", "running"),
    Figure::byte_rate("sent to all/s", "sent"),
    Figure::time("mean", "no_such_value", 1.0),
];

const VALUES: &[Values] = &[Values::columns(Ask::plain("values"))];

/// Always the same answer, or no connection if `is_gone`.
struct Steady {
    is_gone: bool,
}

impl Source for Steady {
    fn open(&mut self) -> Result<Profile, Trouble> {
        if self.is_gone {
            return Err(Trouble::Lost("nobody is there".to_owned()));
        }
        Ok(Profile {
            title: "steady".to_owned(),
            screens: &[],
            values: VALUES,
            latencies: Latencies::Absent("none"),
            line: LINE,
            abilities: Vec::new(),
            schema: String::new(),
            remarks: &[],
            notes: Vec::new(),
        })
    }

    fn ask(&mut self, _: &str) -> Result<Answer, Trouble> {
        Ok(Answer {
            names: vec!["running".to_owned(), "sent".to_owned()],
            rows: vec![vec![Some("12".to_owned()), Some("4096".to_owned())]],
        })
    }
}

fn written(count: u64, json: bool) -> Vec<String> {
    let interval = Duration::from_millis(1);
    let poller = Poller::start(Box::new(Steady { is_gone: false }), interval).unwrap();
    let all = RefCell::new(String::new());
    let how = Lines {
        interval,
        count: Some(count),
        json,
        stopped: &|| false,
        write: &mut |line| {
            all.borrow_mut().push_str(line);
            true
        },
    };
    lines(&poller, how).unwrap();
    all.into_inner().lines().map(str::to_owned).collect()
}

#[test]
fn lines_have_columns_and_a_repeated_header() {
    let all = written(41, false);
    assert_eq!(all.len(), 41 + 3);
    let header = "UTC           running sent to all/s       mean";
    for place in [0, 21, 42] {
        assert_eq!(all[place], header);
    }
    let first = all[1].split_once(' ').unwrap().1;
    assert_eq!(first, "          12            0B          –");
    assert!(
        all.iter().all(|line| line.chars().count() == header.len()),
        "{all:?}"
    );
}

#[test]
fn objects_have_units_in_names_and_null_for_unknown_values() {
    let all = written(2, true);
    assert_eq!(all.len(), 2);
    let object: Value = serde_json::from_str(&all[0]).unwrap();
    assert_eq!(object["source"], "steady");
    assert!(object["unix_s"].as_f64().unwrap() > 1e9);
    let figures = &object["figures"];
    assert_eq!(figures["running"], 12.0);
    assert_eq!(figures["sent_to_all_per_s_bytes"], 0.0);
    assert_eq!(figures["mean_s"], Value::Null);
}

#[test]
fn numbers_for_programs_have_six_digits() {
    for (number, text) in [
        (2.001973428286367, "2.00197"),
        (0.000123456789, "0.000123457"),
        (0.0, "0"),
        (-1.5, "-1.5"),
        (20_272_412.7, "20272400"),
    ] {
        assert_eq!(rounded(number).to_string(), text);
    }
}

#[test]
fn no_connection_at_all_is_an_error_and_readers_may_go() {
    let interval = Duration::from_millis(1);
    let poller = Poller::start(Box::new(Steady { is_gone: true }), interval).unwrap();
    let mut ignore = |_: &str| true;
    let how = |write| Lines {
        interval,
        count: None,
        json: false,
        stopped: &|| false,
        write,
    };
    let error = lines(&poller, how(&mut ignore)).unwrap_err();
    assert_eq!(error.to_string(), "nobody is there");
    let poller = Poller::start(Box::new(Steady { is_gone: false }), interval).unwrap();
    let mut count = 0;
    let mut reader = |_: &str| {
        count += 1;
        count < 3
    };
    lines(&poller, how(&mut reader)).unwrap();
    assert_eq!(count, 3);
}
