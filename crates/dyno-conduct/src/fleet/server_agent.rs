//! Converts the observations of an observer on the server's host: to this host's clock, and to
//! names that include the host.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use dyno_core::Target;
use dyno_core::catalogue::names;
use dyno_core::clock::{Clock, Nanos};
use dyno_core::record::{EventDetail, EventKind, Fact, NotObserved};
use dyno_fleet::clock::{Estimator, Exchange, Relation};
use dyno_fleet::message::PROTOCOL;
use dyno_observe::{OBSERVATIONS_MAX, Observation};
use dyno_run::RemoteObserver;
use dyno_verdict::ON_SERVER_HOST;

use super::launch::Launched;
use super::observer::{self, Line, ObserverConfig};
use super::specs::AgentLocation;

/// Clock requests per burst, and the pause between them.
const PROBES: u32 = 20;
const PROBE_GAP: Duration = Duration::from_millis(2);
/// Pause between bursts.
const BURST_GAP: Duration = Duration::from_secs(10);
/// Timeout for the last sample, and then for the end of the process.
const END: Duration = Duration::from_secs(3);
const LEAVE: Duration = Duration::from_secs(2);
/// An observer that is silent for this long is reported. Normally it sends a line every second.
const SILENCE: Duration = Duration::from_secs(3);
/// Polling interval for its output.
const LOOK: Duration = Duration::from_millis(50);
/// Timeout for the first answer: ssh must connect.
const BEGIN: Duration = Duration::from_secs(30);
/// Series of this process and of observers on this host have lower numbers, those of sessions
/// higher ones.
const FIRST: u32 = 1 << 30;
/// Prefix of observers' names for their host, which here is the server's.
const HOST: &str = "host.";
/// Prefixes of their names for the server.
const OF_SERVER: [&str; 2] = ["server.", "data."];

/// The host that observes the server.
#[derive(Clone, Debug)]
pub struct ServerAgent {
    /// Where it runs.
    pub place: AgentLocation,
    /// The program that starts Dyno there.
    pub program: String,
}

impl ServerAgent {
    /// Starts to observe.
    ///
    /// # Errors
    /// The observer cannot be started, or does not answer.
    pub fn start(&self, target: &Target) -> Result<RemoteObserver> {
        let config = ObserverConfig {
            v: PROTOCOL,
            target: target.plan().url().unwrap_or_default(),
            password: (target.password.as_ref()).map(|password| password.expose().to_owned()),
        };
        let (mut launched, input, output) =
            Launched::observer(&self.place, &self.program, &config)?;
        let (lines, heard) = channel();
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        thread("observer-lines")
            .spawn(move || hear(output, &lines))
            .context("cannot start the thread that reads from the observer")?;
        let mut watcher = Watcher {
            input,
            estimator: Estimator::default(),
            relation: None,
            early: Vec::new(),
        };
        if let Err(error) = watcher.begin(&heard) {
            bail!("--server-agent: {}", not_begun(launched, &error));
        }
        let (sender, observations) = sync_channel(OBSERVATIONS_MAX);
        let observer = Observation::Fact(Fact::new(
            names::SERVER_OBSERVER,
            self.place.to_string(),
            "--server-agent",
        ));
        // It is the first observation, so there is space.
        drop(sender.try_send(observer));
        let (stop, stopped) = channel::<()>();
        let body = move || {
            if !watcher.watch(&heard, &stopped, &sender) {
                let how = launched
                    .ended_within(LEAVE)
                    .unwrap_or_else(|| "it does not respond".to_owned());
                lost(&sender, &how);
            }
            watcher.end();
            // The last sample covers the time before. Do not wait for a frozen observer.
            let until = Clock.now() + END.as_nanos() as u64;
            let left = || Duration::from_nanos(until.saturating_sub(Clock.now()));
            while let Ok((line, _)) = heard.recv_timeout(left()) {
                if let Line::Observed(seen) = line {
                    watcher.pass(seen, &sender);
                }
            }
            Launched::end_all(std::slice::from_mut(&mut launched), Some(LEAVE));
        };
        let watching: JoinHandle<()> = thread("remote-observer")
            .spawn(body)
            .context("cannot start the thread that watches the observer")?;
        let end = move || {
            drop(stop);
            let _ = watching.join();
        };
        Ok(RemoteObserver {
            observations,
            end: Box::new(end),
        })
    }
}

