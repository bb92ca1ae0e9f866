//! Checks 16 and 17: the size of the data relative to the caches, and the cache hits.

use dyno_core::catalogue::names;
use dyno_core::tables::{TableGroup, groups};

use crate::check::{Check, CheckResult, doubt_if, thresholds};
use crate::context::Claim;
use crate::missing::Missing;
use crate::text;
use crate::view::View;

use super::sizes;

pub(super) const CACHE: Check = Check {
    number: 16,
    name: "cache",
    title: "Data size against cache, and hit ratio against the claim",
    rule: "Doubt if {0} % of the page requests missed with data claimed in memory, or less than \
           {1} % with data claimed on disk. Without a claim, only reported.",
    thresholds: &[IN_MEMORY_MISSES, ON_DISK_MISSES],
    make: cache,
};

pub(super) const COLD_OR_WARM: Check = Check {
    number: 17,
    name: "cold-or-warm",
    title: "Whether the caches were warm, or as claimed",
    rule: "Doubt if {1} % of the page requests in the first quarter missed, and {0} times as many \
           as in the last; without a claim, only if chance does not explain it. If cold caches are \
           claimed, doubt only if they were not cold. Needs {2} samples, or one if cold caches are \
           claimed.",
    thresholds: &[WARMING, WARMING_MISSES, SAMPLES],
    make: cold_or_warm,
};

thresholds! {
    IN_MEMORY_MISSES = 1.0, "percent", "misses of data in memory":
        "a disk read costs a hundred hits: one percent doubles the cost";
    ON_DISK_MISSES = 0.1, "percent", "misses of data on disk":
        "inner index pages always hit; with fewer misses everything is cached";
    WARMING = 2.0, "ratio", "misses at the beginning against the end":
        "a warm cache's miss ratio has no trend";
    WARMING_MISSES = 0.1, "percent", "misses at the beginning":
        "fewer cost less than a tenth of the hits' time";
    SAMPLES = 8.0, "count", "samples": "two per quarter";
}

/// Without a claim, at most one good run in a hundred is doubted.
const WARMING_CHANCE: f64 = 0.01;
/// Kendall's tau of decreasing misses: three of four pairs are in that order.
const WARMING_ORDER: f64 = -0.5;
/// The number of first samples to compare: that the first three of thirty are the largest happens
/// by chance once in four thousand runs.
const FIRST: usize = 3;

/// Series of misses and of all requests, or of misses and hits if the flag is set.
const MISSES: [(&str, &str, bool); 3] = [
    (
        names::DB_STATUS_INNODB_BUFFER_POOL_READS,
        names::DB_STATUS_INNODB_BUFFER_POOL_READ_REQUESTS,
        false,
    ),
    (
        names::DB_DATABASE_BLKS_READ,
        names::DB_DATABASE_BLKS_HIT,
        true,
    ),
    (names::DB_PAGE_CACHE_MISSES, names::DB_PAGE_CACHE_HITS, true),
];

const BUFFER_POOL: &str = "innodb_buffer_pool_size";

fn cache(view: &View) -> CheckResult {
    let size = sizes(view).iter().find_map(|name| view.mean(name));
    let cache = cache_bytes(view);
    let misses = miss_ratio(view).map(|share| share * 100.0);
    if size.is_none() && misses.is_none() {
        return CheckResult::not_checked(
            "Neither the data's size nor the cache's misses were observed.",
        );
    }
    let claim = view.context.claim;
    let fault = match (claim, misses) {
        (Some(Claim::InMemory), Some(misses)) => misses >= IN_MEMORY_MISSES.value,
        (Some(Claim::InMemory), None) => {
            let least = cache_sizes(view).into_iter().reduce(f64::min);
            size.zip(least).is_some_and(|(size, cache)| size > cache)
        }
        (Some(Claim::OnDisk), Some(misses)) => misses < ON_DISK_MISSES.value,
        (Some(Claim::OnDisk), None) => {
            let most = cache_sizes(view).into_iter().reduce(f64::max);
            size.zip(most).is_some_and(|(size, cache)| size <= cache)
        }
        _ => false,
    };
    let mut seen = Vec::new();
    if let Some(size) = size {
        let memory = memory_bytes(view).map_or_else(String::new, |memory| {
            format!(", the host's memory {}", text::bytes(memory))
        });
        seen.push(format!(
            "{} has {}{}{memory}",
            super::whose_size(view),
            text::bytes(size),
            sized(view)
        ));
    }
    if let Some(misses) = misses {
        seen.push(format!(
            "{} % of the page requests missed the cache",
            text::plain(misses)
        ));
    }
    let claimed = match claim {
        Some(Claim::InMemory) => "the data is claimed to be in memory; ",
        Some(Claim::OnDisk) => "the data is claimed to be on disk; ",
        _ => "",
    };
    CheckResult::of(
        doubt_if(fault),
        text::sentence(&format!("{claimed}{}", seen.join("; "))),
        match claim {
            Some(Claim::OnDisk) => "Use more data or a smaller cache, or drop the claim.",
            _ => {
                "Size the data or the cache for what you want to measure, and warm the cache first."
            }
        },
    )
    .with_some("data", size, "bytes")
    .with_some("server's cache", cache, "bytes")
    .with_some("misses", misses, "percent of the page requests")
}

