//! A table of an experiment.

use super::look::{Ink, Look, wrap};
use crate::document::Table;
use crate::sheet::Sheet;

/// The table under its title.
pub fn sheet(of: &Sheet, look: &Look) -> String {
    let mut out = String::from("\n");
    for line in wrap(&look.clean(&of.title), look.width()) {
        out += &(look.paint(Ink::Strong, &line) + "\n");
    }
    out.push('\n');
    out += &Table::from(of).told_apart(look);
    if !of.about.is_empty() {
        for line in wrap(&look.clean(&of.about), look.width()) {
            out += &(look.paint(Ink::Faint, &line) + "\n");
        }
    }
    out
}

/// A text, wrapped.
pub fn paragraph(text: &str, look: &Look) -> String {
    let lines = wrap(&look.clean(text), look.width()).into_iter();
    lines.map(|line| line + "\n").collect()
}

/// Plans of statements, from rows with the statement, its plan, rows and levels: each statement
/// once, with its plans below it.
pub fn plans(of: &Sheet, look: &Look) -> String {
    const INDENT: usize = 4;
    let mut out = format!("\n{}\n", look.paint(Ink::Strong, &of.title));
    let mut last = "";
    for row in &of.rows {
        let [statement, plan, rows, at] = row.as_slice() else {
            continue;
        };
        if statement != last {
            out += "\n";
            for line in wrap(&look.clean(statement), look.width()) {
                out += &(line + "\n");
            }
            last = statement;
        }
        let text = format!("{at}: {plan}; rows {rows}");
        let room = look.width().saturating_sub(INDENT).max(INDENT);
        for line in wrap(&look.clean(&text), room) {
            out += &(" ".repeat(INDENT) + &look.paint(Ink::Faint, &line) + "\n");
        }
    }
    out + "\n" + &paragraph(&of.about, look)
}

/// The width of the judgements of claims.
const JUDGEMENT: usize = 13;

/// Claims, each with its judgement before it and the measurement below it.
pub fn claims(of: &Sheet, look: &Look) -> String {
    let mut out = format!("\n{}\n\n", look.paint(Ink::Strong, &of.title));
    let room = look.width().saturating_sub(JUDGEMENT).max(JUDGEMENT);
    for row in &of.rows {
        let [judgement, text, evidence] = row.as_slice() else {
            continue;
        };
        let ink = match judgement.as_str() {
            "agrees" => Ink::Good,
            "differs" => Ink::Error,
            _ => Ink::Warning,
        };
        let mut head =
            look.paint(ink, judgement) + &" ".repeat(JUDGEMENT.saturating_sub(judgement.len()));
        for (ink, text) in [(Ink::Plain, text), (Ink::Faint, evidence)] {
            for line in wrap(&look.clean(text), room) {
                out += &(head + &look.paint(ink, &line) + "\n");
                head = " ".repeat(JUDGEMENT);
            }
        }
    }
    out
}