/// Why an observer did not start, in ssh's words if possible.
fn not_begun(mut launched: Launched, error: &anyhow::Error) -> String {
    // An observer with closed pipes is about to end.
    let how = match error.is::<HasEnded>() {
        true => launched.ended_within(LEAVE),
        false => launched.ended(),
    };
    let mut text = format!(
        "the observer on the server's host ({}) did not start: ",
        launched.name
    );
    text += &how.unwrap_or_else(|| error.to_string());
    if let Some(advice) = launched.advice() {
        text += &format!("; {advice}");
    }
    text
}

/// The observer has closed its pipes.
#[derive(Debug, thiserror::Error)]
#[error("it has ended")]
struct HasEnded;

/// Reads lines with their arrival times.
fn hear(output: ChildStdout, lines: &std::sync::mpsc::Sender<(Line, Nanos)>) {
    for line in BufReader::new(output).lines() {
        let now = Clock.now();
        let Ok(line) = line else { return };
        if let Ok(line) = serde_json::from_str(&line)
            && lines.send((line, now)).is_err()
        {
            return;
        }
    }
}

/// Reports that the observer has been silent since this time.
fn silent(sender: &SyncSender<Observation>, since: Nanos) {
    let event = Observation::Event {
        at: since,
        until: None,
        kind: EventKind::Observer,
        text: "the observer on the server's host stopped responding: is it frozen, or its \
               connection cut?"
            .to_owned(),
        detail: Box::default(),
    };
    // Dropped if the queue is full, as with observers on this host.
    drop(sender.try_send(event));
}

fn lost(sender: &SyncSender<Observation>, how: &str) {
    let why = format!("the observer on the server's host ended before the run: {how}");
    let event = Observation::Event {
        at: Clock.now(),
        until: None,
        kind: EventKind::Observer,
        text: why.clone(),
        detail: Box::default(),
    };
    let gap = Observation::NotObserved(NotObserved {
        what: names::SERVER_CPU.to_owned(),
        why,
    });
    // Dropped if the queue is full, as with observers on this host.
    let _ = sender.try_send(event).and_then(|()| sender.try_send(gap));
}

struct Watcher {
    input: ChildStdin,
    estimator: Estimator,
    relation: Option<Relation>,
    /// Observations from before the first clock answer.
    early: Vec<Observation>,
}

impl Watcher {
    /// Sends the first clock requests.
    fn begin(&mut self, heard: &Receiver<(Line, Nanos)>) -> Result<()> {
        self.ask().map_err(|_| HasEnded)?;
        let until = Clock.now() + BEGIN.as_nanos() as u64;
        let mut answers = 0;
        while answers < PROBES {
            let left = Duration::from_nanos(until.saturating_sub(Clock.now()));
            match heard.recv_timeout(left) {
                Ok((Line::Echo(sent, received), returned)) => {
                    self.take(sent, received, returned);
                    answers += 1;
                }
                Ok((Line::Observed(seen), _)) => self.early.push(seen),
                Err(RecvTimeoutError::Timeout) => bail!("it does not answer"),
                Err(RecvTimeoutError::Disconnected) => return Err(HasEnded.into()),
            }
        }
        self.estimator.end_burst();
        self.relation = self.estimator.relation();
        self.relation
            .map(|_| ())
            .ok_or_else(|| anyhow!("its clock readings contradict each other"))
    }

    fn ask(&mut self) -> std::io::Result<()> {
        for _ in 0..PROBES {
            writeln!(self.input, "{}", Clock.now())?;
            self.input.flush()?;
            std::thread::sleep(PROBE_GAP);
        }
        Ok(())
    }

    fn end(&mut self) {
        // It may have ended already.
        let _ = writeln!(self.input, "{}", observer::END).and_then(|()| self.input.flush());
    }

    fn take(&mut self, sent: Nanos, received: Nanos, returned: Nanos) {
        self.estimator.take(Exchange {
            sent,
            received,
            answered: received,
            returned,
        });
    }