fn cold_or_warm(view: &View) -> CheckResult {
    let samples = misses_over_time(view);
    if (samples.len() as f64) < SAMPLES.value {
        return match view.context.claim {
            Some(Claim::Cold) if !samples.is_empty() => short_and_cold(&samples),
            _ if view.imported() => Missing::CacheMisses.result(),
            _ => CheckResult::not_checked(format!(
                "{} of the cache's misses {} too few to see a trend.",
                text::number_of(samples.len(), "sample"),
                text::verb(samples.len(), "is", "are")
            )),
        };
    }
    let quarter = samples.len() / 4;
    let first = percent(&samples[..quarter]);
    let last = percent(&samples[samples.len() - quarter..]);
    let warming = first >= WARMING_MISSES.value && first >= last * WARMING.value;
    let result = match view.context.claim {
        Some(claim @ (Claim::Cold | Claim::Warm)) => {
            let (word, fault) = match claim {
                Claim::Warm => ("warm", warming),
                _ => ("cold", !warming && first < WARMING_MISSES.value),
            };
            CheckResult::of(
                doubt_if(fault),
                format!(
                    "The caches are claimed to be {word}; {} % of the page requests missed in the \
                     first quarter and {} % in the last.",
                    text::plain(first),
                    text::plain(last)
                ),
                match claim {
                    Claim::Warm => WARM_UP,
                    _ => COOL_DOWN,
                },
            )
        }
        _ => unclaimed(view, warming && is_sure(&samples, quarter), first, last),
    };
    result
        .with("misses, first quarter", first, "percent")
        .with("misses, last quarter", last, "percent")
        .with_some("server's uptime at the start", uptime_s(view), "s")
}

const COOL_DOWN: &str = "Restart the server and drop the kernel's page cache before the run.";
const WARM_UP: &str = "Read the data before the run, or warm up for longer (--warmup).";

/// The finding without a claim: most users want warm caches.
fn unclaimed(view: &View, warming: bool, first: f64, last: f64) -> CheckResult {
    let up = uptime_s(view).map_or_else(String::new, |up| {
        format!("; the server had been up for {}", text::seconds(up))
    });
    let facts = format!(
        "{} % of the page requests missed in the first quarter and {} % in the last{}{up}.",
        text::plain(first),
        text::plain(last),
        filled(view)
    );
    match warming {
        true => CheckResult::doubt(
            format!("The caches were still being filled: {facts}"),
            &format!("{WARM_UP} If they should be cold, say so (--claim cold)."),
        ),
        false => CheckResult::pass(facts),
    }
}

/// Whether the first quarter's misses differ from the others significantly: by level, by trend, or
/// because each of the first ones is larger than all later ones.
fn is_sure(samples: &[(f64, f64)], quarter: usize) -> bool {
    let ratios: Vec<f64> = samples.iter().map(|one| percent(&[*one])).collect();
    let marks: Vec<bool> = (0..ratios.len()).map(|index| index < quarter).collect();
    let level = dyno_stats::contrast(&ratios, &marks);
    let tau = dyno_stats::steady::tau(&ratios);
    let (first, rest) = ratios.split_at(FIRST.min(ratios.len()));
    let least = first.iter().copied().fold(f64::INFINITY, f64::min);
    level.is_some_and(|found| found.p <= WARMING_CHANCE)
        || tau.is_some_and(|tau| tau <= WARMING_ORDER)
        || rest.iter().all(|ratio| *ratio < least)
}

/// Claimed cold caches in a run that is too short for a trend.
fn short_and_cold(samples: &[(f64, f64)]) -> CheckResult {
    let misses = percent(samples);
    let outcome = doubt_if(misses < WARMING_MISSES.value);
    let evidence = format!(
        "The caches are claimed to be cold; {} % of the page requests missed.",
        text::plain(misses)
    );
    CheckResult::of(outcome, evidence, COOL_DOWN).with("misses", misses, "percent")
}

fn percent(part: &[(f64, f64)]) -> f64 {
    let sum = |sum: (f64, f64), one: &(f64, f64)| (sum.0 + one.0, sum.1 + one.1);
    let (misses, requests) = part.iter().fold((0.0, 0.0), sum);
    match requests > 0.0 {
        true => misses / requests * 100.0,
        false => 0.0,
    }
}

