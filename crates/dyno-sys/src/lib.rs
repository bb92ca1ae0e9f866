//! System calls that the null server and the benchmark programs share, so that their `unsafe` code
//! is in one place.

pub mod args;
pub mod epoll;
pub mod process;
pub mod socket;

pub use args::Args;
pub use epoll::{Epoll, Event, Interest};
pub use process::{Cpu, Finished};

/// The value of a system call's result, or the error in `errno`.
fn check(result: libc::c_int) -> std::io::Result<libc::c_int> {
    if result < 0 {
        return Err(std::io::Error::last_os_error());
    }
    Ok(result)
}
