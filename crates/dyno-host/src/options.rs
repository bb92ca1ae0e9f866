//! The options of the tests and their values.

pub use dyno_core::plan::Edition;
use dyno_core::plan::OptionValue;

/// The type of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Int,
    /// A number.
    Double,
    /// Bytes, with binary multipliers.
    Size,
    /// A switch.
    Bool,
    /// A word.
    Text,
    /// Words separated by commas.
    List,
}

/// An option of a test.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// The name without dashes.
    pub name: &'static str,
    /// The help text.
    pub about: &'static str,
    /// Its type.
    pub kind: Kind,
    /// The default under `dyno run`.
    pub default: &'static str,
    /// The default under `dyno sysbench`, if different.
    pub sysbench: Option<&'static str>,
}

impl Definition {
    /// The default of an edition.
    pub fn default(&self, edition: Edition) -> &'static str {
        match (edition, self.sysbench) {
            (Edition::Sysbench, Some(default)) => default,
            _ => self.default,
        }
    }
}

/// An option with one default.
pub(crate) const fn option(
    name: &'static str,
    kind: Kind,
    default: &'static str,
    about: &'static str,
) -> Definition {
    Definition {
        name,
        about,
        kind,
        default,
        sysbench: None,
    }
}

/// The values of a test's options. All options are present: the caller fills in the defaults.
pub(crate) struct Values<'a>(pub(crate) &'a [(String, OptionValue)]);

impl Values<'_> {
    fn find(&self, name: &str) -> Result<&OptionValue, String> {
        let key = name.replace('-', "_");
        let found = self.0.iter().find(|(known, _)| *known == key);
        found
            .map(|(_, value)| value)
            .ok_or_else(|| format!("--{name} has no value"))
    }

    /// A non-negative number, possibly with a fraction.
    pub(crate) fn number(&self, name: &str) -> Result<f64, String> {
        match self.find(name)? {
            OptionValue::Number(number) if *number >= 0.0 && number.is_finite() => Ok(*number),
            other => Err(format!("--{name}: {other} is not a number of at least 0")),
        }
    }

    /// A whole number of at least `least`.
    pub(crate) fn count(&self, name: &str, least: u64) -> Result<u64, String> {
        // Doubles represent all integers up to here.
        const MOST: f64 = 9_007_199_254_740_992.0;
        let number = self.number(name)?;
        if number.fract() != 0.0 || number > MOST {
            return Err(format!("--{name}: {number} is not a whole number"));
        }
        match number as u64 {
            number if number < least => {
                Err(format!("--{name}: {number} is too small; at least {least}"))
            }
            number => Ok(number),
        }
    }

    /// A word, one of `known`.
    pub(crate) fn word(&self, name: &str, known: &[&'static str]) -> Result<&'static str, String> {
        let value = self.find(name)?.to_string();
        let found = known.iter().find(|word| **word == value);
        found
            .copied()
            .ok_or_else(|| format!("--{name}: '{value}' is not one of {}", known.join(", ")))
    }

    pub(crate) fn text(&self, name: &str) -> Result<String, String> {
        self.find(name).map(ToString::to_string)
    }

    pub(crate) fn list(&self, name: &str) -> Result<Vec<String>, String> {
        match self.find(name)? {
            OptionValue::List(items) => Ok(items.clone()),
            other => Ok(vec![other.to_string()]),
        }
    }

    pub(crate) fn switch(&self, name: &str) -> Result<bool, String> {
        match self.find(name)? {
            OptionValue::Bool(on) => Ok(*on),
            other => Err(format!("--{name}: {other} is neither on nor off")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<(String, OptionValue)> {
        vec![
            ("a_size".to_owned(), OptionValue::Number(1024.0)),
            ("a_part".to_owned(), OptionValue::Number(1.5)),
            ("a_word".to_owned(), OptionValue::Text("seq".to_owned())),
            ("a_switch".to_owned(), OptionValue::Bool(true)),
        ]
    }

    #[test]
    fn values_are_of_their_type() {
        let values = values();
        let values = Values(&values);
        assert_eq!(values.count("a-size", 8), Ok(1024));
        assert_eq!(values.number("a-part"), Ok(1.5));
        assert_eq!(values.word("a-word", &["rnd", "seq"]), Ok("seq"));
        assert_eq!(values.switch("a-switch"), Ok(true));
    }

    #[test]
    fn wrong_values_are_refused_by_name() {
        let values = values();
        let values = Values(&values);
        let refusal = |result: Result<u64, String>| result.unwrap_err();
        assert!(refusal(values.count("a-size", 2048)).contains("at least 2048"));
        assert!(refusal(values.count("a-part", 0)).contains("not a whole number"));
        assert!(refusal(values.count("a-word", 0)).contains("seq is not a number"));
        assert!(refusal(values.count("gone", 0)).contains("--gone has no value"));
        let word = values.word("a-word", &["read", "write"]).unwrap_err();
        assert_eq!(word, "--a-word: 'seq' is not one of read, write");
        assert!(values.switch("a-size").is_err());
    }
}
