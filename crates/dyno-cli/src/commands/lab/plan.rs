//! `dyno lab plan`: show the trials, their order, and their cost.

use std::collections::BTreeSet;

use anyhow::Result;
use dyno_conduct::lab::Lab;
use dyno_core::text::number_of;
use dyno_core::units::{human_seconds, human_size};
use dyno_lab::file::{Applies, Order};
use dyno_lab::{Change, Role};
use dyno_report::terminal::{Look, TrialLine, Trials, trials};
use dyno_server::Home;
use serde_json::{Value, json};

use super::definition;
use crate::options::Parsed;
use crate::{STATUS_DONE, console, output};

/// A longer plan is printed without its middle.
const LINES_MAX: usize = 40;

/// Prints the plan; starts nothing.
///
/// # Errors
/// The file is not an experiment, or cannot run here.
pub(super) fn main(parsed: &Parsed, words: &[String]) -> Result<u8> {
    let lab = definition::of(parsed, words)?;
    output::json_or_text(
        parsed,
        || as_json(&lab),
        |look| {
            console::page(look, |look| text(&lab, look));
        },
    )?;
    Ok(STATUS_DONE)
}

fn text(lab: &Lab, look: &Look) -> String {
    let mut out = format!("\n{}\n", lab.head.question);
    if !lab.head.cite.is_empty() {
        out += &format!("{}\n", lab.head.cite);
    }
    out += &format!("\n{}\n", count(lab));
    for factor in lab.experiment.crossed() {
        let levels: Vec<&str> = factor
            .levels
            .get_ref()
            .iter()
            .map(|level| level.get_ref().name())
            .collect();
        let what = match factor.applies {
            Applies::Client => "new connections",
            Applies::Online => "statements on the running server",
            Applies::Start => "a restart",
            Applies::Place => "data restored elsewhere",
            Applies::Load => "other data",
        };
        out += &format!(
            "  {:<12} {}: {what}\n",
            factor.name.get_ref(),
            levels.join(", ")
        );
    }
    out += &format!("\n{}", cost(lab));
    let mut servers: Vec<String> = lab.kinds.values().map(dyno_server::Kind::title).collect();
    let cells = lab.trials.cells.iter();
    let running: BTreeSet<&str> = cells
        .filter_map(|cell| cell.effective.server.url.as_deref())
        .collect();
    servers.extend(running.into_iter().map(dyno_core::redact::text));
    if !servers.is_empty() {
        out += &format!("  servers      {}\n", servers.join(", "));
    }
    if let Some(agents) = &lab.experiment.agents {
        let agents = agents.get_ref();
        let by = agents
            .by
            .as_deref()
            .map_or(String::new(), |by| format!(" (by {by})"));
        out += &format!("  agents       {}{by}\n", agents.hosts.join(", "));
    }
    out += "\n";
    out + &trials(&table(lab), look)
}

fn count(lab: &Lab) -> String {
    let (cells, all) = (lab.trials.cells.len(), lab.planned.len());
    let order = match lab.experiment.design.order {
        Order::Random if lab.experiment.design.bracket => {
            "each block has every cell once, and the baseline first, in the middle and last"
        }
        Order::Random => "each block has every cell once, in its own random order",
        Order::Blocks => "the repeats of a cell follow each other",
        Order::Listed => "in the order of the file",
    };
    let blocks = lab
        .trials
        .trials
        .iter()
        .map(|trial| trial.block + 1)
        .max()
        .unwrap_or(0);
    let cells = number_of(cells, "cell");
    let design = &lab.experiment.design;
    let most = lab.experiment.blocks_max();
    let is_open = lab.experiment.precision().is_some() && most > blocks;
    let blocks = match is_open {
        true => format!("{blocks} to {most} blocks"),
        false => number_of(blocks, "block"),
    };
    let least = if is_open { " at least" } else { "" };
    let mut out = format!(
        "{cells} in {blocks}, {}{least}; {order}",
        number_of(all, "trial")
    );
    if is_open {
        out += "; more blocks until the ratios are precise";
    }
    if let Some(factor) = lab.experiment.duet() {
        out += &format!(
            "; both levels of {} run as a duet, in turns",
            factor.name.get_ref()
        );
    }
    if design.rerun_best {
        out += "; the best is measured once more";
    }
    if let Some(budget) = &design.budget {
        let budget = human_seconds(budget.value().as_secs_f64());
        out += &format!("; no block starts that would end after {budget}");
    }
    out
}

