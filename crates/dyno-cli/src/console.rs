//! The process's output: the only place that writes to standard output and standard error. What
//! servers, scripts and files say stands in it, so no text reaches a terminal that could steer it
//! (see [`visible`]); only what scripts print themselves goes past this, as it is.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use dyno_core::{redact, visible};
use dyno_report::terminal::{Look, PIPE_COLUMNS};

use crate::fold::fold;
use crate::options::Parsed;

/// How often, and how far apart, C's standard output is tried: another thread prints a line at a
/// time.
const FLUSH_TRIES: u32 = 50;
const FLUSH_PAUSE: Duration = Duration::from_millis(2);
/// How long scripts' files may take to be written out when the process ends.
const LEAVE: Duration = Duration::from_millis(500);

/// Writes text to standard output. A closed pipe is no error: the reader has seen enough.
pub fn out(text: &str) {
    raw(visible::text(text).as_bytes());
}

/// Writes a page that may have colours. Where somebody else's text in it would steer the terminal,
/// it is shown without them: nobody can tell then which of the controls are Dyno's.
pub fn page(look: &Look, render: impl Fn(&Look) -> String) {
    let plain = render(&Look {
        colour: false,
        ..*look
    });
    match look.colour && visible::is_clean(&plain) {
        true => raw(render(look).as_bytes()),
        false => out(&plain),
    }
}

/// Writes JSON to standard output.
pub fn json(text: &str) {
    raw(visible::json(text).as_bytes());
}

/// Writes a line that may be the last of many; false when nobody reads them any more, or they can
/// not be written.
pub fn stream(line: &str) -> bool {
    let text = visible::text(line);
    let mut lock = io::stdout().lock();
    let written = lock.write_all(text.as_bytes()).and_then(|()| lock.flush());
    if let Err(error) = &written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        fail(error);
    }
    written.is_ok()
}

/// Whether standard output is a terminal on which a cursor can be moved.
pub fn has_screen() -> bool {
    io::stdout().is_terminal() && !is_dumb()
}

/// Writes a file's content to standard output as it is, for other programs.
pub fn raw(bytes: &[u8]) {
    // What scripts have printed comes first.
    flush_c();
    if io::stdout().is_terminal() {
        let _ = write!(io::stderr(), "{}", cleared());
    }
    let mut lock = io::stdout().lock();
    let written = lock.write_all(bytes).and_then(|()| lock.flush());
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        fail(&error);
    }
}

/// Keeps why output was not written, for the end.
fn fail(error: &io::Error) {
    // The first of them; a lock that a panic has poisoned holds none that matters.
    let mut failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
    failure.get_or_insert_with(|| format!("cannot write to standard output: {error}"));
}

/// Why some of the output was not written, if it was not.
pub fn failure() -> Option<String> {
    let failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
    failure.clone()
}

static FAILURE: Mutex<Option<String>> = Mutex::new(None);

/// Writes help to standard output, folded where that is a terminal.
pub fn help(text: &str) {
    match io::stdout().is_terminal() {
        true => out(&fold(text, width())),
        false => out(text),
    }
}

/// Writes a line to standard error, without secrets, folded where that is a terminal.
pub fn note(line: &str) {
    let line = redact::text(line);
    let mut text = visible::text(&line).into_owned();
    if io::stderr().is_terminal() && !is_dumb() {
        text = fold(&text, columns_of(libc::STDERR_FILENO).unwrap_or(WIDTH));
    }
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "{}{text}", cleared());
}

/// Writes a line that may have colours to standard error, as [`page`] does.
pub fn line(look: &Look, render: impl Fn(&Look) -> String) {
    let plain = render(&Look {
        colour: false,
        ..*look
    });
    if look.colour && visible::is_clean(&plain) {
        let mut stderr = io::stderr().lock();
        let _ = writeln!(stderr, "{}{}", cleared(), render(look));
    } else {
        note(&plain);
    }
}

/// Whether the last line of standard error can be drawn anew.
pub fn draws() -> bool {
    io::stderr().is_terminal() && !is_dumb()
}

/// Replaces the last line of standard error where it can be drawn anew. What else is written there
/// takes its place.
pub fn progress(line: &str) {
    if draws() {
        let mut stderr = io::stderr().lock();
        IS_DRAWN.store(!line.is_empty(), Ordering::Relaxed);
        let _ = write!(stderr, "{CLEAR}{line}").and_then(|()| stderr.flush());
    }
}

