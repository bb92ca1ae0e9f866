//! `dyno search`: find the highest load that keeps a promise.

mod ask;
mod help;
mod lines;

use anyhow::Result;
use dyno_analysis::search::SearchEnd;

pub(super) use self::ask::SearchCommand;
use crate::output::Output;
use crate::{STATUS_DONE, STATUS_FAILED, STATUS_INTERRUPTED, STATUS_REFUSED, console, signals};

/// Runs a search, and prints its result.
///
/// # Errors
/// Invalid usage, or a run failed.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let program = args.first().map_or("dyno", String::as_str);
    let own = args.get(2..).unwrap_or_default();
    let Some(search) = SearchCommand::read(program, own)? else {
        console::help(&help::help_on(own));
        return Ok(STATUS_DONE);
    };
    let output = Output::of(&search.parsed)?;
    let look = console::look(&search.parsed);
    let (found, trouble) = search.conduct(&signals::install()?);
    let status = match found.ending {
        SearchEnd::Found => STATUS_DONE,
        // The result is the limit of the load generator or its host, not the server's.
        SearchEnd::Ceiling | SearchEnd::Refused | SearchEnd::Crowded => STATUS_REFUSED,
        SearchEnd::Interrupted => STATUS_INTERRUPTED,
        _ => STATUS_FAILED,
    };
    match trouble {
        // Earlier results survive the loss of the server.
        Some(error) if found.trials.is_empty() => return Err(error),
        Some(error) => {
            output.write_search(&found, &look)?;
            return Err(error);
        }
        None => output.write_search(&found, &look)?,
    }
    if !found.trials.is_empty() && !search.quiet {
        lines::tell_more(&search.ask, &found);
    }
    Ok(status)
}
