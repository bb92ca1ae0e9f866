//! Status variables of a server as series, by the server's names.

use std::collections::HashMap;

use dyno_core::catalogue::names;

use super::status::Class;
use crate::sink::{Gauge, Rate, SampleBuffer};

/// Values from here on are -1 as an unsigned number, which means unknown.
const UNKNOWN_MIN: f64 = 9e18;
/// Maximum number of names of a table that are recorded: a server has some hundreds.
const NAMES_MAX: usize = 4_000;
/// The longest name recorded, in bytes.
const NAME_BYTES_MAX: usize = 256;

/// Series by the server's names, in the order of its rows.
#[derive(Default)]
pub(super) struct Table {
    entries: Vec<Entry>,
    /// The index of the entry that the next row is expected to match.
    next: usize,
    by_name: HashMap<Vec<u8>, usize>,
    /// There were more names than the limit.
    is_full: bool,
}

struct Entry {
    name: Vec<u8>,
    series: Option<Series>,
}

enum Series {
    Gauge(Gauge),
    Rate(Rate),
}

impl Table {
    /// `describe` returns a name's series when it is first seen.
    pub(super) fn put(
        &mut self,
        recorder: &mut SampleBuffer,
        name: &[u8],
        value: f64,
        describe: impl FnOnce(&str) -> (String, Class, &'static str),
    ) {
        let expected = self.next % self.entries.len().max(1);
        let index = match self.entries.get(expected) {
            Some(entry) if entry.name == name => expected,
            _ => match self.by_name.get(name).copied() {
                Some(index) => index,
                None if self.refuses(recorder, name) => return,
                None => self.add(name, describe),
            },
        };
        self.next = index + 1;
        if value >= UNKNOWN_MIN {
            return;
        }
        match self.entries[index].series.as_mut() {
            Some(Series::Gauge(gauge)) => gauge.put(recorder, value),
            Some(Series::Rate(rate)) => drop(rate.put(recorder, value)),
            None => {}
        }
    }

    /// Whether a new name is refused; the first refusal is reported.
    fn refuses(&mut self, recorder: &SampleBuffer, name: &[u8]) -> bool {
        let refuses = self.entries.len() >= NAMES_MAX || name.len() > NAME_BYTES_MAX;
        if refuses && !std::mem::replace(&mut self.is_full, true) {
            let why = format!(
                "the server has more than {NAMES_MAX} variables, or names longer than \
                 {NAME_BYTES_MAX} bytes: those are omitted"
            );
            recorder.sink().gap(names::DB_STATUS, why);
        }
        refuses
    }

    fn add(
        &mut self,
        name: &[u8],
        describe: impl FnOnce(&str) -> (String, Class, &'static str),
    ) -> usize {
        let (full, class, source) = describe(&String::from_utf8_lossy(name));
        let series = match class {
            Class::Ignored => None,
            Class::Gauge(unit) => Some(Series::Gauge(Gauge::new(&full, unit, source))),
            Class::Rate(unit, scale) => {
                Some(Series::Rate(Rate::scaled(&full, unit, source, scale)))
            }
        };
        self.entries.push(Entry {
            name: name.to_vec(),
            series,
        });
        self.by_name.insert(name.to_vec(), self.entries.len() - 1);
        self.entries.len() - 1
    }

    pub(super) fn restart(&mut self) {
        for entry in &mut self.entries {
            if let Some(Series::Rate(rate)) = &mut entry.series {
                rate.restart();
            }
        }
    }

    pub(super) fn always_zero(&self) -> impl Iterator<Item = String> {
        self.entries.iter().filter_map(|entry| {
            let name = match entry.series.as_ref()? {
                Series::Gauge(gauge) => gauge.always_zero(),
                Series::Rate(rate) => rate.always_zero(),
            };
            name.map(str::to_owned)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Observation;
    use crate::sink::Sink;

    #[test]
    fn omits_names_beyond_the_bound_and_reports_it_once() {
        let (sender, observations) = std::sync::mpsc::sync_channel(4 * NAMES_MAX);
        let mut recorder = SampleBuffer::new(Sink::new(sender), false);
        let mut table = Table::default();
        let mut put = |name: &str| {
            let describe =
                |name: &str| (name.to_owned(), Class::Gauge("count"), "SHOW GLOBAL STATUS");
            table.put(&mut recorder, name.as_bytes(), 1.0, describe);
        };
        put(&"x".repeat(NAME_BYTES_MAX + 1));
        for _ in 0..2 {
            (0..NAMES_MAX + 100).for_each(|number| put(&format!("made_up_{number}")));
        }
        assert_eq!(table.entries.len(), NAMES_MAX);
        assert_eq!(table.by_name.len(), NAMES_MAX);
        let seen: Vec<Observation> = observations.try_iter().collect();
        let gaps = (seen.iter()).filter(|seen| matches!(seen, Observation::NotObserved(_)));
        assert_eq!((gaps.count(), seen.len()), (1, NAMES_MAX + 1));
    }
}
