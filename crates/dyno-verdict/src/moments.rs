//! The values that settings had during the measurement. Settings are read before the sessions begin
//! and after they have ended; events record the changes in between.

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::record::{Event, EventKind, RunRecord, Setting, SettingChange};
use dyno_core::settings::UNKNOWN;

use crate::text;
use crate::view::View;

/// The settings at a later time of the measurement.
pub(crate) struct Moment<'a> {
    run: &'a RunRecord,
    /// The values of settings that had changed.
    moved: BTreeMap<&'a str, &'a str>,
    when: String,
}

impl<'a> Moment<'a> {
    pub(crate) fn setting(&self, name: &str) -> Option<&'a str> {
        let mut moved = self.moved.iter();
        let moved = moved.find(|(moved, _)| moved.eq_ignore_ascii_case(name));
        match moved {
            Some((_, value)) => Some(*value),
            None => self.run.setting(name),
        }
    }

    /// The time, as the end of a sentence: `from 5 s on`.
    pub(crate) fn when(&self) -> &str {
        &self.when
    }
}

impl<'a> View<'a> {
    /// A setting when the measurement began, including changes since it was first read.
    pub(crate) fn setting(&self, name: &str) -> Option<&'a str> {
        let is_of = |change: &&SettingChange| change.name.eq_ignore_ascii_case(name);
        let (before, _) = self.changes();
        match before.into_iter().rfind(is_of) {
            Some(change) => Some(change.to.as_str()),
            None => self.run.setting(name),
        }
    }

    /// A setting as the run's sessions saw it: the only value that they set, or else the server's.
    pub(crate) fn setting_of_sessions(&self, name: &str) -> Option<&'a str> {
        self.set_by_all(name).or_else(|| self.setting(name))
    }

    /// The value that sessions set, if they set only one.
    pub(crate) fn set_by_all(&self, name: &str) -> Option<&'a str> {
        let mut own = self.set_by_sessions().filter(|(own, _)| *own == name);
        match (own.next(), own.next()) {
            (Some((_, value)), None) if !["default", UNKNOWN].contains(&value) => Some(value),
            _ => None,
        }
    }

    /// Settings that had another value at the start of the measurement than when they were read:
    /// names with both values.
    pub(crate) fn moved_before(&self) -> Vec<(&'a str, [&'a str; 2])> {
        let mut moved: BTreeMap<&'a str, [&'a str; 2]> = BTreeMap::new();
        for change in self.changes().0 {
            let (from, to) = (change.from.as_str(), change.to.as_str());
            let ends = moved.entry(change.name.as_str()).or_insert([from, to]);
            ends[1] = to;
        }
        moved.retain(|_, [from, to]| from != to);
        moved.into_iter().collect()
    }

    /// The settings each time that one of the `relevant` ones had another value than at the start
    /// of the measurement. Equal ones are listed once.
    pub(crate) fn later_settings(&self, relevant: impl Fn(&str) -> bool) -> Vec<Moment<'a>> {
        let (mut before, mut later) = self.changes();
        before.retain(|change| relevant(&change.name));
        later.retain(|(_, change)| relevant(&change.name));
        let before = before.into_iter();
        let moved = before.map(|change| (change.name.as_str(), change.to.as_str()));
        let mut course = Course::of(self.run, moved.collect());
        let during = later.iter().filter(|(at_s, _)| *at_s <= self.length_s);
        for &(at_s, change) in during {
            let (name, at) = (change.name.as_str(), text::seconds(at_s.max(0.0)));
            course.have(&[(name, change.from.as_str())], format!("until {at}"));
            course.have(&[(name, change.to.as_str())], format!("from {at} on"));
        }
        // What changed after the measurement explains another value at the end.
        let explained = |name: &str| {
            let mut after = later.iter().filter(|(at_s, _)| *at_s > self.length_s);
            after.any(|(_, change)| change.name == name)
        };
        let run = self.run;
        let settings = run.settings.iter().filter(|setting| {
            let name = setting.name.as_str();
            setting.start.is_some() && relevant(name) && !explained(name)
        });
        let end = |setting: &'a Setting| Some((setting.name.as_str(), setting.end.as_deref()?));
        let ends: Vec<(&'a str, &'a str)> = settings.filter_map(end).collect();
        course.have(&ends, "at the end".to_owned());
        course.moments
    }

    /// The changes before the measurement and, with their times, those after its start, in order.
    fn changes(&self) -> (Vec<&'a SettingChange>, Vec<(f64, &'a SettingChange)>) {
        let run = self.run;
        let change = |event: &'a Event| Some((event.at_s, event.detail.setting.as_ref()?));
        let events = run.events.iter();
        let events = events.filter(|event| event.kind == EventKind::Setting);
        let mut all: Vec<(f64, &'a SettingChange)> = events.filter_map(change).collect();
        all.sort_by(|one, other| one.0.total_cmp(&other.0));
        let (before, later): (Vec<_>, Vec<_>) = all.into_iter().partition(|(at_s, _)| *at_s < 0.0);
        let before = before.into_iter().map(|(_, change)| change).collect();
        (before, later)
    }
}

