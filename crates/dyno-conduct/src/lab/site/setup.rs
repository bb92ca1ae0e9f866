//! A server's extras: files, plugins, a proxy, and commands during its load.

use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use dyno_core::db::Family;
use dyno_lab::file::{Scalar, Values};
use dyno_lab::{Cell, Effective};
use dyno_server::{Online, Server};

use super::super::Caller;
use super::super::capture::{Capture, Places};
use super::super::server::{file_word, library};
use super::Site;

impl<C: Caller> Site<'_, C> {
    /// Writes the files that a server reads; returns its settings with their paths.
    pub(super) fn with_files(&self, server: &Server, effective: &Effective) -> Result<Values> {
        let mut set = effective.server.set.clone();
        for (name, text) in &effective.server.files {
            let path = server.put_file(name, &text.to_string())?;
            for value in set.values_mut() {
                if let Scalar::Text(text) = value {
                    *text = text.replace(&file_word(name), &path.display().to_string());
                }
            }
        }
        Ok(set)
    }

    /// Starts the command that runs during a cell's load.
    ///
    /// # Errors
    /// It does not run.
    pub(in crate::lab) fn capture(&self, cell: &Cell) -> Result<Option<Capture>> {
        let own = self.up.as_ref();
        let server = own.and_then(|up| self.images.get(&up.image));
        let (out, data) = match server {
            Some(server) => (
                server.folder().path().join("beside"),
                server.folder().data(),
            ),
            None => (std::env::temp_dir().join("dyno-beside"), PathBuf::new()),
        };
        let url = own.map(|up| up.url.as_str());
        let places = Places {
            out: &out,
            data: &data,
            port: server.map_or(0, Server::port),
            url: url.or(cell.effective.server.url.as_deref()),
        };
        Capture::start(&cell.effective, &places)
    }

    /// The TCP URL with the proxy's port.
    pub(super) fn by_proxy(&self, url: &str) -> Result<String> {
        let up = self.up.as_ref().ok_or_else(|| anyhow!("no server is up"))?;
        let server = self.images.get(&up.image);
        let (server, proxy) = server
            .zip(up.proxy.as_ref())
            .ok_or_else(|| anyhow!("no proxy runs"))?;
        let own = format!(":{}/", server.port());
        Ok(url.replacen(&own, &format!(":{}/", proxy.port()), 1))
    }
}

/// Checks that the plugins are loaded: a server that cannot load one only logs it.
pub(super) fn has_plugins(server: &Server, effective: &Effective) -> Result<()> {
    let plugins = &effective.server.plugins;
    if plugins.is_empty() || server.kind().family() != Some(Family::Mysql) {
        return Ok(());
    }
    let mut online = Online::connect(&server.url(false)?)?;
    for plugin in plugins {
        let library = library(plugin);
        let count = online.value(&format!(
            "SELECT COUNT(*) FROM information_schema.PLUGINS WHERE PLUGIN_STATUS = 'ACTIVE' AND \
             PLUGIN_LIBRARY LIKE '{library}%'"
        ))?;
        if count.as_deref() == Some("0") {
            bail!("the server has not loaded the plugin {plugin}; its log says why");
        }
    }
    Ok(())
}
