//! The end of fio's output: a killed fio prints no last document.

use super::Group;
use super::document::{Document, Job};

/// fio's clocks differ by a few milliseconds.
const EARLY_MS: u64 = 50;

/// Options that end a job before its time is up.
const ENDING: [&str; 9] = [
    "number_ios",
    "io_size",
    "io_limit",
    "ss",
    "steadystate",
    "exitall",
    "exitall_on_error",
    "exit_what",
    "verify_only",
];

impl Group<'_> {
    /// What the log lacks, if fio did not print its last document.
    pub(super) fn lacks_end(&self) -> Option<String> {
        let cut = self.is_cut && self.still_ran();
        let cut = cut.then(|| "it ends within a document of fio".to_owned());
        cut.or_else(|| self.ended_early())
    }

    /// A job that should have run for longer.
    pub(super) fn ended_early(&self) -> Option<String> {
        let jobs = self.last.jobs.iter().filter(|job| job.groupid == self.id);
        let early = |job: &Job| {
            let asked_ms = self.asked_ms(job)?;
            let ran_ms = job.runtime_ms();
            let seconds = |ms: u64| ms as f64 / 1e3;
            (ran_ms > 0 && ran_ms + EARLY_MS < asked_ms).then(|| {
                format!(
                    "{} should run for {} s, but its last document covers {} s",
                    crate::text::excerpt(&job.jobname),
                    seconds(asked_ms),
                    seconds(ran_ms)
                )
            })
        };
        jobs.filter(|job| job.error == 0).find_map(early)
    }

    /// The runtime that a job must reach; `None` if it may end earlier.
    fn asked_ms(&self, job: &Job) -> Option<u64> {
        let option = |name: &str| job.option(self.last, name);
        let is_timed = option("time_based").is_some_and(|own| own.as_str() != Some("0"));
        let may_end = ENDING.iter().any(|name| option(name).is_some());
        let runtime = option("runtime").filter(|_| is_timed && !may_end)?;
        milliseconds(runtime.as_str()?)
    }

    /// Whether the group ran on after the document before the last one.
    fn still_ran(&self) -> bool {
        let [.., before, last] = self.documents else {
            return true;
        };
        self.done(before).0 < self.done(last).0
    }

    /// The time, in milliseconds, and the I/Os of a document.
    pub(super) fn done(&self, document: &Document) -> (u64, u64) {
        let jobs = document.jobs.iter().filter(|job| job.groupid == self.id);
        jobs.fold((0, 0), |(ms, ios), job| {
            (ms.max(job.runtime_ms()), ios.saturating_add(job.ios()))
        })
    }
}

/// fio's times, in seconds if they have no unit.
fn milliseconds(time: &str) -> Option<u64> {
    let digits = time
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(time.len());
    let (number, unit) = time.split_at(digits);
    let scale = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "s" => 1000,
        "ms" => 1,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (time, ms) in [
            ("3", Some(3000)),
            ("250ms", Some(250)),
            ("2m", Some(120_000)),
            ("1H", Some(3_600_000)),
            ("", None),
            ("5 years", None),
        ] {
            assert_eq!(milliseconds(time), ms, "{time}");
        }
    }
}
