//! Passes on observations to the record, with times on the run's clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::thread::JoinHandle;

use dyno_core::catalogue::names;
use dyno_core::clock::Nanos;
use dyno_core::record::{Event, NotObserved, SeriesKey};
use dyno_observe::{KnownServer, Observation};

use super::Outputs;
use super::hidden::Hidden;
use super::tables::ObservedTables;
use crate::job::Ready;

/// The start of the measurement on the monotonic clock. 0 as long as it is unknown.
pub(super) type Origin = Arc<AtomicU64>;

/// An observer on the server's host.
pub struct RemoteObserver {
    /// What it observes, on this host's clock. The channel closes when the observer ends.
    pub observations: Receiver<Observation>,
    /// Ends the observer.
    pub end: End,
}

/// A function that ends a source of observations.
pub(crate) type End = Box<dyn FnOnce() + Send>;

/// Forwards observations on a separate thread until their source ends, and then returns the facts
/// about tables among them. The source is the observers of `ready`, or without it an observer on
/// the server's host.
///
/// # Errors
/// The system does not start a thread.
pub(super) fn forward(
    observations: Receiver<Observation>,
    outputs: Arc<Outputs>,
    origin: Origin,
    hidden: Arc<Hidden>,
    server: Arc<KnownServer>,
    ready: Option<&Ready>,
) -> std::io::Result<JoinHandle<ObservedTables>> {
    // An observer on the server's host covers the server, so what is missing here is no gap.
    let seen_elsewhere = ready.is_some_and(|ready| ready.remote_observer.is_some());
    let part = ready.and_then(|ready| ready.duet.as_ref());
    let switched = part.map_or(Vec::new(), |part| part.settings.clone());
    std::thread::Builder::new()
        .name("dyno-observed".to_owned())
        .spawn(move || {
            let mut forwarder = Forwarder {
                outputs,
                origin,
                early: Vec::new(),
                seen_elsewhere,
                tables: ObservedTables::default(),
            };
            while let Ok(first) = observations.recv() {
                // Forward what has already arrived as one batch: a server has hundreds of settings.
                let mut batch: Vec<Observation> = std::iter::once(first)
                    .chain(observations.try_iter())
                    .collect();
                batch.retain_mut(|seen| is_of_side(seen, &switched));
                batch.iter_mut().for_each(|seen| hidden.clean(seen));
                batch.iter().for_each(|seen| server.hear(seen));
                forwarder.take(batch);
            }
            forwarder.let_out();
            forwarder.tables
        })
}

/// Replaces the value of a setting that the duet switches with this side's value. Returns whether
/// to keep the observation: not if it is such a switch.
fn is_of_side(observation: &mut Observation, switched: &[(String, String)]) -> bool {
    let own = |name: &str| {
        let mut all = switched.iter();
        all.find(|(own, _)| own.eq_ignore_ascii_case(name))
    };
    match observation {
        Observation::Setting { name, value, .. } => {
            if let Some((_, of_side)) = own(name) {
                value.clone_from(of_side);
            }
            true
        }
        Observation::Event { detail, .. } => {
            let change = detail.setting.as_ref();
            change.is_none_or(|change| own(&change.name).is_none())
        }
        _ => true,
    }
}

struct Forwarder {
    outputs: Arc<Outputs>,
    origin: Origin,
    /// Observations that arrived before the start of the measurement was known. There are few:
    /// connecting has a time limit, and a sample is taken once a second.
    early: Vec<Observation>,
    tables: ObservedTables,
    seen_elsewhere: bool,
}

/// Whether the series is about the server's process or its files.
fn is_servers(key: &SeriesKey) -> bool {
    key.name.starts_with("server.") || key.name.starts_with("data.")
}

/// Whether the gap is about the server's process or its files.
fn is_of_server(gap: &NotObserved) -> bool {
    const OF_SERVER: [&str; 5] = [
        names::SERVER_CPU,
        names::SERVER_MEMORY,
        names::SERVER_IO,
        names::SERVER_THREADS,
        "data",
    ];
    OF_SERVER.contains(&gap.what.as_str())
}

