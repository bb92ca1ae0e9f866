//! Prints the nominal and the simulated error rates of the procedures, as the table of
//! `docs/validity.md`: `cargo run --release -p dyno-stats --example error_rates [WORD OF THE
//! PROCEDURE [TRIALS]]`.

#![allow(clippy::print_stdout)] // developer tool

#[path = "../tests/simulate/mod.rs"]
mod simulate;

use simulate::TRIALS;
use simulate::cases::{Asked, Case};

fn main() {
    let word = std::env::args().nth(1).unwrap_or_default();
    let trials = std::env::args().nth(2);
    let trials = trials.and_then(|number| number.parse().ok());
    let trials: usize = trials.unwrap_or(TRIALS);
    println!("| procedure | tried on | asked | seen in {trials} trials |\n|---|---|---|---|");
    let wanted = |case: &Case| case.procedure.contains(&word);
    for case in simulate::all_cases().into_iter().filter(wanted) {
        let asked = match case.asked {
            Asked::AtLeast(share) => format!("at least {} %", percent(share)),
            Asked::AtMost(share) => format!("at most {} %", percent(share)),
        };
        let seen = percent(case.measured(trials));
        println!("| {} | {} | {asked} | {seen} % |", case.procedure, case.of);
    }
}

fn percent(share: f64) -> f64 {
    (share * 1000.0).round() / 10.0
}
