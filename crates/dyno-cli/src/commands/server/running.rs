//! Starts and stops servers.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use dyno_core::units::human_size;
use dyno_server::{FileSystem, Folder, Home, Kind, Limits, Place, Server, Start, Started};

use super::limits::{limits, place};
use super::listing::sweep;
use super::trial::Beginnings;
use super::{named, settings, supervisor};
use crate::options::Parsed;
use crate::settings::{duration, usage};
use crate::{STATUS_DONE, console};

/// Default timeout for a server's first answer.
const START_LIMIT: Duration = Duration::from_secs(120);

/// Creates and starts a server.
pub(super) fn up(parsed: &Parsed, words: &[String]) -> Result<u8> {
    let [kind] = words else {
        return Err(usage(
            "dyno server up needs one KIND, for example mariadb or postgresql",
        ));
    };
    let home = Home::of_user()?;
    let port = match parsed.value("port").map(str::parse::<u16>) {
        None => None,
        Some(Ok(port)) if port > 0 => Some(port),
        Some(_) => return Err(usage("--port takes a number from 1 to 65535")),
    };
    let found = Kind::find(kind, parsed.value("basedir").map(Path::new))?;
    let name = match parsed.value("name") {
        Some(name) => name.to_owned(),
        None => name_of(kind),
    };
    let limits = limits(parsed, Limits::default())?;
    // Before anything is created: find limits that the host does not support.
    limits.check(&home)?;
    let place = place(parsed)?;
    let is_zfs = |place: &Place| place.file_system == FileSystem::Zfs;
    if limits.are_of_disk() && place.as_ref().is_some_and(is_zfs) {
        return Err(usage(
            "cannot limit reads and writes of a server on zfs: its pool is not a block device",
        ));
    }
    console::progress(&format!("creating the data of {}", found.title()));
    let set = settings(parsed)?;
    let made = Server::make_on(&home, &name, found, set, port, place.as_ref());
    console::progress("");
    let mut server = made?;
    let held = server.hold()?;
    let limited = server.limit(limits, &home).map_err(anyhow::Error::from);
    let started = match limited.and_then(|()| start(&mut server, parsed)) {
        Ok(started) => started,
        Err(error) => {
            // It never ran, so only its log is lost, and the error shows its end.
            server.remove()?;
            return Err(error);
        }
    };
    drop(held);
    print_started(parsed, &server, &started, &Beginnings::default())?;
    if !parsed.has("foreground") {
        started.lifeline.stay()?;
        return Ok(STATUS_DONE);
    }
    wait_for_end(server, started)
}

/// A kind's name as a server name; for a folder, its last part.
fn name_of(kind: &str) -> String {
    let last = kind
        .trim_end_matches('/')
        .rsplit(['/', ':'])
        .next()
        .unwrap_or(kind);
    last.to_ascii_lowercase()
}

/// Waits until someone requests the server's end, or it ends by itself.
fn wait_for_end(server: Server, mut started: Started) -> Result<u8> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let mut signals = signal_hook::iterator::Signals::new([SIGINT, SIGTERM])?;
    console::note("press Ctrl-C to stop the server and remove its data");
    let ended_itself = loop {
        if signals.pending().next().is_some() {
            break false;
        }
        if started.lifeline.is_over() {
            break true;
        }
        std::thread::sleep(Duration::from_millis(100));
    };
    drop(started.lifeline);
    let name = server.folder().name().to_owned();
    let ended = server.ended()?.filter(|ended| !ended.asked);
    if ended_itself && ended.is_none() {
        // Another command may already have started it again, and owns it now.
        console::note(&format!("another command stopped {name}; its data is kept"));
        return Ok(STATUS_DONE);
    }
    server.remove()?;
    match ended.filter(|_| ended_itself) {
        Some(ended) => Err(anyhow::anyhow!("server '{name}': {}", ended.how)),
        None => Ok(STATUS_DONE),
    }
}

/// Starts a server and waits until it answers.
pub(super) fn start(server: &mut Server, parsed: &Parsed) -> Result<Started> {
    let limit = duration(parsed, "start-timeout", START_LIMIT)?;
    console::progress(&format!("starting {}", server.folder().name()));
    let supervisor = supervisor()?;
    let started = server.start(&Start {
        supervisor: &supervisor,
        limit,
        cold: parsed.has("cold"),
    });
    console::progress("");
    Ok(started?)
}

/// Prints a started server's properties, and commands to use it.
fn print_started(
    parsed: &Parsed,
    server: &Server,
    started: &Started,
    beginnings: &Beginnings,
) -> Result<()> {
    if parsed.has("json") {
        let mut object = super::listing::as_json(server)?;
        beginnings.put_into(&mut object);
        let text = serde_json::to_string_pretty(&object)?;
        console::json(&(text + "\n"));
        return Ok(());
    }
    let name = server.folder().name();
    let pid = server
        .running()?
        .map_or_else(String::new, |r| format!("pid {}, ", r.server.pid));
    let mut text = format!(
        "{name} is up: {} answers after {:.1} s ({pid}port {})\n",
        server.kind().title(),
        started.ready_in.as_secs_f64(),
        server.port()
    );
    for name in &started.unseen {
        text += &format!("  not read back  {name}: the server shows no such setting\n");
    }
    if let Some(mounted) = server.folder().mounted() {
        let (kind, source) = (mounted.file_system, mounted.source);
        text += &format!(
            "  its files      {kind} on {source} ({})\n",
            mounted.options
        );
    }
    for limit in server.limits_seen()? {
        text += &format!("  limited        {limit}\n");
    }
    text += &beginnings.text();
    // The OLTP workloads set the engine of their tables themselves.
    let engine = match server.kind().title().starts_with("myrocks") {
        true => " --mysql-storage-engine=rocksdb",
        false => "",
    };
    let workload = format!("oltp_read_write --target server:{name}{engine}");
    text += &format!("  load it        dyno prepare {workload}\n");
    text += &format!("  measure it     dyno run {workload}\n");
    if let Some(client) = client(server) {
        text += &format!("  query it       {client}\n");
    }
    text += &format!("  its folder     {}\n", server.folder().path().display());
    text += &format!("  stop it        dyno server down {name}\n");
    console::out(&text);
    Ok(())
}