impl Forwarder {
    fn take(&mut self, batch: Vec<Observation>) {
        let mut facts = Vec::new();
        let mut settings = [Vec::new(), Vec::new()];
        for observation in batch {
            match observation {
                // The observer on the server's host reports it.
                Observation::Series { key, .. } if self.seen_elsewhere && is_servers(&key) => {}
                Observation::Series { id, key, kind } => {
                    self.outputs.each(|sink| sink.series(id, &key, kind));
                }
                Observation::Fact(fact) => {
                    self.tables.fact(&fact);
                    facts.push(fact);
                }
                Observation::Setting {
                    name,
                    value,
                    at_end,
                } => settings[usize::from(at_end)].push((name, value)),
                Observation::NotObserved(gap) if self.seen_elsewhere && is_of_server(&gap) => {}
                Observation::NotObserved(gap) => {
                    self.outputs.each(|sink| sink.not_observed(&gap));
                }
                timed if self.origin.load(Ordering::Acquire) == 0 => self.early.push(timed),
                timed => {
                    self.let_out();
                    self.timed(timed);
                }
            }
        }
        if !facts.is_empty() {
            self.outputs.each(|sink| sink.facts(&facts));
        }
        for (values, at_end) in settings.into_iter().zip([false, true]) {
            if !values.is_empty() {
                self.outputs.each(|sink| sink.settings(&values, at_end));
            }
        }
    }

    fn let_out(&mut self) {
        for observation in std::mem::take(&mut self.early) {
            self.timed(observation);
        }
    }

    fn timed(&self, observation: Observation) {
        let origin = self.origin.load(Ordering::Acquire);
        if origin == 0 {
            // The run never began, so there is no time to convert to.
            return;
        }
        let at_s = |at: Nanos| (at as f64 - origin as f64) / 1e9;
        match observation {
            Observation::Sample { at, values } => {
                self.outputs.each(|sink| sink.samples(at_s(at), &values));
            }
            Observation::Zeros { id, at } => {
                let points: Vec<_> = at.into_iter().map(|at| (at_s(at), 0.0)).collect();
                self.outputs.each(|sink| sink.points(id, &points));
            }
            Observation::Event {
                at,
                until,
                kind,
                text,
                detail,
            } => {
                let event = Event {
                    at_s: at_s(at),
                    until_s: until.map(at_s),
                    kind,
                    text,
                    detail: *detail,
                };
                self.outputs.each(|sink| sink.event(&event));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::record::{EventDetail, EventKind, SettingChange};

    use super::*;

    #[test]
    fn a_side_of_a_duet_has_its_own_settings_and_no_switches() {
        let switched = [("sync_binlog".to_owned(), "1".to_owned())];
        let setting = |name: &str| Observation::Setting {
            name: name.to_owned(),
            value: "0".to_owned(),
            at_end: false,
        };
        let event = |name: &str| {
            let detail = EventDetail::of_setting(SettingChange {
                name: name.to_owned(),
                from: "0".to_owned(),
                to: "1".to_owned(),
            });
            Observation::Event {
                at: 0,
                until: None,
                kind: EventKind::Setting,
                text: String::new(),
                detail: Box::new(detail),
            }
        };
        let kept = |mut observation: Observation| {
            let keeps = is_of_side(&mut observation, &switched);
            keeps.then_some(observation)
        };
        let value = |observation| match kept(observation) {
            Some(Observation::Setting { value, .. }) => value,
            other => panic!("{other:?}"),
        };
        assert_eq!(value(setting("sync_binlog")), "1");
        assert_eq!(value(setting("sort_buffer_size")), "0");
        assert!(kept(event("sync_binlog")).is_none());
        assert!(kept(event("sort_buffer_size")).is_some());
    }
}
