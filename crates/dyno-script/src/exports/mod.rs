//! The C functions that scripts and the prelude call through LuaJIT's FFI.
//!
//! They are exported from the executable (`-rdynamic`), so that calls stay inside compiled traces.
//! They must not panic or unwind into Lua.

mod events;
mod operations;
mod random;
mod rows;
mod shared;
mod sql;
mod statements;
mod streams;
mod system;

/// The largest random text and text parameter, in bytes. Also `P.TEXT_BYTES_MAX`.
pub(crate) const TEXT_BYTES_MAX: usize = 1 << 28;

/// Lists functions in a table that is part of the executable, so that the linker keeps them.
macro_rules! export {
    ($($name:ident),* $(,)?) => {
        /// Keeps the linker from dropping the exported functions.
        #[used]
        static EXPORTS: &[Address] = &[$(Address($name as *const ())),*];
    };
}
pub(crate) use export;

/// The address of a function, kept for the linker.
pub(crate) struct Address(#[allow(dead_code)] pub(crate) *const ());
// SAFETY: it is never read.
unsafe impl Sync for Address {}

/// Refers to every table of exports, so that none is dropped with its object file.
pub(crate) fn keep() {
    std::hint::black_box([
        events::exported(),
        operations::exported(),
        random::exported(),
        rows::exported(),
        shared::exported(),
        sql::exported(),
        statements::exported(),
        streams::exported(),
        system::exported(),
    ]);
}
