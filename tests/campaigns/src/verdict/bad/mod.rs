//! Runs with one fault each.

use super::case::Case;

mod around;
mod brief;
mod causes;
mod data;
mod generator;
mod logs;
mod rates;
mod server;

/// All cases. Append new ones, so that the numbers of the others do not change.
pub(super) fn all() -> impl Iterator<Item = &'static Case> {
    let parts = [
        rates::CASES,
        rates::STALLS,
        server::CASES,
        generator::CASES,
        data::CASES,
        causes::CASES,
        brief::CASES,
        logs::CASES,
        around::CASES,
    ];
    parts.into_iter().flatten()
}
