//! The waits of sessions in the server, if they limit the figures.

use dyno_core::catalogue::names;
use dyno_core::record::{RunRecord, Series};

/// A smaller share of the sessions is not reported.
const SHARE_MIN: f64 = 0.05;

/// The minimum number of samples: sessions that begin also open their tables.
const SAMPLES_MIN: usize = 3;

/// The share of opened tables missing in the cache; below it the cache is no limit.
const MISSES_MIN: f64 = 0.01;

/// Throttled periods, in percent of all periods, from which on a quota is reported.
const THROTTLED_MIN: f64 = 50.0;

/// Limits shown by the server's list of sessions, as sentences; usually empty.
pub(crate) fn waits(run: &RunRecord) -> Vec<String> {
    [opening_tables(run), throttled(run)]
        .into_iter()
        .flatten()
        .collect()
}

/// A CPU quota that the server used up in most of its periods.
fn throttled(run: &RunRecord) -> Option<String> {
    let measured_s = run.summary.as_ref()?.measured_s;
    let series = run.series(names::SERVER_CGROUP_CPU_THROTTLED)?;
    let percent = series.mean(0.0, measured_s)?;
    (percent >= THROTTLED_MIN).then(|| {
        format!(
            "The server's cgroup: its CPU quota was used up in {percent:.0} % of the \
             periods."
        )
    })
}

/// The share of the run's sessions that were opening tables.
fn opening_tables(run: &RunRecord) -> Option<String> {
    let sessions = f64::from(run.head.drive.as_ref()?.sessions);
    let measured_s = run.summary.as_ref()?.measured_s;
    let series = run.series(names::DB_SESSIONS_OPENING_TABLES)?;
    let mean = series.mean(0.0, measured_s)?;
    // The server's list includes the sessions of others: the share is one of all.
    let largest = |series: &Series| {
        series
            .points
            .iter()
            .map(|(_, count)| *count)
            .fold(0.0, f64::max)
    };
    let others = run.series(names::DB_OTHER_SESSIONS).map_or(0.0, largest);
    let at_once = largest(series);
    let all = (sessions + others).max(at_once).max(1.0);
    let share = mean / all;
    if missed(run, measured_s)? < MISSES_MIN {
        return None;
    }
    let seen = |(at, count): &&(f64, f64)| *at > 0.0 && *at <= measured_s && *count > 0.0;
    let often = series.points.iter().filter(seen).count() >= SAMPLES_MIN;
    (often && share >= SHARE_MIN).then(|| {
        let limit = run.setting("table_open_cache");
        let limit = limit.map_or_else(String::new, |n| format!("; table_open_cache is {n}"));
        let whose = match others > 0.0 || at_once > sessions {
            true => ", including those of other clients,",
            false => "",
        };
        format!(
            "The server's table cache: {:.0} % of the sessions{whose} were opening tables on \
             average{limit}.",
            share * 100.0
        )
    })
}

/// The share of opened tables missing in the cache. Sessions also wait for the locks of a cache
/// that has all tables.
fn missed(run: &RunRecord, measured_s: f64) -> Option<f64> {
    let mean = |name: &str| run.series(name)?.mean(0.0, measured_s);
    let misses = mean(names::DB_STATUS_TABLE_OPEN_CACHE_MISSES);
    let hits = mean(names::DB_STATUS_TABLE_OPEN_CACHE_HITS);
    // Older servers count each table that they open, but not cache hits.
    let (misses, all) = match misses {
        Some(misses) => (misses, misses + hits.unwrap_or(0.0)),
        None => (
            mean(names::DB_STATUS_OPENED_TABLES)?,
            mean(names::DB_STATUS_QUESTIONS)?,
        ),
    };
    (all > 0.0).then(|| misses / all)
}

#[cfg(test)]
mod tests {
    use dyno_core::record::SeriesKind;
    use dyno_samples::{self as samples, values};

    use super::*;

    fn run(opening: f64) -> RunRecord {
        let mut run = samples::good();
        let sessions = f64::from(run.head.drive.as_ref().unwrap().sessions);
        samples::series(&mut run, "db.status.table_open_cache_misses", &[40.0; 4]);
        samples::series(&mut run, "db.status.table_open_cache_hits", &[960.0; 4]);
        // Values before the measurement do not count.
        let points = [
            (-1.0, sessions),
            (1.0, 0.0),
            (2.0, opening * sessions),
            (3.0, opening * sessions),
            (4.0, opening * sessions),
        ];
        let opening = values::series(
            names::DB_SESSIONS_OPENING_TABLES,
            "count",
            SeriesKind::Gauge,
            &points,
        );
        run.series.push(opening);
        run.settings
            .retain(|setting| setting.name != "table_open_cache");
        run
    }

    #[test]
    fn a_server_that_used_up_its_cpu_quota_is_reported() {
        let of = |percent: f64| {
            let mut run = samples::good();
            samples::series(&mut run, "server.cgroup.cpu_throttled", &[percent; 30]);
            waits(&run)
        };
        let expected = "The server's cgroup: its CPU quota was used up in 72 % of the periods.";
        assert_eq!(of(72.0), [expected]);
        assert!(of(20.0).is_empty());
    }

    #[test]
    fn reports_sessions_that_open_tables() {
        assert!(waits(&samples::good()).is_empty());
        assert!(waits(&run(0.05)).is_empty());
        let mut once = run(1.0);
        once.series.last_mut().unwrap().points.truncate(3);
        assert!(waits(&once).is_empty());
        let mut crowded = run(0.4);
        let sessions = f64::from(crowded.head.drive.as_ref().unwrap().sessions);
        samples::series(&mut crowded, "db.other_sessions", &[sessions; 4]);
        let expected = "The server's table cache: 15 % of the sessions, including those of \
                    other clients, were opening tables on average.";
        assert_eq!(waits(&crowded), [expected]);
        // There are more sessions than the run has, so those of others are among them.
        let crowded = waits(&run(8.65));
        let expected = "75 % of the sessions, including those of other clients,";
        assert!(crowded[0].contains(expected), "{crowded:?}");
        for misses in [0.0, 0.3] {
            let mut cached = run(0.4);
            let name = "db.status.table_open_cache_misses";
            samples::series(&mut cached, name, &[misses; 4]);
            assert!(waits(&cached).is_empty(), "{misses} misses per second");
        }
        let mut uncounted = run(0.4);
        samples::drop_series(&mut uncounted, "db.status.");
        assert!(waits(&uncounted).is_empty());
        let mut run = run(0.4);
        let expected = "The server's table cache: 30 % of the sessions were opening tables on \
                    average";
        assert_eq!(waits(&run), [format!("{expected}.")]);
        run.settings
            .push(values::setting("table_open_cache", "100", None));
        assert_eq!(
            waits(&run),
            [format!("{expected}; table_open_cache is 100.")]
        );
    }
}
