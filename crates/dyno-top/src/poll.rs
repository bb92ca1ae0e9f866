//! The polling thread: a source that hangs must not block the screen.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel,
};
use std::time::Duration;

use dyno_core::clock::{Nanos, wall_time};
use dyno_core::{Clock, redact};

use crate::figures::Values;
use crate::heat;
use crate::profile::{Ask, Latencies, Profile};
use crate::source::{Answer, Source, Trouble};

/// Maximum number of snapshots that wait to be shown; then the thread waits.
const WAITING_MAX: usize = 8;
/// A question is repeated only after this multiple of its answer's duration, so that it takes at
/// most a twentieth of the server's time.
const PAUSES: u64 = 20;
/// Faster answers have a negligible cost.
const CHEAP_NS: Nanos = 20_000_000;

/// A message of the thread.
#[derive(Debug)]
pub enum Update {
    /// Connected; the profile lists the questions.
    Opened(Box<Profile>),
    /// New answers.
    Snapshot(Box<Snapshot>),
    /// No connection, with the reason. It is retried.
    Lost(String),
}

/// The answers of one time.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When the values were requested.
    pub at: Nanos,
    /// When the values were requested, in seconds since the Unix epoch.
    pub unix_s: f64,
    /// The screen of the tables.
    pub screen: usize,
    /// Values of figures.
    pub values: Values,
    /// Latencies.
    pub latencies: heat::LatencySample,
    /// The tables of the screen.
    pub tables: Vec<Answered>,
    /// Refused questions other than the tables, with advice.
    pub notes: Vec<String>,
}

/// A table's answer.
#[derive(Clone, Debug, Default)]
pub struct Answered {
    /// When it was requested; unchanged if the question was not repeated.
    pub at: Nanos,
    /// `None` if every way to ask was refused.
    pub answer: Option<Arc<Answer>>,
    /// Why better ways were not used.
    pub notes: Vec<String>,
}

/// A command to the thread.
#[derive(Clone, Copy, Debug)]
enum Order {
    Screen(usize),
    Interval(Duration),
    Refresh,
}

/// A handle to the thread. The thread ends when this is dropped, as soon as the source allows it.
pub struct Poller {
    orders: Sender<Order>,
    updates: Receiver<Update>,
    /// When the pending question was asked; 0 without one.
    asked_at: Arc<AtomicU64>,
}

impl Poller {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system has no thread for it.
    pub fn start(source: Box<dyn Source>, interval: Duration) -> io::Result<Self> {
        let (orders, ordered) = channel();
        let (updater, updates) = sync_channel(WAITING_MAX);
        let asked_at = Arc::new(AtomicU64::new(0));
        let asker = Asker {
            source,
            asked_at: Arc::clone(&asked_at),
            profile: None,
            screen: 0,
            ways: HashMap::new(),
            refused: HashMap::new(),
        };
        std::thread::Builder::new()
            .name("dyno-top".to_owned())
            .spawn(move || asker.work(&ordered, &updater, interval))?;
        Ok(Self {
            orders,
            updates,
            asked_at,
        })
    }

    /// The next message; `Some(None)` if none came within `patience`; `None` when the thread has
    /// ended.
    pub fn next(&self, patience: Duration) -> Option<Option<Update>> {
        match self.updates.recv_timeout(patience) {
            Ok(update) => Some(Some(update)),
            Err(RecvTimeoutError::Timeout) => Some(None),
            Err(RecvTimeoutError::Disconnected) => None,
        }
    }

    /// The next update, without waiting for it.
    pub fn waiting(&self) -> Option<Option<Update>> {
        match self.updates.try_recv() {
            Ok(update) => Some(Some(update)),
            Err(TryRecvError::Empty) => Some(None),
            Err(TryRecvError::Disconnected) => None,
        }
    }

    /// Asks for another screen from now on, immediately.
    pub fn show(&self, screen: usize) {
        let _ = self.orders.send(Order::Screen(screen));
    }

    /// Sets the interval from now on.
    pub fn every(&self, interval: Duration) {
        let _ = self.orders.send(Order::Interval(interval));
    }

    /// Asks immediately.
    pub fn refresh(&self) {
        let _ = self.orders.send(Order::Refresh);
    }

