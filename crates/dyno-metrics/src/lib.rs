//! A run's figures as metrics: for Prometheus to scrape, pushed by OpenTelemetry's protocol, and as
//! OpenMetrics text with time stamps.
//!
//! [`Figures`] holds what a run has come to and tells it as [`Family`]s, which [`text`],
//! [`protobuf`] and [`otlp`] each write in their own format. [`Endpoint`] answers scrapes;
//! [`Pusher`] sends an interval at a time. Nothing is recorded twice: histograms are those of the
//! recorder, in other buckets. There are no percentiles among the metrics, since whoever averages
//! those of several processes has a figure of nothing.

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
