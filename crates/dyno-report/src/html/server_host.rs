//! The server's host, if it is a different one and was observed there.

use super::disks;
use super::host::{MEMORY, QUEUE, STATES};
use super::observed::{Plot, pair, plot};
use super::page::Page;
use super::run::View;
use crate::document;

/// The prefix of its series.
const PREFIX: &str = "server.";

/// Writes the section, if there was an observer.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    let summary = view.run.summary.as_ref();
    let Some(block) = summary.and_then(document::server_host) else {
        return;
    };
    page.section(view, "server-host", "The server's host");
    page.show([block]);
    let states = Plot {
        id: "server-host-cpu",
        title: "CPU states of the server's host",
        prefix: PREFIX,
        ..STATES
    };
    plot(page, view, &states);
    let queue = Plot {
        id: "server-host-queue",
        title: "Run queue of the server's host",
        prefix: PREFIX,
        ..QUEUE
    };
    let memory = Plot {
        id: "server-host-memory",
        title: "Memory of the server's host",
        prefix: PREFIX,
        size: "short",
        ..MEMORY
    };
    pair(page, view, &queue, &memory);
    disks::each(page, view, PREFIX);
    page.end_section();
}
