//! Key bindings, as in htop where it has the same functions.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::state::Mode;

/// The action of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Quit.
    Quit,
    /// Another screen, by its index from 0.
    Screen(usize),
    /// The next screen.
    NextScreen,
    /// The previous screen.
    LastScreen,
    /// The next table of the screen.
    NextTable,
    /// Sort by the next column.
    SortNext,
    /// Sort by the previous column.
    SortLast,
    /// Reverse the order.
    Invert,
    /// Start typing a filter.
    Filter,
    /// A letter of the filter.
    Type(char),
    /// Erase the filter's last letter.
    Erase,
    /// Accept the filter.
    Accept,
    /// Clear the filter, or close the help.
    Clear,
    /// Freeze or continue the display.
    Freeze,
    /// Freeze the display at the snapshot before.
    Earlier,
    /// Freeze the display at the snapshot after.
    Later,
    /// Ask less often.
    Slower,
    /// Ask more often.
    Faster,
    /// Ask now.
    Refresh,
    /// Show or hide the help.
    Help,
    /// Rows down, or up if negative.
    Rows(isize),
    /// Pages down, or up if negative.
    Pages(isize),
    /// To the first row.
    Top,
    /// To the last row.
    Bottom,
    /// Columns to the right, or to the left if negative.
    Columns(isize),
}

/// The action of the key, if it has one.
pub(crate) fn action(key: KeyEvent, mode: Mode) -> Option<Action> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c' | 'd') => Some(Action::Quit),
            KeyCode::Char('l' | 'r') => Some(Action::Refresh),
            KeyCode::Char('u') if mode == Mode::Filter => Some(Action::Clear),
            _ => None,
        };
    }
    match mode {
        Mode::Filter => typed(key.code),
        Mode::Help => match key.code {
            KeyCode::Char('q') | KeyCode::F(10) => Some(Action::Quit),
            _ => Some(Action::Help),
        },
        Mode::Usual => usual(key.code),
    }
}

fn typed(code: KeyCode) -> Option<Action> {
    Some(match code {
        KeyCode::Char(c) => Action::Type(c),
        KeyCode::Backspace => Action::Erase,
        KeyCode::Enter => Action::Accept,
        KeyCode::Esc => Action::Clear,
        KeyCode::F(10) => Action::Quit,
        _ => return None,
    })
}

fn usual(code: KeyCode) -> Option<Action> {
    Some(match code {
        KeyCode::Char('q') | KeyCode::F(10) => Action::Quit,
        KeyCode::Char(digit @ '1'..='9') => Action::Screen(digit as usize - '1' as usize),
        KeyCode::Tab => Action::NextScreen,
        KeyCode::BackTab => Action::LastScreen,
        KeyCode::Enter | KeyCode::Char('t') => Action::NextTable,
        KeyCode::F(6) | KeyCode::Char('>' | '.') => Action::SortNext,
        KeyCode::Char('<' | ',') => Action::SortLast,
        KeyCode::Char('I' | 'i') => Action::Invert,
        KeyCode::F(4) | KeyCode::Char('/') => Action::Filter,
        KeyCode::Esc => Action::Clear,
        KeyCode::Char(' ') => Action::Freeze,
        KeyCode::Char('[') => Action::Earlier,
        KeyCode::Char(']') => Action::Later,
        KeyCode::Char('+') => Action::Slower,
        KeyCode::Char('-') => Action::Faster,
        KeyCode::Char('r') => Action::Refresh,
        KeyCode::Char('h' | '?') | KeyCode::F(1) => Action::Help,
        KeyCode::Down | KeyCode::Char('j') => Action::Rows(1),
        KeyCode::Up | KeyCode::Char('k') => Action::Rows(-1),
        KeyCode::PageDown => Action::Pages(1),
        KeyCode::PageUp => Action::Pages(-1),
        KeyCode::Home => Action::Top,
        KeyCode::End => Action::Bottom,
        KeyCode::Right => Action::Columns(1),
        KeyCode::Left => Action::Columns(-1),
        _ => return None,
    })
}

/// The help: keys and their actions.
pub(crate) const HELP: [(&str, &str); 15] = [
    ("q F10 Ctrl-C", "quit"),
    ("1 … 9, Tab", "next screen; Shift-Tab: previous screen"),
    ("Enter t", "next table on the screen"),
    ("F6 > <", "sort by the next or previous column"),
    ("I", "reverse the order"),
    ("F4 /", "show only rows that contain a text; Esc shows all"),
    ("Space", "freeze or resume"),
    ("[ ]", "step back or forward through the last 120 snapshots"),
    ("+ -", "query less often, more often"),
    ("r", "query now"),
    ("↑ ↓ j k", "a row up or down"),
    ("PgUp PgDn", "a page up or down"),
    ("Home End", "the first row, the last row"),
    ("← →", "scroll to hidden columns"),
    ("h ? F1", "this help"),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: KeyCode, mode: Mode) -> Option<Action> {
        action(KeyEvent::new(code, KeyModifiers::NONE), mode)
    }

    #[test]
    fn keys_match_htop() {
        for (code, meant) in [
            (KeyCode::F(10), Action::Quit),
            (KeyCode::F(6), Action::SortNext),
            (KeyCode::F(4), Action::Filter),
            (KeyCode::F(1), Action::Help),
            (KeyCode::Char('I'), Action::Invert),
            (KeyCode::Char('1'), Action::Screen(0)),
            (KeyCode::Char('9'), Action::Screen(8)),
        ] {
            assert_eq!(of(code, Mode::Usual), Some(meant));
        }
        assert_eq!(of(KeyCode::F(9), Mode::Usual), None);
    }

    #[test]
    fn letters_are_typed_into_a_filter_and_control_c_always_ends() {
        assert_eq!(
            of(KeyCode::Char('q'), Mode::Filter),
            Some(Action::Type('q'))
        );
        assert_eq!(of(KeyCode::Esc, Mode::Filter), Some(Action::Clear));
        assert_eq!(of(KeyCode::Char('x'), Mode::Help), Some(Action::Help));
        let end = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        for mode in [Mode::Usual, Mode::Filter, Mode::Help] {
            assert_eq!(action(end, mode), Some(Action::Quit));
        }
    }
}
