//! HammerDB's time profiles: `xtprof` of all virtual users, and `etprof` of one of them.

use std::collections::BTreeMap;

use dyno_core::text::{number_of, verb};

use crate::laws::{Precision, Spread};
use crate::number;

/// The names of the TPROC-C transactions; `etprof` also lists the script's other procedures.
const TRANSACTIONS: [&str; 5] = ["neword", "payment", "delivery", "slev", "ostat"];
const US_PER_MS: f64 = 1000.0;
const MS_PER_S: f64 = 1000.0;
/// Times have three decimals, and HammerDB's means are of whole microseconds.
const MEAN_ROOM_MS: f64 = 0.0016;
/// Each time is rounded separately.
const ROOM_MS: f64 = 0.0011;
/// The printed time is the median over virtual users; their mean may be longer by this factor.
const LONGER: f64 = 1.1;

/// One stored procedure in a time profile. Times are milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Procedure {
    pub(super) name: String,
    pub(super) calls: u64,
    pub(super) min: Option<f64>,
    pub(super) avg: f64,
    pub(super) max: Option<f64>,
    pub(super) total: f64,
    /// (percent, milliseconds).
    pub(super) percentiles: Vec<(f64, f64)>,
    pub(super) deviation: Option<f64>,
    /// Whether its times are left out, and only its calls are known.
    pub(super) is_untimed: bool,
}

impl Procedure {
    fn named(name: &str) -> Self {
        Self {
            name: name.trim().to_ascii_lowercase(),
            ..Self::default()
        }
    }

    /// Describes calls that cannot be true.
    fn miscounted(&self) -> Option<String> {
        let implied = self.avg * self.calls as f64;
        let room = MEAN_ROOM_MS * self.calls as f64 + ROOM_MS;
        let known = self.avg > 0.0 && self.total > 0.0;
        (known && (implied - self.total).abs() > room).then(|| {
            format!(
                "{} of {} ms {} not {} ms",
                number_of(self.calls, "call"),
                self.avg,
                verb(self.calls, "is", "are"),
                self.total
            )
        })
    }

    fn leave_out_times(&mut self) {
        *self = Self {
            calls: self.calls,
            is_untimed: true,
            ..Self::named(&self.name)
        };
    }

    /// The first time that is missing although there were calls.
    fn missing(&self) -> Option<&'static str> {
        let times = [(self.avg, "mean"), (self.total, "total")];
        let missing = times.into_iter().find(|(ms, _)| *ms <= 0.0);
        missing.filter(|_| self.calls > 0).map(|(_, what)| what)
    }

    fn spread(&self) -> Spread<'_> {
        Spread {
            what: "times",
            unit: "ms",
            precision: Precision {
                half_digit: ROOM_MS / 2.0,
                decimals: 3,
                bucket: 0.0,
                last_bucket: f64::INFINITY,
            },
            count: Some(self.calls as f64),
            min: self.min,
            mean: Some(self.avg),
            max: self.max,
            stddev: self.deviation,
            percentiles: &self.percentiles,
        }
    }

    /// Leaves out times that are missing or cannot be true, and says so.
    fn leave_out(&mut self) -> Option<String> {
        let times = |why: &str| format!("the times of {} are left out: {why}", self.name);
        if let Some(what) = self.missing() {
            let text = times(&format!("their {what} is missing"));
            self.leave_out_times();
            return Some(text);
        }
        // Percentiles of several users may differ from those of all their times.
        if let Some(law) = self.spread().disorder().first() {
            let text = times(&law.text);
            self.leave_out_times();
            return Some(text);
        }
        let wide = self.spread().too_wide()?;
        self.deviation = None;
        Some(format!(
            "the deviation of {} is left out: {}",
            self.name, wide.text
        ))
    }
}

/// The virtual users in a profile.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Of {
    /// All virtual users, in HammerDB's summary.
    #[default]
    All,
    One(String),
}

/// A time profile, over the ramp-up and the test.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    pub(super) of: Of,
    pub(super) elapsed_s: Option<f64>,
    pub(super) procedures: Vec<Procedure>,
    /// Whether a log has a profile, readable or not.
    pub(super) is_there: bool,
    /// Warnings about data that is wrong and left out.
    pub(super) said: Vec<String>,
}

