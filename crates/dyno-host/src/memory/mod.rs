//! Loads and stores on a block of memory, word by word.

mod block;

use std::sync::Arc;

use dyno_core::interval::Counters;
use dyno_core::plan::RandKind;
use dyno_core::rand::Stream;
use dyno_core::session::{Counter, Port, SessionId, Step};

pub use block::Block;

use crate::cache::{Cache, caches};
use crate::options::{Kind, Values, option};
use crate::plan::{Figure, Setting, Shared};
use crate::program::{After, Work, events};
use crate::{Definition, Test};

const OPTIONS: &[Definition] = &[
    Definition {
        sysbench: Some("1K"),
        ..option(
            "memory-block-size",
            Kind::Size,
            "1M",
            "size of memory block for test, a multiple of 8",
        )
    },
    Definition {
        sysbench: Some("100G"),
        ..option(
            "memory-total-size",
            Kind::Size,
            "0",
            "total size of data to transfer; 0 for no limit",
        )
    },
    option(
        "memory-scope",
        Kind::Text,
        "global",
        "memory access scope {global,local}: one block for all sessions, or one for each",
    ),
    option(
        "memory-hugetlb",
        Kind::Bool,
        "off",
        "allocate memory from HugeTLB pool",
    ),
    option(
        "memory-oper",
        Kind::Text,
        "write",
        "type of memory operations {read, write, none}",
    ),
    option(
        "memory-access-mode",
        Kind::Text,
        "seq",
        "memory access mode {seq,rnd}",
    ),
];

pub(crate) const TEST: Test = Test {
    name: "memory",
    about: "loads or stores over a block of memory, in order or at random",
    options: OPTIONS,
    operations: &[],
    commands: &[],
    draws_places: false,
    revision: 1,
};

/// The kind of access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Loads.
    Read,
    /// Stores.
    Write,
    /// Neither, to measure the overhead of measuring.
    None,
}

/// The test with its options read.
#[derive(Debug)]
pub struct Memory {
    /// Bytes per block.
    pub block: u64,
    /// Bytes to transfer over all sessions; 0 means no limit.
    pub total: u64,
    /// All sessions share one block.
    pub global: bool,
    /// Use huge pages.
    pub huge: bool,
    /// The kind of access.
    pub access: Access,
    /// Access random places.
    pub random: bool,
    sessions: u32,
    seed: u64,
}

impl Memory {
    pub(crate) fn new(values: &Values<'_>, setting: &Setting) -> Result<Self, String> {
        let block = values.count("memory-block-size", block::WORD as u64)?;
        if block % block::WORD as u64 != 0 {
            return Err(format!(
                "--memory-block-size: {block} is not a multiple of {}, the width of an access",
                block::WORD
            ));
        }
        let random = values.word("memory-access-mode", &["seq", "rnd"])? == "rnd";
        if random && setting.rand.kind != RandKind::Uniform {
            return Err(
                "--rand-type: --memory-access-mode=rnd is always uniform; other distributions \
                 would take longer to draw than the access itself"
                    .to_owned(),
            );
        }
        Ok(Self {
            block,
            total: values.count("memory-total-size", 0)?,
            global: values.word("memory-scope", &["global", "local"])? == "global",
            huge: values.switch("memory-hugetlb")?,
            access: match values.word("memory-oper", &["read", "write", "none"])? {
                "read" => Access::Read,
                "write" => Access::Write,
                _ => Access::None,
            },
            random,
            sessions: setting.sessions,
            seed: setting.seed,
        })
    }

    /// Whole blocks; the last one may exceed the total.
    pub(crate) fn events(&self) -> Option<u64> {
        (self.total > 0).then(|| self.total.div_ceil(self.block))
    }

    pub(crate) fn share(&self) -> Result<Shared, String> {
        if !self.global {
            return Ok(Shared::Nothing);
        }
        Ok(Shared::Block(Arc::new(self.allocate()?)))
    }

    fn allocate(&self) -> Result<Block, String> {
        let bytes = usize::try_from(self.block)
            .map_err(|_| format!("--memory-block-size: {} is too large", self.block))?;
        Block::new(bytes, self.huge)
    }

    pub(crate) fn work(&self, shared: &Shared, tid: u32) -> Result<impl Work + use<>, String> {
        let block = match shared {
            Shared::Block(block) => Arc::clone(block),
            _ => Arc::new(self.allocate()?),
        };
        Ok(Pass {
            block,
            access: self.access,
            random: self.random,
            bytes: self.block,
            places: Stream::new(self.seed, u64::from(tid)),
            value: u64::from(tid),
        })
    }

