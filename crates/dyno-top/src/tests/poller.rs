//! Sources that refuse, hang, vanish and come back.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use crate::poll::{Poller, Snapshot, Update};
use crate::profile::{Ask, Figure, Latencies, Profile, Screen, Table, Values};
use crate::source::{Answer, Source, Trouble};

/// How long a test waits before it fails.
const LIMIT: Duration = Duration::from_secs(60);
const OFTEN: Duration = Duration::from_millis(1);

const COLUMNS: &[Figure] = &[Figure::count("n", "n")];

const fn table(asks: &'static [Ask]) -> Table {
    Table {
        title: "a table",
        asks,
        columns: COLUMNS,
        key: &["n"],
        sort: 0,
        empty: "none",
    }
}

const SCREENS: &[Screen] = &[
    Screen {
        title: "One",
        figures: &[],
        heat: false,
        tables: &[
            table(&[
                Ask::needing("schema", "best").or_advise("GRANT SCHEMA"),
                Ask::plain("refused").or_advise("GRANT SOMETHING"),
                Ask::plain("refused again").or_advise("GRANT SOMETHING"),
                Ask::plain("unknown").or_advise("GRANT WHAT IS NOT THERE"),
                Ask::plain("refused, too"),
                Ask::plain("{schema}.good"),
            ]),
            table(&[Ask::plain("refused, last")]),
        ],
    },
    Screen {
        title: "Two",
        figures: &[],
        heat: false,
        tables: &[],
    },
];

const VALUES: &[Values] = &[
    Values::columns(Ask::plain("values")),
    Values::rows(Ask::plain("refused values").or_advise("GRANT VALUES")),
];

/// Reports the questions, and answers when the test allows it.
struct Scripted {
    asked: Sender<String>,
    /// Releases each blocked answer with a message.
    held: Option<Receiver<()>>,
    /// The number of answers before the connection is lost.
    answers: usize,
    opened: usize,
}

impl Source for Scripted {
    fn open(&mut self) -> Result<Profile, Trouble> {
        self.opened += 1;
        if self.opened == 2 {
            return Err(Trouble::Lost("password='geheim' refused".to_owned()));
        }
        Ok(Profile {
            title: format!("connection {}", self.opened),
            screens: SCREENS,
            values: VALUES,
            latencies: Latencies::Absent("none"),
            line: &[],
            abilities: vec![("schema", Err("the schema is off".to_owned()))],
            schema: "public".to_owned(),
            remarks: &[],
            notes: Vec::new(),
        })
    }

    fn ask(&mut self, question: &str) -> Result<Answer, Trouble> {
        let _ = self.asked.send(question.to_owned());
        if let Some(held) = &self.held {
            let _ = held.recv();
        }
        if question.starts_with("refused") {
            let what = question.trim_end_matches(" again");
            return Err(Trouble::Refused(format!("no {what} for you")));
        }
        if question == "unknown" {
            return Err(Trouble::Unknown("no such command".to_owned()));
        }
        if self.answers == 0 {
            self.answers = usize::MAX;
            return Err(Trouble::Lost("gone".to_owned()));
        }
        self.answers -= 1;
        Ok(Answer {
            names: vec!["n".to_owned()],
            rows: vec![vec![Some("7".to_owned())]],
        })
    }
}

fn started(answers: usize, held: Option<Receiver<()>>) -> (Poller, Receiver<String>) {
    let (asked, questions) = channel();
    let source = Scripted {
        asked,
        held,
        answers,
        opened: 0,
    };
    (Poller::start(Box::new(source), OFTEN).unwrap(), questions)
}

fn next(poller: &Poller) -> Update {
    poller
        .next(LIMIT)
        .expect("the thread lives")
        .expect("it tells something in time")
}

fn next_snapshot(poller: &Poller) -> Snapshot {
    match next(poller) {
        Update::Snapshot(snapshot) => *snapshot,
        other => panic!("{other:?}"),
    }
}

#[test]
fn uses_the_best_query_that_is_not_refused_and_reports_the_others() {
    let (poller, questions) = started(usize::MAX, None);
    assert!(matches!(next(&poller), Update::Opened(_)));
    let snapshot = next_snapshot(&poller);
    let first = &snapshot.tables[0];
    assert_eq!(first.answer.as_ref().unwrap().rows.len(), 1);
    assert_eq!(
        first.notes,
        [
            "the schema is off",
            "refused: no refused for you; GRANT SOMETHING"
        ]
    );
    let second = &snapshot.tables[1];
    assert!(second.answer.is_none());
    assert_eq!(second.notes, ["refused: no refused, last for you"]);
    assert_eq!(
        snapshot.notes,
        ["refused: no refused values for you; GRANT VALUES"]
    );
    // A refused question is not repeated.
    next_snapshot(&poller);
    let asked: Vec<String> = questions.try_iter().collect();
    for once in [
        "refused",
        "refused, too",
        "unknown",
        "refused values",
        "refused, last",
    ] {
        assert_eq!(
            asked.iter().filter(|asked| *asked == once).count(),
            1,
            "{once}"
        );
    }
    assert!(
        asked.iter().any(|asked| asked == "public.good"),
        "{asked:?}"
    );
    assert!(!asked.contains(&"best".to_owned()));
}

#[test]
fn reports_a_lost_connection_without_secrets_and_reconnects() {
    let (poller, _questions) = started(3, None);
    let mut updates = Vec::new();
    while updates.len() < 3 {
        match next(&poller) {
            Update::Snapshot(_) => {}
            other => updates.push(other),
        }
    }
    assert!(matches!(&updates[0], Update::Opened(profile) if profile.title == "connection 1"));
    assert!(matches!(&updates[1], Update::Lost(why) if why == "gone"));
    let Update::Lost(why) = &updates[2] else {
        panic!("{:?}", updates[2]);
    };
    assert!(!why.contains("geheim"), "{why}");
    assert!(matches!(next(&poller), Update::Opened(profile) if profile.title == "connection 3"));
}

#[test]
fn a_question_that_hangs_is_seen_from_outside() {
    let (go, held) = channel();
    let (poller, questions) = started(usize::MAX, Some(held));
    assert!(matches!(next(&poller), Update::Opened(_)));
    questions.recv_timeout(LIMIT).unwrap();
    let first = poller.unanswered_for().unwrap();
    std::thread::sleep(Duration::from_millis(2));
    assert!(poller.unanswered_for().unwrap() > first);
    assert!(matches!(poller.waiting(), Some(None)));
    // Orders do not wait either.
    poller.show(1);
    drop(go);
    assert_eq!(next_snapshot(&poller).screen, 0);
    while next_snapshot(&poller).screen != 1 {}
}
