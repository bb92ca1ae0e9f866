//! Counts the memory of the coordinator alone: what is allocated during its turns and not yet
//! freed.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

static COUNTS: AtomicBool = AtomicBool::new(false);
static LIVE: AtomicU64 = AtomicU64::new(0);
static HIGHEST: AtomicU64 = AtomicU64::new(0);

/// Bytes of the head in front of each block, which stores whether the block counts. Preserves the
/// largest usual alignment.
const HEAD: usize = 16;

/// The system's allocator, with counters.
pub(crate) struct Counted;

/// Turns counting on or off for the allocations that follow.
pub(crate) fn count(counts: bool) {
    COUNTS.store(counts, Relaxed);
}

/// Bytes that the coordinator has in use.
pub(crate) fn live() -> u64 {
    LIVE.load(Relaxed)
}

/// The maximum of [`live`].
pub(crate) fn highest() -> u64 {
    HIGHEST.load(Relaxed)
}

fn with_head(layout: Layout) -> Option<Layout> {
    let size = layout.size().checked_add(HEAD)?;
    Layout::from_size_align(size, HEAD).ok()
}

// SAFETY: blocks come from the system, with a private head before them; those of larger alignment
// have no head, neither when allocated nor when freed.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.align() > HEAD {
            // SAFETY: the caller's guarantees apply.
            return unsafe { System.alloc(layout) };
        }
        let Some(whole) = with_head(layout) else {
            return std::ptr::null_mut();
        };
        // SAFETY: the layout has at least the size of a head.
        let block = unsafe { System.alloc(whole) };
        // SAFETY: as above; `begin` gets a block of this layout.
        unsafe { begin(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.align() > HEAD {
            // SAFETY: the caller's guarantees apply.
            return unsafe { System.alloc_zeroed(layout) };
        }
        let Some(whole) = with_head(layout) else {
            return std::ptr::null_mut();
        };
        // SAFETY: the layout has at least the size of a head.
        let block = unsafe { System.alloc_zeroed(whole) };
        // SAFETY: as above; `begin` gets a block of this layout.
        unsafe { begin(block, layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if layout.align() > HEAD {
            // SAFETY: the caller's guarantees apply.
            unsafe { System.dealloc(pointer, layout) };
            return;
        }
        let Some(whole) = with_head(layout) else {
            return;
        };
        // SAFETY: the block was allocated with a head before it.
        let block = unsafe { pointer.sub(HEAD) };
        // SAFETY: the head belongs to the block.
        if unsafe { block.cast::<u64>().read() } == 1 {
            LIVE.fetch_sub(layout.size() as u64, Relaxed);
        }
        // SAFETY: the system allocated it with this layout.
        unsafe { System.dealloc(block, whole) };
    }
}

/// Writes the head of a block, and returns the address after it.
///
/// # Safety
/// The block is null, or has a head and this layout.
unsafe fn begin(block: *mut u8, layout: Layout) -> *mut u8 {
    if block.is_null() {
        return block;
    }
    let counts = COUNTS.load(Relaxed);
    if counts {
        let live = LIVE.fetch_add(layout.size() as u64, Relaxed) + layout.size() as u64;
        HIGHEST.fetch_max(live, Relaxed);
    }
    // SAFETY: the block begins with a head, which is aligned.
    unsafe { block.cast::<u64>().write(u64::from(counts)) };
    // SAFETY: the block is longer than its head.
    unsafe { block.add(HEAD) }
}
