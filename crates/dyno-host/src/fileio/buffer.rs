//! Memory that direct input and output can use.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};

/// What devices may ask for.
const ALIGNMENT: usize = 4096;

/// Bytes on a page boundary.
#[derive(Debug)]
pub(crate) struct Buffer {
    start: *mut u8,
    layout: Layout,
    len: usize,
}

// SAFETY: the memory is the buffer's alone.
unsafe impl Send for Buffer {}

impl Buffer {
    /// Zeros; `len` is above 0.
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
        // SAFETY: the memory is that long, initialised, and lives as long as the buffer.
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
