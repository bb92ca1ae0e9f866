//! The observed host, the server's process and the load generator.

use dyno_core::catalogue::names;

use super::disks;
use super::network;
use super::observed::{PLAIN, Plot, devices, pair, plot};
use super::page::Page;
use super::run::View;

/// CPU states of a host.
pub(super) const STATES: Plot<'_> = Plot {
    id: "cpu-states",
    title: "CPU states of the host",
    about: "Shares of all its CPUs, stacked to 100 %. Idle is the rest.",
    axis: "share of all CPUs",
    lines: &[
        (names::HOST_CPU_USER, "user", 0),
        (names::HOST_CPU_NICE, "nice", 4),
        (names::HOST_CPU_SYSTEM, "system", 1),
        (names::HOST_CPU_IRQ, "irq", 5),
        (names::HOST_CPU_SOFTIRQ, "softirq", 2),
        (names::HOST_CPU_STEAL, "steal", 7),
        (names::HOST_CPU_IOWAIT, "iowait", 3),
    ],
    stacked: true,
    max: Some(100.0),
    ..PLAIN
};

/// The run queue of a host.
pub(super) const QUEUE: Plot<'_> = Plot {
    id: "run-queue",
    title: "Run queue",
    about: "Tasks running or waiting for a CPU, and tasks waiting for a disk.",
    axis: "tasks",
    lines: &[
        (names::HOST_RUN_QUEUE, "runnable", 0),
        (names::HOST_BLOCKED, "blocked", 3),
        (names::HOST_LOAD1, "load, 1 min", 6),
    ],
    size: "short",
    ..PLAIN
};

/// The memory of a host.
pub(super) const MEMORY: Plot<'_> = Plot {
    id: "memory-host",
    title: "Memory of the host",
    about: "Memory of programs (anonymous), page cache, dirty pages and available memory.",
    axis: "memory",
    lines: &[
        (names::HOST_MEMORY_AVAILABLE, "available", 2),
        (names::HOST_MEMORY_ANON, "anonymous", 0),
        (names::HOST_MEMORY_CACHED, "page cache", 4),
        (names::HOST_MEMORY_FREE, "free", 6),
        (names::HOST_MEMORY_DIRTY, "dirty", 1),
        (names::HOST_MEMORY_WRITEBACK, "writeback", 5),
    ],
    ..PLAIN
};

/// Writes the sections on CPU, memory, disks and the network.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    cpu(page, view);
    disks::write(page, view);
    network::write(page, view);
    memory(page, view);
    generator(page, view);
}

/// CPU states by name, the run queue, the pressure.
fn cpu(page: &mut Page, view: &View<'_>) {
    page.section(view, "cpu", "CPU and pressure");
    plot(page, view, &STATES);
    let server = Plot {
        id: "server-cpu",
        title: "CPU of the server's process",
        about: "CPU seconds that the server used per second.",
        axis: "CPU",
        lines: &[
            (names::SERVER_CPU_USER, "user", 0),
            (names::SERVER_CPU_SYSTEM, "system", 1),
        ],
        size: "short",
        ..PLAIN
    };
    pair(page, view, &server, &QUEUE);
    pressure(page, view);
    page.end_section();
}

fn pressure(page: &mut Page, view: &View<'_>) {
    let pressure = Plot {
        id: "pressure",
        title: "Pressure",
        about: "Share of the time in which at least one task waited for the resource.",
        axis: "share of the time",
        lines: &[
            (names::HOST_PRESSURE_CPU_SOME, "CPU", 0),
            (names::HOST_PRESSURE_IO_SOME, "I/O", 3),
            (names::HOST_PRESSURE_MEMORY_SOME, "memory", 1),
        ],
        size: "short",
        ..PLAIN
    };
    let switches = Plot {
        id: "switches",
        title: "Context switches",
        about: "Context switches of the whole host.",
        axis: "switches",
        lines: &[
            (names::HOST_CONTEXT_SWITCHES, "context switches", 0),
            (names::HOST_INTERRUPTS, "interrupts", 5),
        ],
        size: "short",
        ..PLAIN
    };
    pair(page, view, &pressure, &switches);
}

fn memory(page: &mut Page, view: &View<'_>) {
    page.section(view, "memory", "Memory");
    plot(page, view, &MEMORY);
    let server = Plot {
        id: "memory-server",
        title: "Memory of the server's process",
        about: "Resident size of the server.",
        axis: "memory",
        lines: &[(names::SERVER_MEMORY_RSS, "resident", 0)],
        size: "short",
        ..PLAIN
    };
    let swap = Plot {
        id: "swap",
        title: "Swap",
        about: "Bytes read from and written to swap: any swapping distorts all latencies.",
        axis: "bytes",
        lines: &[
            (names::HOST_SWAP_IN, "in", 1),
            (names::HOST_SWAP_OUT, "out", 5),
        ],
        size: "short",
        ..PLAIN
    };
    pair(page, view, &server, &swap);
    page.end_section();
}

/// Whether Dyno itself had enough CPU.
fn generator(page: &mut Page, view: &View<'_>) {
    let agents = !view.agents().is_empty();
    let title = if agents {
        "Coordinator"
    } else {
        "Load generator"
    };
    page.section(view, "generator", title);
    let workers: Vec<(String, String)> = devices(view, names::CLIENT_WORKER)
        .into_iter()
        .map(|n| (names::CLIENT_WORKER_CPU.of(&n), format!("worker {n}")))
        .collect();
    let whole = Plot {
        id: "client-cpu",
        title: "CPU of Dyno",
        about: match agents {
            true => {
                "CPU seconds that the coordinator used per second, including its observers; see \
                 the table for the load generators."
            }
            false => "CPU seconds that Dyno used per second, including its observers.",
        },
        axis: "CPU",
        lines: &[
            (names::CLIENT_CPU_USER, "user", 0),
            (names::CLIENT_CPU_SYSTEM, "system", 1),
        ],
        size: "short",
        ..PLAIN
    };
    // A chart of fifty lines is unreadable.
    let shown = workers.iter().take(16).enumerate();
    let each: Vec<(&str, &str, usize)> = shown
        .map(|(n, (series, legend))| (series.as_str(), legend.as_str(), n))
        .collect();
    let none = [(names::CLIENT_WORKER, "", 0)];
    let each = Plot {
        id: "client-workers",
        title: "CPU of each worker",
        about: "A worker near one full core limits the figures: the load was lower than requested. \
                Shows at most 16.",
        axis: "CPU",
        lines: if each.is_empty() { &none } else { &each },
        size: "short",
        ..PLAIN
    };
    match agents {
        // The workers belong to the agents.
        true => {
            plot(page, view, &whole);
        }
        false => pair(page, view, &whole, &each),
    }
    let observer = Plot {
        id: "observer",
        title: "Cost of observing",
        about: "The time of one round of samples.",
        axis: "time",
        lines: &[
            (names::OBSERVER_TOOK, "took", 0),
            (names::OBSERVER_LATE, "late", 1),
        ],
        size: "short",
        ..PLAIN
    };
    plot(page, view, &observer);
    page.end_section();
}
