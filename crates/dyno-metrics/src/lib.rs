//! A run's figures as metrics: scraped by Prometheus, pushed with OpenTelemetry's protocol, and as
//! OpenMetrics text with time stamps.
//!
//! [`Figures`] holds the run's current figures and returns them as [`Family`]s, which [`text`],
//! [`protobuf`] and [`otlp`] each write in their own format. [`Endpoint`] answers scrapes;
//! [`Pusher`] sends one interval at a time. Nothing is recorded twice: histograms are those of the
//! recorder, in other buckets. There are no percentiles among the metrics, because percentiles of
//! several processes cannot be averaged.
//!
//! # Where to change what
//!
//! - A metric, its name, its buckets: `src/figures.rs`, `src/sums.rs`, `src/names.rs`,
//!   `src/buckets.rs`. Tests compare `docs/metrics.md` and the dashboard with them.
//! - Options: `crates/dyno-cli/src/metrics.rs`.

mod buckets;
mod endpoint;
mod family;
mod figures;
mod history;
mod names;
pub mod otlp;
pub mod protobuf;
mod pusher;
mod sums;
pub mod text;

pub use buckets::{BOUNDS, Distribution, Exponential, NATIVE_SCHEMA};
pub use endpoint::{CpuTime, Endpoint, Shared, address};
pub use family::{Family, Kind, Label, Sample, Unit, Value};
pub use figures::{CATALOGUE, Figures, Metric, Over, Phase};
pub use history::families as history;
pub use pusher::{Batch, Destination, HEADERS, OnTrouble, Pushed, Pusher, QUEUE_MAX};
