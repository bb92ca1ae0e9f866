//! Gives a server the same initial state each time: cold caches, finished background work.

use std::time::Duration;

use anyhow::Result;
use dyno_server::{Reset, Server, Settled, Started, settle};
use serde_json::{Value, json};

use crate::console;
use crate::options::Parsed;
use crate::settings::duration;

/// The preparation of a server's initial state.
#[derive(Default)]
pub(super) struct Beginnings {
    /// Caches of the host that were dropped.
    reset: Option<Reset>,
    /// Steps for a cold start.
    cold: Vec<String>,
    /// The result of the wait for background work.
    settled: Option<Settled>,
}

impl Beginnings {
    /// Resets the host's caches as `--cold` and `--trim` say, while the server is stopped.
    pub(super) fn reset(server: &Server, parsed: &Parsed) -> Self {
        let mut reset = Reset::default();
        if parsed.has("trim") {
            console::progress("trimming");
            reset.and(server.trim());
        }
        if parsed.has("cold") {
            console::progress("dropping the page cache");
            reset.and(server.forget_pages());
        }
        console::progress("");
        Self {
            reset: (parsed.has("trim") || parsed.has("cold")).then_some(reset),
            ..Self::default()
        }
    }

    /// Waits for the background work of a started server, as `--settle` says.
    ///
    /// # Errors
    /// It does not answer.
    pub(super) fn finish(
        &mut self,
        server: &Server,
        started: &Started,
        parsed: &Parsed,
    ) -> Result<()> {
        self.cold.clone_from(&started.cold);
        self.settled = settle_for(server, parsed)?;
        Ok(())
    }

    /// A description as text.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        if let Some(reset) = &self.reset {
            for done in &reset.done {
                text += &format!("  reset          {done}\n");
            }
            for not_done in &reset.not_done {
                text += &format!("  not reset      {not_done}\n");
            }
        }
        for cold in &self.cold {
            text += &format!("  cold           {cold}\n");
        }
        text + &self.settled.as_ref().map(words).unwrap_or_default()
    }

    /// Adds the same to the server's JSON object.
    pub(super) fn put_into(&self, object: &mut Value) {
        if let Some(reset) = &self.reset {
            object["reset"] = json!({ "done": reset.done, "not_done": reset.not_done });
            object["cold"] = json!(self.cold);
        }
        if let Some(settled) = &self.settled {
            object["settled"] = json!({
                "quiet": settled.quiet,
                "waited_s": settled.waited.as_secs_f64(),
                "left": settled.left,
            });
        }
    }
}

/// Waits as `--settle` says; `None` if it is not set.
///
/// # Errors
/// The server does not answer.
pub(super) fn settle_for(server: &Server, parsed: &Parsed) -> Result<Option<Settled>> {
    if !parsed.has("settle") {
        return Ok(None);
    }
    let limit = duration(parsed, "settle", Duration::ZERO)?;
    let url = server.url(false)?;
    let settled = settle(&url, limit, &mut |left| {
        console::progress(&format!("waiting until the server is quiet: {left}"));
    });
    console::progress("");
    Ok(Some(settled?))
}

/// The result of the wait in words.
pub(super) fn words(settled: &Settled) -> String {
    let waited = settled.waited.as_secs_f64();
    let mut text = match settled.quiet {
        true => format!("  quiet          after {waited:.0} s\n"),
        false => format!("  not quiet      after {waited:.0} s\n"),
    };
    for left in &settled.left {
        text += &format!("                 {left}\n");
    }
    text
}
