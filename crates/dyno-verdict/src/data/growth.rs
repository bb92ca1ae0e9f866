//! Check 20: growth during the run that would continue.

use dyno_core::catalogue::names;

use super::{cache, counted_by, sizes};
use crate::check::{Check, CheckResult, advice, doubt_if, thresholds};
use crate::text;
use crate::view::View;

pub(super) const GROWTH: Check = Check {
    number: 20,
    name: "growth",
    title: "Growth of data, old row versions and server memory",
    rule: "Doubt if the data outgrew the cache, or grew by {0} % and {1} GiB. Doubt if InnoDB's \
           history list grew by {2} and still grew at the end. Doubt if the server's memory \
           without caches grew by {3} % and {4} MiB in the second half, up to the end.",
    thresholds: &[DATA, DATA_GIB, HISTORY, MEMORY, MEMORY_MIB],
    make: growth,
};

thresholds! {
    DATA = 20.0, "percent", "growth": "a fifth more data leaves a fifth less of it in the cache";
    DATA_GIB = 1.0, "GiB", "growth in bytes": "files grow by whole extents";
    HISTORY = 10_000.0, "transactions", "growth of the history list":
        "a purge that keeps up with 12,000 updates per second leaves at most 6,000";
    MEMORY = 10.0, "percent", "growth of the server's memory": "ten such runs double the memory";
    MEMORY_MIB = 128.0, "MiB", "growth of the server's memory in bytes":
        "session buffers and plans are allocated on first use";
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;
const MIB: f64 = 1024.0 * 1024.0;
/// Samples needed to distinguish growth from a jump.
const SAMPLES_MIN: usize = 8;
/// The last quarter has at least this share of the second half's growth.
const STILL: f64 = 0.25;

/// Caches within the server's memory, which stop growing at a limit, with the bytes of their unit.
const CACHES: [(&str, f64); 4] = [
    (names::DB_STATUS_INNODB_BUFFER_POOL_BYTES_DATA, 1.0),
    (names::DB_STATUS_KEY_BLOCKS_USED, 1024.0),
    (names::DB_STATUS_ARIA_PAGECACHE_BLOCKS_USED, 8192.0),
    (names::DB_ROCKSDB_BLOCK_CACHE_USAGE, 1.0),
];

struct Grown {
    evidence: String,
    is_much: bool,
    first: f64,
    last: f64,
}

fn growth(view: &View) -> CheckResult {
    let data = data(view);
    let (history, memory) = (history(view), memory(view));
    let much = |grown: &Option<Grown>| grown.as_ref().is_some_and(|grown| grown.is_much);
    let (of_data, of_history, of_memory) = (
        data.as_ref().is_ok_and(|data| data.is_much),
        much(&history),
        much(&memory),
    );
    let words = |grown: &Option<Grown>| {
        let grown = grown.as_ref().filter(|grown| grown.is_much)?;
        Some(grown.evidence.clone())
    };
    let rest: Vec<String> = [words(&history), words(&memory)]
        .into_iter()
        .flatten()
        .collect();
    let evidence = match (&data, rest.is_empty()) {
        (Err(why), true) => return CheckResult::not_checked(why.clone()),
        (Err(_), false) => rest.join(" "),
        (Ok(data), true) => data.evidence.clone(),
        // What causes the doubt comes first.
        (Ok(data), false) if data.is_much => format!("{} {}", data.evidence, rest.join(" ")),
        (Ok(data), false) => format!("{} {}", rest.join(" "), data.evidence),
    };
    let outcome = doubt_if(of_data || of_history || of_memory);
    let result = CheckResult::of(
        outcome,
        evidence,
        &advice(&[
            (
                of_data,
                "Start with a large data set or measure for a shorter time, and start each run \
                 from the same data.",
            ),
            (
                of_history,
                "Let purge keep up (innodb_purge_threads, no long transactions), offer less, or \
                 measure until the list stops growing.",
            ),
            (
                of_memory,
                "Find what uses the server's memory: prepared statements that are never closed, \
                 temporary tables, a leak. A longer run will run out of memory.",
            ),
        ]),
    );
    let ends = |result: CheckResult, grown: Option<&Grown>, names: [&str; 2], unit: &str| {
        let first = grown.map(|grown| grown.first);
        let last = grown.map(|grown| grown.last);
        result
            .with_some(names[0], first, unit)
            .with_some(names[1], last, unit)
    };
    let data = data.as_ref().ok();
    let percent = data.map(|data| (data.last / data.first - 1.0) * 100.0);
    let result = ends(result, data, ["at the start", "at the end"], "bytes");
    let result = result.with_some("growth", percent, "percent");
    let names = ["history list at the start", "history list at the end"];
    let result = ends(result, history.as_ref(), names, "transactions");
    let names = [
        "server's memory in the middle",
        "server's memory at the end",
    ];
    ends(result, memory.as_ref(), names, "bytes")
}

/// The growth of the data, or why it is unknown.
fn data(view: &View) -> Result<Grown, String> {
    let found = sizes(view)
        .iter()
        .find_map(|name| Some((name, view.ends(name)?, view.values(name).len())));
    let Some((name, (first, last), samples)) = found else {
        return Err(format!("{}.", view.why_not("data")));
    };
    if samples < 2 || first <= 0.0 {
        return Err("The data size was sampled only once: the run is too short.".to_owned());
    }
    let grown = (last / first - 1.0) * 100.0;
    let cache = cache::cache_bytes(view);
    let outgrew = cache.is_some_and(|cache| first <= cache && last > cache);
    let much = grown >= DATA.value && last - first >= DATA_GIB.value * GIB;
    let out_of_cache = match outgrew {
        true => ", more than the server's cache",
        false => "",
    };
    let evidence = format!(
        "The data ({}) went from {} to {} ({} %){out_of_cache}.",
        counted_by(name),
        text::bytes(first),
        text::bytes(last),
        text::signed(grown)
    );
    Ok(Grown {
        evidence,
        is_much: outgrew || much,
        first,
        last,
    })
}

/// The growth of InnoDB's history list: transactions not yet purged.
fn history(view: &View) -> Option<Grown> {
    let quarters = Quarters::of(
        &view.points(names::DB_INNODB_HISTORY_LIST_LENGTH),
        view.length_s,
    )?;
    let (first, last) = (quarters.first, quarters.last);
    Some(Grown {
        evidence: format!(
            "Purge fell behind: the history list went from {} to {}.",
            text::count(first as u64),
            text::count(last as u64)
        ),
        is_much: last - first >= HISTORY.value && quarters.still_grows(),
        first,
        last,
    })
}

/// The growth of the server's memory without its caches.
fn memory(view: &View) -> Option<Grown> {
    let caches: Vec<(Vec<(f64, f64)>, f64)> = CACHES
        .iter()
        .map(|(name, unit)| (view.points(name), *unit))
        .collect();
    // The caches are read at a different moment of the same second.
    let cached = |at_s: f64| -> f64 {
        let last = |points: &[(f64, f64)]| {
            let before = points.partition_point(|(at, _)| *at <= at_s + 1.0);
            points[..before].last().map_or(0.0, |(_, value)| *value)
        };
        caches
            .iter()
            .map(|(points, unit)| last(points) * unit)
            .sum()
    };
    let points = view.points(names::SERVER_MEMORY_PRIVATE);
    let own = points
        .iter()
        .map(|(at_s, bytes)| (*at_s, bytes - cached(*at_s)));
    let own: Vec<(f64, f64)> = own.collect();
    let quarters = Quarters::of(&own, view.length_s)?;
    // By the middle of the run a server has allocated its session memory.
    let (first, last) = (quarters.middle, quarters.last);
    let grown = last - first;
    let all = points.iter().map(|(_, bytes)| *bytes).fold(0.0, f64::max);
    let is_much = grown >= MEMORY_MIB.value * MIB
        && grown / (all - grown).max(1.0) * 100.0 >= MEMORY.value
        && quarters.still_grows();
    Some(Grown {
        evidence: format!(
            "The server's memory, without its caches, grew by {} in the second half, to {} in all.",
            text::bytes(grown),
            text::bytes(all)
        ),
        is_much,
        first,
        last,
    })
}

/// A gauge at four moments of the measurement; single samples vary by chance.
struct Quarters {
    first: f64,
    middle: f64,
    late: f64,
    last: f64,
}

impl Quarters {
    fn of(points: &[(f64, f64)], length_s: f64) -> Option<Self> {
        let values: Vec<f64> = points
            .iter()
            .filter(|(at_s, _)| (0.0..=length_s + 1.0).contains(at_s))
            .map(|(_, value)| *value)
            .collect();
        if values.len() < SAMPLES_MIN {
            return None;
        }
        let around = values.len() / 8;
        let at = |place: usize| {
            let from = place.saturating_sub(around / 2 + 1);
            let to = (place + around / 2 + 1).min(values.len());
            dyno_stats::median(&values[from..to])
        };
        Some(Self {
            first: at(0)?,
            middle: at(values.len() / 2)?,
            late: at(values.len() * 3 / 4)?,
            last: at(values.len())?,
        })
    }

    /// Whether it grew in both quarters of the second half.
    fn still_grows(&self) -> bool {
        let grown = self.last - self.middle;
        let part = grown * STILL;
        grown > 0.0 && self.late - self.middle >= part && self.last - self.late >= part
    }
}
