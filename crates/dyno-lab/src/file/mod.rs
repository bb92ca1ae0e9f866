//! The file of an experiment: from TOML to types, with positions in errors.

mod agents;
mod check;
mod level;
mod prices;
mod reports;
mod scale;
mod types;
mod values;

use std::path::Path;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

pub use level::{Bundle, Level};
pub use prices::{Monthly, Price, Prices};
pub use reports::{Check, Claim, Disturb, Plot, PlotKind, Probe, Sql, Table, TableKind};
pub use types::{
    Agents, Applies, Cache, Data, Design, Experiment, Explain, Factor, Load, LoadedBy, Observe,
    Order, PageCache, Quiet, Reset, ResetData, Server, Settle, Topology, Values, Where,
};
pub use values::{OneOrMany, Rate, Scalar, Size, Time};

use crate::error::{Error, Problem, Problems, nearest};

impl Experiment {
    /// Reads a file, optionally in one of its scales.
    ///
    /// # Errors
    /// As for [`Experiment::parse`], or the file cannot be read.
    pub fn read(path: &Path, scale: Option<&str>) -> Result<Self, Error> {
        let name = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|why| Error {
            file: name.clone(),
            problems: vec![Problem {
                at: None,
                what: format!("cannot be read: {why}"),
            }],
        })?;
        Self::parse(&name, &text, scale)
    }

    /// Parses a text; `file` is its name in messages.
    ///
    /// # Errors
    /// All errors in the text, with positions.
    pub fn parse(file: &str, text: &str, scale: Option<&str>) -> Result<Self, Error> {
        let mut problems = Problems::of(text);
        let refused = |what: Problems| Error {
            file: file.to_owned(),
            problems: what.found,
        };
        let Some(table) = tables(text, scale, &mut problems) else {
            return Err(refused(problems));
        };
        let mut experiment = match Self::deserialize(Deserializer::from(table)) {
            Ok(experiment) => experiment,
            Err(why) => {
                problems.add(why.span(), said(why.message()));
                return Err(refused(problems));
            }
        };
        experiment.is_scaled = scale.is_some();
        experiment.keep_texts(text);
        check::check(&experiment, &mut problems);
        if problems.found.is_empty() {
            experiment.check_cells(&mut problems);
        }
        problems.end(file)?;
        Ok(experiment)
    }

    /// The factor with this name.
    pub fn factor(&self, name: &str) -> Option<&Factor> {
        let mut factors = self.factors.iter();
        factors.find(|factor| factor.name.get_ref() == name)
    }

    /// The crossed factors, in crossing order.
    pub fn crossed(&self) -> Vec<&Factor> {
        match &self.design.cross {
            None => self.factors.iter().collect(),
            Some(names) => {
                let factors = names.iter().map(|name| self.factor(name.get_ref()));
                factors.flatten().collect()
            }
        }
    }

    /// Keeps the levels' names as written: 15.50, not 15.5.
    fn keep_texts(&mut self, text: &str) {
        for factor in &mut self.factors {
            for level in factor.levels.get_mut() {
                let written = text.get(level.span()).map(str::trim);
                if let Level::Plain(Scalar::Integer(_) | Scalar::Float(_), name) = level.get_mut()
                    && let Some(written) = written.filter(|text| text.parse::<f64>().is_ok())
                {
                    written.clone_into(name);
                }
            }
        }
    }
}

fn tables<'a>(
    text: &'a str,
    scale: Option<&str>,
    problems: &mut Problems,
) -> Option<Spanned<DeTable<'a>>> {
    let mut table = match DeTable::parse(text) {
        Ok(table) => table,
        Err(why) => {
            problems.add(why.span(), format!("invalid TOML: {}", why.message()));
            return None;
        }
    };
    scale::apply(table.get_mut(), scale, problems).then_some(table)
}

/// A deserializer's message, with the nearest valid word.
fn said(message: &str) -> String {
    for (what, called) in [("unknown field `", "key"), ("unknown variant `", "word")] {
        let Some((word, rest)) = message
            .strip_prefix(what)
            .and_then(|rest| rest.split_once('`'))
        else {
            continue;
        };
        let among = rest
            .split('`')
            .skip(1)
            .step_by(2)
            .filter(|word| !word.contains(' '));
        return format!("unknown {called} '{word}'; {}", nearest(word, among));
    }
    message.trim_end().replace('`', "'")
}

#[cfg(test)]
mod schema_tests;
