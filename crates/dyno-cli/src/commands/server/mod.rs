//! `dyno server`: database servers that Dyno starts and stops.

pub(super) mod copies;
mod limits;
mod listing;
mod running;
mod trial;

use std::path::Path;

use anyhow::Result;
use dyno_core::suggest::nearest;
use dyno_core::text::capital;
use dyno_server::{Home, Server, ServerError, SupervisorCommand};

use crate::definitions::SERVER;
use crate::options::{Grammar, Opt, Parsed, Script, help, parse};
use crate::settings::usage;
use crate::{STATUS_DONE, console};

/// The actions, their words and descriptions.
pub(super) const ACTIONS: [(&str, &str, &str); 8] = [
    (
        "up",
        "KIND",
        "Create and start a server: mariadb, myrocks, mysql, postgresql, a version (mysql-9.7), or \
         a folder of executables",
    ),
    ("down", "NAME…", "Stop servers and delete their files"),
    (
        "restart",
        "NAME",
        "Restart a server, with settings changed by --set and --unset",
    ),
    (
        "list",
        "",
        "List servers with their state and data, and installed server programs",
    ),
    ("logs", "NAME", "Print the last lines of a server's log"),
    ("url", "NAME", "Print a server's URL"),
    (
        "snapshot",
        "NAME SNAPSHOT",
        "Keep a copy of a server's data under a name",
    ),
    (
        "restore",
        "NAME SNAPSHOT",
        "Replace a server's data with a kept copy",
    ),
];

/// The options of each action.
const OPTIONS: [(&str, &[&str]); 8] = [
    (
        "up",
        &[
            "name",
            "set",
            "basedir",
            "port",
            "start-timeout",
            "foreground",
            "fs",
            "fs-size",
            "mount",
            "cpus",
            "memory",
            "iops",
            "read-iops",
            "write-iops",
            "bandwidth",
            "json",
        ],
    ),
    ("down", &["all", "keep-data"]),
    (
        "restart",
        &[
            "set",
            "unset",
            "start-timeout",
            "cold",
            "trim",
            "settle",
            "cpus",
            "memory",
            "iops",
            "read-iops",
            "write-iops",
            "bandwidth",
            "json",
        ],
    ),
    ("list", &["json"]),
    ("logs", &["lines"]),
    ("url", &["tcp"]),
    ("snapshot", &["start-timeout", "settle"]),
    (
        "restore",
        &["from", "start-timeout", "cold", "trim", "settle"],
    ),
];

/// Runs the action that the first word names.
///
/// # Errors
/// The action, kind or server does not exist, or the action failed.
pub(super) fn main(args: &[String]) -> Result<u8> {
    if let [word, folder] = args
        && word == KEEP
    {
        return supervise(Path::new(folder));
    }
    let parsed = parse(args, SERVER, Script::Declares(&[]), Grammar::Dyno)?;
    let (action, words) = match parsed.words.split_first() {
        Some((action, words)) => (action.as_str(), words),
        None => {
            console::help(&text());
            return Ok(if parsed.has("help") {
                STATUS_DONE
            } else {
                crate::STATUS_USAGE
            });
        }
    };
    let Some((_, arguments, about)) = ACTIONS.iter().find(|(name, ..)| *name == action) else {
        return Err(unknown(action));
    };
    if parsed.has("help") {
        let mine: Vec<Opt> = SERVER
            .iter()
            .filter(|opt| belongs(action, opt.name))
            .copied()
            .collect();
        console::help(&format!(
            "Usage: dyno server {action} {arguments}\n\n{}.\n{}",
            capital(about),
            help(&mine, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    if let Some(opt) = SERVER
        .iter()
        .find(|opt| parsed.has(opt.name) && !belongs(action, opt.name))
    {
        return Err(usage(format!(
            "dyno server {action} has no option --{}",
            opt.name
        )));
    }
    let done = match action {
        "up" => running::up(&parsed, words),
        "down" => running::down(&parsed, words),
        "restart" => running::restart(&parsed, words),
        "list" => listing::list(&parsed, words),
        "logs" => listing::logs(&parsed, words),
        "url" => listing::url(&parsed, words),
        "snapshot" => copies::snapshot(&parsed, words),
        _ => copies::restore(&parsed, words),
    };
    done.map_err(of_usage)
}

/// The action with which Dyno starts itself to run a server.
const KEEP: &str = "keep";

fn supervise(folder: &Path) -> Result<u8> {
    let name = folder.file_name().and_then(|name| name.to_str());
    let (Some(name), Some(home)) = (name, folder.parent()) else {
        return Err(usage("dyno server keep is for Dyno's internal use"));
    };
    dyno_server::supervise(&Home::at(home)?.folder(name)?)?;
    Ok(STATUS_DONE)
}

/// The command with which Dyno starts itself to run a server.
pub(super) fn supervisor() -> Result<SupervisorCommand> {
    Ok(SupervisorCommand {
        // The file at this path may be another version by then.
        program: "/proc/self/exe".into(),
        arguments: vec!["server".into(), KEEP.into()],
    })
}

/// Gives mistakes in the request the exit status of usage errors.
fn of_usage(error: anyhow::Error) -> anyhow::Error {
    match error.downcast_ref::<ServerError>() {
        Some(cause) if cause.is_usage() => usage(cause.to_string()),
        _ => error,
    }
}

fn belongs(action: &str, option: &str) -> bool {
    let found = OPTIONS.iter().find(|(name, _)| *name == action);
    option == "help" || found.is_some_and(|(_, options)| options.contains(&option))
}

fn text() -> String {
    let mut text = "Usage: dyno server ACTION …\n\n\
                    Run private database servers for tests: unprivileged, on loopback, each in a \
                    folder with its data, socket and log.\n\n"
        .to_owned();
    for (action, words, about) in ACTIONS {
        let head = format!("{action} {words}");
        text += &format!("  {head:<23} {about}\n");
    }
    text += &help(SERVER, Grammar::Dyno);
    text + "\n\
            Use a server with --target server:NAME. All servers are in the folder $DYNO_SERVERS \
            [/var/tmp/dyno-servers-UID].\n"
}

fn unknown(action: &str) -> anyhow::Error {
    let near = nearest(action, ACTIONS.iter().map(|(name, ..)| *name));
    let elsewhere = [
        ("start", "restart"),
        ("stop", "down"),
        ("rm", "down"),
        ("ls", "list"),
    ];
    let known = elsewhere
        .iter()
        .find(|(other, _)| *other == action)
        .map(|(_, known)| *known);
    let hint = match known.or(near) {
        Some(name) => format!("did you mean '{name}'?"),
        None => "see dyno server --help".to_owned(),
    };
    usage(format!("unknown action '{action}' of dyno server; {hint}"))
}

/// The single server that the words name.
fn named(words: &[String], action: &str) -> Result<Server> {
    match words {
        [name] => Ok(Server::open(&Home::of_user()?, name)?),
        _ => Err(usage(format!(
            "dyno server {action} needs the NAME of one server"
        ))),
    }
}

/// The settings of `--set`.
fn settings(parsed: &Parsed) -> Result<dyno_server::Settings> {
    let mut settings = dyno_server::Settings::default();
    for text in parsed.values("set") {
        settings.put(text)?;
    }
    Ok(settings)
}
