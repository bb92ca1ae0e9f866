//! What has a server begin as it did the last time: caches that are cold, background work that is
//! done.

use std::time::Duration;

use anyhow::Result;
use dyno_server::{Reset, Server, Settled, Started, settle};
use serde_json::{Value, json};

use crate::console;
use crate::options::Parsed;
use crate::settings::duration;

/// What was done about a server's beginnings.
#[derive(Default)]
pub struct Beginnings {
    /// What the host was made to forget.
    reset: Option<Reset>,
    /// What was done for a cold start.
    cold: Vec<String>,
    /// What came of waiting for background work.
    settled: Option<Settled>,
}

impl Beginnings {
    /// Has the host forget what `--cold` and `--trim` say, of a server that does not run.
    pub fn reset(server: &Server, parsed: &Parsed) -> Self {
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

    /// Waits as long as `--settle` says for the background work of a server that has started.
    ///
    /// # Errors
    /// It does not answer.
    pub fn finish(&mut self, server: &Server, started: &Started, parsed: &Parsed) -> Result<()> {
        self.cold.clone_from(&started.cold);
        self.settled = settle_for(server, parsed)?;
        Ok(())
    }

    /// The same for people.
    pub fn text(&self) -> String {
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

    /// The same for programs, put into the server's object.
    pub fn put_into(&self, object: &mut Value) {
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

/// Waits as long as `--settle` says; `None` where nobody wants it.
///
/// # Errors
/// The server does not answer.
pub fn settle_for(server: &Server, parsed: &Parsed) -> Result<Option<Settled>> {
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

/// What came of waiting, in words.
pub fn words(settled: &Settled) -> String {
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
