//! A search for the highest load that keeps a promise.

use dyno_analysis::search::{
    Judgement, LoadVotes, Range, SearchEnd, SearchPlan, SearchResult, SearchTrial, Searched,
};

use super::look::{Ink, Look, columns, cut};
use super::page::Page;
use super::scatter::Scatter;
use super::words::EventWord;
use crate::number::{length, rate, thousands};

/// The height of the plot, in lines.
const HEIGHT: usize = 9;
/// The longest word for a trial's judgement.
const WORD: usize = "breaks".len();
/// The most useful width of the plot.
const WIDTH_MAX: usize = 100;

/// The result, an empty line first and a line end last.
pub fn search(found: &SearchResult, look: &Look) -> String {
    let mut page = Page::new(*look);
    page.blank();
    page.title(&search_answer(found));
    page.blank();
    let plan = &found.plan;
    page.row("searched", Ink::Plain, &what(plan));
    page.row("trials", Ink::Plain, &trials(found));
    for (label, load) in [("lower bound", found.lower), ("upper bound", found.upper)] {
        if let Some(text) = load.and_then(|load| votes(found, load)) {
            page.row(label, Ink::Plain, &text);
        }
    }
    if let Some((ink, text)) = confirmed(found) {
        page.row("confirmed", ink, &text);
    }
    if let (Some(range), SearchEnd::Found) = (found.plausible, found.ending) {
        let text = format!(
            "the limit is between {}; trials near it can go either way",
            between(plan.searched, range)
        );
        page.row("plausible", Ink::Plain, &text);
    }
    for warning in &found.warnings {
        page.row("warning", Ink::Warning, warning);
    }
    page.blank();
    picture(found, &mut page);
    page.finish()
}

/// A trial in a line, with the bounds known after it.
pub fn search_trial(
    trial: &SearchTrial,
    plan: &SearchPlan,
    bounds: (Option<f64>, Option<f64>),
    look: &Look,
) -> String {
    let number = format!("#{}", trial.number);
    let load = load(plan.searched, trial.load);
    let head = format!("{number:<4} {load:>12}");
    let Some(late) = trial.late_share else {
        let text = look.clean(&format!("{head}  void: {}", trial.why));
        return look.paint(Ink::Warning, &cut(&text, look.width()));
    };
    let (ink, word) = match trial.judged {
        Judgement::Keeps => (Ink::Good, "keeps"),
        _ => (Ink::Notable, "breaks"),
    };
    let before = format!("{head}  late {:>7}  ", share(late));
    let room = look.width().saturating_sub(before.chars().count() + WORD);
    let tail = look.clean(&beside(trial, plan.searched, bounds, room));
    let pad = match tail.is_empty() {
        true => String::new(),
        false => " ".repeat(WORD - word.len()),
    };
    format!(
        "{}{}{pad}{}",
        look.clean(&before),
        look.paint(ink, word),
        look.paint(Ink::Faint, &tail)
    )
}

/// The text after a trial's judgement: what else it broke, or the known bounds.
fn beside(
    trial: &SearchTrial,
    of: Searched,
    bounds: (Option<f64>, Option<f64>),
    room: usize,
) -> String {
    let known = format!("{} … {}", bound(of, bounds.0), bound(of, bounds.1));
    let text = match (&*trial.why, trial.confirms, bounds) {
        ("", true, _) => "  to confirm".to_owned(),
        ("", false, (None, None)) => return String::new(),
        ("", ..) => format!("  bounds {known}"),
        (why, ..) => format!("  {why}"),
    };
    match columns(&text) <= room || !trial.why.is_empty() || trial.confirms {
        true => cut(&text, room),
        false => cut(&format!("  {known}"), room),
    }
}

/// The number of confirming trials: `; confirmed by 9 of 10 further trials`.
fn by(found: &SearchResult, lower: f64) -> String {
    let own = found.votes(lower).filter(|_| found.confirmed);
    own.map_or_else(String::new, |own| {
        format!(
            "; confirmed by {} of {} trials",
            own.confirmed,
            own.confirmed + own.broken
        )
    })
}

