//! `dyno top`: watch a server, a proxy or a run.

use std::io::{self, IsTerminal as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use dyno_top::sources::{Console, HaProxy, Run, Server};
use dyno_top::{Lines, Poller, Source, TerminalScreen};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::target::{named, target};
use crate::definitions::TOP;
use crate::options::{Grammar, Parsed, Script, help, parse};
use crate::settings::usage;
use crate::{STATUS_DONE, STATUS_INTERRUPTED, console, run_store, settings};

/// Default polling interval.
const INTERVAL: Duration = Duration::from_secs(1);
/// Minimum polling interval: faster polling would be a load.
const INTERVAL_MIN: Duration = Duration::from_millis(100);
const INTERVAL_MAX: Duration = Duration::from_secs(3600);

/// Watches until the user ends it, or all lines are printed.
///
/// # Errors
/// There is nothing to watch, or it cannot be reached.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, TOP, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno top [--target URL | --run RUN | --haproxy SOCKET]\n\n\
             Watch a server, a proxy or a run live: screens on a terminal (h lists the keys), \
             otherwise one line per interval.\n\
             {}",
            help(TOP, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    if let Some(word) = parsed.words.first() {
        return Err(usage(format!(
            "unexpected argument '{word}'; name a server with --target URL, a run with --run RUN"
        )));
    }
    let interval = settings::duration(&parsed, "interval", INTERVAL)?;
    if !(INTERVAL_MIN..=INTERVAL_MAX).contains(&interval) {
        return Err(usage("--interval: it must be from 100ms to 1h"));
    }
    let count = match parsed.has("count") {
        true => Some(settings::count(&parsed, "count", 0)?),
        false => None,
    };
    if count == Some(0) {
        return Err(usage("--count: it must be at least 1"));
    }
    let source = source(&parsed)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("cannot handle signals")?;
    }
    let stopped = || stop.load(Ordering::Relaxed);
    let poller = Poller::start(source, interval).context("cannot start the sampling thread")?;
    let has_terminal = io::stdin().is_terminal() && console::has_screen();
    if has_terminal && count.is_none() && !parsed.has("json") {
        let how = TerminalScreen {
            colour: console::look(&parsed).colour,
            interval,
            stopped: &stopped,
        };
        dyno_top::screen(&poller, &how)?;
    } else {
        let how = Lines {
            interval,
            count,
            json: parsed.has("json"),
            stopped: &stopped,
            write: &mut console::stream,
        };
        dyno_top::lines(&poller, how)?;
    }
    Ok(if stopped() {
        STATUS_INTERRUPTED
    } else {
        STATUS_DONE
    })
}

/// The source that the options name, not connected yet.
fn source(parsed: &Parsed) -> Result<Box<dyn Source>> {
    let given = ["target", "run", "haproxy"].map(|name| (name, parsed.has(name)));
    let mut given = given.iter().filter(|(_, given)| *given);
    if let (Some((one, _)), Some((other, _))) = (given.next(), given.next()) {
        return Err(usage(format!(
            "--{one} and --{other} cannot be used together"
        )));
    }
    let console = match (parsed.has("proxysql"), parsed.has("pgbouncer")) {
        (false, false) => Console::Asked,
        (true, false) => Console::ProxySql,
        (false, true) => Console::PgBouncer,
        (true, true) => {
            return Err(usage("--proxysql and --pgbouncer cannot be used together"));
        }
    };
    if console != Console::Asked && (parsed.has("run") || parsed.has("haproxy")) {
        return Err(usage("--proxysql and --pgbouncer need a --target"));
    }
    if let Some(run) = parsed.value("run") {
        let (file, run) = run_store::locate(parsed, run)?;
        return Ok(Box::new(Run::new(file, run)));
    }
    if let Some(socket) = parsed.value("haproxy") {
        let haproxy = HaProxy::new(socket);
        return Ok(Box::new(
            haproxy.map_err(|why| usage(format!("--haproxy: {why}")))?,
        ));
    }
    if named(parsed).is_none() {
        return Err(usage(
            "dyno top needs something to watch: --target URL, --run RUN or --haproxy SOCKET",
        ));
    }
    let (target, _) = target(parsed, "top")?;
    Ok(Box::new(Server::new(target, console)))
}
