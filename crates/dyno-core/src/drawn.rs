//! The progress line at the end of standard error, which is redrawn in place. Clear it before
//! writing other text there.

use std::sync::atomic::{AtomicBool, Ordering};

/// Goes to the start of the line and clears it.
pub const CLEAR: &str = "\r\x1b[2K";

static IS_DRAWN: AtomicBool = AtomicBool::new(false);

/// Records whether such a line is on the screen now.
pub fn set(is_drawn: bool) {
    IS_DRAWN.store(is_drawn, Ordering::Relaxed);
}

/// What to write before other text: [`CLEAR`] if such a line is on the screen, else nothing.
pub fn cleared() -> &'static str {
    match IS_DRAWN.swap(false, Ordering::Relaxed) {
        true => CLEAR,
        false => "",
    }
}