    pub(crate) fn about(&self) -> Vec<String> {
        let what = match self.access {
            Access::Read => "loads each word of a block",
            Access::Write => "stores to each word of a block",
            Access::None => {
                return vec![
                    "An event does nothing: its time is the cost of measuring an event.".to_owned(),
                ];
            }
        };
        let order = if self.random {
            ", at random positions; drawing them takes part of the time"
        } else {
            ", in order"
        };
        vec![
            format!("An event {what} of {}{order}.", size(self.block)),
            where_it_fits(self.block, self.blocks(), &caches()),
        ]
    }

    fn blocks(&self) -> u64 {
        if self.global {
            1
        } else {
            u64::from(self.sessions)
        }
    }

    pub(crate) fn figures(&self, counters: &Counters, seconds: f64) -> Vec<Figure> {
        let figure = |name, bytes: u64| {
            vec![Figure {
                name,
                value: bytes as f64 / seconds / 1_048_576.0,
                unit: "MiB/s",
            }]
        };
        match self.access {
            Access::Read => figure("read", counters.bytes_in),
            Access::Write => figure("written", counters.bytes_out),
            Access::None => Vec::new(),
        }
    }
}

/// The cache level, or memory, that holds the blocks during the test.
fn where_it_fits(block: u64, blocks: u64, caches: &[Cache]) -> String {
    let Some(last) = caches.last() else {
        return "This host does not report the sizes of its caches, so it is unknown whether this \
                is the speed of a cache or of memory."
            .to_owned();
    };
    // The last level is shared by the cores, the others are private.
    let shared = block.saturating_mul(blocks);
    let fits = |cache: &&Cache| match cache.level == last.level && caches.len() > 1 {
        true => shared <= cache.bytes,
        false => block <= cache.bytes,
    };
    match caches.iter().find(fits) {
        Some(cache) => format!(
            "Its blocks fit the level {} cache ({}): this is that cache's speed, not the memory's. \
             Use blocks of {} or more to reach memory.",
            cache.level,
            size(cache.bytes),
            size(last.bytes.saturating_mul(4) / blocks.max(1)),
        ),
        None => format!(
            "Its blocks, {} in all, are larger than the last cache ({}): this is mostly the \
             memory's speed.",
            size(shared),
            size(last.bytes)
        ),
    }
}

/// Formats bytes with the largest binary unit that gives at least 1.
fn size(bytes: u64) -> String {
    let (unit, factor) = match bytes {
        0..1024 => return format!("{bytes} B"),
        1024..1_048_576 => ("KiB", 1024.0),
        1_048_576..1_073_741_824 => ("MiB", 1_048_576.0),
        _ => ("GiB", 1_073_741_824.0),
    };
    let value = (bytes as f64 / factor * 10.0).round() / 10.0;
    format!("{value} {unit}")
}

struct Pass {
    block: Arc<Block>,
    access: Access,
    random: bool,
    bytes: u64,
    places: Stream,
    value: u64,
}

impl Work for Pass {
    fn turn(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        events(port, session, |port| {
            let block = std::hint::black_box(&*self.block);
            match (self.access, self.random) {
                (Access::Read, false) => {
                    std::hint::black_box(block.read());
                }
                (Access::Read, true) => {
                    std::hint::black_box(block.read_at_random(&mut self.places));
                }
                (Access::Write, false) => block.write(self.value),
                (Access::Write, true) => block.write_at_random(&mut self.places, self.value),
                (Access::None, _) => return Ok(After::Next),
            }
            let counter = match self.access {
                Access::Read => Counter::BytesRead,
                _ => Counter::BytesWritten,
            };
            port.count(session, counter, self.bytes);
            self.value = self.value.wrapping_add(1);
            Ok(After::Next)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_which_memory_was_measured() {
        let cache = |level, bytes| Cache { level, bytes };
        let caches = [cache(1, 32 << 10), cache(2, 1 << 20), cache(3, 32 << 20)];
        let fits = |block, blocks| where_it_fits(block, blocks, &caches);
        assert!(fits(1 << 10, 64).contains("level 1 cache (32 KiB)"));
        assert!(fits(1 << 20, 1).contains("level 2 cache (1 MiB)"));
        assert!(fits(8 << 20, 2).contains("level 3 cache (32 MiB)"));
        assert!(fits(8 << 20, 8).contains("64 MiB in all, are larger than the last cache"));
        assert!(where_it_fits(8, 1, &[]).contains("it is unknown"));
    }

    #[test]
    fn sizes_are_short() {
        let sizes: Vec<_> = [8, 1024, 1536, 1 << 20, 3 << 30].map(size).into();
        assert_eq!(sizes, ["8 B", "1 KiB", "1.5 KiB", "1 MiB", "3 GiB"]);
    }
}