/// The command line of the server's own client.
fn client(server: &Server) -> Option<String> {
    let folder = server.folder();
    let file = |inner: &str| folder.join(inner).display().to_string();
    let (user, database) = (dyno_server::USER, dyno_server::DATABASE);
    let title = server.kind().title();
    Some(match title.split(' ').next()? {
        "mysql" => format!("mysql --defaults-file={} {database}", file("client.cnf")),
        "mariadb" | "myrocks" => {
            format!("mariadb --defaults-file={} {database}", file("client.cnf"))
        }
        "postgresql" => format!(
            "PGPASSFILE={} psql -h {} -p {} -U {user} {database}",
            file("pgpass"),
            file("run"),
            server.port()
        ),
        _ => return None,
    })
}

/// Stops servers and removes their files.
pub(super) fn down(parsed: &Parsed, words: &[String]) -> Result<u8> {
    let home = Home::of_user()?;
    let all = parsed.has("all");
    let servers: Vec<Server> = match (all, words) {
        (false, []) => {
            return Err(usage(
                "dyno server down needs the NAME of a server, or --all",
            ));
        }
        (true, [_, ..]) => return Err(usage("dyno server down takes names or --all, not both")),
        (false, names) => {
            let mut opened = Vec::new();
            for name in names {
                let folder = home.folder(name)?;
                match folder.is_unmounted() || folder.is_unfinished() {
                    true => down_unmounted(&folder, parsed)?,
                    false => opened.push(Server::open(&home, name)?),
                }
            }
            opened
        }
        (true, []) => {
            let (mut whole, mut has_unmounted) = (Vec::new(), false);
            for found in Server::all(&home)? {
                match found {
                    Ok(server) => whole.push(server),
                    Err(folder) if folder.is_unmounted() || folder.is_unfinished() => {
                        has_unmounted = true;
                        down_unmounted(&folder, parsed)?;
                    }
                    Err(folder) => {
                        // May not belong to a server: do not touch it.
                        let path = folder.path().display().to_string();
                        console::note(&format!("{path} is not a server's folder: left as it is"));
                    }
                }
            }
            if whole.is_empty() && !has_unmounted {
                console::out("there are no servers\n");
            }
            whole
        }
    };
    for server in servers {
        let name = server.folder().name().to_owned();
        let _held = server.hold()?;
        console::progress(&format!("stopping {name}"));
        let ended = server.stop()?;
        console::progress("");
        let how = match &ended {
            Some(ended) if ended.killed => format!("{name} is down ({})", ended.how),
            Some(_) => format!("{name} is down"),
            None => format!("{name} was not running"),
        };
        let data = match parsed.has("keep-data") {
            true => format!("its data is kept in {}", server.folder().path().display()),
            false => format!(
                "its data is removed, {} freed",
                human_size(server.remove()?)
            ),
        };
        console::out(&format!("{how}; {data}\n"));
    }
    sweep(&home)?;
    Ok(STATUS_DONE)
}

/// Removes a server that a reboot stopped and unmounted, or that was never finished.
fn down_unmounted(folder: &Folder, parsed: &Parsed) -> Result<()> {
    let name = folder.name();
    let data = match parsed.has("keep-data") {
        true => "its data is kept".to_owned(),
        false => format!(
            "its data is removed, {} freed",
            human_size(folder.discard_unmounted()?)
        ),
    };
    console::out(&format!("{name} was not running; {data}\n"));
    Ok(())
}

/// Stops a server, changes its settings and starts it.
pub(super) fn restart(parsed: &Parsed, words: &[String]) -> Result<u8> {
    let mut server = named(words, "restart")?;
    let _held = server.hold()?;
    let home = Home::of_user()?;
    let unset: Vec<String> = parsed.values("unset").map(str::to_owned).collect();
    let (before, before_limits) = (server.settings().clone(), *server.limits());
    // Check the settings while the server still runs.
    let wanted = limits(parsed, before_limits)?;
    wanted.check(&home)?;
    let set = settings(parsed)?;
    server.limit(wanted, &home)?;
    if let Err(error) = server.change(&set, &unset, &home) {
        server.put_limits(before_limits)?;
        return Err(error.into());
    }
    console::progress(&format!("stopping {}", server.folder().name()));
    server.stop()?;
    console::progress("");
    let name = server.folder().name().to_owned();
    let mut beginnings = Beginnings::reset(&server, parsed);
    let started = match start(&mut server, parsed) {
        Ok(started) => started,
        Err(error) if *server.settings() != before || wanted != before_limits => {
            server.put_settings(before)?;
            server.put_limits(before_limits)?;
            return Err(error.context(match start(&mut server, parsed) {
                Ok(again) => {
                    again.lifeline.stay()?;
                    format!("{name} runs again with its previous settings")
                }
                Err(also) => format!(
                    "{name} is down and does not start with its previous settings either \
                     ({also:#}); `dyno server logs {name}` shows why"
                ),
            }));
        }
        Err(error) => return Err(error),
    };
    let finished = beginnings.finish(&server, &started, parsed);
    let printed = finished.and_then(|()| print_started(parsed, &server, &started, &beginnings));
    started.lifeline.stay()?;
    printed.map(|()| STATUS_DONE)
}
