//! Answers of real servers, recorded by `examples/record.rs`: two rounds of all questions.

use std::collections::HashMap;

use crate::poll::{Update, snapshot};
use crate::profile::Profile;
use crate::source::{Answer, Source, Trouble};
use crate::state::State;

/// When the first round was asked, in all tests.
const UNIX_S: f64 = 1_764_150_000.0;
const SECOND_NS: u64 = 1_000_000_000;

/// The answers of one round.
#[derive(Clone, Debug, Default)]
pub(super) struct Round(HashMap<String, Result<Answer, String>>);

/// All rounds of a recording.
pub(super) fn rounds(text: &str) -> Vec<Round> {
    let parts = text.split("== ").skip(1);
    let rounds = parts.map(|part| {
        let (_, part) = part.split_once('\n').unwrap();
        let questions = part.split("## ").skip(1);
        Round(questions.map(question).collect())
    });
    rounds.collect()
}

fn question(text: &str) -> (String, Result<Answer, String>) {
    let (question, answer) = text.split_once('\n').unwrap();
    let question = &question.replace("{schema}", "public");
    if let Some(refusal) = answer.strip_prefix("!! ") {
        return (question.to_owned(), Err(refusal.trim().to_owned()));
    }
    let fields = |line: &str| {
        // An empty field would be invisible at the end of a line.
        let field = |field: &str| {
            if field == "\\E" {
                String::new()
            } else {
                field.to_owned()
            }
        };
        line.split('\t').map(field).collect::<Vec<_>>()
    };
    let mut lines = answer.lines();
    let names = fields(lines.next().unwrap_or_default());
    let rows = lines.map(|line| {
        let fields = fields(line).into_iter();
        fields
            .map(|field| (field != "\\N").then_some(field))
            .collect()
    });
    let rows = rows.collect();
    (question.to_owned(), Ok(Answer { names, rows }))
}

impl Source for Round {
    fn open(&mut self) -> Result<Profile, Trouble> {
        Err(Trouble::Lost("a recording is not opened".to_owned()))
    }

    fn ask(&mut self, question: &str) -> Result<Answer, Trouble> {
        match self.0.get(question) {
            Some(answer) => answer.clone().map_err(Trouble::Refused),
            None => Err(Trouble::Refused(format!("'{question}' was not recorded"))),
        }
    }
}

/// The state after both rounds, `seconds` apart, with one of the screens.
pub(super) fn state(rounds: &[Round], profile: Profile, screen: usize, seconds: u64) -> State {
    let mut state = State::new(profile.clone(), std::time::Duration::from_secs(seconds));
    state.screen = screen;
    for (number, round) in rounds.iter().enumerate() {
        let mut shot = snapshot(Box::new(round.clone()), &profile, screen).unwrap();
        shot.at = (1 + number as u64 * seconds) * SECOND_NS;
        shot.unix_s = UNIX_S + (number as u64 * seconds) as f64;
        for table in &mut shot.tables {
            table.at = shot.at;
        }
        state.take(Update::Snapshot(Box::new(shot)));
    }
    state
}
