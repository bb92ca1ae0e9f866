//! Copies of servers' data.

use anyhow::Result;
use dyno_core::Clock;
use dyno_core::clock::Nanos;
use dyno_core::units::human_size;
use dyno_server::{Home, Server, Snapshot};

use super::running::start;
use super::trial::{self, Beginnings};
use crate::options::Parsed;
use crate::settings::usage;
use crate::{STATUS_DONE, console};

/// Interval between progress updates.
const DRAWN_EVERY_NS: Nanos = 200_000_000;

/// Copies a server's data.
pub(crate) fn snapshot(parsed: &Parsed, words: &[String]) -> Result<u8> {
    let (mut server, name) = named(words, "snapshot")?;
    server.can_snapshot(&name)?;
    if parsed.has("settle") {
        match server.running()? {
            Some(_) => {
                let settled = trial::settle_for(&server, parsed)?;
                console::out(&settled.as_ref().map(trial::words).unwrap_or_default());
            }
            None => console::note(
                "the server is not running, so there is nothing to wait for (--settle)",
            ),
        }
    }
    at_rest(&mut server, parsed, false, |server| {
        let begun = Clock.now();
        let copy = server.snapshot(&name, &copy_progress("copied"))?;
        print_copy(
            &format!("{}: snapshot {name}", server.folder().name()),
            &copy,
            begun,
        );
        Ok(())
    })
}

/// Restores a copy.
pub(crate) fn restore(parsed: &Parsed, words: &[String]) -> Result<u8> {
    let (mut server, name) = named(words, "restore")?;
    if let Some(from) = parsed.value("from") {
        let from = Server::open(&Home::of_user()?, from)?;
        console::progress(&format!("copying {name} of {}", from.folder().name()));
        let adopted = server.adopt_snapshot(&from, &name);
        console::progress("");
        adopted?;
    }
    server.find_snapshot(&name)?;
    at_rest(&mut server, parsed, true, |server| {
        let begun = Clock.now();
        let copy = server.restore(&name, &copy_progress("restored"))?;
        print_copy(
            &format!("{}: {name} is restored", server.folder().name()),
            &copy,
            begun,
        );
        Ok(())
    })
}

fn named(words: &[String], action: &str) -> Result<(Server, String)> {
    match words {
        [server, name] => Ok((Server::open(&Home::of_user()?, server)?, name.clone())),
        _ => Err(usage(format!(
            "dyno server {action} needs the NAME of a server and of a SNAPSHOT"
        ))),
    }
}

/// Runs an action while the server is stopped, and starts a running one again, even after a
/// failure. If data were `restored`, also waits as `--settle` says.
fn at_rest(
    server: &mut Server,
    parsed: &Parsed,
    restored: bool,
    act: impl FnOnce(&Server) -> Result<()>,
) -> Result<u8> {
    let _held = server.hold()?;
    let ran = server.running()?.is_some();
    if ran {
        console::progress(&format!("stopping {}", server.folder().name()));
        server.stop()?;
        console::progress("");
    }
    let done = act(server);
    console::progress("");
    let mut beginnings = match done {
        Ok(()) => Beginnings::reset(server, parsed),
        Err(_) => Beginnings::default(),
    };
    if ran {
        match start(server, parsed) {
            Ok(started) => {
                let finished = match restored && done.is_ok() {
                    true => beginnings.finish(server, &started, parsed),
                    false => Ok(()),
                };
                started.lifeline.stay()?;
                finished?;
            }
            // The first error caused the second.
            Err(error) if done.is_ok() => return Err(error),
            Err(_) => {}
        }
    }
    console::out(&beginnings.text());
    done.map(|()| STATUS_DONE)
}

/// A function that draws a copy's progress.
pub(crate) fn copy_progress(what: &'static str) -> impl Fn(u64, u64) {
    let last = std::cell::Cell::new(Clock.now());
    move |bytes, total| {
        if Clock.now().saturating_sub(last.get()) >= DRAWN_EVERY_NS {
            last.set(Clock.now());
            let (bytes, total) = (human_size(bytes), human_size(total));
            console::progress(&format!("{what} {bytes} of {total}"));
        }
    }
}

fn print_copy(what: &str, snapshot: &Snapshot, begun: Nanos) {
    console::progress("");
    let seconds = Clock.now().saturating_sub(begun) as f64 / 1e9;
    let how = match snapshot.copied {
        None => "by the server's own program".to_owned(),
        Some(copied) => {
            let shares = match copied.shared_bytes == copied.bytes && copied.bytes > 0 {
                true => ", sharing blocks",
                false => "",
            };
            format!(
                "{} files, {}{shares}",
                copied.files,
                human_size(copied.bytes)
            )
        }
    };
    console::out(&format!("{what} ({how}, {seconds:.1} s)\n"));
}
