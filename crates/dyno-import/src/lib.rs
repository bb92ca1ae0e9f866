//! Other tools' logs as recorded runs.
