//! The interface for following a search.

use std::time::Duration;

use dyno_analysis::search::{ClimbStep, SearchPlan, SearchResult, SearchTrial, Searched};
use dyno_stats::search::Asked;

use super::ask::Ask;

/// Follows a search; a [`crate::Stage`] follows its runs.
pub trait Follower {
    /// Reports a step of the search.
    fn event(&mut self, event: SearchEvent<'_>);
    /// The answer in words, which the runs record.
    fn answer(&self, found: &SearchResult) -> String;
}

/// A step of a search.
#[derive(Clone, Copy)]
pub enum SearchEvent<'a> {
    /// The search begins.
    Begun {
        /// The search.
        ask: &'a Ask,
        /// The expected number of trials.
        trials: usize,
        /// The expected length of a trial, with its overhead.
        each: Duration,
    },
    /// A closed-loop run begins, which is not a trial.
    ClosedLoop {
        /// Its sessions.
        sessions: u32,
    },
    /// The load at which the search starts is known.
    Ground {
        /// The closed-loop runs; none if the user set the start.
        steps: &'a [ClimbStep],
        /// Warnings about them; whole sentences.
        warnings: &'a [String],
    },
    /// A trial begins.
    Trial {
        /// Its number, from 1.
        number: usize,
        /// Its load and purpose.
        asked: Asked,
        /// Whether the load is a rate or a number of sessions.
        of: Searched,
    },
    /// A trial has ended.
    Judged {
        /// The trial.
        trial: &'a SearchTrial,
        /// The parameters of the search.
        plan: &'a SearchPlan,
        /// The bounds known now.
        bounds: (Option<f64>, Option<f64>),
    },
}
