//! Faults of connections, servers and Dyno itself, and the conditions that must hold in spite of
//! them.

use std::fs;

use anyhow::Result;
use xtask::say;
use xtask::servers::Kind;
use xtask::servers::set::{Set, down};

use crate::bed::Bed;
use crate::{Campaign, Closed, in_parallel};

pub mod case;
mod check;
mod power_cut;
mod record;
mod run;
mod small_disk;

use case::Case;

/// End the campaign after this many consecutive cases that failed to run.
const BROKEN_MAX: u32 = 3;

/// Starts the servers and runs cases on all of them in parallel until the campaign is over.
///
/// # Errors
/// The servers cannot be started, or do not restart after a fault.
pub fn run(campaign: &Campaign) -> Result<()> {
    down(false)?;
    let mut set = Set::up(&Kind::ALL)?;
    let beds = Bed::all(&mut set, &campaign.options.dyno);
    in_parallel(beds.into_iter().map(|bed| move || lane(campaign, bed)))
}

/// Runs the cases of one server, one after another.
fn lane(campaign: &Campaign, mut bed: Bed<'_>) -> Result<()> {
    bed.furnish()?;
    let mut broken = 0;
    for number in campaign.cases() {
        if campaign.over() {
            break;
        }
        let case = Case::draw(campaign.options.seed, number);
        if case.kind != bed.kind() {
            continue;
        }
        let folder = campaign.case_folder(number)?;
        let (faults, failures) = match run::run(&mut bed, &case, &folder) {
            Ok(done) => {
                broken = 0;
                (done.faults, done.failures)
            }
            Err(error) => {
                broken += 1;
                if broken >= BROKEN_MAX {
                    return Err(error);
                }
                say(&format!("case {number} could not be run: {error:#}"));
                run::restore(&mut bed)?;
                (0, Vec::new())
            }
        };
        // Helps to analyse the folders of failed cases.
        fs::write(folder.join("case"), format!("{case:#?}\n"))?;
        campaign.close(&Closed {
            number,
            what: &case.to_string(),
            folder: &folder,
            faults,
            inputs: 0,
            failures: &failures,
        });
    }
    Ok(())
}
