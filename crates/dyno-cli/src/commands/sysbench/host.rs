//! sysbench's output for tests of the host: combines a test's plan and the report.

use std::sync::Arc;

use anyhow::{Result, anyhow};
use dyno_core::Clock;
use dyno_host::Plan;
use dyno_host::fileio::{Engine, FileIo, Flag, Mode, Progress, size};
use dyno_host::memory::{Access, Memory};
use dyno_load::{StopLevel, StopSignal};
use dyno_report::sysbench::{self as text, Edition, FileCounts, FileMode, MemoryMode, Stat};

use super::output;
use super::window::Window;

const MIB: f64 = 1_048_576.0;

/// Prints the test's parameters.
pub(super) fn announce(plan: &Plan, events: Option<u64>) {
    match plan {
        Plan::Cpu(cpu) => output::notice(&text::cpu_mode(cpu.max_prime)),
        Plan::Memory(memory) => output::notice(&text::memory_mode(&MemoryMode {
            block: memory.block,
            total: memory.total,
            operation: match memory.access {
                Access::Read => "read",
                Access::Write => "write",
                Access::None => "none",
            },
            scope: if memory.global { "global" } else { "local" },
        })),
        Plan::Threads(threads) => {
            output::info(&text::threads_mode(threads.yields, threads.locks));
        }
        Plan::Mutex(_) => output::info(&text::mutex_mode()),
        Plan::FileIo(io) => output::notice(&text::file_mode(&file_mode(io, events))),
    }
}

/// The line of an interval, if the test has a special one.
pub(super) fn line(plan: &Plan, stat: &Stat, window: &Window, percentile: u32) -> Option<String> {
    match plan {
        Plan::Memory(memory) => {
            let bytes = transferred(memory, window)? as f64;
            let mib_s = bytes / MIB / stat.time_interval.max(1e-9);
            Some(text::memory_line(stat, mib_s))
        }
        Plan::FileIo(_) => {
            let per_s = |count: u64| count as f64 / stat.time_interval.max(1e-9);
            let counts = counts(window);
            Some(text::file_line(
                stat,
                percentile,
                per_s(counts.bytes_read) / MIB,
                per_s(counts.bytes_written) / MIB,
                per_s(counts.fsyncs),
            ))
        }
        _ => None,
    }
}

/// The text before the general block.
pub(super) fn block(plan: &Plan, stat: &Stat, window: &Window, edition: Edition) -> String {
    match plan {
        Plan::Cpu(_) => text::cpu_block(stat),
        Plan::Memory(memory) => text::memory_block(stat, transferred(memory, window)),
        Plan::Threads(_) | Plan::Mutex(_) => String::new(),
        Plan::FileIo(_) => text::file_block(stat, &counts(window), edition),
    }
}

/// Runs a command of the test with sysbench's output.
///
/// # Errors
/// Files cannot be created or removed.
pub(super) fn command(plan: &Plan, name: &str, stop: &Arc<StopSignal>) -> Result<()> {
    let begun = Clock.now();
    let mut on_progress = |progress| output::notice(&tale(plan, &progress, begun));
    let stopped = || stop.level() > StopLevel::None;
    plan.command(name, &mut on_progress, &stopped)
        .map_err(|why| anyhow!(why))
}

fn tale(plan: &Plan, progress: &Progress, begun: u64) -> String {
    let Plan::FileIo(io) = plan else {
        return String::new();
    };
    match progress {
        Progress::Begin => text::file_prepare(io.files, io.file_size(), io.total, &flags(io)),
        Progress::File(how, number) => format!("{how} test_file.{number}\n"),
        Progress::Written(bytes) => {
            let seconds = (Clock.now() - begun) as f64 / 1e9;
            text::file_written(*bytes, seconds)
        }
        Progress::Removing => "Removing test files...\n".to_owned(),
    }
}

fn flags(io: &FileIo) -> Vec<&'static str> {
    let names = [
        (Flag::Sync, "sync"),
        (Flag::Dsync, "dsync"),
        (Flag::Direct, "directio"),
    ];
    let requested = names.iter().filter(|(flag, _)| io.flags.contains(flag));
    requested.map(|(_, name)| *name).collect()
}

fn file_mode(io: &FileIo, events: Option<u64>) -> FileMode {
    FileMode {
        flags: flags(io),
        files: io.files,
        each: size(io.file_size()),
        total: size(io.total),
        block: size(io.block),
        merged: (io.merged > 0).then(|| size(io.merged.saturating_mul(io.block))),
        random: (io.mode.is_some_and(Mode::random)).then(|| (events.unwrap_or(0), io.ratio)),
        fsync_every: io.fsync_every,
        fsync_end: io.fsync_end,
        fsync_all: io.fsync_all,
        validate: io.validate,
        engine: match io.engine {
            Engine::Sync => "synchronous",
            Engine::Mmap => "fast mmaped",
            Engine::Aio | Engine::Uring => "asynchronous",
        },
        test: match io.mode {
            Some(Mode::SequentialWrite) => "sequential write (creation)",
            Some(Mode::SequentialRewrite) => "sequential rewrite",
            Some(Mode::SequentialRead) => "sequential read",
            Some(Mode::RandomRead) => "random read",
            Some(Mode::RandomWrite) => "random write",
            Some(Mode::RandomMixed) => "random r/w",
            None => "unknown",
        },
    }
}

/// The counts of a window; operations are in the test's order.
fn counts(window: &Window) -> FileCounts {
    FileCounts {
        reads: window.done(0),
        writes: window.done(1),
        fsyncs: window.done(2),
        bytes_read: window.counters.bytes_in,
        bytes_written: window.counters.bytes_out,
    }
}

fn transferred(memory: &Memory, window: &Window) -> Option<u64> {
    match memory.access {
        Access::Read => Some(window.counters.bytes_in),
        Access::Write => Some(window.counters.bytes_out),
        Access::None => None,
    }
}
