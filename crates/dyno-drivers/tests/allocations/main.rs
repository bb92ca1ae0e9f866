//! Executions allocate nothing, and connections use little memory.

#![allow(clippy::unwrap_used)] // a broken test may well panic

mod mysql_memory;
mod postgres_allocations;
mod sqlite_allocations;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counted per thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<i64> = const { Cell::new(0) };
}

fn count(allocations: u64, bytes: i64) {
    // While a thread ends its counters may be gone; nothing is measured then.
    let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + allocations));
    let _ = BYTES.try_with(|held| held.set(held.get() + bytes));
}

// SAFETY: everything is done by the system's allocator; counting does not allocate.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(1, layout.size() as i64);
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(0, -(layout.size() as i64));
        // SAFETY: the caller upholds the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;
