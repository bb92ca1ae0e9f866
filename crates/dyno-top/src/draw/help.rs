//! The keys.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

use super::{Look, put, wrapped};
use crate::keys::HELP;

/// Characters of the keys' names.
const KEYS_WIDTH: u16 = 16;

/// Explanations that the screens do not show.
const ABOUT: &str = "Figures with /s are counter differences over the last interval; – means not \
                     available, or not yet. Means and hit rates also cover the last interval. \
                     Press any key to go back.";

/// Draws the help.
pub(super) fn draw(buffer: &mut Buffer, area: Rect, look: &Look) {
    for (y, (keys, meaning)) in (area.y..area.bottom()).zip(HELP) {
        put(buffer, area.x + 1, y, KEYS_WIDTH, keys, look.head());
        let room = area.width.saturating_sub(KEYS_WIDTH + 1);
        put(
            buffer,
            area.x + 1 + KEYS_WIDTH,
            y,
            room,
            meaning,
            Style::new(),
        );
    }
    let from = area.y + HELP.len() as u16 + 1;
    for (y, line) in (from..area.bottom()).zip(wrapped(ABOUT, area.width.saturating_sub(2))) {
        put(buffer, area.x + 1, y, area.width - 1, &line, look.quiet());
    }
}
