//! Runs with a fault each.

use super::case::Case;

mod causes;
mod course;
mod data;
mod generator;
mod server;

/// All of them. What is added comes last, so that numbers stay.
pub fn all() -> impl Iterator<Item = &'static Case> {
    let parts = [
        course::CASES,
        course::STALLS,
        server::CASES,
        generator::CASES,
        data::CASES,
        causes::CASES,
    ];
    parts.into_iter().flatten()
}
