//! `cargo campaign KIND`: see [`dyno_campaigns`].

use std::env;
use std::process::ExitCode;

use dyno_campaigns::{Options, run};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match Options::parse(&arguments).and_then(run) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            xtask::complain(&format!("campaign: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
