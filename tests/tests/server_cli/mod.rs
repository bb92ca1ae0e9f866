//! `dyno server`: servers are created, started, changed, copied, restored and removed, and the
//! effects of failures.

mod common;
// Tests start in the order of their names; this one takes longest.
mod documented;
mod executables;
mod kinds;
mod mistakes;
mod places;
mod unattended;
