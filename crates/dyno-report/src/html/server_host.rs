//! The server's host, if it is a different one and was observed there.

use super::disks;
use super::observed::{PLAIN, Plot, pair, plot};
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
        about: "Shares of all its CPUs, stacked. Idle is the rest.",
        axis: "share of all CPUs",
        lines: &[
            ("server.host.cpu.user", "user", 0),
            ("server.host.cpu.nice", "nice", 4),
            ("server.host.cpu.system", "system", 1),
            ("server.host.cpu.irq", "irq", 5),
            ("server.host.cpu.softirq", "softirq", 2),
            ("server.host.cpu.steal", "steal", 7),
            ("server.host.cpu.iowait", "iowait", 3),
        ],
        stacked: true,
        max: Some(100.0),
        ..PLAIN
    };
    plot(page, view, &states);
    let queue = Plot {
        id: "server-host-queue",
        title: "Run queue of the server's host",
        about: "Tasks running or waiting for a CPU, and tasks waiting for a disk.",
        axis: "tasks",
        lines: &[
            ("server.host.run_queue", "runnable", 0),
            ("server.host.blocked", "blocked", 3),
            ("server.host.load1", "load, 1 min", 6),
        ],
        size: "short",
        ..PLAIN
    };
    let memory = Plot {
        id: "server-host-memory",
        title: "Memory of the server's host",
        about: "Memory of programs (anonymous), page cache, dirty pages and available memory.",
        axis: "memory",
        lines: &[
            ("server.host.memory.available", "available", 2),
            ("server.host.memory.anon", "anonymous", 0),
            ("server.host.memory.cached", "page cache", 4),
            ("server.host.memory.dirty", "dirty", 1),
        ],
        size: "short",
        ..PLAIN
    };
    pair(page, view, &queue, &memory);
    disks::each(page, view, PREFIX);
    page.end_section();
}
