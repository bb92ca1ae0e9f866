//! dyno-report
