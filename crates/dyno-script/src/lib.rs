//! dyno-script
