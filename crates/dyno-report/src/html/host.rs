//! The observed host, the server's process and the load generator.

use super::disks;
use super::network;
use super::observed::{PLAIN, Plot, devices, pair, plot};
use super::page::Page;
use super::run::View;

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
    let states = Plot {
        id: "cpu-states",
        title: "CPU states of the host",
        about: "Shares of all CPUs, stacked to 100 %. Idle is the rest.",
        axis: "share of all CPUs",
        lines: &[
            ("host.cpu.user", "user", 0),
            ("host.cpu.nice", "nice", 4),
            ("host.cpu.system", "system", 1),
            ("host.cpu.irq", "irq", 5),
            ("host.cpu.softirq", "softirq", 2),
            ("host.cpu.steal", "steal", 7),
            ("host.cpu.iowait", "iowait", 3),
        ],
        stacked: true,
        max: Some(100.0),
        ..PLAIN
    };
    plot(page, view, &states);
    let server = Plot {
        id: "server-cpu",
        title: "CPU of the server's process",
        about: "CPU seconds that the server used per second.",
        axis: "CPU",
        lines: &[
            ("server.cpu.user", "user", 0),
            ("server.cpu.system", "system", 1),
        ],
        size: "short",
        ..PLAIN
    };
    let queue = Plot {
        id: "run-queue",
        title: "Run queue",
        about: "Tasks running or waiting for a CPU, and tasks waiting for a disk.",
        axis: "tasks",
        lines: &[
            ("host.run_queue", "runnable", 0),
            ("host.blocked", "blocked", 3),
            ("host.load1", "load, 1 min", 6),
        ],
        size: "short",
        ..PLAIN
    };
    pair(page, view, &server, &queue);
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
            ("host.pressure.cpu.some", "CPU", 0),
            ("host.pressure.io.some", "I/O", 3),
            ("host.pressure.memory.some", "memory", 1),
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
            ("host.context_switches", "context switches", 0),
            ("host.interrupts", "interrupts", 5),
        ],
        size: "short",
        ..PLAIN
    };
    pair(page, view, &pressure, &switches);
}

fn memory(page: &mut Page, view: &View<'_>) {
    page.section(view, "memory", "Memory");
    let host = Plot {
        id: "memory-host",
        title: "Memory of the host",
        about: "Memory of programs (anonymous), page cache, dirty pages and available memory.",
        axis: "memory",
        lines: &[
            ("host.memory.available", "available", 2),
            ("host.memory.anon", "anonymous", 0),
            ("host.memory.cached", "page cache", 4),
            ("host.memory.free", "free", 6),
            ("host.memory.dirty", "dirty", 1),
            ("host.memory.writeback", "writeback", 5),
        ],
        ..PLAIN
    };
    plot(page, view, &host);
    let server = Plot {
        id: "memory-server",
        title: "Memory of the server's process",
        about: "Resident size of the server.",
        axis: "memory",
        lines: &[("server.memory.rss", "resident", 0)],
        size: "short",
        ..PLAIN
    };
    let swap = Plot {
        id: "swap",
        title: "Swap",
        about: "Bytes read from and written to swap: any swapping distorts all latencies.",
        axis: "bytes",
        lines: &[("host.swap.in", "in", 1), ("host.swap.out", "out", 5)],
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
    let workers: Vec<(String, String)> = devices(view, "client.worker")
        .into_iter()
        .map(|n| (format!("client.worker[{n}].cpu"), format!("worker {n}")))
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
            ("client.cpu.user", "user", 0),
            ("client.cpu.system", "system", 1),
        ],
        size: "short",
        ..PLAIN
    };
    // A chart of fifty lines is unreadable.
    let shown = workers.iter().take(16).enumerate();
    let each: Vec<(&str, &str, usize)> = shown
        .map(|(n, (series, legend))| (series.as_str(), legend.as_str(), n))
        .collect();
    let none = [("client.worker", "", 0)];
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
        lines: &[("observer.took", "took", 0), ("observer.late", "late", 1)],
        size: "short",
        ..PLAIN
    };
    plot(page, view, &observer);
    page.end_section();
}
