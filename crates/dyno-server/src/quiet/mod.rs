//! Waits until a server has no background work, so that the leftovers of a trial (dirty pages, old
//! row versions, compactions, vacuum) do not burden the next one.

mod mysql;
mod postgres;

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::Target;
use dyno_core::db::Family;
use dyno_core::target::Endpoint;
use dyno_core::units::human_size;
use dyno_drivers::Control;

use crate::contract::{ANSWER, connect_to};
use crate::error::{Result, failed};

/// Between two samples of the counters.
const POLL: Duration = Duration::from_secs(1);
/// The number of consecutive idle samples: background threads pause, too.
const QUIET_POLLS: u32 = 3;
/// After this many samples without any change, the remaining work is considered permanent.
const STILL_POLLS: u32 = 10;
/// Acceptable dirty bytes of the host: other processes always have some.
const HOST_DIRTY_MAX: u64 = 32 << 20;

/// The result of waiting until a server is idle.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// No work was left.
    pub quiet: bool,
    /// The time waited.
    pub waited: Duration,
    /// The remaining work, in words with numbers.
    pub left: Vec<String>,
}

/// A kind of background work.
#[derive(Clone, Debug, PartialEq)]
struct Work {
    /// Its amount, in words.
    what: String,
    /// It exceeds the level of an idle server.
    busy: bool,
    /// Its figure, if it changes only by work on it.
    figure: Option<u64>,
}

impl Work {
    /// Work with a figure that changes only by work on it.
    fn amount(figure: u64, limit: u64, what: String) -> Self {
        Self {
            what,
            busy: figure > limit,
            figure: Some(figure),
        }
    }

    /// Work with a figure that changes by itself.
    fn activity(figure: u64, limit: u64, what: String) -> Self {
        Self {
            what,
            busy: figure > limit,
            figure: None,
        }
    }

    fn in_the_end(self, is_still: bool) -> String {
        match is_still && self.figure.is_some() {
            true => format!("{}, unchanged for {STILL_POLLS} s", self.what),
            false => self.what,
        }
    }
}

/// Waits until the server at a URL has no background work, for at most `at_most`. Checks once a
/// second: on MariaDB and MySQL dirty pages, age of the checkpoint, history of old row versions,
/// InnoDB's reads and writes, MyRocks' flushes and compactions; on PostgreSQL (after a
/// `CHECKPOINT`, repeated after vacuum) WAL since the last checkpoint, workers of autovacuum,
/// tables that are due for it; and the dirty pages of the host, if it is this one.
///
/// Waiting ends early if remaining work has not changed for 10 seconds, such as dirty pages that a
/// server keeps until it needs room. Reports the remaining work at each check.
///
/// # Errors
/// The server does not answer, or its family has no such counters.
pub fn settle(url: &str, at_most: Duration, report: &mut dyn FnMut(&str)) -> Result<Settled> {
    let begun = Clock.now();
    let lost = |why: String| failed(format!("cannot tell whether the server is quiet: {why}"));
    let mut reached = match connect_to(url) {
        Ok(reached) => reached,
        Err(why) => return lost(why),
    };
    let is_here = Target::parse(url).is_ok_and(|target| is_here(&target));
    let mut server: Box<dyn Look> = match reached.family {
        Family::Mysql => Box::new(mysql::Counters::default()),
        Family::Postgres => Box::new(postgres::Counters::begin(&mut reached.control, at_most)),
        _ => return lost("this kind of server has no counters of background work".to_owned()),
    };
    // A checkpoint timeout has closed the connection.
    if !reached.control.is_open() {
        match connect_to(url) {
            Ok(again) => reached = again,
            Err(why) => return lost(why),
        }
    }
    let (mut quiet_polls, mut still) = (0, Stillness::default());
    loop {
        let mut work = match server.look(&mut reached.control) {
            Ok(work) => work,
            Err(why) => return lost(why),
        };
        let is_still = still.sees(&work);
        if is_here {
            work.extend(host(
                &fs::read_to_string("/proc/meminfo").unwrap_or_default(),
            ));
        }
        work.retain(|work| work.busy);
        // The host's dirty pages are written without further action.
        let stays = is_still && work.iter().any(|work| work.figure.is_some());
        let left: Vec<String> = work.iter().map(|work| work.what.clone()).collect();
        quiet_polls = match left.is_empty() {
            true => quiet_polls + 1,
            false => 0,
        };
        let quiet = quiet_polls >= QUIET_POLLS;
        if quiet || stays || Clock.since(begun) + POLL > at_most {
            let waited = Clock.since(begun);
            let left = work
                .into_iter()
                .map(|work| work.in_the_end(is_still))
                .collect();
            return Ok(Settled {
                quiet,
                waited,
                left,
            });
        }
        match left.is_empty() {
            true => report("quiet so far"),
            false => report(&left.join("; ")),
        }
        std::thread::sleep(POLL);
    }
}

