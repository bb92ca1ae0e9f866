//! Options of the form `--name value` or `--name=value`, enough for these programs.

use std::collections::BTreeMap;
use std::str::FromStr;

/// A parsed command line. Take every option before [`Args::finish`], which reports unknown ones.
#[derive(Debug)]
pub struct Args {
    values: BTreeMap<String, String>,
}

impl Args {
    /// Parses the words after the program's name.
    ///
    /// # Errors
    /// A word that is not an option, an option without a value, an option given twice.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Args, String> {
        let mut values = BTreeMap::new();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let Some(option) = word.strip_prefix("--") else {
                return Err(format!("`{word}` is not an option: options begin with --"));
            };
            let (name, value) = match option.split_once('=') {
                Some((name, value)) => (name.to_owned(), value.to_owned()),
                None => match words.next() {
                    Some(value) => (option.to_owned(), value),
                    None => return Err(format!("--{option} needs a value")),
                },
            };
            if values.insert(name.clone(), value).is_some() {
                return Err(format!("--{name} is given twice"));
            }
        }
        Ok(Args { values })
    }

    /// Takes an option's value, if given.
    ///
    /// # Errors
    /// The value is not a `T`.
    pub fn take<T: FromStr>(&mut self, name: &str) -> Result<Option<T>, String> {
        let Some(value) = self.values.remove(name) else {
            return Ok(None);
        };
        match value.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(format!("--{name}: `{value}` cannot be read")),
        }
    }

    /// Takes the value of a required option.
    ///
    /// # Errors
    /// The option is missing or not a `T`.
    pub fn require<T: FromStr>(&mut self, name: &str) -> Result<T, String> {
        self.take(name)?
            .ok_or_else(|| format!("--{name} is needed"))
    }

    /// Ends the parse.
    ///
    /// # Errors
    /// Unknown options are left.
    pub fn finish(self) -> Result<(), String> {
        match self.values.keys().next() {
            Some(name) => Err(format!("--{name} is not an option of this program")),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Args, String> {
        Args::parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn both_spellings_give_the_value() {
        let mut args = parse("--port 12 --socket=/tmp/s").unwrap();
        assert_eq!(args.take::<u16>("port"), Ok(Some(12)));
        assert_eq!(args.require::<String>("socket"), Ok("/tmp/s".to_owned()));
        assert_eq!(args.take::<u16>("other"), Ok(None));
        args.finish().unwrap();
    }

    #[test]
    fn refuses_invalid_arguments() {
        assert!(parse("word").is_err());
        assert!(parse("--port").is_err());
        assert!(parse("--port=1 --port=2").is_err());
        let mut args = parse("--port=x --odd=1").unwrap();
        assert!(args.take::<u16>("port").is_err());
        assert!(args.require::<String>("socket").is_err());
        assert_eq!(
            args.finish().unwrap_err(),
            "--odd is not an option of this program"
        );
    }
}
