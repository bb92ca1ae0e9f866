//! Keeps passwords out of this process's freed memory and its command line, which all users of the
//! machine can read: freed memory is wiped, and secrets on the command line are overwritten once
//! they have been read. Large blocks go back to the kernel at once.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::ops::Range;

use dyno_core::redact;

/// The system's allocator, which wipes freed blocks. A session's steady state does not allocate or
/// free, so this costs nothing there.
pub(crate) struct Wiping;

/// Larger blocks are buffers of rows and histograms, which may be mostly untouched:
/// wiping would make them resident.
const WIPED_MAX: usize = 64 * 1024;

/// Blocks from this size on, such as latency histograms, have their own mappings.
#[cfg(target_env = "gnu")]
const MAPPED_MIN: libc::c_int = 128 * 1024;

/// Replaces secrets on the command line.
const MASK: u8 = b'*';

// SAFETY: every request goes to the system's allocator, with its original layout; a block is
// written to only while it is still allocated, and only within its size.
unsafe impl GlobalAlloc for Wiping {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees what the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller guarantees what the system's allocator requires.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block has that size, and no other owner.
        unsafe {
            if layout.size() <= WIPED_MAX {
                wipe(block, layout.size());
            }
            System.dealloc(block, layout);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller guarantees a block of that layout, and a valid size.
        unsafe {
            if layout.size() > WIPED_MAX {
                return System.realloc(block, layout, size);
            }
            // The system's `realloc` would leave the old content behind.
            let moved = System.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

/// Zeroes a block in a way that the compiler does not optimize away.
///
/// # Safety
/// The block has that size and belongs to the caller.
unsafe fn wipe(block: *mut u8, size: usize) {
    // SAFETY: the caller guarantees the block's size, and that nothing else uses it.
    unsafe { libc::explicit_bzero(block.cast(), size) }
}

/// Stops glibc from raising its mapping threshold to the size of the largest freed mapping.
/// Otherwise histograms, with mostly untouched pages, would come from the heap: zeroed by
/// hand, so fully resident, and leaving holes that nothing else fills.
pub(crate) fn map_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt changes a parameter of the allocator, and no other thread runs yet.
    unsafe {
        // If it fails, the allocator's default applies.
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_MIN);
    }
}

/// Hides the secrets of the process's command line from `ps` and `/proc`. Does nothing if the
/// kernel does not report its address, or other text is there.
pub(crate) fn mask_command_line(args: &[String]) {
    let hidden = redact::in_argv(args);
    if hidden.iter().all(Vec::is_empty) {
        return;
    }
    let Some(place) = command_line() else {
        return;
    };
    let expected: Vec<u8> = args
        .iter()
        .flat_map(|arg| [arg.as_bytes(), b"\0"].concat())
        .collect();
    if place.len() != expected.len() {
        return;
    }
    // SAFETY: the kernel has put this process's arguments there, in writable memory of the process;
    // no other thread runs yet, and the arguments in use are copies.
    let bytes = unsafe { std::slice::from_raw_parts_mut(place.start as *mut u8, place.len()) };
    if bytes != expected {
        return;
    }
    let mut start = 0;
    for (arg, spans) in args.iter().zip(&hidden) {
        for span in spans {
            bytes[start + span.start..start + span.end].fill(MASK);
        }
        start += arg.len() + 1;
    }
}

/// The command line's address, from the kernel.
fn command_line() -> Option<Range<usize>> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // By proc(5): the program's name is in brackets, field 3 follows it, and the fields 48 and 49
    // are arg_start and arg_end.
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<usize>().ok();
    let (start, end) = (number(48)?, number(49)?);
    (start > 0 && start < end).then_some(start..end)
}