/// Reads the counters of one kind of server.
trait Look {
    /// All present and potential work.
    fn look(&mut self, control: &mut Control) -> std::result::Result<Vec<Work>, String>;
}

/// Whether figures change.
#[derive(Default)]
struct Stillness {
    last: Vec<u64>,
    polls: u32,
}

impl Stillness {
    fn sees(&mut self, work: &[Work]) -> bool {
        let figures: Vec<u64> = work.iter().filter_map(|work| work.figure).collect();
        let active = work.iter().any(|work| work.busy && work.figure.is_none());
        self.polls = match figures == self.last && !active {
            true => self.polls + 1,
            false => 0,
        };
        self.last = figures;
        self.polls >= STILL_POLLS
    }
}

/// Whether the server runs on this host.
fn is_here(target: &Target) -> bool {
    target.endpoints.iter().all(|endpoint| match endpoint {
        Endpoint::Unix(_) => true,
        Endpoint::Tcp(host, _) => ["localhost", "127.0.0.1", "::1"].contains(&host.as_str()),
    })
}

/// The host's dirty pages, from proc(5).
fn host(meminfo: &str) -> Option<Work> {
    let kilobytes = |name: &str| {
        let line = meminfo.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse::<u64>().ok()
    };
    let bytes = (kilobytes("Dirty:")? + kilobytes("Writeback:")?) * 1024;
    let what = format!("the host has {} to write back", human_size(bytes));
    Some(Work::activity(bytes, HOST_DIRTY_MAX, what))
}

/// A number with its noun.
fn counted(count: u64, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

/// Names and values of a statement with two columns, names in lower case.
fn pairs(
    control: &mut Control,
    sql: &str,
) -> std::result::Result<BTreeMap<String, String>, String> {
    let rows = control
        .query(sql, ANSWER)
        .map_err(|error| error.to_string())?;
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            let mut fields = row.into_iter().map(Option::unwrap_or_default);
            Some((fields.next()?.to_ascii_lowercase(), fields.next()?))
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_is_busy_when_much_is_dirty() {
        let text =
            "MemTotal:  8 kB\nDirty:    40960 kB\nWriteback:   1024 kB\nWritebackTmp: 9 kB\n";
        let work = host(text).expect("it is there");
        assert!(work.busy && work.what.contains("41.0 MiB"), "{work:?}");
        assert!(
            !host("Dirty: 100 kB\nWriteback: 0 kB\n")
                .expect("it is there")
                .busy
        );
        assert_eq!(host("nothing"), None);
    }

    #[test]
    fn constant_work_counts_as_still() {
        let dirty = |pages| vec![Work::amount(pages, 10, format!("{pages} dirty pages"))];
        let mut still = Stillness::default();
        assert!(!still.sees(&dirty(90)));
        for poll in 1..=STILL_POLLS {
            assert_eq!(still.sees(&dirty(90)), poll == STILL_POLLS);
        }
        assert!(!still.sees(&dirty(89)), "it moves");
        let mut reading = dirty(89);
        reading.push(Work::activity(5, 0, "reading".to_owned()));
        let ever = (0..20).any(|_| still.sees(&reading));
        assert!(!ever, "somebody works");
        let said = dirty(90).remove(0).in_the_end(true);
        assert_eq!(said, "90 dirty pages, unchanged for 10 s");
    }

    #[test]
    fn a_missing_server_is_an_error() {
        let url = "mysql://root@127.0.0.1:1/x";
        let error = settle(url, Duration::from_secs(1), &mut |_| {}).expect_err("nobody listens");
        assert!(error.to_string().contains("cannot tell whether"), "{error}");
    }
}
