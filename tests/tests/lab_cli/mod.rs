//! `dyno lab`: experiments are planned, run, killed, resumed, reported and packed.

mod bundle;
mod common;
mod killed;
mod levels;
mod mistakes;
mod there;
mod whole;
