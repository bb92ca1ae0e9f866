//! Parses the lines of HammerDB's logs.

use std::collections::BTreeSet;

use super::profile::{self, Profile};
use crate::civil::{self, Moment};
use crate::identity::LogHash;
use crate::number;
use crate::text::{self, Line};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// Before the ramp-up, or in a log that does not show it.
    #[default]
    Unknown,
    RampUp,
    Test,
    /// After the final transaction count.
    After,
}

/// A message of a virtual user about its end or an error.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) line: usize,
    pub(super) user: Option<String>,
    pub(super) stage: Stage,
    /// Minutes of the test that had passed.
    pub(super) minutes: f64,
    pub(super) text: String,
}

/// One run's output. `None` means it was not printed.
#[derive(Clone, Debug, Default)]
pub(super) struct Draft {
    pub(super) file: String,
    pub(super) line: usize,
    pub(super) version: Option<String>,
    pub(super) users: Option<u32>,
    /// The virtual users that reported running, including the one that measures.
    pub(super) running: BTreeSet<String>,
    /// The virtual user that only measures.
    pub(super) monitor: Option<String>,
    pub(super) rampup_min: Option<f64>,
    pub(super) duration_min: Option<f64>,
    /// The minutes it counted until the test was complete.
    pub(super) counted_min: Option<f64>,
    /// When the measurement began and ended, if the log has times.
    pub(super) began: Option<Moment>,
    pub(super) ended: Option<Moment>,
    /// Whether the name of its times' zone is ambiguous or unknown.
    pub(super) lacks_zone: bool,
    /// New orders and transactions per minute, and the database of the latter.
    pub(super) result: Option<(u64, u64, String)>,
    /// The transaction counter: transactions per minute at a time.
    pub(super) counter: Vec<(Option<Moment>, f64)>,
    pub(super) profile: Profile,
    /// Messages of virtual users that failed: the error, and the end because of it.
    pub(super) failures: Vec<Said>,
    /// Virtual users that ended normally.
    pub(super) finished: Vec<Said>,
    /// Transactions that failed in a virtual user that continued.
    pub(super) errors: Vec<Said>,
    pub(super) digest: LogHash,
}

impl Draft {
    /// Whether it contains anything to report.
    pub(super) fn has_figures(&self) -> bool {
        self.result.is_some() || !self.counter.is_empty() || self.profile.is_read()
    }
}

