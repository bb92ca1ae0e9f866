//! The lines about a search while it runs.

use dyno_analysis::search::{ClimbStep, FACTOR, SearchResult, Searched};
use dyno_conduct::search::{Ask, Follower, OFFERED, SearchEvent, shown};
use dyno_core::record::RESULTS_FILE;
use dyno_core::text::{number_of, shell_word};
use dyno_core::units::human_seconds;
use dyno_report::terminal::{Look, search_answer, search_trial};
use dyno_stats::search::Purpose;

use crate::console;
use crate::options::Parsed;

/// Prints them to standard error.
pub(super) struct Lines<'a> {
    quiet: bool,
    /// The load generators, as typed.
    agents: Option<&'a str>,
    look: Look,
}

impl<'a> Lines<'a> {
    /// Lines for a search with these options; none if `quiet`.
    pub(super) fn new(parsed: &'a Parsed, quiet: bool) -> Self {
        Self {
            quiet,
            agents: parsed.value("agents"),
            look: console::live_look(parsed.has("no-color")),
        }
    }
}

impl Follower for Lines<'_> {
    fn event(&mut self, event: SearchEvent<'_>) {
        if self.quiet {
            return;
        }
        match event {
            SearchEvent::Begun { ask, trials, each } => {
                let terms = &ask.terms;
                let what = match terms.promise.of {
                    Searched::Rate => "rate",
                    Searched::Sessions => "number of sessions",
                };
                let by = match self.agents {
                    Some(agents) => format!(" with the load generators {agents}"),
                    None => String::new(),
                };
                console::note(&format!(
                    "Searching for the highest {what} that keeps {}{by}: about {trials} trials of \
                     {}, {} in total.",
                    terms.promise,
                    human_seconds(each.as_secs_f64()),
                    human_seconds(each.as_secs_f64() * trials as f64)
                ));
            }
            SearchEvent::ClosedLoop { sessions } => {
                console::progress(&format!("closed loop, {}", number_of(sessions, "session")));
            }
            SearchEvent::Ground { steps, warnings } => ground(steps, warnings),
            SearchEvent::Trial { number, asked, of } => {
                let load = shown(asked.load);
                let of = match (of, asked.purpose) {
                    (Searched::Rate, Purpose::Vote) => "/s",
                    (Searched::Rate, Purpose::Confirm) => "/s, to confirm",
                    (Searched::Sessions, _) => " sessions",
                };
                console::progress(&format!("#{number}  {load}{of} …"));
            }
            SearchEvent::Judged {
                trial,
                plan,
                bounds,
            } => console::line(&self.look, |look| search_trial(trial, plan, bounds, look)),
        }
    }

    fn answer(&self, found: &SearchResult) -> String {
        search_answer(found)
    }
}

/// Prints the closed-loop runs that determined the load at which the search starts.
fn ground(steps: &[ClimbStep], warnings: &[String]) {
    let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
        return;
    };
    let rates = steps.iter().map(|step| step.events_per_s);
    console::note(&format!(
        "Closed loop, sessions from {} to {}: up to {}/s.",
        first.sessions,
        last.sessions,
        shown(rates.fold(0.0, f64::max).round())
    ));
    for warning in warnings {
        console::note(warning);
    }
}

/// Prints the commands that show the runs.
pub(super) fn tell_more(ask: &Ask, found: &SearchResult) {
    let Some(file) = &ask.base.plan.record.file else {
        return;
    };
    let results = match file.to_str() {
        Some(RESULTS_FILE) | None => String::new(),
        Some(file) => format!(" --results {}", shell_word(file)),
    };
    let own = shell_word(&format!("{FACTOR}={}", found.plan.name));
    let first = ask.terms.promise.latencies.first();
    let figure = first.map_or(99.0, |own| own.percentile);
    // The percentiles that comparisons use.
    let figure = [99.0, 95.0, 50.0]
        .into_iter()
        .find(|known| figure >= *known)
        .unwrap_or(50.0);
    console::note(&format!(
        "\nIts runs:  dyno table --rows {OFFERED} --figure p{figure} --where {own}{results}\n\
         As a page: dyno report --rows {OFFERED} --where {own} -o search.html{results}"
    ));
}