/// Whether confirming trials broke the promise too often.
fn is_refuted(own: &LoadVotes) -> bool {
    own.broken > 0 && own.judged == Judgement::Breaks
}

/// The result of the lowest load that was not confirmed.
fn refuted(found: &SearchResult) -> String {
    let last = found.loads.iter().find(|own| is_refuted(own));
    last.map_or_else(
        || "no load was; ".to_owned(),
        |own| {
            format!(
                "{} kept {} in only {} of {} further trials; ",
                load(found.plan.searched, own.load),
                found.plan.promise,
                own.confirmed,
                own.confirmed + own.broken
            )
        },
    )
}

/// The answer, with its interval.
pub fn search_answer(found: &SearchResult) -> String {
    let (plan, promise) = (&found.plan, &found.plan.promise);
    let of = plan.searched;
    let keeps = |lower: f64| match (of, lower as u64) {
        (Searched::Rate, _) | (_, 1) => format!("{} keeps {promise}", load(of, lower)),
        _ => format!("{} keep {promise}", load(of, lower)),
    };
    let so_far = match (found.lower, found.upper) {
        (Some(low), Some(high)) => {
            let range = Range { low, high };
            format!("so far the limit is between {}", between(of, range))
        }
        (Some(low), None) => format!("so far {}", keeps(low)),
        // It kept the promise in the votes, and broke it in some confirming trials.
        (None, Some(high)) if found.votes(high).is_some_and(is_refuted) => {
            format!("so far no load is known to keep {promise}")
        }
        (None, Some(high)) => {
            let verb = match (of, high as u64) {
                (Searched::Rate, _) | (_, 1) => "breaks",
                _ => "break",
            };
            format!("so far {} {verb} {promise}", load(of, high))
        }
        (None, None) => "nothing is known yet".to_owned(),
    };
    match (found.ending, found.lower) {
        (SearchEnd::Found, Some(low)) => {
            let goodput = format!("{}{}", goodput(found), by(found, low));
            let Some(high) = found.upper else {
                return format!("{}{goodput}", keeps(low));
            };
            let range = between(of, Range { low, high });
            format!("{} (between {range}{goodput})", keeps(low))
        }
        (SearchEnd::Ceiling, Some(low)) => {
            format!(
                "{}; the limit is higher, but no more was offered{}",
                keeps(low),
                by(found, low)
            )
        }
        (SearchEnd::Floor, _) => match (of, found.upper) {
            (Searched::Rate, Some(high)) => {
                format!("No rate keeps {promise}: even {} breaks it", load(of, high))
            }
            // Each agent has at least one session.
            (_, Some(high)) if high > 1.0 => {
                let least = load(of, high);
                format!("No number from {least} on keeps {promise}: even {least} break it")
            }
            _ => format!("No number of sessions keeps {promise}: even one breaks it"),
        },
        (SearchEnd::Unconfirmed, _) => {
            format!("Not confirmed: {}{so_far}", refuted(found))
        }
        (SearchEnd::Exhausted, _) => format!("Not found within the allowed trials; {so_far}"),
        (SearchEnd::Refused, _) => format!("Refused: the load generator is the limit; {so_far}"),
        (SearchEnd::Crowded, _) => {
            format!("Refused: other processes took the load generator's CPU time; {so_far}")
        }
        (SearchEnd::Failed, _) => format!("Failed; {so_far}"),
        _ => format!("Interrupted; {so_far}"),
    }
}

fn goodput(found: &SearchResult) -> String {
    match (found.goodput_per_s, found.plan.searched) {
        (None, _) => String::new(),
        (Some(per_s), Searched::Rate) => format!("; goodput {}/s", rate(per_s)),
        (Some(per_s), Searched::Sessions) => {
            // A test of the host has no server.
            let event = match found.plan.server.is_empty() {
                true => EventWord::Event,
                false => EventWord::Transaction,
            };
            format!("; {} {}", rate(per_s), event.per_s())
        }
    }
}

