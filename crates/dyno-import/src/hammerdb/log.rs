//! The lines of HammerDB's logs.

use crate::civil::{self, Moment};
use crate::identity::LogHash;
use crate::number;
use crate::text::{self, Line};

/// One stored procedure in the time profile's summary. Times are milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Procedure {
    pub(super) name: String,
    pub(super) calls: u64,
    pub(super) min: f64,
    pub(super) avg: f64,
    pub(super) max: f64,
    pub(super) total: f64,
    /// (percent, milliseconds).
    pub(super) percentiles: Vec<(f64, f64)>,
    pub(super) deviation: Option<f64>,
}

/// The time profile of all virtual users together.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    /// Over how long, in seconds; the ramp-up is in it.
    pub(super) elapsed_s: Option<f64>,
    pub(super) procedures: Vec<Procedure>,
}

/// What one run left. `None` is what it did not print.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) version: Option<String>,
    pub(super) users: Option<u32>,
    pub(super) rampup_min: Option<f64>,
    pub(super) duration_min: Option<f64>,
    /// When the measurement began and ended, where the log has times.
    pub(super) began: Option<Moment>,
    pub(super) ended: Option<Moment>,
    /// New orders and transactions per minute, and the database that counted those.
    pub(super) result: Option<(u64, u64, String)>,
    /// The transaction counter: transactions per minute, at a time.
    pub(super) counter: Vec<(Option<Moment>, f64)>,
    pub(super) profile: Profile,
    pub(super) failures: Vec<(usize, String)>,
    pub(super) digest: LogHash,
}

impl Draft {
    fn has_figures(&self) -> bool {
        self.result.is_some() || !self.counter.is_empty() || !self.profile.procedures.is_empty()
    }
}

pub(super) struct Reader<'a> {
    file: &'a str,
    drafts: Vec<Draft>,
    draft: Draft,
    /// The last time that stood on a line of its own.
    moment: Option<Moment>,
    version: Option<String>,
    in_summary: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn new(file: &'a str) -> Self {
        Self {
            file,
            drafts: Vec::new(),
            draft: Draft {
                file: file.to_owned(),
                line: 1,
                ..Draft::default()
            },
            moment: None,
            version: None,
            in_summary: false,
        }
    }

    pub(super) fn take(&mut self, line: &Line) {
        let (stamp, bare) = line.unstamped();
        let bare = bare.trim().to_owned();
        if !bare.is_empty() {
            // The log may have ended before this line.
            if self.draft.has_figures() {
                self.draft.digest.may_end();
            }
            self.draft.digest.update(line.text.as_bytes());
            self.draft.digest.update(b"\n");
        }
        if let Some(moment) = stamp {
            self.moment = Some(moment);
        }
        // `Timestamp 3 @ Fri Sep 19 13:28:49 BST 2014`, `Hammerdb Log @ …`
        if let Some((label, when)) = bare.split_once(" @ ")
            && let Some(moment) = civil::moment(when)
        {
            self.moment = Some(moment);
            self.counted(label, Some(moment));
            return;
        }
        if bare.is_empty() {
            return;
        }
        self.line(&bare, line.number);
    }

    fn line(&mut self, bare: &str, number: usize) {
        let user = bare
            .strip_prefix("Vuser ")
            .and_then(|rest| rest.split_once(':'));
        let said = user.map_or(bare, |(_, said)| said.trim());
        let leading = |text: &str| number::leading(text).map(|(value, _)| value);
        if let Some(rest) = bare.strip_prefix("HammerDB CLI v") {
            self.version = rest.split_whitespace().next().map(str::to_owned);
        } else if let Some(rest) = said.strip_prefix("Beginning rampup time of ") {
            self.begins(number);
            self.draft.rampup_min = leading(rest);
        } else if said.starts_with("Rampup complete, Taking start Transaction Count") {
            self.draft.began = self.moment;
        } else if let Some(rest) = said.strip_prefix("Timing test period of ") {
            self.draft.duration_min = leading(rest);
        } else if said.starts_with("Test complete, Taking end Transaction Count") {
            self.draft.ended = self.moment;
        } else if let Some((count, rest)) = number::leading_count(said)
            && rest.trim().starts_with("Active Virtual Users configured")
        {
            self.draft.users = u32::try_from(count).ok();
        } else if let Some(rest) = said.strip_prefix("TEST RESULT : System achieved ") {
            self.draft.result = result(rest);
        } else if said.starts_with("FINISHED FAILED") || said.starts_with("Error in Virtual User") {
            self.draft.failures.push((number, text::excerpt(bare)));
        } else if !self.of_profile(bare) {
            self.counted(bare, None);
        }
    }

    /// A run begins: what was read of one with a result is whole.
    fn begins(&mut self, number: usize) {
        if self.draft.result.is_some() {
            self.ends();
        }
        if !self.draft.has_figures() {
            self.draft.line = number;
        }
    }

    fn ends(&mut self) {
        let next = Draft {
            file: self.file.to_owned(),
            ..Draft::default()
        };
        let mut draft = std::mem::replace(&mut self.draft, next);
        draft.version.clone_from(&self.version);
        if draft.has_figures() {
            self.drafts.push(draft);
        }
    }

    /// `138234 PostgreSQL tpm`, of the transaction counter.
    fn counted(&mut self, label: &str, moment: Option<Moment>) {
        let label = label.trim();
        if let Some((count, of)) = number::leading_count(label)
            && of.ends_with(" tpm")
        {
            self.draft.counter.push((moment, count as f64));
        }
    }

    /// Takes a line of the time profile's summary.
    fn of_profile(&mut self, bare: &str) -> bool {
        if bare.starts_with(">>>>> SUMMARY OF ") {
            let elapsed = bare.rsplit_once("ELAPSED TIME :").map(|(_, ms)| ms);
            let ms = elapsed.and_then(number::leading).map(|(ms, _)| ms);
            self.in_summary = true;
            self.draft.profile = Profile {
                elapsed_s: ms.map(|ms| ms / 1e3),
                procedures: Vec::new(),
            };
            return true;
        }
        // Each virtual user has one, too.
        if bare.starts_with(">>>>> VIRTUAL USER ") {
            self.in_summary = false;
            return true;
        }
        if !self.in_summary {
            return bare.starts_with("CALLS:") || bare.starts_with("P99:");
        }
        if let Some(name) = bare.strip_prefix(">>>>> PROC: ") {
            self.draft.profile.procedures.push(Procedure {
                name: name.trim().to_ascii_lowercase(),
                ..Procedure::default()
            });
            return true;
        }
        let known = bare.starts_with("CALLS:") || bare.starts_with("P99:");
        if let Some(procedure) = self.draft.profile.procedures.last_mut().filter(|_| known) {
            figures(procedure, bare);
        }
        known
    }

    pub(super) fn finish(mut self) -> Vec<Draft> {
        self.ends();
        self.drafts
    }
}