/// How full InnoDB's cache was, if that changed.
fn filled(view: &View) -> String {
    let data = view.ends(names::DB_STATUS_INNODB_BUFFER_POOL_PAGES_DATA);
    let shares = data.zip(view.ends(names::DB_STATUS_INNODB_BUFFER_POOL_PAGES_TOTAL));
    let shares = shares.filter(|(_, total)| total.0 > 0.0 && total.1 > 0.0);
    match shares.map(|(data, total)| (data.0 / total.0 * 100.0, data.1 / total.1 * 100.0)) {
        Some((first, last)) if last - first >= 1.0 => format!(
            "; the buffer pool went from {} to {} % full",
            text::plain(first),
            text::plain(last)
        ),
        _ => String::new(),
    }
}

fn uptime_s(view: &View) -> Option<f64> {
    let fact = view.run.fact(names::SERVER_UPTIME_S_START)?;
    fact.trim().parse().ok().filter(|up: &f64| up.is_finite())
}

/// Whether the engines of the run's tables are known, and none is InnoDB: its cache then does not
/// concern them.
pub(crate) fn are_of_other_engines(view: &View) -> bool {
    let tables = groups(&view.run.facts).into_iter();
    let engines = tables.filter(TableGroup::counts).map(|table| table.engine);
    let engines: Option<Vec<String>> = engines.collect();
    engines.is_some_and(|engines| {
        let is_innodb = |engine: &String| engine.eq_ignore_ascii_case("innodb");
        view.mysql() && !engines.is_empty() && !engines.iter().any(is_innodb)
    })
}

pub(super) fn miss_ratio(view: &View) -> Option<f64> {
    if are_of_other_engines(view) {
        return None;
    }
    MISSES.iter().find_map(|(misses, others, hits)| {
        let (misses, others) = (view.mean(misses)?, view.mean(others)?);
        let all = if *hits { misses + others } else { others };
        (all > 0.0).then(|| misses / all)
    })
}

fn misses_over_time(view: &View) -> Vec<(f64, f64)> {
    if are_of_other_engines(view) {
        return Vec::new();
    }
    let of = |(name, others, hits): &(&str, &str, bool)| {
        let others = view.values(others);
        let misses = match view.always_zero(name) {
            true => vec![0.0; others.len()],
            false => view.values(name),
        };
        let pairs = misses.iter().zip(&others);
        let samples: Vec<(f64, f64)> = pairs
            .map(|(miss, other)| (*miss, if *hits { miss + other } else { *other }))
            .collect();
        (!samples.is_empty()).then_some(samples)
    };
    MISSES.iter().find_map(of).unwrap_or_default()
}

/// The size of the server's cache when the measurement began.
pub(super) fn cache_bytes(view: &View) -> Option<f64> {
    if are_of_other_engines(view) {
        return None;
    }
    if let Some(size) = view.setting(BUFFER_POOL) {
        return text::parse_bytes(size, 1.0);
    }
    // Without a unit, PostgreSQL counts pages of 8 KiB.
    text::parse_bytes(view.setting("shared_buffers")?, 8192.0)
}

/// All sizes that the server's cache had during the measurement; only MySQL resizes it.
pub(super) fn cache_sizes(view: &View) -> Vec<f64> {
    let Some(size) = cache_bytes(view) else {
        return Vec::new();
    };
    let moments = view.later_settings(|name| name == BUFFER_POOL);
    let later = moments.iter().filter_map(|moment| {
        let size = moment.setting(BUFFER_POOL)?;
        text::parse_bytes(size, 1.0)
    });
    std::iter::once(size).chain(later).collect()
}

/// The size of the server's cache as text, or the range of its sizes; empty if unknown.
fn sized(view: &View) -> String {
    let sizes = cache_sizes(view);
    let least = sizes.iter().copied().reduce(f64::min);
    let most = sizes.iter().copied().reduce(f64::max);
    match least.zip(most) {
        None => String::new(),
        Some((least, most)) if least < most => format!(
            ", the server's cache {} to {}",
            text::bytes(least),
            text::bytes(most)
        ),
        Some((size, _)) => format!(", the server's cache {}", text::bytes(size)),
    }
}

fn memory_bytes(view: &View) -> Option<f64> {
    if view.same_host() != Some(true) {
        return None;
    }
    let fact = view.run.fact(names::HOST_MEMORY_TOTAL);
    fact.and_then(|total| text::parse_bytes(total, 1.0))
        .or_else(|| view.mean(names::HOST_MEMORY_TOTAL))
}
