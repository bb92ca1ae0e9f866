//! Experiments: what their trials measured.

pub mod figures;
