//! `dyno fleet`: prepare load generators on several hosts, and collect their results.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use dyno_conduct::fleet::{CollectRequest, Collected, collect};
use dyno_core::summary::RunEnd;
use dyno_fleet::names::AgentName;
use dyno_fleet::server::{COORDINATOR, ServerFiles};

use crate::definitions::FLEET;
use crate::options::{Grammar, Parsed, Script, help, parse};
use crate::output::Output;
use crate::settings::usage;
use crate::{STATUS_DONE, STATUS_FAILED, console, notices, run_store};

/// Runs the action.
///
/// # Errors
/// An unknown action, or files that cannot be written.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, FLEET, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno fleet keys FOLDER NAME…\n\
             \x20      dyno fleet collect RUN [FILE…]\n\n\
             keys     Write the configuration of a NATS server for these agents, with keys for \
             each\n\
             \x20        agent and for the coordinator. Existing keys are kept.\n\
             collect  Assemble a run from the files that its agents kept on their hosts, and \
             record it,\n\
             \x20        if the coordinator is gone. If a record exists, compare it with the \
             files.\n\
             {}",
            help(FLEET, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    let words: Vec<&str> = parsed.words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["keys", folder, names @ ..] if !names.is_empty() => keys(&parsed, folder, names),
        ["keys", ..] => Err(usage(
            "dyno fleet keys needs a folder and the names of agents",
        )),
        ["collect", words @ ..] => collected(&parsed, words),
        [other, ..] => Err(usage(format!(
            "unknown action '{other}'; the actions are keys and collect"
        ))),
        [] => Err(usage("dyno fleet needs an action: keys or collect")),
    }
}

/// The run that the first word names, with the files of the others; or the run of all files.
fn request(parsed: &Parsed, words: &[&str]) -> Result<CollectRequest> {
    let (first, rest) = words
        .split_first()
        .ok_or_else(|| usage("dyno fleet collect needs a run, or the files of its agents"))?;
    if let Some(file) = words.iter().find(|word| is_missing_file(word)) {
        return Err(usage(format!(
            "dyno fleet collect: there is no file {file}"
        )));
    }
    let (results, run, files) = if Path::new(first).is_file() {
        (run_store::required(parsed)?, None, words)
    } else {
        let (results, run) = run_store::locate(parsed, first)?;
        (results, Some(run), rest)
    };
    Ok(CollectRequest {
        results,
        run,
        files: files.iter().map(PathBuf::from).collect(),
        mixed: parsed.has("allow-mixed-versions"),
        program: parsed.value("agent-command").map(str::to_owned),
    })
}

/// Whether a word names a file that does not exist.
fn is_missing_file(word: &str) -> bool {
    let is_file = word.ends_with(".dyno-agent") || word.contains('/') && !word.contains(':');
    is_file && !Path::new(word).is_file()
}

/// Assembles a run from its agents' records.
fn collected(parsed: &Parsed, words: &[&str]) -> Result<u8> {
    match collect(request(parsed, words)?, &notices::quiet())? {
        Collected::Recorded(summary) => {
            let whole = summary.end == RunEnd::Completed;
            Output::of(parsed)?.write(&summary, &console::look(parsed))?;
            Ok(if whole { STATUS_DONE } else { STATUS_FAILED })
        }
        Collected::Same(text) => {
            console::out(&format!("{text}\n"));
            Ok(STATUS_DONE)
        }
        Collected::Differs(how) => bail!("the agents' files differ from the record of {how}"),
    }
}

/// These agents, and those that already have keys in the folder.
fn agents(folder: &str, named: Vec<AgentName>) -> Result<Vec<AgentName>> {
    let mut all = BTreeSet::new();
    for name in named {
        if name.as_str() == COORDINATOR {
            return Err(usage(format!(
                "dyno fleet keys: an agent cannot be called {COORDINATOR}: this name is reserved \
                 for the command that starts the run"
            )));
        }
        all.insert(name);
    }
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let name = name.strip_suffix(".nk").map(AgentName::new);
        all.extend(
            name.and_then(Result::ok)
                .filter(|name| name.as_str() != COORDINATOR),
        );
    }
    Ok(all.into_iter().collect())
}

fn keys(parsed: &Parsed, folder: &str, names: &[&str]) -> Result<u8> {
    let named = |name: &&str| {
        AgentName::new(*name).map_err(|error| usage(format!("dyno fleet keys: {error}")))
    };
    let file = |name: &str| -> Result<Option<PathBuf>> {
        let Some(file) = parsed.value(name) else {
            return Ok(None);
        };
        let path = std::fs::canonicalize(file);
        let path = path.map_err(|why| usage(format!("--{name}: cannot read {file}: {why}")))?;
        Ok(Some(path))
    };
    let tls = match (file("tls-cert")?, file("tls-key")?) {
        (None, None) => None,
        (Some(cert), Some(key)) => Some((cert, key)),
        _ => return Err(usage("--tls-cert and --tls-key go together")),
    };
    let listen = parsed.value("listen").unwrap_or("127.0.0.1:4222");
    let address: SocketAddr = listen.parse().map_err(|_| {
        usage(format!(
            "--listen: '{listen}' is not an address and port such as 0.0.0.0:4222"
        ))
    })?;
    if tls.is_none() && !address.ip().is_loopback() {
        return Err(usage(format!(
            "--listen {listen}: a bus that other hosts reach needs --tls-cert and --tls-key"
        )));
    }
    let files = ServerFiles {
        folder: PathBuf::from(folder),
        listen: listen.to_owned(),
        tls,
        agents: agents(folder, names.iter().map(named).collect::<Result<_>>()?)?,
    };
    let paths = files.write()?;
    for path in &paths {
        console::out(&format!("{}\n", path.display()));
    }
    if let Some(config) = paths.last() {
        console::note(&format!(
            "Start it with: nats-server -c {}",
            config.display()
        ));
    }
    Ok(STATUS_DONE)
}
