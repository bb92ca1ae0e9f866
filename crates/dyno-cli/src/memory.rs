//! Passwords leave no traces in this process: memory is wiped when it is given back, and the
//! command line, which all users of the machine can read, loses its secrets once it has been read.
//! Large blocks go back to the kernel at once.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fs;
use std::ops::Range;

use dyno_core::redact;

/// The system's allocator, which wipes what was in use. Nothing is allocated or freed while a
/// session does the same again and again, so this costs nothing there.
pub struct Wiping;

/// Larger blocks are buffers of rows and histograms, of which the greater part may never have been
/// touched: to wipe it would be to fetch memory for it.
const WIPED_MAX: usize = 64 * 1024;

/// Blocks from this size on, such as latency histograms, are mappings of their own.
#[cfg(target_env = "gnu")]
const MAPPED_MIN: libc::c_int = 128 * 1024;

/// What stands on the command line where a secret was.
const MASK: u8 = b'*';

// SAFETY: every request goes to the system's allocator, with the layout that it came with; a block
// is written to only while it is still allocated, and only within its size.
unsafe impl GlobalAlloc for Wiping {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the system's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise is the system's.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block has that size, and nobody else has it any more.
        unsafe {
            if layout.size() <= WIPED_MAX {
                wipe(block, layout.size());
            }
            System.dealloc(block, layout);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises a block of that layout, and a size that is none too large.
        unsafe {
            if layout.size() > WIPED_MAX {
                return System.realloc(block, layout, size);
            }
            // The system's would leave the old content behind.
            let moved = System.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !moved.is_null() {
                std::ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                self.dealloc(block, layout);
            }
            moved
        }
    }
}

/// Fills a block with zeros in a way that the compiler does not take for useless.
///
/// # Safety
/// The block has that size and belongs to the caller.
unsafe fn wipe(block: *mut u8, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { libc::explicit_bzero(block.cast(), size) }
}

/// Keeps glibc from raising the size from which a block is a mapping of its own to that of the
/// largest one freed. Histograms, of which most pages are never touched, would come from the heap
/// then: zeroed by hand, and so resident as a whole, and leaving holes that nothing else fills.
pub fn map_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt changes a parameter of the allocator, and no other thread runs yet.
    unsafe {
        // Where it is refused, memory is as the allocator likes it.
        libc::mallopt(libc::M_MMAP_THRESHOLD, MAPPED_MIN);
    }
}

/// Hides the secrets of the process's command line from `ps` and `/proc`. Where the kernel does not
/// say where it stands, or another text stands there, nothing happens.
pub fn mask_command_line(args: &[String]) {
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
    // SAFETY: the kernel has put this process's arguments there, in memory that is its own to
    // write; no other thread runs yet, and what was read of them was copied.
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

/// Where the kernel says that the command line stands.
fn command_line() -> Option<Range<usize>> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // By proc(5): the program's name is in brackets, what follows it begins with field 3, and the
    // fields 48 and 49 are arg_start and arg_end.
    let fields: Vec<&str> = stat[stat.rfind(')')? + 1..].split_whitespace().collect();
    let number = |field: usize| fields.get(field - 3)?.parse::<usize>().ok();
    let (start, end) = (number(48)?, number(49)?);
    (start > 0 && start < end).then_some(start..end)
}