pub(super) struct Reader<'a> {
    file: &'a str,
    drafts: Vec<Draft>,
    draft: Draft,
    /// The last time on a separate line.
    moment: Option<Moment>,
    version: Option<String>,
    lacks_zone: bool,
    profile: profile::Reader,
    stage: Stage,
    minutes: f64,
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
            lacks_zone: false,
            profile: profile::Reader::default(),
            stage: Stage::Unknown,
            minutes: 0.0,
        }
    }

    pub(super) fn take(&mut self, line: &Line) {
        let (stamp, bare) = line.unstamped();
        let bare = bare.trim().to_owned();
        if self.draft.result.is_some() && begins(&bare) {
            self.ends();
            self.draft.line = line.number;
        }
        if !bare.is_empty() {
            // The log may have ended before this line.
            if self.draft.has_figures() || self.profile.has_figures() {
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
            && let Some(moment) = self.moment_of(when)
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

    /// A line's time. Without the offset of its zone, it only counts from other times of the log.
    fn moment_of(&mut self, when: &str) -> Option<Moment> {
        civil::moment(when).or_else(|| {
            let moment = civil::local(when)?;
            self.lacks_zone = true;
            Some(moment)
        })
    }

    fn line(&mut self, bare: &str, number: usize) {
        let user = bare
            .strip_prefix("Vuser ")
            .and_then(|rest| rest.split_once(':'));
        let said = user.map_or(bare, |(_, said)| said.trim());
        let user = user.map(|(user, _)| user.trim());
        let leading = |text: &str| number::leading(text).map(|(value, _)| value);
        if let Some(rest) = bare.strip_prefix("HammerDB CLI v") {
            self.version = rest.split_whitespace().next().map(str::to_owned);
        } else if let Some(user) = user.filter(|_| said == "RUNNING") {
            self.runs(user);
        } else if let Some(rest) = said.strip_prefix("Beginning rampup time of ") {
            self.begins(number);
            self.draft.rampup_min = leading(rest);
            self.draft.monitor = user.map(str::to_owned);
            (self.stage, self.minutes) = (Stage::RampUp, 0.0);
        } else if said.starts_with("Rampup complete, Taking start Transaction Count") {
            self.draft.began = self.moment;
            self.stage = Stage::Test;
        } else if let Some(rest) = said.strip_prefix("Timing test period of ") {
            self.draft.duration_min = leading(rest);
        } else if said.starts_with("Test complete, Taking end Transaction Count") {
            self.draft.ended = self.moment;
            let counts = self.stage == Stage::Test && self.minutes > 0.0;
            self.draft.counted_min = counts.then_some(self.minutes);
            self.stage = Stage::After;
        } else if let Some((count, rest)) = number::leading_count(said)
            && rest.trim().starts_with("Active Virtual Users configured")
        {
            self.draft.users = u32::try_from(count).ok();
        } else if let Some((minutes, rest)) = number::leading(said)
            && rest.trim() == "...,"
        {
            self.minutes = minutes;
        } else if let Some(rest) = said.strip_prefix("TEST RESULT : System achieved ") {
            self.draft.result = result(rest);
            self.draft.monitor = user.map(str::to_owned);
        } else if !self.of_user(user, said, bare, number) && !self.profile.take(user, said) {
            self.counted(bare, None);
        }
    }

    /// Parses a virtual user's line about its end or an error.
    fn of_user(&mut self, user: Option<&str>, said: &str, bare: &str, number: usize) -> bool {
        // `Error in Virtual User 3: …` is not the user's own line.
        let error = said.strip_prefix("Error in Virtual User ");
        let named = error.and_then(|rest| rest.split_once(':'));
        let user = named.map(|(user, _)| user.trim()).or(user);
        let failed = error.is_some() || said.starts_with("FINISHED FAILED");
        let goes_on = user.is_some() && is_error(said);
        let kept = match () {
            () if failed => &mut self.draft.failures,
            () if said.starts_with("FINISHED SUCCESS") => &mut self.draft.finished,
            () if goes_on => &mut self.draft.errors,
            () => return false,
        };
        kept.push(Said {
            line: number,
            user: user.map(str::to_owned),
            stage: match self.draft.result {
                Some(_) => Stage::After,
                None => self.stage,
            },
            minutes: self.minutes,
            text: text::excerpt(bare),
        });
        true
    }

    /// A virtual user runs. If it already did, the log has begun another run.
    fn runs(&mut self, user: &str) {
        if !self.draft.running.insert(user.to_owned()) {
            self.draft.running = BTreeSet::from([user.to_owned()]);
        }
    }

    /// A run begins: one with a result is complete.
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
        draft.profile = std::mem::take(&mut self.profile).finish();
        draft.version.clone_from(&self.version);
        draft.lacks_zone = self.lacks_zone;
        if draft.has_figures() || draft.profile.is_there {
            self.drafts.push(draft);
        }
    }

    /// `138234 PostgreSQL tpm`, from the transaction counter.
    fn counted(&mut self, label: &str, moment: Option<Moment>) {
        let label = label.trim();
        if let Some((count, of)) = number::leading_count(label)
            && of.ends_with(" tpm")
        {
            self.draft.counter.push((moment, count as f64));
        }
    }

    pub(super) fn finish(mut self) -> Vec<Draft> {
        self.ends();
        self.drafts
    }
}

/// Whether a line after a result can only belong to another run.
fn begins(bare: &str) -> bool {
    let own = bare
        .strip_prefix("Vuser ")
        .and_then(|rest| rest.split_once(':'));
    let said = own.map_or("", |(_, said)| said.trim());
    bare.starts_with("HammerDB CLI v")
        || bare.starts_with("Hammerdb Log @ ")
        || said == "RUNNING"
        || said.starts_with("Beginning rampup time of ")
        || said.starts_with("TEST RESULT : System achieved ")
}

/// Whether a virtual user reports a failed transaction and continues.
fn is_error(said: &str) -> bool {
    // Without RAISEERROR: the script's own message, or that of MySQL's client library.
    said.ends_with("Error set RAISEERROR for Details") || said.contains("/db server: ")
}

/// `12345 NOPM from 45678 PostgreSQL TPM`, or in versions before 4 `45678 PostgreSQL TPM at 12345
/// NOPM`.
fn result(rest: &str) -> Option<(u64, u64, String)> {
    let (first, rest) = number::leading_count(rest)?;
    let rest = rest.trim();
    let tpm = |text: &str| {
        let (count, of) = number::leading_count(text)?;
        // A figure without its unit may be cut off.
        let (database, _) = of.split_once(" TPM")?;
        Some((count, database.trim().to_owned()))
    };
    if let Some(rest) = rest.strip_prefix("NOPM from ") {
        let (count, database) = tpm(rest)?;
        return Some((first, count, database));
    }
    let (database, rest) = rest.split_once(" TPM at ")?;
    let (orders, unit) = number::leading_count(rest)?;
    unit.trim().strip_prefix("NOPM")?;
    Some((orders, first, database.trim().to_owned()))
}

/// Converts the JSON output of `jobs` to such lines; `None` if the text is something else. Other
/// lines, such as a title, may come before a list.
pub(super) fn of_jobs(text: &str) -> Option<String> {
    let (mut rest, mut lines, mut others) = (text, String::new(), String::new());
    while let Some(at) = list(rest) {
        let mut read = serde_json::Deserializer::from_str(&rest[at..]).into_iter::<Vec<String>>();
        let list = read.next()?.ok()?;
        lines += &of_messages(&list).or_else(|| of_result(&list))?;
        others += &rest[..at];
        rest = &rest[at + read.byte_offset()..];
    }
    others += rest;
    // A log may also have such lists.
    let is_log = others.contains("TEST RESULT");
    (!lines.is_empty() && !is_log).then_some(lines)
}

/// The position of the next list that begins a line.
fn list(text: &str) -> Option<usize> {
    let mut from = 0;
    for line in text.split_inclusive('\n') {
        let own = line.trim_start();
        if own.starts_with('[') {
            return Some(from + line.len() - own.len());
        }
        from += line.len();
    }
    None
}

/// The list of `jobs ID result`: the job, a time, the virtual users and the result.
fn of_result(list: &[String]) -> Option<String> {
    let [job, time, lines @ ..] = list else {
        return None;
    };
    let has_result = lines.iter().any(|line| line.starts_with("TEST RESULT : "));
    civil::moment(time).filter(|_| has_result)?;
    let head = [
        format!("Hammerdb Log @ {time}"),
        format!("Benchmark Run jobid={job}"),
    ];
    let lines = head.iter().chain(lines);
    Some(lines.map(|line| line.replace('\n', " ") + "\n").collect())
}

/// The list of `jobs ID`: virtual users and their messages, one after the other.
fn of_messages(list: &[String]) -> Option<String> {
    let pairs = list.chunks_exact(2);
    let fits =
        |pair: &[String]| !pair[0].is_empty() && pair[0].bytes().all(|byte| byte.is_ascii_digit());
    if list.is_empty() || !pairs.remainder().is_empty() || !pairs.clone().all(fits) {
        return None;
    }
    let line = |pair: &[String]| match pair[0].as_str() {
        // HammerDB itself.
        "0" => pair[1].replace('\n', " ") + "\n",
        user => format!("Vuser {user}:{}\n", pair[1].replace('\n', " ")),
    };
    Some(pairs.map(line).collect())
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
        let cut = ["1785 NOPM from 410", "4109 SQL Server TPM at 17", "17"];
        for text in cut.into_iter().chain(["many NOPM"]) {
            assert_eq!(result(text), None, "{text}");
        }
    }

    #[test]
    fn lists_of_jobs_are_lines() {
        let lines = of_jobs("[\"1\", \"RUNNING\", \"0\", \"ALL VIRTUAL USERS COMPLETE\"]\n");
        let expected = "Vuser 1:RUNNING\nALL VIRTUAL USERS COMPLETE\n";
        assert_eq!(lines.as_deref(), Some(expected));
        let result = "HAMMERDB RESULT\n[\n  \"65AF\", \"2026-11-25 16:59:58\",\n\
                      \"4 Active Virtual Users configured\",\n\
                      \"TEST RESULT : System achieved 7001 NOPM from 16102 MariaDB TPM\"\n]\n";
        let expected = "Hammerdb Log @ 2026-11-25 16:59:58\nBenchmark Run jobid=65AF\n\
                        4 Active Virtual Users configured\n\
                        TEST RESULT : System achieved 7001 NOPM from 16102 MariaDB TPM\n";
        assert_eq!(of_jobs(result).as_deref(), Some(expected));
        let twice = format!("{result}{}", result.replace("65AF", "65B0"));
        let both = format!("{expected}{}", expected.replace("65AF", "65B0"));
        assert_eq!(of_jobs(&twice), Some(both));
        for other in [
            "[\"65AF\", \"2026-11-25 16:59:58\", \"4 Active Virtual Users configured\", \"x\"]",
            "Vuser 1:TEST RESULT : System achieved 7 NOPM from 16 MySQL TPM\n[\"1\", \"RUNNING\"]",
            "[1s] x\n[\"1\", \"RUNNING\"]",
            "[]",
            "[\"1\"]",
            "[\"x\", \"RUNNING\"]",
            "{}",
            "[1, 2]",
            "Vuser 1:RUNNING",
        ] {
            assert_eq!(of_jobs(other), None, "{other}");
        }
    }
}
