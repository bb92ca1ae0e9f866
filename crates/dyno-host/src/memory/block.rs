//! A block of memory that tests access word by word.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use dyno_core::rand::Stream;

/// Bytes per access.
pub(crate) const WORD: usize = 8;

/// Memory that has been touched.
#[derive(Debug)]
pub struct Block {
    start: *mut AtomicU64,
    words: usize,
    mapped: usize,
}

// SAFETY: the block owns its memory and all accesses to it are atomic.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}

impl Block {
    /// Allocates this many bytes, a multiple of [`WORD`], in huge pages if `huge`.
    pub(crate) fn new(bytes: usize, huge: bool) -> Result<Self, String> {
        let mut flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let mut page = 4096;
        if huge {
            flags |= libc::MAP_HUGETLB;
            page = huge_page().ok_or("--memory-hugetlb: this kernel reports no huge pages")?;
        }
        let mapped = bytes.next_multiple_of(page);
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place of the kernel's choice.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), mapped, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            let error = io::Error::last_os_error();
            let hint = if huge {
                "; see the number of huge pages with `sysctl vm.nr_hugepages`"
            } else {
                ""
            };
            return Err(format!(
                "cannot allocate a block of {bytes} bytes: {error}{hint}"
            ));
        }
        let block = Self {
            start: start.cast(),
            words: bytes / WORD,
            mapped,
        };
        // Touch the pages now, so that page faults are not measured.
        block.write(1);
        Ok(block)
    }

    fn all(&self) -> &[AtomicU64] {
        // SAFETY: the mapping has this length, is page-aligned, and lives as long as the block.
        unsafe { std::slice::from_raw_parts(self.start, self.words) }
    }

    /// Stores to every word in order.
    #[inline(never)]
    pub(crate) fn write(&self, value: u64) {
        for word in self.all() {
            word.store(value, Ordering::Relaxed);
        }
    }

    /// Loads every word in order. The result depends on all of them.
    #[inline(never)]
    pub(crate) fn read(&self) -> u64 {
        let mut sum = 0;
        for word in self.all() {
            sum ^= word.load(Ordering::Relaxed);
        }
        sum
    }

    /// Stores to random words, as many as the block has.
    #[inline(never)]
    pub(crate) fn write_at_random(&self, places: &mut Stream, value: u64) {
        for _ in 0..self.words {
            self.all()[random_index(places, self.words)].store(value, Ordering::Relaxed);
        }
    }

    /// Loads random words, as many as the block has.
    #[inline(never)]
    pub(crate) fn read_at_random(&self, places: &mut Stream) -> u64 {
        let mut sum = 0;
        for _ in 0..self.words {
            sum ^= self.all()[random_index(places, self.words)].load(Ordering::Relaxed);
        }
        sum
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the mapping is this block's, and no borrows of it remain.
        unsafe { libc::munmap(self.start.cast(), self.mapped) };
    }
}

/// A random word. The bias of a product without rejection is less than one in 2^30 for any block
/// that fits a host.
#[inline]
fn random_index(places: &mut Stream, words: usize) -> usize {
    ((u128::from(places.next_u64()) * words as u128) >> 64) as usize
}

fn huge_page() -> Option<usize> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Hugepagesize:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(block: &Block) -> Vec<u64> {
        let words = block.all().iter();
        words.map(|word| word.load(Ordering::Relaxed)).collect()
    }

    #[test]
    fn every_word_is_touched_the_last_too() {
        for bytes in [8, 16, 1024, 12_288] {
            let block = Block::new(bytes, false).unwrap();
            block.write(7);
            assert_eq!(values(&block), vec![7; bytes / 8]);
            let last = block.all().last().unwrap();
            last.store(7 ^ 5, Ordering::Relaxed);
            let others = if bytes / 8 % 2 == 1 { 7 } else { 0 };
            assert_eq!(block.read(), others ^ 5);
        }
    }

    #[test]
    fn random_places_are_all_over_the_block() {
        let block = Block::new(1024, false).unwrap();
        let mut places = Stream::new(1, 0);
        for _ in 0..20 {
            block.write_at_random(&mut places, 9);
        }
        assert_eq!(values(&block), vec![9; 128]);
        block.write(0);
        assert_eq!(block.read_at_random(&mut places), 0);
    }

    #[test]
    fn unavailable_memory_is_an_error() {
        let error = Block::new(1 << 60, false).unwrap_err();
        assert!(error.contains("cannot allocate a block"), "{error}");
    }
}