/// Workload, target and varied quantity.
fn what(plan: &SearchPlan) -> String {
    let on = match plan.server.as_str() {
        "" => String::new(),
        server => format!(" on {server}"),
    };
    let how = match (plan.searched, plan.sessions) {
        (Searched::Rate, Some(1)) => "the highest rate of an open loop, 1 session".to_owned(),
        (Searched::Rate, Some(count)) => {
            let count = thousands(count.into());
            format!("the highest rate of an open loop, {count} sessions")
        }
        _ => "the most sessions of a closed loop".to_owned(),
    };
    let most = plan.greatest.map_or_else(String::new, |most| {
        format!(
            ", up to {} (70 % of what the load generator can make)",
            load(plan.searched, most)
        )
    });
    format!("{}{on}: {how}{most}", plan.workload)
}

fn trials(found: &SearchResult) -> String {
    let plan = &found.plan;
    let count = found.trials.len();
    let void = found
        .trials
        .iter()
        .filter(|trial| trial.judged == Judgement::Void)
        .count();
    let void = match void {
        0 => String::new(),
        void => format!(", {void} of them void"),
    };
    let settle = match plan.settle_s > 0.0 {
        true => format!(", after {} to settle", length(plan.settle_s)),
        false => String::new(),
    };
    let votes = match plan.votes {
        1 => "one vote".to_owned(),
        votes => format!("up to {votes} votes"),
    };
    format!(
        "{count} of {} each{void}{settle}, in {}; {votes} on a load, bounds within {}",
        length(plan.trial_s),
        length(found.elapsed_s.round()),
        allowed(plan.width)
    )
}

fn votes(found: &SearchResult, at: f64) -> Option<String> {
    let own = found.votes(at)?;
    let mut parts = Vec::new();
    if own.good + own.bad > 0 {
        let votes = if own.good + own.bad == 1 {
            "vote"
        } else {
            "votes"
        };
        parts.push(format!(
            "{} of {} {votes} keep",
            own.good,
            own.good + own.bad
        ));
    }
    if is_refuted(own) {
        parts.push(format!(
            "{} of {} further trials",
            own.confirmed,
            own.confirmed + own.broken
        ));
    }
    let text = format!("{}: {}", load(found.plan.searched, at), parts.join("; "));
    (!parts.is_empty()).then_some(text)
}

fn confirmed(found: &SearchResult) -> Option<(Ink, String)> {
    let lower = found.lower?;
    let own = found.votes(lower);
    let of = found.plan.searched;
    let total = own.map_or(0, |own| own.confirmed + own.broken);
    let kept = own.map_or(0, |own| own.confirmed);
    match found.confirmed {
        true => {
            let below = match found.voted.filter(|voted| *voted > lower) {
                Some(voted) => format!(
                    "; the first candidate, {}, was not confirmed",
                    load(of, voted)
                ),
                None => String::new(),
            };
            let text = format!("by {kept} of {total} further trials{below}");
            Some((Ink::Good, text))
        }
        false if total > 0 => {
            let text = format!("not yet: {kept} of {total} further trials kept the promise");
            Some((Ink::Warning, text))
        }
        false => Some((Ink::Warning, "no".to_owned())),
    }
}

