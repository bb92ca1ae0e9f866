//! The server's host, if it is a different one and was observed there.

use dyno_core::catalogue::names;

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
            (names::SERVER_HOST_CPU_USER, "user", 0),
            (names::SERVER_HOST_CPU_NICE, "nice", 4),
            (names::SERVER_HOST_CPU_SYSTEM, "system", 1),
            (names::SERVER_HOST_CPU_IRQ, "irq", 5),
            (names::SERVER_HOST_CPU_SOFTIRQ, "softirq", 2),
            (names::SERVER_HOST_CPU_STEAL, "steal", 7),
            (names::SERVER_HOST_CPU_IOWAIT, "iowait", 3),
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
            (names::SERVER_HOST_RUN_QUEUE, "runnable", 0),
            (names::SERVER_HOST_BLOCKED, "blocked", 3),
            (names::SERVER_HOST_LOAD1, "load, 1 min", 6),
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
            (names::SERVER_HOST_MEMORY_AVAILABLE, "available", 2),
            (names::SERVER_HOST_MEMORY_ANON, "anonymous", 0),
            (names::SERVER_HOST_MEMORY_CACHED, "page cache", 4),
            (names::SERVER_HOST_MEMORY_DIRTY, "dirty", 1),
        ],
        size: "short",
        ..PLAIN
    };
    pair(page, view, &queue, &memory);
    disks::each(page, view, PREFIX);
    page.end_section();
}
