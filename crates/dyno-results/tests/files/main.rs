//! Writes results files and reads them.

#![allow(clippy::unwrap_used)] // a broken test may well panic

mod common;
mod day;
mod history;
mod killed;
mod progress;
mod recording;
mod round_trip;
mod scopes;
mod sequences;
mod stalls;
mod unfit;
mod views;