fn cost(lab: &Lab) -> String {
    let cost = lab.trials.cost;
    let mut counts = Vec::new();
    let mut add = |count: usize, one: &str, many: &str| match count {
        0 => {}
        1 => counts.push(format!("1 {one}")),
        n => counts.push(format!("{n} {many}")),
    };
    add(cost.loads, "image of data", "images of data");
    add(cost.restores, "restore", "restores");
    add(cost.starts, "start", "starts");
    add(cost.online, "change while running", "changes while running");
    add(
        cost.reconnects,
        "trial with new connections only",
        "trials with new connections only",
    );
    let mut out = format!("  costs        {}\n", counts.join(", "));
    out += &format!(
        "  time         {} of warm-up, measurement and settling, plus loads, restores and starts\n",
        human_seconds(cost.time.as_secs_f64())
    );
    if let Some(free) = free(lab) {
        out += &format!(
            "  disk         each image twice, as a copy and in use; {} free\n",
            human_size(free)
        );
    }
    out
}

/// Free space on the servers' file system; `None` if the experiment starts no server.
fn free(lab: &Lab) -> Option<u64> {
    if lab.kinds.is_empty() {
        return None;
    }
    let home = Home::of_user().ok()?;
    let there = home.path().ancestors().find(|path| path.exists())?;
    dyno_server::free_bytes(there).ok()
}

fn word(change: Change) -> &'static str {
    match change {
        Change::Reconnect => "new connections",
        Change::Online => "change while running",
        Change::Start => "restart",
        Change::Restore => "restore, start",
    }
}

/// A trial's block, and why it is measured if it is not a repetition.
pub(super) fn block(trial: &dyno_lab::Trial) -> String {
    match trial.role {
        Role::Repeat => (trial.block + 1).to_string(),
        role => format!("{} {}", trial.block + 1, role.word()),
    }
}

fn table(lab: &Lab) -> Trials {
    let factors: Vec<String> = factors(lab);
    let lines = lab.trials.trials.iter().enumerate().take(LINES_MAX);
    let lines: Vec<TrialLine> = lines
        .map(|(index, trial)| TrialLine {
            number: index + 1,
            block: block(trial),
            levels: levels(lab, index),
            change: word(trial.change).to_owned(),
            state: String::new(),
            figures: String::new(),
            verdict: None,
        })
        .collect();
    Trials {
        hidden: lab.planned.len() - lines.len(),
        factors,
        lines,
    }
}

/// The names of the factors, in the file's order.
pub(super) fn factors(lab: &Lab) -> Vec<String> {
    let crossed = lab.experiment.crossed().into_iter();
    crossed
        .map(|factor| factor.name.get_ref().clone())
        .collect()
}

/// The levels of a trial, in the same order.
pub(super) fn levels(lab: &Lab, trial: usize) -> Vec<String> {
    let levels = &lab.cell(trial).levels;
    let names = factors(lab);
    names
        .iter()
        .map(|name| levels.get(name).cloned().unwrap_or_default())
        .collect()
}

fn as_json(lab: &Lab) -> Value {
    let cost = lab.trials.cost;
    let all = lab.planned.iter().zip(&lab.trials.trials);
    let all: Vec<Value> = all
        .map(|(planned, trial)| {
            json!({
                "identity": planned.identity.to_string(),
                "levels": lab.trials.cells[trial.cell].levels,
                "block": trial.block + 1,
                "repeat": trial.repeat + 1,
                "role": trial.role.word(),
                "before": word(trial.change),
            })
        })
        .collect();
    json!({
        "name": lab.head.name,
        "question": lab.head.question,
        "cite": lab.head.cite,
        "cost": {
            "trials": cost.trials,
            "images": cost.loads,
            "restores": cost.restores,
            "starts": cost.starts,
            "online": cost.online,
            "reconnects": cost.reconnects,
            "seconds": cost.time.as_secs_f64(),
        },
        "duet": lab.experiment.duet().map(|factor| factor.name.get_ref()),
        "agents": lab.experiment.agents.as_ref().map(|agents| agents.get_ref()),
        "trials": all,
    })
}
