//! Checks procedures against known values and properties.

#![allow(clippy::unwrap_used)] // a broken test may well panic

mod fixture;
mod properties;
mod search;
mod vectors;
