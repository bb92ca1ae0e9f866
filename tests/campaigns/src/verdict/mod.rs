//! Deliberately bad runs and good runs on real servers, one after another. Each fault must be found
//! by the right check and no other, and good runs must be valid. Then pairs of equal runs, between
//! which `compare` must find no difference.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use xtask::say;
use xtask::servers::set::down;

use crate::{Campaign, Closed};

mod bad;
mod bed;
pub mod case;
mod good;
mod pairs;
mod run;
mod tools;

use bed::Bed;
use case::{Case, Expect};

/// The number of the first good run.
const GOOD: u64 = 1000;
/// How often a good run is tried.
const ATTEMPTS: u32 = 4;
/// The longest run to try, if Dyno advises a longer one.
const LONGEST_S: f64 = 120.0;
/// The number of the first pair.
const PAIRS: u64 = 2000;

/// Makes all runs, or those requested, and then the pairs. Prints each result.
///
/// # Errors
/// A server cannot be started.
pub fn run(campaign: &Campaign) -> Result<()> {
    down(false)?;
    let mut table = String::new();
    let mut numbered: Vec<(u64, &Case)> = (1..).zip(bad::all()).collect();
    numbered.extend((GOOD..).zip(good::all()));
    numbered.retain(|(number, _)| wanted(campaign, *number));
    let mut tally = Tally::default();
    while let Some((_, first)) = numbered.first() {
        let own = first.bed();
        let (here, rest) = numbered
            .into_iter()
            .partition(|(_, case)| case.bed() == own);
        numbered = rest;
        let mut bed = Bed::make(own.0, own.1, &campaign.options.dyno)?;
        for (number, case) in here {
            if campaign.over() {
                break;
            }
            one(campaign, &mut bed, number, case, &mut tally, &mut table)?;
        }
    }
    say(&format!(
        "{} of {} bad runs have only the right finding, {} of {} good ones have no false \
         one ({} of them repeated: longer, as advised, or because the host took CPUs; {} \
         still too uneven on this host to be known precisely)",
        tally.caught, tally.bad, tally.clean, tally.good, tally.again, tally.uneven
    ));
    if !campaign.over() {
        pairs::run(campaign, PAIRS)?;
    }
    let path = campaign.folder.join("table.md");
    fs::write(&path, table).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}

/// Whether the case with this number was requested.
fn wanted(campaign: &Campaign, number: u64) -> bool {
    let cases = campaign.options.cases.as_ref();
    cases.is_none_or(|cases| cases.contains(&number))
}

#[derive(Default)]
struct Tally {
    bad: u64,
    caught: u64,
    good: u64,
    clean: u64,
    again: u64,
    uneven: u64,
}

/// Repeats a run if processes outside the campaign used CPU time, or if Dyno found that its CPUs
/// varied. Repeats a good run, too, if Dyno advised a longer run, which is then tried. Returns a
/// note about the repetitions.
fn until_undisturbed(
    bed: &mut Bed,
    number: u64,
    case: &Case,
    folder: &Path,
) -> Result<(run::Done, &'static str)> {
    let (mut length_s, mut again) = (None, "");
    for _ in 1..ATTEMPTS {
        let done = run::run(bed, case, length_s, folder)?;
        let advised_s = done.advised_s.filter(|length_s| *length_s <= LONGEST_S);
        let advised_s = advised_s.filter(|_| !case.is_bad());
        let by_others = done.by_neighbours || done.by_the_host;
        if done.failures.is_empty() || advised_s.is_none() && !by_others {
            return Ok((done, again));
        }
        say(&format!("{number} again: {}", done.failures.join("; ")));
        if advised_s.is_some() {
            (length_s, again) = (advised_s, " (made longer, as advised)");
        } else {
            again = " (made again: the host or other processes took CPUs)";
        }
    }
    Ok((run::run(bed, case, length_s, folder)?, again))
}

fn one(
    campaign: &Campaign,
    bed: &mut Bed,
    number: u64,
    case: &Case,
    tally: &mut Tally,
    table: &mut String,
) -> Result<()> {
    let folder = campaign.case_folder(number)?;
    let (done, again) = until_undisturbed(bed, number, case, &folder)?;
    tally.again += u64::from(!again.is_empty());
    // A good run whose only doubt is a rate that varies too much has not failed.
    let uneven = !case.is_bad() && done.too_uneven && !done.failures.is_empty();
    tally.uneven += u64::from(uneven);
    let failures = if uneven { &[][..] } else { &done.failures };
    let right = u64::from(failures.is_empty());
    match case.is_bad() {
        true => (tally.bad, tally.caught) = (tally.bad + 1, tally.caught + right),
        false => (tally.good, tally.clean) = (tally.good + 1, tally.clean + right),
    }
    let what = format!("{}: {}", bed.name(), case.what);
    let outcome = match (right, uneven) {
        (1, false) => "ok",
        (1, true) => "uneven",
        _ => "FAILED",
    };
    let found = format!("{}{again}", done.found);
    say(&format!("{number} {outcome} {what} → {found}"));
    let check = match case.finds {
        Expect::Nothing => "none",
        Expect::Check(check, ..) => check,
        Expect::Before(_) => "before the load",
        Expect::Failure(_) => "the run fails",
    };
    // Writing to a string does not fail.
    let _ = writeln!(table, "| {number} | {what} | `{check}` | {found} |");
    campaign.close(&Closed {
        number,
        what: &what,
        folder: &folder,
        faults: u64::from(case.is_bad()),
        inputs: 0,
        failures,
    });
    Ok(())
}
