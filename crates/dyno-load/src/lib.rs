//! dyno-load