    /// How long a question has been waiting for its answer.
    pub fn unanswered_for(&self) -> Option<Duration> {
        let asked_at = self.asked_at.load(Ordering::Relaxed);
        (asked_at > 0).then(|| Clock.since(asked_at))
    }
}

/// The way to ask for a table.
#[derive(Clone, Debug, Default)]
struct Way {
    /// The index of the way in use.
    at: usize,
    notes: Vec<String>,
    last: Option<Answered>,
    took: Nanos,
}

/// Why a question is not asked.
#[derive(Clone, Debug)]
struct Refused {
    why: String,
    /// The user can fix it.
    is_shown: bool,
}

struct Asker {
    source: Box<dyn Source>,
    asked_at: Arc<AtomicU64>,
    profile: Option<Arc<Profile>>,
    screen: usize,
    /// By screen and table.
    ways: HashMap<(usize, usize), Way>,
    /// Questions other than the tables that are no longer asked, with the reasons.
    refused: HashMap<&'static str, Refused>,
}

impl Asker {
    fn work(mut self, orders: &Receiver<Order>, updater: &SyncSender<Update>, interval: Duration) {
        let mut interval = interval;
        loop {
            let begun = Clock.now();
            if !self.turn(updater) {
                return;
            }
            let mut due = begun + interval.as_nanos() as Nanos;
            loop {
                let wait = Duration::from_nanos(due.saturating_sub(Clock.now()));
                match orders.recv_timeout(wait) {
                    Ok(Order::Screen(screen)) => {
                        self.screen = screen;
                        break;
                    }
                    Ok(Order::Interval(new)) => {
                        interval = new;
                        due = begun + interval.as_nanos() as Nanos;
                    }
                    Ok(Order::Refresh) | Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
        }
    }

    /// One snapshot, after connecting if needed. False if there is no receiver.
    fn turn(&mut self, updater: &SyncSender<Update>) -> bool {
        self.asked_at.store(Clock.now(), Ordering::Relaxed);
        let profile = match &self.profile {
            Some(profile) => Arc::clone(profile),
            None => match self.source.open() {
                Ok(profile) => {
                    self.ways.clear();
                    self.refused.clear();
                    if updater
                        .send(Update::Opened(Box::new(profile.clone())))
                        .is_err()
                    {
                        return false;
                    }
                    Arc::clone(self.profile.insert(Arc::new(profile)))
                }
                Err(why) => return self.lose(&why, updater),
            },
        };
        let snapshot = self.snapshot(&profile);
        match snapshot {
            Ok(snapshot) => {
                self.asked_at.store(0, Ordering::Relaxed);
                updater.send(Update::Snapshot(Box::new(snapshot))).is_ok()
            }
            Err(why) => self.lose(&why, updater),
        }
    }

    fn lose(&mut self, why: &Trouble, updater: &SyncSender<Update>) -> bool {
        self.profile = None;
        self.asked_at.store(0, Ordering::Relaxed);
        let why = redact::text(&why.to_string());
        updater.send(Update::Lost(why)).is_ok()
    }

    fn snapshot(&mut self, profile: &Profile) -> Result<Snapshot, Trouble> {
        let at = Clock.now();
        let unix_s = wall_time().as_secs_f64();
        let mut values = Values::default();
        for part in profile.values {
            if let Some(answer) = self.beside(profile, &part.ask)? {
                values.add(&answer, part.form);
            }
        }
        let latencies = self.latencies(profile)?;
        let screen = self.screen.min(profile.screens.len().saturating_sub(1));
        let tables = profile.screens.get(screen).map_or(0, |s| s.tables.len());
        let tables = (0..tables)
            .map(|table| self.table(profile, screen, table))
            .collect::<Result<Vec<_>, _>>()?;
        let shown = self.refused.values().filter(|refused| refused.is_shown);
        let mut notes: Vec<String> = shown.map(|refused| refused.why.clone()).collect();
        notes.sort();
        Ok(Snapshot {
            at,
            unix_s,
            screen,
            values,
            latencies,
            tables,
            notes,
        })
    }

    fn latencies(&mut self, profile: &Profile) -> Result<heat::LatencySample, Trouble> {
        let ask = match &profile.latencies {
            Latencies::Absent(why) => return Ok(heat::LatencySample::Absent((*why).to_owned())),
            Latencies::Buckets { ask, .. }
            | Latencies::Columns { ask, .. }
            | Latencies::Intervals(ask) => ask,
        };
        match self.beside(profile, ask)? {
            Some(answer) => Ok(heat::sample(&profile.latencies, &answer)),
            None => {
                let refused = self.refused.get_mut(ask.text);
                let why = refused.map(|refused| {
                    // It is shown instead of the latencies.
                    refused.is_shown = false;
                    refused.why.clone()
                });
                Ok(heat::LatencySample::Absent(why.unwrap_or_default()))
            }
        }
    }

    /// The answer to a question other than the tables; `None` if it is refused.
    fn beside(&mut self, profile: &Profile, ask: &Ask) -> Result<Option<Answer>, Trouble> {
        if self.refused.contains_key(ask.text) {
            return Ok(None);
        }
        let refused = match profile.can(ask.needs) {
            Err(why) => Refused {
                why: why.to_owned(),
                is_shown: false,
            },
            Ok(()) => match self.source.ask(&worded(profile, ask)) {
                Ok(answer) => return Ok(Some(answer)),
                Err(lost) if lost.is_lost() => return Err(lost),
                Err(trouble) => Refused {
                    why: refused(trouble, ask).to_string(),
                    is_shown: !ask.advice.is_empty(),
                },
            },
        };
        self.refused.insert(ask.text, refused);
        Ok(None)
    }

    fn table(
        &mut self,
        profile: &Profile,
        screen: usize,
        table: usize,
    ) -> Result<Answered, Trouble> {
        let asks = profile.screens[screen].tables[table].asks;
        let mut way = self.ways.remove(&(screen, table)).unwrap_or_default();
        let now = Clock.now();
        if let Some(last) = &way.last
            && way.took > CHEAP_NS
            && now < last.at + way.took * PAUSES
        {
            let last = last.clone();
            self.ways.insert((screen, table), way);
            return Ok(last);
        }
        let mut answer = None;
        // Reported if no other way is left and there is no other message.
        let mut silent = None;
        while let Some(ask) = asks.get(way.at) {
            let tried = match profile.can(ask.needs) {
                Err(why) => Err(Trouble::Refused(why.to_owned())),
                Ok(()) => {
                    let asked = self.source.ask(&worded(profile, ask));
                    asked.map_err(|trouble| refused(trouble, ask))
                }
            };
            match tried {
                Ok(received) => {
                    answer = Some(Arc::new(received));
                    break;
                }
                // Several ways may be refused for the same reason.
                Err(Trouble::Refused(why)) if !ask.advice.is_empty() => {
                    if !way.notes.contains(&why) {
                        way.notes.push(why);
                    }
                }
                Err(lost) if lost.is_lost() => return Err(lost),
                Err(why) => silent = Some(why.to_string()),
            }
            way.at += 1;
        }
        if answer.is_none() && way.notes.is_empty() {
            way.notes.extend(silent);
        }
        way.took = Clock.now().saturating_sub(now);
        let answered = Answered {
            at: now,
            answer,
            notes: way.notes.clone(),
        };
        way.last = Some(answered.clone());
        self.ways.insert((screen, table), way);
        Ok(answered)
    }
}

fn worded(profile: &Profile, ask: &Ask) -> String {
    ask.text.replace("{schema}", &profile.schema)
}

/// Adds the advice, unless the connection was lost.
fn refused(trouble: Trouble, ask: &Ask) -> Trouble {
    let said = |why: &str| {
        let why = redact::text(why);
        match ask.advice {
            "" => format!("refused: {why}"),
            advice => format!("refused: {why}; {advice}"),
        }
    };
    match trouble {
        Trouble::Refused(why) => Trouble::Refused(said(&why)),
        Trouble::Unknown(why) => Trouble::Unknown(said(&why)),
        Trouble::Lost(why) => Trouble::Lost(why),
    }
}

/// One snapshot without a thread, for tests.
#[cfg(test)]
pub(crate) fn snapshot(
    source: Box<dyn Source>,
    profile: &Profile,
    screen: usize,
) -> Result<Snapshot, Trouble> {
    let mut asker = Asker {
        source,
        asked_at: Arc::default(),
        profile: None,
        screen,
        ways: HashMap::new(),
        refused: HashMap::new(),
    };
    asker.snapshot(profile)
}
