//! Lists servers, their logs and URLs.

use anyhow::Result;
use dyno_core::units::human_size;
use dyno_server::{Home, Server, installed};
use serde_json::{Value, json};

use super::named;
use crate::options::Parsed;
use crate::settings::{count, usage};
use crate::{STATUS_DONE, console};

/// Default number of log lines.
const LINES: u64 = 50;

/// Lists all servers, and the kinds available for new ones.
pub(super) fn list(parsed: &Parsed, words: &[String]) -> Result<u8> {
    if !words.is_empty() {
        return Err(usage("dyno server list takes no words"));
    }
    let home = Home::of_user()?;
    sweep(&home)?;
    let (mut servers, mut unmounted) = (Vec::new(), Vec::new());
    for found in Server::all(&home)? {
        match found {
            Ok(server) => servers.push(server),
            Err(folder) if folder.is_unmounted() => unmounted.push(folder.name().to_owned()),
            Err(folder) if folder.is_unfinished() => console::note(&format!(
                "creating server '{0}' was interrupted: `dyno server down {0}` removes it",
                folder.name()
            )),
            Err(folder) => console::note(&format!(
                "{} is not a server's folder: left out",
                folder.path().display()
            )),
        }
    }
    if parsed.has("json") {
        let servers: Vec<Value> = servers.iter().map(as_json).collect::<Result<_>>()?;
        let there: Vec<Value> = installed()
            .iter()
            .map(|server| {
                json!({
                    "kind": server.product.name(),
                    "version": server.version.to_string(),
                    "program": server.program.display().to_string(),
                })
            })
            .collect();
        let text = serde_json::to_string_pretty(&json!({
            "folder": home.path().display().to_string(),
            "servers": servers,
            "unmounted": unmounted,
            "installed": there,
        }))?;
        console::json(&(text + "\n"));
        return Ok(STATUS_DONE);
    }
    let mut text = String::new();
    if servers.is_empty() && unmounted.is_empty() {
        text += "no servers; `dyno server up KIND` creates one\n";
    }
    if !servers.is_empty() {
        text += &table(&servers)?;
    }
    for name in unmounted {
        text += &format!(
            "{name}: its file system is not mounted, as after a reboot; `dyno server restart \
             {name}` mounts it and starts the server\n"
        );
    }
    text += "\ninstalled (`dyno server up KIND`):\n";
    for server in installed() {
        let name = server.product.to_string();
        text += &format!(
            "  {name:<11} {:<9} {}\n",
            server.version,
            server.program.display()
        );
    }
    console::out(&text);
    Ok(STATUS_DONE)
}

/// Removes leftovers of servers that were killed.
pub(super) fn sweep(home: &Home) -> Result<()> {
    for left in home.sweep()? {
        console::note(&format!("removed the remains of a killed server: {left}"));
    }
    Ok(())
}

fn table(servers: &[Server]) -> Result<String> {
    let mut rows = vec![["name", "kind", "state", "port", "data"].map(str::to_owned)];
    let mut below: Vec<Vec<String>> = vec![Vec::new()];
    for server in servers {
        rows.push([
            server.folder().name().to_owned(),
            server.kind().title(),
            state(server)?,
            server.port().to_string(),
            server
                .data_size()
                .map_or_else(|_| "–".to_owned(), human_size),
        ]);
        let mut lines = Vec::new();
        let settings: Vec<String> = server
            .settings()
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !settings.is_empty() {
            lines.push(settings.join(" "));
        }
        if let Some(mounted) = server.folder().mounted() {
            let (kind, source) = (mounted.file_system, mounted.source);
            lines.push(format!("files: {kind} on {source} ({})", mounted.options));
        }
        if !server.limits().is_empty() {
            lines.push(format!("limits: {}", server.limits().words().join(", ")));
        }
        let copies: Vec<String> = server.snapshots()?.into_iter().map(|s| s.name).collect();
        if !copies.is_empty() {
            lines.push(format!("snapshots: {}", copies.join(" ")));
        }
        below.push(lines);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..5).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for (row, lines) in rows.iter().zip(&below) {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}"));
        text += cells.collect::<Vec<_>>().join("  ").trim_end();
        text.push('\n');
        for line in lines {
            text += &format!("  {line}\n");
        }
    }
    Ok(text)
}

/// A server's state in words.
fn state(server: &Server) -> Result<String> {
    if let Some(running) = server.running()? {
        return Ok(match running.server.is_alive() {
            true => format!("up, pid {}", running.server.pid),
            false => "up".to_owned(),
        });
    }
    Ok(match server.ended()? {
        Some(ended) if !ended.asked => format!("down: {}", ended.how),
        _ => "down".to_owned(),
    })
}

/// A server as JSON.
pub(super) fn as_json(server: &Server) -> Result<Value> {
    let running = server.running()?;
    let settings: serde_json::Map<String, Value> = server
        .settings()
        .iter()
        .map(|(name, value)| (name.to_owned(), value.into()))
        .collect();
    let copies: Vec<String> = server.snapshots()?.into_iter().map(|s| s.name).collect();
    let seen = match running {
        Some(_) => server.limits_seen()?,
        None => Vec::new(),
    };
    Ok(json!({
        "name": server.folder().name(),
        "kind": server.kind().title(),
        "state": if running.is_some() { "up" } else { "down" },
        "pid": running.map(|running| running.server.pid),
        "port": server.port(),
        "url": server.url(false).ok(),
        "folder": server.folder().path().display().to_string(),
        "data_bytes": server.data_size().ok(),
        "sizes": server.sizes(),
        "settings": settings,
        "place": server.folder().place(),
        "mounted": server.folder().mounted(),
        "limits": server.limits(),
        "limits_seen": seen,
        "snapshots": copies,
    }))
}

/// Prints the last lines of a server's log.
pub(super) fn logs(parsed: &Parsed, words: &[String]) -> Result<u8> {
    let server = named(words, "logs")?;
    let wanted = usize::try_from(count(parsed, "lines", LINES)?).unwrap_or(usize::MAX);
    let path = server.folder().log();
    let text = std::fs::read(&path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.lines().collect();
    let shown = &lines[lines.len().saturating_sub(wanted)..];
    if shown.is_empty() {
        console::note(&format!("{} is empty", path.display()));
    }
    console::out(
        &shown
            .iter()
            .map(|line| format!("{line}\n"))
            .collect::<String>(),
    );
    Ok(STATUS_DONE)
}

/// Prints a server's URL.
pub(super) fn url(parsed: &Parsed, words: &[String]) -> Result<u8> {
    let server = named(words, "url")?;
    console::out(&format!("{}\n", server.url(parsed.has("tcp"))?));
    Ok(STATUS_DONE)
}
