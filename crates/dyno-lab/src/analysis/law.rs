//! The scalability law that the figures along a factor follow.

use dyno_stats::{SCALABILITY_MIN, Scalability, scalability};

use crate::file::{Factor, Scalar};

/// Settings that give a server more memory.
const MEMORY: [&str; 5] = [
    "innodb_buffer_pool_size",
    "rocksdb_block_cache_size",
    "key_buffer_size",
    "shared_buffers",
    "effective_cache_size",
];

/// How a figure grows along a factor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Law {
    /// Not fitted: memory grows with the level, so the speed-up includes that of a larger cache.
    MoreMemory,
    /// The fitted law.
    Fit {
        /// The law, for sizes divided by the smallest one.
        fit: Scalability,
        /// The smallest size.
        least: f64,
    },
}

/// The law of these sizes and their figures; `None` if there are too few.
pub fn law(factor: &Factor, points: &[(f64, f64)]) -> Option<Law> {
    if points.len() < SCALABILITY_MIN {
        return None;
    }
    if gives_memory(factor) {
        return Some(Law::MoreMemory);
    }
    let least = points.iter().map(|(n, _)| *n).fold(f64::INFINITY, f64::min);
    let units: Vec<(f64, f64)> = points.iter().map(|(n, x)| (n / least, *x)).collect();
    let fit = scalability(&units)?;
    Some(Law::Fit { fit, least })
}

fn gives_memory(factor: &Factor) -> bool {
    let is_memory = |name: &str| MEMORY.contains(&name);
    let levels = factor.levels.get_ref().iter();
    let mut bundles = levels.filter_map(|level| level.get_ref().bundle());
    let by_setting = factor.setting.as_deref().is_some_and(is_memory);
    by_setting
        || bundles.any(|bundle| {
            let memory = |value: &Scalar| !value.to_string().is_empty();
            bundle.host.get("memory").is_some_and(memory)
                || bundle.set.keys().any(|name| is_memory(name))
        })
}
