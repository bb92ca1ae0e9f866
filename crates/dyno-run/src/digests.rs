//! The server's own statement digests, before and after the measurement.

use std::collections::HashMap;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;
use dyno_core::db::Family;
use dyno_core::redact;
use dyno_core::summary::{DigestsSummary, RunSummary};
use dyno_drivers::Control;
use dyno_load::{Literals, comparable, shape};
use dyno_observe::Digests;

use crate::job::Ready;

/// How long to wait for a connection, and for the digests.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum number of digests to keep: those with the most server time.
const DIGESTS_MAX: usize = 20;
/// Catalogues. Statements that use them observe the server.
const CATALOGS: [&str; 3] = ["performance_schema", "information_schema", "pg_"];
/// The first words of statements that observe the server or set up their session.
const QUESTIONS: [&str; 3] = ["show ", "select @@", "set "];
/// Statements that only check that the server answers.
const PINGS: [&str; 2] = ["select $1", "select ?"];

type Read = (Option<Control>, Result<Digests, String>);

/// A connection that reads the digests before and after the measurement.
pub(crate) struct Reader {
    family: Family,
    endpoints: usize,
    before: Read,
    /// Reads them once more after the warm-up. Ends at once when the sender is dropped.
    later: Option<(Sender<()>, JoinHandle<Read>)>,
}

impl Reader {
    /// Reads the digests for the first time. `None` if the server has none.
    pub(crate) fn begin(ready: &Ready) -> Option<Self> {
        let connector = ready.connector.as_ref()?;
        let family = connector.family();
        if family.is_embedded() || ready.plan().is_some() {
            return None;
        }
        let before = match Control::connect(connector.as_ref(), TIMEOUT) {
            Ok(mut control) => {
                let read = Digests::read(&mut control, family, TIMEOUT);
                (Some(control), read)
            }
            Err(error) => {
                let why = format!("Cannot read the server's statement digests: {error}.");
                (None, Err(why))
            }
        };
        Some(Self {
            family,
            endpoints: connector.endpoints().len(),
            before,
            later: None,
        })
    }

    /// Sets when the measurement begins. After a warm-up, the digests are read again then, so that
    /// they exclude it.
    pub(crate) fn again_at(&mut self, measured: Nanos) {
        let wait = Duration::from_nanos(measured.saturating_sub(Clock.now()));
        if wait < Duration::from_millis(1) || self.before.1.is_err() {
            return;
        }
        let Some(mut control) = self.before.0.take() else {
            return;
        };
        let family = self.family;
        let (ended, end) = channel::<()>();
        let read = move || {
            // Nothing is ever sent, so this waits for the time, or until the sender is dropped.
            let _ = end.recv_timeout(wait);
            let read = Digests::read(&mut control, family, TIMEOUT);
            (Some(control), read)
        };
        let thread = std::thread::Builder::new().name("digests".to_owned());
        match thread.spawn(read) {
            Ok(thread) => self.later = Some((ended, thread)),
            Err(error) => {
                self.before.1 = Err(format!(
                    "Cannot read the server's statement digests at the start of the measurement: \
                     {error}."
                ));
            }
        }
    }

    /// Reads the digests for the last time and returns the differences.
    pub(crate) fn finish(mut self) -> DigestsSummary {
        if let Some((ended, thread)) = self.later.take() {
            drop(ended);
            let failed = || {
                (
                    None,
                    Err("The thread that reads digests failed.".to_owned()),
                )
            };
            self.before = thread.join().unwrap_or_else(|_| failed());
        }
        let observed = match self.before {
            (Some(mut control), Ok(before)) => {
                let after = Digests::read(&mut control, self.family, TIMEOUT);
                control.close();
                after.map(|after| after.since(&before))
            }
            (_, Err(why)) => Err(why),
            (None, Ok(_)) => Err("The server's digests were not read at the end of the \
                                  measurement."
                .to_owned()),
        };
        let mut observed = observed.unwrap_or_else(|why| DigestsSummary {
            notes: vec![redact::text(&why)],
            ..DigestsSummary::default()
        });
        if self.endpoints > 1 {
            let why = "The target has several endpoints: only the digests of the first were read.";
            observed.notes.push(why.to_owned());
        }
        observed
    }
}