/// Goes to the beginning of the line and empties it.
const CLEAR: &str = "\r\x1b[2K";
/// Whether the last line of standard error is one that can be drawn anew.
static IS_DRAWN: AtomicBool = AtomicBool::new(false);

/// What comes before a line that takes the place of one that is drawn anew.
fn cleared() -> &'static str {
    match IS_DRAWN.swap(false, Ordering::Relaxed) {
        true => CLEAR,
        false => "",
    }
}

/// How text on standard output looks, as the options and the terminal say.
pub fn look(parsed: &Parsed) -> Look {
    Look {
        columns: width(),
        colour: colors_on(&io::stdout(), parsed.has("no-color")),
        verbose: parsed.has("verbose") || is_on("DYNO_VERBOSE"),
        ..Look::default()
    }
}

/// How lines on standard error look while something goes on.
pub fn live_look(no_color: bool) -> Look {
    Look {
        columns: columns_of(libc::STDERR_FILENO).unwrap_or(WIDTH),
        colour: colors_on(&io::stderr(), no_color),
        ..Look::default()
    }
}

/// Whether colours are welcome on a stream.
fn colors_on(stream: &impl io::IsTerminal, refused: bool) -> bool {
    let refused = refused || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let forced = is_on("CLICOLOR_FORCE");
    !refused && (forced || stream.is_terminal() && !is_dumb())
}

/// Whether a variable of the environment is set, to something other than nothing and 0.
fn is_on(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Whether the terminal can do no more than print lines.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Columns where the terminal does not tell.
const WIDTH: usize = 80;

/// Columns of standard output: of the terminal, or no bound to speak of where there is none.
fn width() -> usize {
    match io::stdout().is_terminal() {
        true => columns_of(libc::STDOUT_FILENO).unwrap_or(WIDTH),
        false => columns_set().unwrap_or(PIPE_COLUMNS),
    }
}

/// `$COLUMNS`, which a user or a shell has set.
fn columns_set() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok()?.trim().parse().ok()?;
    (columns > 0).then_some(columns)
}

/// `$COLUMNS`, or what the terminal behind a descriptor says of its width.
fn columns_of(descriptor: libc::c_int) -> Option<usize> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: `size` is a valid winsize for the kernel to fill.
    let answer = unsafe { libc::ioctl(descriptor, libc::TIOCGWINSZ, &raw mut size) };
    let told = (answer == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col));
    columns_set().or(told)
}

unsafe extern "C" {
    /// C's standard output, to which scripts print.
    static mut stdout: *mut libc::FILE;
    /// Takes a stream's lock and answers 0, unless another thread has it.
    fn ftrylockfile(stream: *mut libc::FILE) -> libc::c_int;
    fn funlockfile(stream: *mut libc::FILE);
}

/// Flushes C's standard output, unless a script's thread keeps its lock. The other streams are the
/// scripts': one that is read from or written to is locked until its other end does something.
fn flush_c() {
    for _ in 0..FLUSH_TRIES {
        // SAFETY: C's own stream, which nobody closes; its lock is given back by who took it.
        let flushed = unsafe {
            let locked = ftrylockfile(stdout) == 0;
            if locked {
                libc::fflush(stdout);
                funlockfile(stdout);
            }
            locked
        };
        if flushed {
            return;
        }
        thread::sleep(FLUSH_PAUSE);
    }
}

/// Ends the process. The files that scripts have left open are written out as long as that needs
/// no patience: `exit()` may wait without end for a stream that a thread was given up with.
pub fn leave(status: i32) -> ! {
    flush_c();
    let (done, flushed) = channel::<()>();
    let flush = move || {
        // SAFETY: a null stream flushes all of C's streams.
        unsafe { libc::fflush(std::ptr::null_mut()) };
        drop(done);
    };
    let thread = thread::Builder::new().name("flush".to_owned());
    if thread.spawn(flush).is_ok() {
        let _ = flushed.recv_timeout(LEAVE);
    }
    // SAFETY: all that was to be written is; no other thread is waited for.
    unsafe { libc::_exit(status) }
}

/// Makes what scripts print appear line by line, as it does under sysbench.
pub fn unbuffer_c() {
    // SAFETY: called before anything is printed, on the stream that C itself has opened.
    unsafe { libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0) };
}
