//! Memory for direct I/O.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};

/// The alignment that devices may require.
const ALIGNMENT: usize = 4096;

/// Page-aligned bytes.
#[derive(Debug)]
pub(crate) struct Buffer {
    start: *mut u8,
    layout: Layout,
    len: usize,
}

// SAFETY: the buffer owns its memory.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Zeroed memory; `len` must be above 0.
    pub(crate) fn new(len: usize) -> Result<Self, String> {
        let layout = Layout::from_size_align(len.max(1), ALIGNMENT)
            .map_err(|_| format!("a buffer of {len} bytes is too large"))?;
        // SAFETY: the layout is not empty.
        let start = unsafe { alloc_zeroed(layout) };
        if start.is_null() {
            handle_alloc_error(layout);
        }
        Ok(Self { start, layout, len })
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the memory has this length, is initialised, and lives as long as the buffer.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the buffer is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this layout.
        unsafe { dealloc(self.start, self.layout) };
    }
}
