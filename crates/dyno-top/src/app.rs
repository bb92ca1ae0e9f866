//! The terminal: set up at the start, restored at the end in any case.
//!
//! Keys are read by a separate thread, because the library reads endlessly from a terminal that is
//! gone.

use std::io::{self, Write as _};
use std::mem::ManuallyDrop;
use std::panic;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::layout::{Rect, Size};
use ratatui::{Terminal, TerminalOptions, Viewport};

use crate::draw::{Look, draw};
use crate::keys as meaning;
use crate::poll::{Poller, Update};
use crate::profile::Profile;
use crate::state::{Effect, State};

/// How long to wait for keys before checking for other events.
const LOOK: Duration = Duration::from_millis(50);
/// The largest drawn area. A terminal may claim any size, and each cell takes memory.
const AREA_MAX: Size = Size::new(1_000, 500);
/// How often to redraw if only the time changes.
const REDRAW_NS: u64 = 500_000_000;

/// Why there is nothing to show.
#[derive(Debug, thiserror::Error)]
pub enum TopError {
    /// There was never a connection.
    #[error("{0}")]
    Source(String),
    /// Drawing to the terminal or reading keys failed.
    #[error("cannot use the terminal: {0}")]
    Terminal(#[from] io::Error),
    /// The terminal was closed.
    #[error("the terminal is gone")]
    Gone,
    /// A bug in Dyno.
    #[error("the display crashed; see the message above")]
    Defect,
}

/// Parameters of the screen.
pub struct Screen<'a> {
    /// Whether to use colours.
    pub colour: bool,
    /// The initial interval.
    pub interval: Duration,
    /// Whether a signal asked to stop.
    pub stopped: &'a dyn Fn() -> bool,
}

/// Shows the screens until the user quits. Standard output must be a terminal.
///
/// # Errors
/// There was never a connection, or the terminal fails.
pub fn screen(poller: &Poller, how: &Screen<'_>) -> Result<(), TopError> {
    // Before the terminal is set up, so that an error is printed normally.
    let Some(profile) = first(poller, how.stopped)? else {
        return Ok(());
    };
    let mut state = State::new(profile, how.interval);
    let taken = Taken::take()?;
    let keys = keys()?;
    // Not dropped: it would report a cursor that it cannot show, on a terminal that is gone.
    let size = ratatui::crossterm::terminal::size()?;
    let viewport = Viewport::Fixed(drawn_area(size.into()));
    let out = CrosstermBackend::new(io::stdout());
    let options = TerminalOptions { viewport };
    let mut terminal = ManuallyDrop::new(Terminal::with_options(out, options)?);
    let ended = watch(poller, how, &mut state, (&mut terminal, &keys), &taken);
    drop(taken);
    ended
}

/// The drawn area of a terminal of this size.
fn drawn_area(size: Size) -> Rect {
    Rect::new(
        0,
        0,
        size.width.min(AREA_MAX.width),
        size.height.min(AREA_MAX.height),
    )
}

/// Events of the keyboard and the terminal's size.
fn keys() -> io::Result<Receiver<io::Result<Event>>> {
    let (send, keys) = channel();
    let read = move || {
        loop {
            let read = event::read();
            let failed = read.is_err();
            if send.send(read).is_err() || failed {
                return;
            }
        }
    };
    thread::Builder::new()
        .name("dyno-keys".to_owned())
        .spawn(read)?;
    Ok(keys)
}

/// Whether the terminal is gone: its window was closed, or its connection was lost.
fn is_gone() -> bool {
    let mut stdin = libc::pollfd {
        fd: libc::STDIN_FILENO,
        events: 0,
        revents: 0,
    };
    // SAFETY: one structure, which lives as long as the call.
    let ready = unsafe { libc::poll(&raw mut stdin, 1, 0) };
    ready > 0 && stdin.revents & (libc::POLLHUP | libc::POLLERR | libc::POLLNVAL) != 0
}