impl Profile {
    /// Describes procedures that took longer than the virtual users had: each of them runs one at a
    /// time.
    fn overrun(&self, active: Option<u64>) -> Option<String> {
        let had_s = active? as f64 * self.elapsed_s.filter(|s| *s > 0.0)?;
        let took_ms: f64 = self.procedures.iter().map(|own| own.total).sum();
        let took_s = took_ms / MS_PER_S;
        (took_s > had_s * LONGER)
            .then(|| format!("they took {took_s:.0} s, but the virtual users had {had_s:.0} s"))
    }

    /// Whether it has readable data.
    pub(super) fn is_read(&self) -> bool {
        !self.procedures.is_empty()
    }
}

/// The section of a profile that contains the last line.
#[derive(Debug, Default, PartialEq)]
enum Within {
    #[default]
    Nothing,
    User,
    Summary,
    Table,
}

/// Reads profiles line by line.
#[derive(Debug, Default)]
pub(super) struct Reader {
    profile: Profile,
    within: Within,
    /// The single users' procedures: number of users, and calls of all.
    users: BTreeMap<String, (u32, u64)>,
    procedure: String,
    /// The number of users in the summary.
    active: Option<u64>,
}

impl Reader {
    /// Reads a line printed by `user`; returns whether it belongs to a profile.
    pub(super) fn take(&mut self, user: Option<&str>, line: &str) -> bool {
        if line.starts_with('|') || line.starts_with("+--") {
            self.table(user, line);
            return true;
        }
        if let Some(rest) = line.strip_prefix(">>>>> SUMMARY OF ") {
            let elapsed = rest.rsplit_once("ELAPSED TIME :").map(|(_, ms)| ms);
            let ms = elapsed.and_then(number::leading).map(|(ms, _)| ms);
            self.active = number::leading_count(rest).map(|(users, _)| users);
            self.within = Within::Summary;
            self.profile = Profile {
                elapsed_s: ms.map(|ms| ms / MS_PER_S),
                is_there: true,
                ..Profile::default()
            };
            return true;
        }
        if line.starts_with(">>>>> VIRTUAL USER ") {
            self.within = Within::User;
            self.profile.is_there = true;
            return true;
        }
        if let Some(name) = line.strip_prefix(">>>>> PROC: ") {
            let procedure = Procedure::named(name);
            self.procedure.clone_from(&procedure.name);
            if self.within == Within::Summary {
                self.profile.procedures.push(procedure);
            }
            return true;
        }
        let known = line.starts_with("CALLS:") || line.starts_with("P99:");
        match self.within {
            Within::Summary if known => {
                if let Some(procedure) = self.profile.procedures.last_mut() {
                    figures(procedure, line);
                }
            }
            Within::User if line.starts_with("CALLS:") => {
                let mut own = Procedure::default();
                figures(&mut own, line);
                let (users, calls) = self.users.entry(self.procedure.clone()).or_default();
                *users += 1;
                *calls = calls.saturating_add(own.calls);
            }
            _ => {}
        }
        known
    }

    /// `|neword | 94996000|54.69%| 6877| 13813| 95569025|`, in microseconds, below the column
    /// names.
    fn table(&mut self, user: Option<&str>, line: &str) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        if cells.starts_with(&["PROCNAME", "EXCLUSIVETOT"]) {
            // It is printed more than once; the last one is complete.
            self.within = Within::Table;
            self.profile = Profile {
                of: Of::One(user.unwrap_or_default().to_owned()),
                is_there: true,
                ..Profile::default()
            };
            return;
        }
        let [name, total_us, _, calls, avg_us, _] = cells.as_slice() else {
            return;
        };
        let (Some(total_us), Some(calls), Some(avg_us)) = (
            number::decimal(total_us),
            number::count(calls),
            number::decimal(avg_us),
        ) else {
            return;
        };
        let procedure = Procedure {
            calls,
            avg: avg_us / US_PER_MS,
            total: total_us / US_PER_MS,
            ..Procedure::named(name)
        };
        if self.within == Within::Table && TRANSACTIONS.contains(&procedure.name.as_str()) {
            self.profile.procedures.push(procedure);
        }
    }

    pub(super) fn has_figures(&self) -> bool {
        self.profile.is_read()
    }

    /// The profile, without data that contradicts itself.
    pub(super) fn finish(self) -> Profile {
        let Self {
            mut profile,
            users,
            active,
            ..
        } = self;
        let mut said = Vec::new();
        let whole = |users: u32| active == Some(u64::from(users));
        for own in &mut profile.procedures {
            let parts = users.get(&own.name).filter(|(users, _)| whole(*users));
            // If HammerDB also stores jobs, the summary includes each user's times twice.
            if let Some((_, calls)) = parts
                && own.calls == calls.saturating_mul(2)
            {
                said.push(format!(
                    "{}: the summary has {}, all virtual users {calls}; the latter is used",
                    own.name,
                    number_of(own.calls, "call")
                ));
                (own.calls, own.total) = (*calls, own.total / 2.0);
            }
        }
        let mut wrong = false;
        for own in &mut profile.procedures {
            let others = users.get(&own.name).filter(|(users, _)| whole(*users));
            let others = others.filter(|(_, calls)| *calls != own.calls);
            let parts = others.map(|(_, calls)| {
                format!(
                    "the summary has {}, all virtual users {calls}",
                    number_of(own.calls, "call")
                )
            });
            if let Some(why) = own.miscounted().or(parts) {
                said.push(format!("{} is skipped: {why}", own.name));
                wrong = true;
            } else {
                said.extend(own.leave_out());
            }
        }
        if wrong && profile.procedures.len() > 1 {
            said.push("all procedures are skipped: the rest is incomplete".to_owned());
        }
        if let Some(why) = profile.overrun(active).filter(|_| !wrong) {
            said.push(format!("all procedures are skipped: {why}"));
            wrong = true;
        }
        if wrong {
            profile.procedures.clear();
        }
        profile.said = said;
        profile
    }
}