    /// Forwards observations until it is stopped; false if the observer ended first.
    fn watch(
        &mut self,
        heard: &Receiver<(Line, Nanos)>,
        stopped: &Receiver<()>,
        sender: &SyncSender<Observation>,
    ) -> bool {
        for seen in std::mem::take(&mut self.early) {
            self.pass(seen, sender);
        }
        let mut burst_at = Clock.now() + BURST_GAP.as_nanos() as u64;
        // A frozen observer keeps its pipe open but sends nothing.
        let mut heard_at = Some(Clock.now());
        loop {
            let line = heard.recv_timeout(LOOK);
            if line.is_ok() {
                heard_at = Some(Clock.now());
            } else if let Some(since) = heard_at
                && Clock.now().saturating_sub(since) >= SILENCE.as_nanos() as u64
            {
                silent(sender, since);
                heard_at = None;
            }
            match line {
                Ok((Line::Observed(seen), _)) => self.pass(seen, sender),
                Ok((Line::Echo(sent, received), returned)) => self.take(sent, received, returned),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return false,
            }
            if matches!(
                stopped.try_recv(),
                Err(std::sync::mpsc::TryRecvError::Disconnected)
            ) {
                return true;
            }
            if Clock.now() >= burst_at {
                burst_at += BURST_GAP.as_nanos() as u64;
                // By now the last burst has been answered.
                if self.estimator.end_burst() {
                    self.relation = self.estimator.relation();
                }
                if self.ask().is_err() {
                    return false;
                }
            }
        }
    }

    fn pass(&self, seen: Observation, sender: &SyncSender<Observation>) {
        let Some(relation) = self.relation else {
            return;
        };
        if let Some(seen) = placed(seen, &|at| relation.ours(at)) {
            // Dropped if the queue is full, as with observers on this host.
            drop(sender.try_send(seen));
        }
    }
}

/// Converts an observation; `None` if this host observes it itself.
fn placed(seen: Observation, ours: &dyn Fn(Nanos) -> Nanos) -> Option<Observation> {
    Some(match seen {
        Observation::Series { id, mut key, kind } => {
            key.name = name(&key.name)?;
            let id = id + FIRST;
            Observation::Series { id, key, kind }
        }
        Observation::Sample { at, values } => Observation::Sample {
            at: ours(at),
            values: values
                .into_iter()
                .map(|(id, value)| (id + FIRST, value))
                .collect(),
        },
        Observation::Zeros { id, at } => Observation::Zeros {
            id: id + FIRST,
            at: at.into_iter().map(ours).collect(),
        },
        // It is about the observer's host, not about this one.
        Observation::Fact(fact) if fact.name == names::SERVER_SAME_HOST => return None,
        Observation::Fact(mut fact) => {
            fact.name = name(&fact.name)?;
            Observation::Fact(fact)
        }
        Observation::NotObserved(mut gap) => {
            gap.what = match gap.what.as_str() {
                "data" => gap.what,
                other => name(other)?,
            };
            Observation::NotObserved(gap)
        }
        Observation::Event {
            at,
            until,
            kind,
            text,
            detail,
        } => Observation::Event {
            at: ours(at),
            until: until.map(ours),
            kind,
            text: format!("{ON_SERVER_HOST}{text}"),
            detail: Box::new(EventDetail {
                on_server_host: true,
                ..*detail
            }),
        },
        // The server reports the same settings to every client.
        Observation::Setting { .. } => return None,
    })
}

/// Converts a name; `None` if this host observes it itself.
fn name(there: &str) -> Option<String> {
    if let Some(rest) = there.strip_prefix(HOST) {
        return Some(format!("server.host.{rest}"));
    }
    let of_server = OF_SERVER.iter().any(|prefix| there.starts_with(prefix));
    of_server.then(|| there.to_owned())
}

#[cfg(test)]
mod tests {
    use dyno_core::record::SeriesKind;
    use dyno_samples::values;

    use super::*;

    #[test]
    fn observations_there_have_their_own_names_and_times() {
        let ours = |at: Nanos| at + 1_000;
        let series = |name: &str| Observation::Series {
            id: 3,
            key: values::key(name, "percent"),
            kind: SeriesKind::Gauge,
        };
        let renamed = |name: &str| match placed(series(name), &ours) {
            Some(Observation::Series { id, key, .. }) => Some((id, key.name)),
            _ => None,
        };
        let host = (FIRST + 3, "server.host.cpu.user".to_owned());
        assert_eq!(renamed("host.cpu.user"), Some(host));
        let own = (FIRST + 3, "server.cpu.user".to_owned());
        assert_eq!(renamed("server.cpu.user"), Some(own));
        for here in ["client.cpu.user", "db.up", "observer.cpu"] {
            assert_eq!(renamed(here), None, "{here}");
        }
        let sample = Observation::Sample {
            at: 5,
            values: vec![(3, 0.5)],
        };
        let expected = Observation::Sample {
            at: 1_005,
            values: vec![(FIRST + 3, 0.5)],
        };
        assert_eq!(placed(sample, &ours), Some(expected));
        let fact = Observation::Fact(values::fact("client.pid", "7", "getpid"));
        assert_eq!(placed(fact, &ours), None);
    }
}
