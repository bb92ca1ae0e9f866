//! `dyno server`: creates, starts, changes, copies, restores and removes servers, and handles
//! failures.

mod common;
// Tests start in the order of their names, and this one takes longest.
mod documented;
mod executables;
mod kinds;
mod mistakes;
mod places;
mod unattended;