/// `12345 NOPM from 45678 PostgreSQL TPM`, and in versions before 4 `45678 PostgreSQL TPM at 12345
/// NOPM`.
fn result(rest: &str) -> Option<(u64, u64, String)> {
    let (first, rest) = number::leading_count(rest)?;
    let rest = rest.trim();
    let tpm = |text: &str| {
        let (count, of) = number::leading_count(text)?;
        let database = of.split(" TPM").next()?.trim().to_owned();
        Some((count, database))
    };
    if let Some(rest) = rest.strip_prefix("NOPM from ") {
        let (count, database) = tpm(rest)?;
        return Some((first, count, database));
    }
    let (database, rest) = rest.split_once(" TPM at ")?;
    let (orders, _) = number::leading_count(rest)?;
    Some((orders, first, database.trim().to_owned()))
}

/// `CALLS: 3427 MIN: 1.730ms …`, `P99: 210.118ms … SD: 49.663 RATIO: 49.0%`, with tabs
/// between.
fn figures(procedure: &mut Procedure, bare: &str) {
    let words: Vec<&str> = bare.split_whitespace().collect();
    for pair in words.windows(2) {
        let Some(label) = pair[0].strip_suffix(':') else {
            continue;
        };
        let Some((value, unit)) = number::leading(pair[1]).filter(|(value, _)| *value >= 0.0)
        else {
            continue;
        };
        let percent = label.strip_prefix('P').and_then(|p| p.parse::<f64>().ok());
        match label {
            "CALLS" => procedure.calls = number::count(pair[1]).unwrap_or(0),
            "MIN" => procedure.min = value,
            "AVG" => procedure.avg = value,
            "MAX" => procedure.max = value,
            "TOTAL" => procedure.total = value,
            // Before version 4.4 it is printed in another unit, which is not told.
            "SD" if unit.starts_with("ms") => procedure.deviation = Some(value),
            _ => procedure
                .percentiles
                .extend(percent.map(|percent| (percent, value))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_of_all_versions() {
        let new = result("1785 NOPM from 4109 PostgreSQL TPM");
        assert_eq!(new, Some((1785, 4109, "PostgreSQL".to_owned())));
        let old = result("4109 SQL Server TPM at 1785 NOPM");
        assert_eq!(old, Some((1785, 4109, "SQL Server".to_owned())));
        assert_eq!(result("many NOPM"), None);
    }
}
