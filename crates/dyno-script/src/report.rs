//! A script's own reports.

use mlua::{Function, Table};

use crate::host::Host;

/// The argument of `report_intermediate` and `report_cumulative`. Times in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(missing_docs)] // named as in scripts
pub struct Stat {
    pub threads_running: u32,
    pub time_interval: f64,
    pub time_total: f64,
    pub latency_pct: f64,
    pub events: u64,
    pub reads: u64,
    pub writes: u64,
    pub other: u64,
    pub errors: u64,
    pub reconnects: u64,
    pub queue_length: u64,
    pub concurrency: u32,
    /// Minimum, maximum, mean and sum; in cumulative reports only.
    pub latency: Option<[f64; 4]>,
}

impl Host {
    /// Sets the statistics for a report hook (`report_intermediate`, `report_cumulative`), which
    /// [`Entry::Hook`](dyno_core::session::Entry::Hook) calls.
    ///
    /// # Errors
    /// Lua is out of memory.
    pub fn set_stat(&self, stat: &Stat) -> Result<(), String> {
        self.stat_table(stat)
            .and_then(|table| self.api.set("hook_argument", table))
            .map_err(|error| error.to_string())
    }

    /// Ends the output of a report function (the JSON array of `report_json`).
    ///
    /// # Errors
    /// Standard output is closed.
    pub fn finish_report(&self) -> Result<(), String> {
        self.api
            .get::<Function>("finish_report")
            .and_then(|finish| finish.call::<()>(()))
            .map_err(|error| error.to_string())
    }

    fn stat_table(&self, stat: &Stat) -> mlua::Result<Table> {
        let table = self.lua.create_table()?;
        for (name, value) in [
            ("threads_running", f64::from(stat.threads_running)),
            ("time_interval", stat.time_interval),
            ("time_total", stat.time_total),
            ("latency_pct", stat.latency_pct),
            ("events", stat.events as f64),
            ("reads", stat.reads as f64),
            ("writes", stat.writes as f64),
            ("other", stat.other as f64),
            ("errors", stat.errors as f64),
            ("reconnects", stat.reconnects as f64),
            ("queue_length", stat.queue_length as f64),
            ("concurrency", f64::from(stat.concurrency)),
        ] {
            table.set(name, value)?;
        }
        if let Some([min, max, avg, sum]) = stat.latency {
            for (name, value) in [
                ("latency_min", min),
                ("latency_max", max),
                ("latency_avg", avg),
                ("latency_sum", sum),
            ] {
                table.set(name, value)?;
            }
        }
        Ok(table)
    }
}
