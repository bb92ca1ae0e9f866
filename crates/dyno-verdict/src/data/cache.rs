//! Checks 16 and 17: what the data is against the caches, and what the caches held.

use dyno_core::finding::Outcome;

use crate::check::{Check, Made, Threshold};
use crate::context::Claim;
use crate::text;
use crate::view::View;

use super::SIZES;

pub(super) const CACHE: Check = Check {
    number: 16,
    name: "cache",
    title: "Data size against memory and the server's cache, and the hit ratio against the claim",
    rule: "Doubt if the data is claimed to be in memory and {0} % or more of the page requests \
           missed, or to be on disk and less than {1} % missed. Without a claim it is said.",
    thresholds: &[IN_MEMORY_MISSES, ON_DISK_MISSES],
    make: cache,
};

pub(super) const COLD_OR_WARM: Check = Check {
    number: 17,
    name: "cold-or-warm",
    title: "Whether the caches were cold or warm, as claimed",
    rule: "Doubt if the caches are claimed to be warm and at the beginning {0} times as many page \
           requests missed as at the end, and {1} % or more; or to be cold and not so. Needs {2} \
           samples.",
    thresholds: &[WARMING, WARMING_MISSES, SAMPLES],
    make: cold_or_warm,
};

const IN_MEMORY_MISSES: Threshold = Threshold {
    name: "misses of data in memory",
    value: 1.0,
    unit: "percent",
    why: "a read from disk costs a hundred times a hit, so that one in a hundred doubles the cost",
};
const ON_DISK_MISSES: Threshold = Threshold {
    name: "misses of data on disk",
    value: 0.1,
    unit: "percent",
    why: "inner pages of the index are always in the cache and are most requests; fewer misses \
          than these are those of a cache that holds everything",
};
const WARMING: Threshold = Threshold {
    name: "misses at the beginning against the end",
    value: 2.0,
    unit: "ratio",
    why: "in a warm cache the miss ratio has no trend",
};
const WARMING_MISSES: Threshold = Threshold {
    name: "misses at the beginning",
    value: 0.1,
    unit: "percent",
    why: "below it they cost less than a tenth of the hits' own time",
};
const SAMPLES: Threshold = Threshold {
    name: "samples",
    value: 8.0,
    unit: "count",
    why: "two in each quarter",
};

/// Series of misses and of all requests, or of misses and hits where the last is set.
const MISSES: [(&str, &str, bool); 3] = [
    (
        "db.status.innodb_buffer_pool_reads",
        "db.status.innodb_buffer_pool_read_requests",
        false,
    ),
    ("db.database.blks_read", "db.database.blks_hit", true),
    ("db.page_cache.misses", "db.page_cache.hits", true),
];

fn cache(view: &View) -> Made {
    let size = SIZES.iter().find_map(|name| view.mean(name));
    let cache = cache_bytes(view);
    let misses = miss_ratio(view).map(|share| share * 100.0);
    if size.is_none() && misses.is_none() {
        return Made::not_checked("Neither the data's size nor the cache's misses were observed.");
    }
    let claim = view.context.claim;
    let fault = match (claim, misses) {
        (Some(Claim::InMemory), Some(misses)) => misses >= IN_MEMORY_MISSES.value,
        (Some(Claim::InMemory), None) => size.zip(cache).is_some_and(|(size, cache)| size > cache),
        (Some(Claim::OnDisk), Some(misses)) => misses < ON_DISK_MISSES.value,
        (Some(Claim::OnDisk), None) => size.zip(cache).is_some_and(|(size, cache)| size <= cache),
        _ => false,
    };
    let mut seen = Vec::new();
    if let Some(size) = size {
        let memory = memory_bytes(view).map_or_else(String::new, |memory| {
            format!(", the host's memory {}", text::bytes(memory))
        });
        let cache = cache.map_or_else(String::new, |cache| {
            format!(", the server's cache {}", text::bytes(cache))
        });
        seen.push(format!("the data has {}{cache}{memory}", text::bytes(size)));
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
    Made::of(
        if fault { Outcome::Doubt } else { Outcome::Pass },
        text::sentence(&format!("{claimed}{}", seen.join("; "))),
        "Size the data or the cache for what is to be measured, and warm the cache first.",
    )
    .with_some("data", size, "bytes")
    .with_some("server's cache", cache, "bytes")
    .with_some("misses", misses, "percent of the page requests")
}

fn cold_or_warm(view: &View) -> Made {
    let claim = match view.context.claim {
        Some(claim @ (Claim::Cold | Claim::Warm)) => claim,
        _ => return Made::not_checked("Nobody claimed that the caches were cold or warm."),
    };
    let course = miss_course(view);
    if (course.len() as f64) < SAMPLES.value {
        return Made::not_checked(format!(
            "{} samples of the cache's misses are too few to see a trend.",
            course.len()
        ));
    }
    let quarter = course.len() / 4;
    let ratio = |part: &[(f64, f64)]| {
        let (misses, requests) = part
            .iter()
            .fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        if requests > 0.0 {
            misses / requests * 100.0
        } else {
            0.0
        }
    };
    let first = ratio(&course[..quarter]);
    let last = ratio(&course[course.len() - quarter..]);
    let warming = first >= WARMING_MISSES.value && first >= last * WARMING.value;
    let (word, fault) = match claim {
        Claim::Warm => ("warm", warming),
        _ => ("cold", !warming && first < WARMING_MISSES.value),
    };
    Made::of(
        if fault { Outcome::Doubt } else { Outcome::Pass },
        format!(
            "The caches are claimed to be {word}; {} % of the page requests missed in the first \
             quarter and {} % in the last.",
            text::plain(first),
            text::plain(last)
        ),
        match claim {
            Claim::Warm => "Read the data before the run, or warm up for longer (--warmup).",
            _ => "Restart the server and drop the kernel's page cache before the run.",
        },
    )
    .with("misses, first quarter", first, "percent")
    .with("misses, last quarter", last, "percent")
}

fn miss_ratio(view: &View) -> Option<f64> {
    MISSES.iter().find_map(|(misses, others, hits)| {
        let (misses, others) = (view.mean(misses)?, view.mean(others)?);
        let all = if *hits { misses + others } else { others };
        (all > 0.0).then(|| misses / all)
    })
}

/// Misses and requests, sample by sample.
fn miss_course(view: &View) -> Vec<(f64, f64)> {
    let of = |(name, others, hits): &(&str, &str, bool)| {
        let others = view.values(others);
        let misses = match view.always_zero(name) {
            true => vec![0.0; others.len()],
            false => view.values(name),
        };
        let pairs = misses.iter().zip(&others);
        let course: Vec<(f64, f64)> = pairs
            .map(|(miss, other)| (*miss, if *hits { miss + other } else { *other }))
            .collect();
        (!course.is_empty()).then_some(course)
    };
    MISSES.iter().find_map(of).unwrap_or_default()
}

/// What the server was told to use for its cache.
pub(super) fn cache_bytes(view: &View) -> Option<f64> {
    if let Some(size) = view.run.setting("innodb_buffer_pool_size") {
        return text::parse_bytes(size, 1.0);
    }
    // PostgreSQL counts it in pages of 8 KiB where no unit is given.
    text::parse_bytes(view.run.setting("shared_buffers")?, 8192.0)
}

fn memory_bytes(view: &View) -> Option<f64> {
    if view.same_host() != Some(true) {
        return None;
    }
    let fact = view.run.fact("host.memory.total");
    fact.and_then(|total| text::parse_bytes(total, 1.0))
        .or_else(|| view.mean("host.memory.total"))
}
