//! A cell's server: its kind, its settings and its files.

use anyhow::Result;
use dyno_lab::Cell;
use dyno_lab::file::{Scalar, Server, Values};
use dyno_server::Settings;

/// Whether a cell is a test of the host, which needs no server.
pub(super) fn is_of_host(cell: &Cell) -> bool {
    let name = cell.effective.load.workload.as_deref();
    name.is_some_and(|name| dyno_host::find(name).is_some())
}

/// A key that distinguishes the experiment's server kinds.
pub(super) fn kind_key(server: &Server) -> String {
    let kind = server.kind.as_deref().unwrap_or_default();
    format!("{kind} {}", server.basedir.as_deref().unwrap_or_default())
}

/// The library of a plugin.
pub(super) fn library(plugin: &str) -> &str {
    match plugin {
        "rocksdb" => "ha_rocksdb",
        other => other,
    }
}

/// The placeholder in a setting for the path of a file.
pub(super) fn file_word(name: &str) -> String {
    format!("{{file {name}}}")
}

/// A server's settings in the form that its kind takes.
///
/// # Errors
/// An invalid name or value.
pub(super) fn settings(server: &Server, set: &Values) -> Result<Settings> {
    let mut settings = Settings::default();
    for (name, value) in set {
        let value = match value {
            Scalar::Bool(true) => "ON".to_owned(),
            Scalar::Bool(false) => "OFF".to_owned(),
            other => other.to_string(),
        };
        settings.put(&format!("{name}={value}"))?;
    }
    if !server.plugins.is_empty() {
        let libraries: Vec<&str> = server
            .plugins
            .iter()
            .map(|plugin| library(plugin))
            .collect();
        settings.put(&format!("plugin_load_add={}", libraries.join(";")))?;
    }
    Ok(settings)
}