/// Waits for the first connection; `None` if the user stops waiting.
///
/// # Errors
/// There is no connection.
pub(crate) fn first(
    poller: &Poller,
    stopped: &dyn Fn() -> bool,
) -> Result<Option<Profile>, TopError> {
    loop {
        if stopped() {
            return Ok(None);
        }
        match poller.next(LOOK) {
            Some(Some(Update::Opened(profile))) => return Ok(Some(*profile)),
            Some(Some(Update::Lost(why))) => return Err(TopError::Source(why)),
            Some(Some(Update::Snapshot(_)) | None) => {}
            None => return Err(TopError::Defect),
        }
    }
}

fn watch(
    poller: &Poller,
    how: &Screen<'_>,
    state: &mut State,
    (terminal, keys): (
        &mut Terminal<CrosstermBackend<io::Stdout>>,
        &Receiver<io::Result<Event>>,
    ),
    taken: &Taken,
) -> Result<(), TopError> {
    let mut drawn_at = None;
    loop {
        let mut changed = false;
        while let Some(update) = poller.waiting().ok_or(TopError::Defect)? {
            state.take(update);
            changed = true;
        }
        if taken.panicked() {
            return Err(TopError::Defect);
        }
        let now = Clock.now();
        if changed || drawn_at.is_none_or(|at| now >= at + REDRAW_NS) {
            let look = Look {
                colour: how.colour,
                now,
                unanswered: poller.unanswered_for(),
            };
            let area = drawn_area(terminal.size()?);
            if area != terminal.get_frame().area() {
                terminal.resize(area)?;
            }
            terminal.draw(|frame| {
                let area = frame.area();
                draw(frame.buffer_mut(), area, state, &look);
            })?;
            drawn_at = Some(now);
        }
        if (how.stopped)() {
            return Ok(());
        }
        if is_gone() {
            return Err(TopError::Gone);
        }
        let event = match keys.recv_timeout(LOOK) {
            Ok(event) => event?,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => return Err(TopError::Defect),
        };
        // Any event may change the screen.
        drawn_at = None;
        let Event::Key(key) = event else {
            continue;
        };
        let Some(action) = meaning::action(key, state.mode) else {
            continue;
        };
        match state.act(action) {
            Effect::None => {}
            Effect::Quit => return Ok(()),
            Effect::Show(screen) => poller.show(screen),
            Effect::Every(interval) => poller.every(interval),
            Effect::Refresh => poller.refresh(),
        }
    }
}

/// A panic hook.
type Hook = Box<dyn Fn(&panic::PanicHookInfo<'_>) + Sync + Send>;

/// The terminal while Dyno uses it.
struct Taken {
    panicked: Arc<AtomicBool>,
    before: Arc<Hook>,
}

impl Taken {
    fn take() -> io::Result<Self> {
        enable_raw_mode()?;
        let entered = execute!(io::stdout(), EnterAlternateScreen, cursor::Hide);
        if let Err(error) = entered {
            give_back();
            return Err(error);
        }
        let before: Arc<Hook> = Arc::new(panic::take_hook());
        let panicked = Arc::new(AtomicBool::new(false));
        let (hook, flag) = (Arc::clone(&before), Arc::clone(&panicked));
        // On any thread: the message must be visible.
        panic::set_hook(Box::new(move |info| {
            if !flag.swap(true, Ordering::Relaxed) {
                give_back();
            }
            hook(info);
        }));
        Ok(Self { panicked, before })
    }

    fn panicked(&self) -> bool {
        self.panicked.load(Ordering::Relaxed)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        if !self.panicked() {
            give_back();
        }
        // A panicking thread may not change the hook.
        if !std::thread::panicking() {
            let before = Arc::clone(&self.before);
            panic::set_hook(Box::new(move |info| before(info)));
        }
    }
}

fn give_back() {
    let mut out = io::stdout();
    let _ = execute!(out, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
    let _ = out.flush();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_size_a_terminal_claims_little_is_drawn() {
        assert_eq!(drawn_area(Size::new(80, 24)), Rect::new(0, 0, 80, 24));
        for huge in [Size::new(u16::MAX, u16::MAX), Size::new(20_000, 20_000)] {
            assert_eq!(drawn_area(huge), Rect::new(0, 0, 1_000, 500));
        }
        assert_eq!(drawn_area(Size::new(9_000, 1)), Rect::new(0, 0, 1_000, 1));
    }
}
