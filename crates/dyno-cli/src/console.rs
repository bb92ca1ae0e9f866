//! The process's output: the only place that writes to standard output and standard error. It
//! includes text from servers, scripts and files, so control characters are made visible (see
//! [`visible`]). Only output printed by scripts bypasses this.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use dyno_core::{drawn, redact, visible};
use dyno_report::terminal::{Look, PIPE_COLUMNS};

use crate::fold::fold;
use crate::options::Parsed;

/// Number of attempts, and pause between them, to flush C's standard output: another thread may
/// hold its lock while it prints a line.
const FLUSH_TRIES: u32 = 50;
const FLUSH_PAUSE: Duration = Duration::from_millis(2);
/// Timeout for flushing scripts' files when the process ends.
const LEAVE: Duration = Duration::from_millis(500);

/// Writes text to standard output. A closed pipe is not an error: the reader has seen enough.
pub(crate) fn out(text: &str) {
    raw(visible::text(text).as_bytes());
}

/// Writes a page that may have colours. If foreign text in it contains control characters, it is
/// printed without colours, because Dyno's own controls could not be distinguished.
pub(crate) fn page(look: &Look, render: impl Fn(&Look) -> String) {
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
pub(crate) fn json(text: &str) {
    raw(visible::json(text).as_bytes());
}

/// Writes one of several lines; returns false if the reader is gone or writing fails.
pub(crate) fn stream(line: &str) -> bool {
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

/// Whether standard output is a terminal with a movable cursor.
pub(crate) fn has_screen() -> bool {
    io::stdout().is_terminal() && !is_dumb()
}

/// Writes a file's content to standard output unchanged, for other programs.
pub(crate) fn raw(bytes: &[u8]) {
    // Flush the scripts' earlier output first.
    flush_c();
    if io::stdout().is_terminal() {
        let _ = write!(io::stderr(), "{}", drawn::cleared());
    }
    let mut lock = io::stdout().lock();
    let written = lock.write_all(bytes).and_then(|()| lock.flush());
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        fail(&error);
    }
}

/// Records a failure to write output, for the exit status.
fn fail(error: &io::Error) {
    // The first one counts; the content is valid even after a panic.
    let mut failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
    failure.get_or_insert_with(|| format!("cannot write to standard output: {error}"));
}

/// The first failure to write output.
pub(crate) fn failure() -> Option<String> {
    let failure = FAILURE.lock().unwrap_or_else(PoisonError::into_inner);
    failure.clone()
}

static FAILURE: Mutex<Option<String>> = Mutex::new(None);

/// Writes help to standard output, wrapped on a terminal.
pub(crate) fn help(text: &str) {
    match io::stdout().is_terminal() {
        true => out(&fold(text, width())),
        false => out(text),
    }
}

/// Writes a line to standard error, without secrets, wrapped on a terminal.
pub(crate) fn note(line: &str) {
    let line = redact::text(line);
    let mut text = visible::text(&line).into_owned();
    if io::stderr().is_terminal() && !is_dumb() {
        text = fold(&text, columns_of(libc::STDERR_FILENO).unwrap_or(WIDTH));
    }
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "{}{text}", drawn::cleared());
}

/// Writes a line that may have colours to standard error, as [`page`] does.
pub(crate) fn line(look: &Look, render: impl Fn(&Look) -> String) {
    let plain = render(&Look {
        colour: false,
        ..*look
    });
    if look.colour && visible::is_clean(&plain) {
        let mut stderr = io::stderr().lock();
        let _ = writeln!(stderr, "{}{}", drawn::cleared(), render(look));
    } else {
        note(&plain);
    }
}

/// Whether the last line of standard error can be redrawn.
pub(crate) fn draws() -> bool {
    io::stderr().is_terminal() && !is_dumb()
}

/// Replaces the last line of standard error if it can be redrawn. Other output replaces it.
pub(crate) fn progress(line: &str) {
    if draws() {
        let mut stderr = io::stderr().lock();
        drawn::set(!line.is_empty());
        let _ = write!(stderr, "{}{line}", drawn::CLEAR).and_then(|()| stderr.flush());
    }
}

/// The format of text on standard output, from the options and the terminal.
pub(crate) fn look(parsed: &Parsed) -> Look {
    Look {
        columns: width(),
        colour: colors_on(&io::stdout(), parsed.has("no-color")),
        verbose: parsed.has("verbose") || is_on("DYNO_VERBOSE"),
        ..Look::default()
    }
}

/// The format of live lines on standard error.
pub(crate) fn live_look(no_color: bool) -> Look {
    Look {
        columns: columns_of(libc::STDERR_FILENO).unwrap_or(WIDTH),
        colour: colors_on(&io::stderr(), no_color),
        ..Look::default()
    }
}

/// Whether to use colours on a stream.
fn colors_on(stream: &impl io::IsTerminal, refused: bool) -> bool {
    let refused = refused || std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let forced = is_on("CLICOLOR_FORCE");
    !refused && (forced || stream.is_terminal() && !is_dumb())
}

/// Whether an environment variable is set, and neither empty nor 0.
fn is_on(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0")
}

/// Whether the terminal can only print lines.
fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|term| term == "dumb")
}

/// Columns if the terminal does not report them.
const WIDTH: usize = 80;

/// Columns of standard output; practically unlimited if it is not a terminal.
fn width() -> usize {
    match io::stdout().is_terminal() {
        true => columns_of(libc::STDOUT_FILENO).unwrap_or(WIDTH),
        false => columns_set().unwrap_or(PIPE_COLUMNS),
    }
}

/// `$COLUMNS`, set by a user or a shell.
fn columns_set() -> Option<usize> {
    let columns = std::env::var("COLUMNS").ok()?.trim().parse().ok()?;
    (columns > 0).then_some(columns)
}

/// `$COLUMNS`, or the width that a descriptor's terminal reports.
fn columns_of(descriptor: libc::c_int) -> Option<usize> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: `size` is a valid winsize for the kernel to fill.
    let answer = unsafe { libc::ioctl(descriptor, libc::TIOCGWINSZ, &raw mut size) };
    let width = (answer == 0 && size.ws_col > 0).then_some(usize::from(size.ws_col));
    columns_set().or(width)
}

unsafe extern "C" {
    /// C's standard output, to which scripts print.
    static mut stdout: *mut libc::FILE;
    /// Locks a stream and returns 0, unless another thread holds the lock.
    fn ftrylockfile(stream: *mut libc::FILE) -> libc::c_int;
    fn funlockfile(stream: *mut libc::FILE);
}

/// Flushes C's standard output, unless a script's thread holds its lock. Other streams belong to
/// scripts and are not flushed: one can be locked until its other end acts.
fn flush_c() {
    for _ in 0..FLUSH_TRIES {
        // SAFETY: C's own stream is never closed; the thread that locked it unlocks it.
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

/// Ends the process, after a bounded attempt to flush the files that scripts left open: `exit()`
/// could wait forever for a stream that an abandoned thread has locked.
pub(crate) fn leave(status: i32) -> ! {
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
    // SAFETY: all output is written; no other thread is waited for.
    unsafe { libc::_exit(status) }
}

/// Makes scripts' output line-buffered, as under sysbench.
pub(crate) fn unbuffer_c() {
    // SAFETY: called before any output, on the stream that C itself has opened.
    unsafe { libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0) };
}
