//! Errors in an experiment's file, with their positions.

use std::fmt;
use std::ops::Range;

/// One error in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Line and column, from 1; `None` if it concerns the whole file.
    pub at: Option<(usize, usize)>,
    /// The error, and the expected input.
    pub what: String,
}

/// A file that is not a valid experiment.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Error {
    /// The file's name.
    pub file: String,
    /// All errors found, at least one.
    pub problems: Vec<Problem>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            match problem.at {
                Some((line, column)) => write!(f, "{}:{line}:{column}: ", self.file)?,
                None => write!(f, "{}: ", self.file)?,
            }
            f.write_str(&problem.what)?;
        }
        Ok(())
    }
}

pub(crate) struct Problems<'a> {
    text: &'a str,
    pub(crate) found: Vec<Problem>,
}

impl<'a> Problems<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        Self {
            text,
            found: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, span: Option<Range<usize>>, what: impl Into<String>) {
        let at = span.map(|span| line_and_column(self.text, span.start));
        self.found.push(Problem {
            at,
            what: what.into(),
        });
    }

    /// The position of a quoted text after another position, or that position if it is not found.
    pub(crate) fn text_behind(&self, span: Range<usize>, text: &str) -> Range<usize> {
        let behind = self.text.get(span.start..).unwrap_or_default();
        let quotes = ['"', '\''].map(|quote| behind.find(&format!("{quote}{text}{quote}")));
        match quotes.into_iter().flatten().min() {
            Some(at) => span.start + at..span.start + at + text.len() + 2,
            None => span,
        }
    }

    pub(crate) fn end(mut self, file: &str) -> Result<(), Error> {
        if self.found.is_empty() {
            return Ok(());
        }
        self.found.sort_by_key(|problem| problem.at);
        self.found.dedup();
        Err(Error {
            file: file.to_owned(),
            problems: self.found,
        })
    }
}

fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    (line, column)
}

/// The end of an error message: suggests the most similar word, or lists all if none is similar.
pub(crate) fn nearest<'a>(word: &str, among: impl IntoIterator<Item = &'a str>) -> String {
    let among: Vec<&str> = among.into_iter().collect();
    match dyno_core::suggest::nearest(word, among.iter().copied()) {
        Some(near) => format!("did you mean '{near}'?"),
        None if among.is_empty() => "no names are defined".to_owned(),
        None => format!("expected one of: {}", among.join(", ")),
    }
}
