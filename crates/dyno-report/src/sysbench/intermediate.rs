//! Lines during a run.

use super::Stat;

/// An interval of a script that uses a database.
pub fn sql_line(stat: &Stat, percentile: u32) -> String {
    format!(
        "[ {:.0}s ] thds: {} tps: {:4.2} qps: {:4.2} (r/w/o: {:4.2}/{:4.2}/{:4.2}) \
         lat (ms,{percentile}%): {:4.2} err/s: {:4.2} reconn/s: {:4.2}\n",
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

/// An interval of anything else.
pub fn event_line(stat: &Stat, percentile: u32) -> String {
    format!(
        "[ {:.0}s ] thds: {} eps: {:4.2} lat (ms,{percentile}%): {:4.2}\n",
        stat.time_total,
        stat.threads_running,
        stat.per_s(stat.events),
        stat.latency_pct * 1e3,
    )
}

/// An interval of the file test: mebibytes read and written per second, fsyncs per second.
pub fn file_line(
    stat: &Stat,
    percentile: u32,
    read_mib_s: f64,
    written_mib_s: f64,
    fsync_s: f64,
) -> String {
    format!(
        "[ {:.0}s ] reads: {read_mib_s:4.2} MiB/s writes: {written_mib_s:4.2} MiB/s \
         fsyncs: {fsync_s:4.2}/s latency (ms,{percentile}%): {:4.3}\n",
        stat.time_total,
        stat.latency_pct * 1e3,
    )
}

/// An interval of the memory test.
pub fn memory_line(stat: &Stat, mib_s: f64) -> String {
    format!("[ {:.0}s ] {mib_s:4.2} MiB/sec\n", stat.time_total)
}

/// The second line of an interval with `--rate`. For scripts that use a database it has a comma,
/// for others none.
pub fn queue_line(stat: &Stat, sql: bool) -> String {
    format!(
        "[ {:.0}s ] queue length: {}{} concurrency: {}\n",
        stat.time_total,
        stat.queue_length,
        if sql { "," } else { "" },
        stat.concurrency,
    )
}

/// The line before the cumulative report at a checkpoint.
pub fn checkpoint(time_total_s: f64) -> String {
    format!("[ {time_total_s:.0}s ] Checkpoint report:\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat() -> Stat {
        Stat {
            threads_running: 2,
            time_interval: 2.0,
            time_total: 4.0,
            latency_pct: 0.004_25,
            events: 1463,
            reads: 20_709,
            writes: 5875,
            other: 2942,
            errors: 12,
            reconnects: 1,
            queue_length: 7,
            concurrency: 2,
            ..Stat::default()
        }
    }

    #[test]
    fn lines_are_exact() {
        assert_eq!(
            sql_line(&stat(), 95),
            "[ 4s ] thds: 2 tps: 731.50 qps: 14763.00 (r/w/o: 10354.50/2937.50/1471.00) \
             lat (ms,95%): 4.25 err/s: 6.00 reconn/s: 0.50\n"
        );
        assert_eq!(
            event_line(&stat(), 0),
            "[ 4s ] thds: 2 eps: 731.50 lat (ms,0%): 4.25\n"
        );
        assert_eq!(
            file_line(&stat(), 99, 1217.664, 811.774, 2595.666),
            "[ 4s ] reads: 1217.66 MiB/s writes: 811.77 MiB/s fsyncs: 2595.67/s \
             latency (ms,99%): 4.250\n"
        );
        assert_eq!(memory_line(&stat(), 5690.655), "[ 4s ] 5690.65 MiB/sec\n");
        assert_eq!(
            queue_line(&stat(), true),
            "[ 4s ] queue length: 7, concurrency: 2\n"
        );
        assert_eq!(
            queue_line(&stat(), false),
            "[ 4s ] queue length: 7 concurrency: 2\n"
        );
        assert_eq!(checkpoint(30.0), "[ 30s ] Checkpoint report:\n");
    }

    #[test]
    fn an_empty_interval_divides_by_nothing() {
        assert_eq!(
            sql_line(
                &Stat {
                    time_interval: 0.0,
                    ..stat()
                },
                95
            ),
            "[ 4s ] thds: 2 tps: 0.00 qps: 0.00 (r/w/o: 0.00/0.00/0.00) lat (ms,95%): 4.25 \
             err/s: 0.00 reconn/s: 0.00\n"
        );
    }
}
