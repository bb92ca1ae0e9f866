//! Laws of sysbench's tests of the host: requests, bytes, and report lines.

use dyno_core::catalogue::names;
use dyno_core::text::{number_of, verb};

use crate::consistency::TIME_TOLERANCE;
use crate::coverage::{self, Coverage};
use crate::sysbench::laws::{Broken, CLOCKS_S, Figure, ROUNDING};
use crate::sysbench::model::{Draft, Report, Throughput};
use crate::{conservation, laws};

/// Block sizes are printed with at least four digits (`9.7656KiB`), and bytes with five.
const BLOCK_ROUNDING: f64 = 0.001;
const MIB: f64 = 1_048_576.0;
/// The default number of files. sysbench syncs each of them at the end.
const FILES: u64 = 128;
/// sysbench prints the times of lines in whole seconds.
const TIME_ROUNDING_S: f64 = 0.5;
/// A file test's figures of requests and bytes per second.
const OF_REQUESTS: [Figure; 5] = [
    Figure::Named(names::IMPORT_FILEIO_READS_PER_S),
    Figure::Named(names::IMPORT_FILEIO_WRITES_PER_S),
    Figure::Named(names::IMPORT_FILEIO_FSYNCS_PER_S),
    READ,
    WRITTEN,
];
const READ: Figure = Figure::Named(names::IMPORT_FILEIO_READ_MIB_PER_S);
const WRITTEN: Figure = Figure::Named(names::IMPORT_FILEIO_WRITTEN_MIB_PER_S);
const MEMORY: [Figure; 2] = [
    Figure::Named(names::IMPORT_MEMORY_MIB_PER_S),
    Figure::Named(names::IMPORT_MEMORY_MB_PER_S),
];

/// Adds the broken laws.
pub(super) fn broken(draft: &Draft, report: &Report, found: &mut Vec<Broken>) {
    bytes_of_rates(draft, report, found);
    memory(draft, report, found);
    kinds_of_requests(draft, report, found);
    bytes_of_counts(draft, report, found);
    if coverage::is_comparable(draft) && report.unfinished.is_none() {
        rates_of_requests(draft, report, found);
        rate_of_counts(report, found);
        lines(draft, report, found);
    }
}

fn threads(draft: &Draft) -> f64 {
    f64::from(draft.threads.unwrap_or(1))
}

/// The tolerance of a rate over the run's time.
fn room_of_rate(per_s: f64, time_s: f64) -> f64 {
    2.0 * ROUNDING + per_s * (TIME_TOLERANCE + CLOCKS_S / time_s)
}

/// Since version 1.0 each read, write and sync is an event, except that a sync after each write is
/// a part of it.
fn rates_of_requests(draft: &Draft, report: &Report, found: &mut Vec<Broken>) {
    let (Some(reads), Some(writes), Some(syncs), Some(events), Some(time_s)) = (
        report.named(names::IMPORT_FILEIO_READS_PER_S),
        report.named(names::IMPORT_FILEIO_WRITES_PER_S),
        report.named(names::IMPORT_FILEIO_FSYNCS_PER_S),
        report.events(),
        report.total_time_s.filter(|seconds| *seconds > 0.0),
    ) else {
        return;
    };
    let mut parts = vec![(reads, "reads"), (writes, "writes"), (syncs, "syncs")];
    if draft.syncs_each_write {
        parts.truncate(2);
    }
    let per_s = events as f64 / time_s;
    let at_end = (draft.files.unwrap_or(FILES) as f64 + threads(draft)) / time_s;
    let room = room_of_rate(per_s, time_s) + at_end;
    let rounded = (per_s * 100.0).round() / 100.0;
    if let Some(text) = laws::other_sum(&parts, (rounded, "events per second"), room) {
        found.push(Broken::new(&text, &OF_REQUESTS));
    }
}