/// Assigns the digests to shapes. Digests of the same shape are merged, those of catalogues are
/// only counted, and the smallest ones are added up.
pub(crate) fn matched(observed: DigestsSummary, run: &RunSummary, ready: &Ready) -> DigestsSummary {
    let literals = ready.literals();
    let mut shapes: HashMap<String, Option<&str>> = HashMap::new();
    for one in &run.statements {
        if let Some(key) = comparable(&one.shape, literals) {
            // If two shapes cannot be distinguished, neither has a digest.
            let place = shapes.entry(key);
            place
                .and_modify(|shape| *shape = None)
                .or_insert(Some(&one.shape));
        }
    }
    let shape_of = |text: &str| shapes.get(&comparable(text, literals)?).copied().flatten();
    put_together(observed, literals, shape_of)
}

fn put_together<'a>(
    observed: DigestsSummary,
    literals: Literals,
    shape_of: impl Fn(&str) -> Option<&'a str>,
) -> DigestsSummary {
    let mut out = DigestsSummary {
        digests: Vec::new(),
        ..observed
    };
    for mut digest in observed.digests {
        digest.shape = shape_of(&digest.text).map(str::to_owned);
        // PostgreSQL leaves values in utility statements, among them the passwords of roles.
        digest.text = shape(digest.text.as_bytes(), literals);
        let text = digest.text.to_lowercase().replace('`', "");
        let has = |word: &&str| text.contains(word);
        let asks = QUESTIONS.iter().any(|words| text.starts_with(words))
            || PINGS.contains(&text.trim_end());
        if digest.shape.is_none() && (asks || CATALOGS.iter().any(has)) {
            out.catalogs_count += digest.count;
            continue;
        }
        let mut kept = out.digests.iter_mut();
        let same = kept.find(|one| one.shape.is_some() && one.shape == digest.shape);
        match same {
            Some(same) => same.add(&digest),
            None => out.digests.push(digest),
        }
    }
    out.digests
        .sort_by(|one, two| two.total_ms.total_cmp(&one.total_ms));
    let kept = DIGESTS_MAX.min(out.digests.len());
    for rest in out.digests.split_off(kept) {
        out.others += 1;
        out.others_count += rest.count;
        out.others_ms += rest.total_ms;
    }
    out
}

#[cfg(test)]
mod tests {
    use dyno_core::summary::DigestSummary;

    use super::*;

    fn digest(text: String, count: u64, total_ms: f64) -> DigestSummary {
        DigestSummary {
            text,
            count,
            total_ms,
            merged: 1,
            ..DigestSummary::default()
        }
    }

    #[test]
    fn a_digest_contains_no_value() {
        for text in [
            "ALTER ROLE app PASSWORD 'geheim 7'",
            "ALTER ROLE app PASSWORD 'geheim 7 and cut o",
            "COPY t FROM PROGRAM $x$ echo geheim $x$",
        ] {
            let observed = DigestsSummary {
                digests: vec![digest(text.to_owned(), 1, 1.0)],
                ..DigestsSummary::default()
            };
            let observed = put_together(observed, Literals::Standard, |_| None);
            let kept = &observed.digests[0].text;
            assert!(!kept.contains("geheim") && !kept.contains("cut"), "{kept}");
        }
    }

    #[test]
    fn digests_of_one_shape_are_one_and_the_smallest_are_others() {
        let mut digests: Vec<DigestSummary> = (0..30)
            .map(|n| digest(format!("CALL p{n}x()"), 2, f64::from(n)))
            .collect();
        digests.push(digest("a1".to_owned(), 5, 50.0));
        digests.push(digest("a2".to_owned(), 7, 60.0));
        digests.push(digest("SHOW STATUS".to_owned(), 2, 900.0));
        digests.push(digest("SELECT ? ".to_owned(), 1, 900.0));
        digests.push(digest(
            "SELECT 1 FROM `performance_schema` . `x`".to_owned(),
            1,
            900.0,
        ));
        let observed = DigestsSummary {
            digests,
            ..DigestsSummary::default()
        };
        let observed = put_together(observed, Literals::Standard, |text| {
            text.starts_with('a').then_some("aN")
        });
        assert_eq!(observed.digests.len(), DIGESTS_MAX);
        let first = observed.of_shape("aN").unwrap();
        assert_eq!((first.count, first.merged, first.total_ms), (12, 2, 110.0));
        assert_eq!((observed.others, observed.others_count), (11, 22));
        assert_eq!(observed.others_ms, f64::from((0..11).sum::<i32>()));
        assert_eq!(observed.catalogs_count, 4);
    }
}