/// All trials: the load to the right, the share of late events upwards, on logarithmic scales.
fn picture(found: &SearchResult, page: &mut Page) {
    let plan = &found.plan;
    let points: Vec<(f64, f64)> = (found.trials.iter())
        .filter_map(|trial| Some((trial.load, trial.late_share?)))
        .collect();
    let loads = || points.iter().map(|(load, _)| *load);
    let (low, high) = (
        loads().fold(f64::MAX, f64::min),
        loads().fold(0.0, f64::max),
    );
    if points.len() < 2 || low >= high {
        return;
    }
    // A hundredth of the allowed share counts as zero.
    let least = plan.loss_ratio / 100.0;
    let shares = points.iter().map(|(_, share)| *share);
    let most = shares.fold(10.0 * plan.loss_ratio, f64::max).min(1.0);
    let up = |share: f64| (share.max(least) / least).ln() / (most / least).ln();
    let mut plane = Scatter::new(page.body_width().min(WIDTH_MAX), HEIGHT);
    for (load, share) in &points {
        plane.point(right(*load, (low, high)), up(*share));
    }
    let limit = plane.row(up(plan.loss_ratio));
    let lines = plane.lines(limit);
    let last = lines.len() - 1;
    for (row, line) in lines.iter().enumerate() {
        let label = match row {
            0 => format!("late {:>8}", share(most)),
            row if row == limit => format!("{:>13}", allowed(plan.loss_ratio)),
            row if row == last => format!("{:>13}", "0 %"),
            _ => String::new(),
        };
        page.line(&label, Ink::Faint, &[(Ink::Plain, line)]);
    }
    axis(found, &plane, (low, high), page);
}

/// The position of a load between the smallest and the greatest, as a fraction on a logarithmic
/// scale.
fn right(load: f64, (low, high): (f64, f64)) -> f64 {
    (load / low).ln() / (high / low).ln()
}

/// The axis: the position of the answer, and the loads at the ends.
fn axis(found: &SearchResult, plane: &Scatter, (low, high): (f64, f64), page: &mut Page) {
    let of = found.plan.searched;
    let width = page.body_width().min(WIDTH_MAX);
    let (from, to) = (load(of, low), load(of, high));
    let mut text = format!(
        "{from}{}{to}",
        " ".repeat(width.saturating_sub(from.len() + to.len()))
    );
    if let Some(lower) = found.lower {
        let at = plane.column(right(lower, (low, high)));
        page.line(
            "",
            Ink::Plain,
            &[(Ink::Plain, &format!("{}▲", " ".repeat(at)))],
        );
        let label = load(of, lower);
        let begin = at
            .saturating_sub(label.len() / 2)
            .min(width.saturating_sub(label.len()));
        let end = begin + label.len();
        let is_free = begin > from.len() + 1 && end + 1 < width.saturating_sub(to.len());
        if is_free {
            text.replace_range(begin..end, &label);
        }
    }
    page.line("", Ink::Plain, &[(Ink::Plain, &text)]);
}

fn between(of: Searched, range: Range) -> String {
    match of {
        Searched::Rate => format!("{}/s and {}/s", rate(range.low), rate(range.high)),
        Searched::Sessions => format!(
            "{} and {} sessions",
            thousands(range.low as u64),
            thousands(range.high as u64)
        ),
    }
}

/// A load with its unit.
fn load(of: Searched, value: f64) -> String {
    match (of, value as u64) {
        (Searched::Rate, _) => format!("{}/s", rate(value)),
        (Searched::Sessions, 1) => "1 session".to_owned(),
        (Searched::Sessions, count) => format!("{} sessions", thousands(count)),
    }
}

/// A bound without its unit, or that it is missing.
fn bound(of: Searched, value: Option<f64>) -> String {
    match (of, value) {
        (_, None) => "?".to_owned(),
        (Searched::Rate, Some(value)) => rate(value),
        (Searched::Sessions, Some(value)) => thousands(value as u64),
    }
}

/// A configured share, in percent.
fn allowed(share: f64) -> String {
    format!("{} %", (share * 1e8).round() / 1e6)
}

/// A measured share in percent, with two digits from a hundredth on.
fn share(share: f64) -> String {
    match share * 100.0 {
        percent if percent < 0.005 => "0 %".to_owned(),
        percent if percent < 0.995 => format!("{percent:.2} %"),
        percent if percent < 9.95 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

#[cfg(test)]
pub(super) mod tests;
