//! Figures: medians and how much they spread.

use dyno_stats::median;
use serde_json::{Value, json};

/// A measured figure.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figure {
    /// What the figure measures. Bars refer to a figure by this name.
    pub name: String,
    /// `ratio`, `µs`, `instructions`, `KiB`.
    pub unit: &'static str,
    /// The median over rounds.
    pub median: f64,
    /// The smallest of the rounds.
    pub low: f64,
    /// The largest of the rounds.
    pub high: f64,
}

/// The result of a section.
#[derive(Default)]
pub(crate) struct Section {
    /// The medians.
    pub figures: Vec<Figure>,
    /// Every single measurement.
    pub samples: Vec<Value>,
}

impl Section {
    /// Adds the median of `rounds`, if there are any.
    pub(crate) fn add(&mut self, name: String, unit: &'static str, rounds: &[f64]) {
        let Some(median) = median(rounds) else {
            return;
        };
        let low = rounds.iter().copied().fold(f64::INFINITY, f64::min);
        let high = rounds.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        crate::say(&format!(
            "   {name}: {median:.3} {unit} ({low:.3} to {high:.3})"
        ));
        self.figures.push(Figure {
            name,
            unit,
            median,
            low,
            high,
        });
    }

    /// Adds the median of the ratios of each round, for the rounds that both series have.
    pub(crate) fn add_ratio(&mut self, name: String, over: &[f64], under: &[f64]) {
        let ratios: Vec<f64> = over.iter().zip(under).map(|(a, b)| a / b).collect();
        self.add(name, "ratio", &ratios);
    }
}

impl Figure {
    /// For the results file.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "name": self.name, "unit": self.unit,
            "median": self.median, "low": self.low, "high": self.high,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_rounds() {
        let mut section = Section::default();
        section.add_ratio("a / b".to_owned(), &[1.0, 10.0, 4.0], &[2.0, 10.0, 16.0]);
        let figure = &section.figures[0];
        assert_eq!((figure.median, figure.low, figure.high), (0.5, 0.25, 1.0));
        section.add("none".to_owned(), "µs", &[]);
        assert_eq!(section.figures.len(), 1);
    }
}