/// Versions before 1.0 count reads and writes as events, and other operations only in the total.
fn kinds_of_requests(draft: &Draft, report: &Report, found: &mut Vec<Broken>) {
    let all = [
        (names::IMPORT_FILEIO_READS, "reads"),
        (names::IMPORT_FILEIO_WRITES, "writes"),
        (names::IMPORT_FILEIO_OTHER, "others"),
    ];
    let figures = all.map(|(name, _)| Figure::Named(name));
    let parts = all.map(|(name, label)| Some((report.named(name)?, label)));
    let [Some(reads), Some(writes), Some(others)] = parts else {
        return;
    };
    if let Some(total) = report.file_operations {
        let parts = [reads, writes, others];
        let text = laws::other_sum(&parts, (total as f64, "operations"), ROUNDING);
        found.extend(text.map(|text| Broken::new(&text, &figures)));
    }
    if let Some(events) = report.events() {
        let events = events as f64;
        let room = threads(draft) + TIME_TOLERANCE * events;
        let text = laws::other_sum(&[reads, writes], (events, "events"), room);
        found.extend(text.map(|text| Broken::new(&text, &figures[..2])));
    }
}

/// Rates are counts over the time: requests in versions before 1.0, and bytes.
fn rate_of_counts(report: &Report, found: &mut Vec<Broken>) {
    let Some(time_s) = report.total_time_s.filter(|seconds| *seconds > 0.0) else {
        return;
    };
    let name = names::IMPORT_FILEIO_REQUESTS_PER_S;
    if let (Some(events), Some(per_s)) = (report.events(), report.named(name)) {
        let room = room_of_rate(per_s.max(events as f64 / time_s), time_s);
        let text = laws::other_rate((events, "events"), time_s, per_s, room);
        found.extend(text.map(|text| Broken::new(&text, &[Figure::Named(name)])));
    }
    if let (Some(mib), Some(per_s)) = (report.transferred_mib, report.transferred_mib_per_s) {
        let room = room_of_rate(per_s.max(mib / time_s), time_s) + ROUNDING / time_s;
        let text = laws::other_rate_of((mib, "MiB"), time_s, per_s, room);
        let figure = printed(report, &MEMORY).map(|(figure, _)| figure);
        found.extend(text.map(|text| Broken::new(&text, figure.as_slice())));
    }
}

/// The bytes that versions before 1.0 print are those of their requests, and add up.
fn bytes_of_counts(draft: &Draft, report: &Report, found: &mut Vec<Broken>) {
    let (Some(read), Some(written)) = (report.read_mib, report.written_mib) else {
        return;
    };
    if let Some(all) = report.transferred_mib {
        let parts = [(read, "MiB read"), (written, "MiB written")];
        let room = ROUNDING + BLOCK_ROUNDING * all;
        let text = laws::other_sum(&parts, (all, "MiB"), room);
        found.extend(text.map(|text| Broken::new(&text, &[READ, WRITTEN])));
    }
    let Some(block) = draft.block_bytes else {
        return;
    };
    for (name, mib, what, figure) in [
        (names::IMPORT_FILEIO_READS, read, "reads", READ),
        (names::IMPORT_FILEIO_WRITES, written, "writes", WRITTEN),
    ] {
        let Some(count) = report.named(name) else {
            continue;
        };
        let implied = count * block / MIB;
        if is_other(implied, mib, block) {
            let text = format!(
                "{count} {what} of {:.2} KiB make {implied:.2} MiB, but the report says {mib:.2}",
                block / 1024.0
            );
            found.push(Broken::new(&text, &[Figure::Named(name), figure]));
        }
    }
}

/// The bytes of the report lines add up to those of the report.
fn lines(draft: &Draft, report: &Report, found: &mut Vec<Broken>) {
    let coverage = Coverage::of(draft);
    let Some(time_s) = report.total_time_s else {
        return;
    };
    if draft.points.len() != draft.throughput.len() {
        return;
    }
    let rest_s = match coverage.is_whole() {
        true => (time_s - coverage.covered_s()).max(0.0),
        false => f64::INFINITY,
    };
    type Pick = fn(&Throughput) -> Option<f64>;
    let kinds: [(&[Figure], &str, Pick); 3] = [
        (&[READ], "MiB read", |line| line.read_bytes),
        (&[WRITTEN], "MiB written", |line| line.write_bytes),
        (&MEMORY, "MiB", |line| line.memory_bytes),
    ];
    for (figures, what, pick) in kinds {
        let lines = draft.throughput.iter().zip(&coverage.lengths_s);
        let contained = lines.map(|(line, length_s)| Some((pick(line)? / MIB, *length_s)));
        let (Some(contained), Some((figure, per_s))) = (
            contained.collect::<Option<Vec<_>>>(),
            printed(report, figures),
        ) else {
            continue;
        };
        let total = per_s * time_s;
        if let Some(contained) =
            conservation::contradicts(&contained, total, rest_s, TIME_ROUNDING_S)
        {
            let text = format!(
                "the intervals contain about {contained:.0} {what}, but {per_s:.2} MiB/s in the \
                 report are {total:.0} in {time_s:.1} s"
            );
            found.push(Broken::new(&text, &[figure]));
        }
    }
}