/// Collects moments in order.
struct Course<'a> {
    run: &'a RunRecord,
    moved: BTreeMap<&'a str, &'a str>,
    seen: BTreeSet<BTreeMap<&'a str, &'a str>>,
    moments: Vec<Moment<'a>>,
}

impl<'a> Course<'a> {
    fn of(run: &'a RunRecord, moved: BTreeMap<&'a str, &'a str>) -> Self {
        Self {
            run,
            seen: BTreeSet::from([moved.clone()]),
            moved,
            moments: Vec::new(),
        }
    }

    /// Adds a moment with these values, unless the settings had them already.
    fn have(&mut self, values: &[(&'a str, &'a str)], when: String) {
        for &(name, value) in values {
            let known = self.moved.get(name).copied();
            if known.or_else(|| self.run.setting(name)) != Some(value) {
                self.moved.insert(name, value);
            }
        }
        if self.seen.insert(self.moved.clone()) {
            self.moments.push(Moment {
                run: self.run,
                moved: self.moved.clone(),
                when,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::record::EventDetail;
    use dyno_samples::values;

    use super::*;
    use crate::context::Context;

    fn change(at_s: f64, from: &str, to: &str) -> Event {
        Event {
            detail: EventDetail::of_setting(SettingChange {
                name: "max_connections".to_owned(),
                from: from.to_owned(),
                to: to.to_owned(),
            }),
            ..values::event(at_s, None, EventKind::Setting, "without values")
        }
    }

    /// The value at the start, and the later ones with their times.
    fn course(events: &[Event], end: &str) -> (String, Vec<String>) {
        let mut run = dyno_samples::good();
        run.events.extend(events.iter().cloned());
        let mut settings = run.settings.iter_mut();
        let found = settings.find(|setting| setting.name == "max_connections");
        found.unwrap().end = Some(end.to_owned());
        let context = Context::default();
        let view = View::new(&run, &context);
        let is_it = |name: &str| name == "max_connections";
        let later = view.later_settings(is_it).into_iter().map(|moment| {
            let value = moment.setting("max_connections").unwrap();
            format!("{value} {}", moment.when())
        });
        let start = view.setting("max_connections").unwrap().to_owned();
        (start, later.collect())
    }

    #[test]
    fn every_value_during_the_measurement_counts() {
        let of = |events: &[Event], end, start: &str, later: &[&str]| {
            let found = course(events, end);
            assert_eq!(found.0, start, "{events:?}");
            assert_eq!(found.1, later, "{events:?}");
        };
        of(&[], "151", "151", &[]);
        of(&[], "9", "151", &["9 at the end"]);
        let there_and_back = [change(3.0, "151", "9"), change(5.0, "9", "151")];
        let expected = ["9 from 3 s on", "151 from 5 s on"];
        of(&there_and_back, "151", "151", &expected);
        // Changed before the measurement, and back within it, after it, or unseen.
        let early = change(-2.0, "151", "9");
        let back = [early.clone(), change(5.0, "9", "151")];
        of(&back, "151", "9", &["151 from 5 s on"]);
        let late = [early.clone(), change(1e4, "9", "151")];
        of(&late, "151", "9", &[]);
        of(&[early], "151", "9", &["151 at the end"]);
        // The change to this value was not seen.
        let missed = [change(5.0, "9", "151")];
        of(&missed, "151", "151", &["9 until 5 s", "151 from 5 s on"]);
    }
}
