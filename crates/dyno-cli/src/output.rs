//! Destinations of a run's result.

mod file;

use anyhow::{Result, bail};
use dyno_analysis::search::SearchResult;
use dyno_core::duet::DuetSummary;
use dyno_core::summary::RunSummary;
use dyno_core::visible;
use dyno_report::json;
use dyno_report::saturation::Saturation;
use dyno_report::terminal::{
    Look, duet as duet_text, phases as phases_text, saturation as saturation_text,
    search as search_text, summary as summary_text,
};

pub(crate) use self::file::Destination;
use crate::console;
use crate::options::Parsed;
use crate::settings::usage;

/// Prints the answer about recorded runs: as text, as JSON, or with `--json=FILE` as both.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn json_or_text(
    parsed: &Parsed,
    as_json: impl FnOnce() -> serde_json::Value,
    show: impl FnOnce(&Look),
) -> Result<()> {
    let file = parsed
        .value("json")
        .filter(|file| !matches!(*file, "" | "-"));
    if parsed.has("json") {
        let text = serde_json::to_string_pretty(&as_json())? + "\n";
        match file {
            None => console::json(&text),
            Some(path) => write(path, &text)?,
        }
    }
    if !parsed.has("json") || file.is_some() {
        show(&console::look(parsed));
    }
    Ok(())
}

/// Whether `--format` asks for Markdown instead of text.
///
/// # Errors
/// Another format.
pub(crate) fn is_markdown(parsed: &Parsed) -> Result<bool> {
    match parsed.value("format") {
        None | Some("text") => Ok(false),
        Some("markdown") => Ok(true),
        Some(other) => Err(usage(format!(
            "--format: '{other}' is neither text nor markdown"
        ))),
    }
}

/// The destination of a result.
pub(crate) enum Output {
    /// Text to standard output.
    Terminal,
    /// JSON to standard output.
    Json,
    /// Text to standard output, and JSON to a file.
    Both(Destination),
}

impl Output {
    /// Reads `--json`. Opens its file before the run, so that an invalid name fails early; earlier
    /// content remains until this run has a result.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn of(parsed: &Parsed) -> Result<Self> {
        match (parsed.has("json"), parsed.value("json")) {
            (false, _) => Ok(Self::Terminal),
            (true, None | Some("" | "-")) => Ok(Self::Json),
            (true, Some(path)) => Ok(Self::Both(Destination::of(path)?)),
        }
    }

    /// Writes the result.
    ///
    /// # Errors
    /// The file cannot be written; the text has been printed by then, so the result is not lost.
    pub(crate) fn write(self, summary: &RunSummary, look: &Look) -> Result<()> {
        self.show(summary, look);
        self.write_data(summary)
    }

    /// Writes the JSON of a result whose text has been printed.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write_data(self, summary: &RunSummary) -> Result<()> {
        self.save(|| json::run(summary))
    }

    /// Prints a run's result, if the output includes text.
    pub(crate) fn show(&self, summary: &RunSummary, look: &Look) {
        if self.is_shown() {
            console::page(look, |look| summary_text(summary, look));
        }
    }

    /// Writes all results: a table, and one JSON array.
    ///
    /// # Errors
    /// The file cannot be written; the text has been printed.
    pub(crate) fn write_all(self, summaries: &[RunSummary], look: &Look) -> Result<()> {
        if self.is_shown() && summaries.len() > 1 {
            console::page(look, |look| phases_text(summaries, look));
        }
        self.save(|| json::runs(summaries))
    }

    /// Writes a complete ladder: a table, and JSON.
    ///
    /// # Errors
    /// The file cannot be written; the table has been printed.
    pub(crate) fn write_saturation(self, found: &Saturation, look: &Look) -> Result<()> {
        if self.is_shown() {
            console::page(look, |look| saturation_text(found, look));
        }
        self.save(|| Ok(serde_json::to_string_pretty(found)? + "\n"))
    }

    /// Writes a duet's result: text and JSON.
    ///
    /// # Errors
    /// The file cannot be written; the text has been printed.
    pub(crate) fn write_duet(self, found: &DuetSummary, look: &Look) -> Result<()> {
        if self.is_shown() {
            console::page(look, |look| duet_text(found, look));
        }
        self.save(|| Ok(serde_json::to_string_pretty(found)? + "\n"))
    }

    /// Writes a search's result: text and JSON.
    ///
    /// # Errors
    /// The file cannot be written; the text has been printed.
    pub(crate) fn write_search(self, found: &SearchResult, look: &Look) -> Result<()> {
        if self.is_shown() {
            console::page(look, |look| search_text(found, look));
        }
        self.save(|| Ok(serde_json::to_string_pretty(found)? + "\n"))
    }

    /// Whether the output includes text.
    fn is_shown(&self) -> bool {
        matches!(self, Self::Terminal | Self::Both(_))
    }

    fn save(self, text: impl FnOnce() -> Result<String, serde_json::Error>) -> Result<()> {
        match self {
            Self::Terminal => {}
            Self::Json => console::json(&text()?),
            Self::Both(destination) => destination.write(visible::json(&text()?).as_bytes())?,
        }
        Ok(())
    }
}

/// The destination for a file that must not exist, unless `--force` is set. Pipes and devices are
/// valid.
///
/// # Errors
/// The file exists, or cannot be written.
pub(crate) fn fresh(parsed: &Parsed, path: &str) -> Result<Destination> {
    let destination = Destination::of(path)?;
    if !parsed.has("force") && std::path::Path::new(path).is_file() {
        bail!("{path} already exists: name another file, or replace it with --force");
    }
    Ok(destination)
}

/// Writes or replaces a file atomically.
///
/// # Errors
/// The file cannot be written.
pub(crate) fn write(path: &str, content: impl AsRef<[u8]>) -> Result<()> {
    Destination::of(path)?.write(content.as_ref())
}