/// The first of these figures that the report has.
fn printed(report: &Report, figures: &[Figure]) -> Option<(Figure, f64)> {
    figures.iter().find_map(|figure| match figure {
        Figure::Named(name) => Some((*figure, report.named(name)?)),
        _ => None,
    })
}

/// Each request of a file test reads or writes a block.
fn bytes_of_rates(draft: &Draft, report: &Report, found: &mut Vec<Broken>) {
    for (requests, mib, what) in [
        (
            names::IMPORT_FILEIO_READS_PER_S,
            names::IMPORT_FILEIO_READ_MIB_PER_S,
            "reads",
        ),
        (
            names::IMPORT_FILEIO_WRITES_PER_S,
            names::IMPORT_FILEIO_WRITTEN_MIB_PER_S,
            "writes",
        ),
    ] {
        let (Some(block), Some(per_s), Some(printed)) =
            (draft.block_bytes, report.named(requests), report.named(mib))
        else {
            continue;
        };
        let implied = per_s * block / MIB;
        if is_other(implied, printed, block) {
            let text = format!(
                "{per_s:.2} {what} of {:.2} KiB per second make {implied:.2} MiB/s, but the report \
                 says {printed:.2}",
                block / 1024.0
            );
            let both = [Figure::Named(requests), Figure::Named(mib)];
            found.push(Broken::new(&text, &both));
        }
    }
}

/// Each operation of a memory test is an event, and reads or writes a block.
fn memory(draft: &Draft, report: &Report, found: &mut Vec<Broken>) {
    if let (Some(operations), Some(events)) = (report.operations, report.events()) {
        let room = threads(draft) + TIME_TOLERANCE * events as f64;
        if operations.count.abs_diff(events) as f64 > room {
            let text = format!("{} operations, but {events} events", operations.count);
            found.push(Broken::new(&text, &[]));
        }
    }
    // Less than half a KiB is printed as 0.
    let Some(block) = draft.block_bytes.filter(|bytes| *bytes > 0.0) else {
        return;
    };
    let (events, time_s) = (report.events(), report.total_time_s);
    // If the rate itself is wrong, `length` says so.
    let is_rate = |per_s: &f64| {
        let implied = events.zip(time_s).map(|(events, s)| events as f64 / s);
        implied.is_some_and(|implied| (implied / per_s - 1.0).abs() <= TIME_TOLERANCE)
    };
    let rate = printed(report, &MEMORY);
    if let (Some(per_s), Some((figure, printed))) = (report.events_per_s.filter(is_rate), rate) {
        let implied = per_s * block / MIB;
        if is_other(implied, printed, block) {
            let text = format!(
                "{per_s:.2} operations of {:.2} KiB per second make {implied:.2} MiB/s, but the \
                 report says {printed:.2}",
                block / 1024.0
            );
            found.push(Broken::new(&text, &[figure]));
        }
    }
    let transferred = report.transferred_mib.filter(|_| report.read_mib.is_none());
    if let (Some(events), Some(printed)) = (events, transferred) {
        let implied = events as f64 * block / MIB;
        if is_other(implied, printed, block) {
            let text = format!(
                "{} of {:.2} KiB {} {implied:.2} MiB, but the report says {printed:.2}",
                number_of(events, "operation"),
                block / 1024.0,
                verb(events, "makes", "make")
            );
            found.push(Broken::new(&text, &[]));
        }
    }
}

/// Whether the printed MiB differ from those of the operations by more than the rounding of both
/// (`%.2f`) and of the block's size.
fn is_other(implied: f64, printed: f64, block: f64) -> bool {
    let room = ROUNDING + ROUNDING * block / MIB + BLOCK_ROUNDING * implied.max(printed);
    (implied - printed).abs() > room
}
