//! The three reporters that a script may choose for its hooks: `sysbench.report_default`,
//! `report_csv` and `report_json`.

use super::Stat;
use super::intermediate::{errors, rates_and_latency};

/// The text before the first object of [`report_json`].
pub const JSON_FIRST: &str = "[\n";
/// The text between two objects.
pub const JSON_BETWEEN: &str = ",\n";
/// The text after the last object.
pub const JSON_LAST: &str = "\n]\n";

/// The line of an interval, but without the colon after `err/s` that [`super::sql_line`] has.
pub fn report_default(stat: &Stat, percentile: u32) -> String {
    format!(
        "{} err/s {}",
        rates_and_latency(stat, percentile),
        errors(stat)
    )
}

/// Time, sessions, transactions, queries, reads, writes and others per second, latency in
/// milliseconds, errors and reconnects per second.
pub fn report_csv(stat: &Stat) -> String {
    format!(
        "{:.0},{},{:4.2},{:4.2},{:4.2},{:4.2},{:4.2},{:4.2},{:4.2},{:4.2}\n",
        stat.time_total,
        stat.threads_running,
        stat.per_s(stat.events),
        stat.per_s(stat.queries()),
        stat.per_s(stat.reads),
        stat.per_s(stat.writes),
        stat.per_s(stat.other),
        stat.latency_pct * 1e3,
        stat.per_s(stat.errors),
        stat.per_s(stat.reconnects),
    )
}

/// One object, without a line end: [`JSON_BETWEEN`] or [`JSON_LAST`] follows.
pub fn report_json(stat: &Stat) -> String {
    format!(
        r#"  {{
    "time": {:4.0},
    "threads": {},
    "tps": {:4.2},
    "qps": {{
      "total": {:4.2},
      "reads": {:4.2},
      "writes": {:4.2},
      "other": {:4.2}
    }},
    "latency": {:4.2},
    "errors": {:4.2},
    "reconnects": {:4.2}
  }}"#,
        stat.time_total,
        stat.threads_running,
        stat.per_s(stat.events),
        stat.per_s(stat.queries()),
        stat.per_s(stat.reads),
        stat.per_s(stat.writes),
        stat.per_s(stat.other),
        stat.latency_pct * 1e3,
        stat.per_s(stat.errors),
        stat.per_s(stat.reconnects),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat() -> Stat {
        Stat {
            threads_running: 1,
            time_interval: 1.0,
            time_total: 1.2,
            latency_pct: 0.000_25,
            events: 5382,
            reads: 5382,
            writes: 0,
            other: 5383,
            errors: 3,
            ..Stat::default()
        }
    }

    #[test]
    fn the_default_line_is_exact() {
        assert_eq!(
            report_default(&stat(), 95),
            "[ 1s ] thds: 1 tps: 5382.00 qps: 10765.00 (r/w/o: 5382.00/0.00/5383.00) \
             lat (ms,95%): 0.25 err/s 3.00 reconn/s: 0.00\n"
        );
    }

    #[test]
    fn the_csv_line_is_exact() {
        assert_eq!(
            report_csv(&stat()),
            "1,1,5382.00,10765.00,5382.00,0.00,5383.00,0.25,3.00,0.00\n"
        );
    }

    #[test]
    fn the_json_array_is_exact_and_json() {
        let one = report_json(&stat());
        let text = format!("{JSON_FIRST}{one}{JSON_BETWEEN}{one}{JSON_LAST}");
        let parsed: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(parsed[1]["qps"]["other"], 5383.0);
        assert_eq!(
            format!("{JSON_FIRST}{one}{JSON_LAST}"),
            r#"[
  {
    "time":    1,
    "threads": 1,
    "tps": 5382.00,
    "qps": {
      "total": 10765.00,
      "reads": 5382.00,
      "writes": 0.00,
      "other": 5383.00
    },
    "latency": 0.25,
    "errors": 3.00,
    "reconnects": 0.00
  }
]
"#
        );
    }
}
