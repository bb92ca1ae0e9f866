//! The process's output: the only place that writes to standard output and standard error.

use std::io::{self, IsTerminal as _, Write as _};

use crate::fold::fold;

/// Writes text as it is to standard output. A closed pipe is no error: the reader has seen enough.
pub fn out(text: &str) {
    // What scripts have printed comes first.
    // SAFETY: a null stream flushes all of C's streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    let mut lock = io::stdout().lock();
    let _ = lock.write_all(text.as_bytes()).and_then(|()| lock.flush());
}

/// Writes help to standard output, folded where that is a terminal.
pub fn help(text: &str) {
    match io::stdout().is_terminal() {
        true => out(&fold(text, width())),
        false => out(text),
    }
}

/// Writes a line to standard error.
pub fn note(line: &str) {
    let mut stderr = io::stderr().lock();
    let _ = writeln!(stderr, "{line}");
}

/// Replaces the last line of standard error, if that is a terminal.
pub fn progress(line: &str) {
    if io::stderr().is_terminal() {
        let mut stderr = io::stderr().lock();
        let _ = write!(stderr, "\r\x1b[2K{line}").and_then(|()| stderr.flush());
    }
}

/// Whether colours are welcome on standard output.
pub fn colors(refused: bool) -> bool {
    !refused && std::env::var_os("NO_COLOR").is_none() && io::stdout().is_terminal()
}

/// Columns of the terminal, 80 if there is none.
pub fn width() -> usize {
    const WIDTH: usize = 80;
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: `size` is a valid winsize for the kernel to fill.
    let answer = unsafe { libc::ioctl(libc::STDOUT_FILENO, libc::TIOCGWINSZ, &raw mut size) };
    if answer == 0 && size.ws_col >= 40 {
        usize::from(size.ws_col)
    } else {
        WIDTH
    }
}

unsafe extern "C" {
    /// C's standard output, to which scripts print.
    static mut stdout: *mut libc::FILE;
}

/// Makes what scripts print appear line by line, as it does under sysbench.
pub fn unbuffer_c() {
    // SAFETY: called before anything is printed, on the stream that C itself has opened.
    unsafe { libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0) };
}