/// `CALLS: 3427 MIN: 1.730ms …`, `P99: 210.118ms … SD: 49.663 RATIO: 49.0%`, separated by tabs, or
/// by nothing if those were lost.
fn figures(procedure: &mut Procedure, line: &str) {
    for (at, _) in line.match_indices(':') {
        let before = &line[..at];
        let digits = before.trim_end_matches(|c: char| c.is_ascii_digit());
        let letters = digits.trim_end_matches(|c: char| c.is_ascii_uppercase());
        let label = &before[letters.len()..];
        let Some((value, unit)) =
            number::leading(&line[at + 1..]).filter(|(value, _)| *value >= 0.0)
        else {
            continue;
        };
        let percent = label.strip_prefix('P').and_then(|p| p.parse::<f64>().ok());
        // A time without its unit may be cut off.
        let ms = unit.starts_with("ms");
        match label {
            "CALLS" => procedure.calls = number::leading_count(&line[at + 1..]).map_or(0, |c| c.0),
            "MIN" if ms => procedure.min = Some(value),
            "AVG" if ms => procedure.avg = value,
            "MAX" if ms => procedure.max = Some(value),
            "TOTAL" if ms => procedure.total = value,
            // Up to version 5.0 it is printed in clicks, without a unit.
            "SD" if ms => procedure.deviation = Some(value),
            _ => procedure
                .percentiles
                .extend(percent.filter(|_| ms).map(|percent| (percent, value))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Profile {
        let mut reader = Reader::default();
        for line in text.lines() {
            reader.take(Some("2"), line.trim());
        }
        reader.finish()
    }

    #[test]
    fn figures_with_tabs_and_without() {
        let tabs = ">>>>> SUMMARY OF 3 ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : 90000ms\n\
            >>>>> PROC: SLEV\n\
            CALLS: 200\tMIN: 0.500ms\tAVG: 1.250ms\tMAX: 9.000ms\tTOTAL: 250.100ms\n\
            P99: 8.000ms\tP95: 6.125ms\tP50: 1.000ms\tSD: 612.500\tRATIO: 1.000%\n";
        let own = Procedure {
            name: "slev".to_owned(),
            calls: 200,
            min: Some(0.5),
            avg: 1.25,
            max: Some(9.0),
            total: 250.1,
            percentiles: vec![(99.0, 8.0), (95.0, 6.125), (50.0, 1.0)],
            deviation: None,
            is_untimed: false,
        };
        let found = read(tabs);
        assert_eq!(found.procedures.first(), Some(&own));
        assert_eq!(read(&tabs.replace('\t', "")).procedures, [own]);
        assert_eq!((found.elapsed_s, found.of), (Some(90.0), Of::All));
        let unit = read(&tabs.replace("612.500", "0.612ms"));
        assert_eq!(unit.procedures[0].deviation, Some(0.612));
        // Impossible figures are left out and named.
        let total = read(&tabs.replace("TOTAL: 250.100", "TOTAL: 950.100"));
        assert_eq!(total.procedures, []);
        assert!(total.said[0].contains("200 calls of 1.25 ms are not 950.1 ms"));
        for (from, to, expected) in [
            ("P95: 6.125", "P95: 8.125", "is above the 99th percentile"),
            ("MAX: 9.000", "MAX: 1.100", "is above the maximum"),
            ("AVG: 1.250ms", "AVG: 1.2", "their mean is missing"),
            ("TOTAL: 250.100ms", "TOTAL: 2", "their total is missing"),
        ] {
            let wrong = read(&tabs.replace(from, to));
            let [own] = wrong.procedures.as_slice() else {
                panic!("{to}: {wrong:?}");
            };
            assert_eq!((own.calls, own.is_untimed, own.max), (200, true, None));
            assert!(wrong.said[0].contains(expected), "{:?}", wrong.said);
        }
        let wide = read(&tabs.replace("612.500", "9.000ms"));
        assert_eq!(wide.procedures[0].deviation, None);
        assert!(wide.said[0].contains("allow at most"), "{:?}", wide.said);
    }

    #[test]
    fn procedures_are_the_whole_and_take_no_longer_than_the_users() {
        let text = |total: &str, elapsed: u32| {
            format!(
                ">>>>> SUMMARY OF 2 ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : {elapsed}ms\n\
                 >>>>> PROC: NEWORD\n\
                 CALLS: 1000\tMIN: 1.000ms\tAVG: 6.000ms\tMAX: 9.000ms\tTOTAL: {total}ms\n\
                 >>>>> PROC: OSTAT\n\
                 CALLS: 100\tMIN: 1.000ms\tAVG: 2.000ms\tMAX: 3.000ms\tTOTAL: 200.000ms\n"
            )
        };
        let found = read(&text("6000.000", 4000));
        assert_eq!((found.procedures.len(), found.said.len()), (2, 0));
        let found = read(&text("9000.000", 4000));
        assert_eq!(found.procedures, []);
        assert!(found.said[1].contains("the rest is incomplete"));
        let found = read(&text("6000.000", 400));
        assert_eq!(found.procedures, []);
        assert!(found.said[0].contains("took 6 s, but the virtual users had 1 s"));
    }

    #[test]
    fn calls_are_those_of_all_users() {
        let user = |number: u32, calls: u32| {
            format!(
                ">>>>> VIRTUAL USER {number} : ELAPSED TIME : 9000ms\n>>>>> PROC: OSTAT\n\
                 CALLS: {calls}\tMIN: 1.000ms\tAVG: 2.000ms\tMAX: 3.000ms\tTOTAL: 1.000ms\n"
            )
        };
        let summary = |calls: u32| {
            format!(
                ">>>>> SUMMARY OF 2 ACTIVE VIRTUAL USERS : MEDIAN ELAPSED TIME : 9000ms\n\
                 >>>>> PROC: OSTAT\nCALLS: {calls}\tMIN: 1.000ms\tAVG: 2.000ms\tMAX: 3.000ms\t\
                 TOTAL: {}.000ms\n",
                calls * 2
            )
        };
        let all = |calls| read(&[user(2, 30), user(3, 20), summary(calls)].concat());
        assert_eq!((all(50).procedures[0].calls, all(50).said.len()), (50, 0));
        let twice = all(100);
        let own = &twice.procedures[0];
        assert_eq!((own.calls, own.total, twice.said.len()), (50, 100.0, 1));
        assert_eq!(all(70).procedures, []);
        // If a user is missing, no conclusion is possible.
        assert_eq!(
            read(&[user(2, 30), summary(70)].concat()).procedures.len(),
            1
        );
    }

    #[test]
    fn the_profile_of_one_user() {
        let text = "|PERCENTILES 2026-11-25 10:03:22 to 2026-11-25 10:03:32\n\
            |slev|MIN-500|P50%-800|P95%-900|P99%-950|MAX-990|SAMPLES-20\n\
            +-----------------+--------------+------+--------+--------------+--------------+\n\
            |PROCNAME         |  EXCLUSIVETOT|     %| CALLNUM|    AVGPERCALL|      CUMULTOT|\n\
            |slev             |       5001500|60.00%|    2000|          2500|       6000000|\n\
            |gettimestamp     |       3000000|40.00%|   90000|            33|    (*)3000000|\n\
            |TOPLEVEL         |             0| 0.00%|       1|             0| NOT AVAILABLE|\n";
        let found = read(text);
        assert_eq!(found.of, Of::One("2".to_owned()));
        let [own] = found.procedures.as_slice() else {
            panic!("one transaction: {found:?}");
        };
        assert_eq!((own.name.as_str(), own.calls, own.avg), ("slev", 2000, 2.5));
        assert_eq!((own.min, own.max, own.total), (None, None, 5001.5));
        assert!(read("|a|b|\n").procedures.is_empty());
    }
}
