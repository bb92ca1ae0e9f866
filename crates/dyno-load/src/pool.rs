//! The workers from the coordinator's side: start, initialisation, messages, shutdown.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use dyno_core::clock::Nanos;
use dyno_core::clock::simulated::{self, Member};
use dyno_core::plan::Portion;
use dyno_core::scheduling;
use dyno_core::session::{Entry, Program};

use crate::calendar::nanos;
use crate::message::{Control, Mailbox, Message, Waits, send_message};
use crate::outcome::LoadError;
use crate::recorder::{Handover, Recorder, Shape};
use crate::run::RunConfig;
use crate::state::{Parts, now};
use crate::stop::{Listening, StopLevel, StopSignal};
use crate::worker::Worker;

/// The time for workers to drop everything.
const DISMISS_NS: Nanos = 900_000_000;
/// The time for workers to report what their sessions wait for.
const REPORT_NS: Nanos = 200_000_000;

/// The workers. Their threads are never joined, because a script may hang.
pub(crate) struct WorkerPool {
    mailboxes: Vec<Arc<Mailbox>>,
    spares: Vec<Sender<Box<Handover>>>,
    messages: Receiver<Message>,
    /// The sessions of this load generator.
    sessions: u32,
    portion: Option<Portion>,
    _listening: Listening,
}

/// Ends the workers when the run is to end.
fn listen(config: &RunConfig, mailboxes: Vec<Arc<Mailbox>>, sender: Sender<Message>) -> Listening {
    config.stop.listen(Box::new(move || {
        // First, so that the coordinator knows why workers end. If it has ended, there is nothing
        // to stop.
        send_message(&sender, Message::Stopped);
        mailboxes.iter().for_each(|mailbox| mailbox.waker.wake());
    }))
}

impl WorkerPool {
    pub(crate) fn spawn<P, F>(config: &RunConfig, factory: F) -> Result<Self, LoadError>
    where
        P: Program + 'static,
        F: Fn(usize) -> Result<P, String> + Send + Sync + 'static,
    {
        let sessions = config.drive.own().sessions;
        let size = config.drive.workers.min(sessions) as usize;
        let (sender, messages) = channel();
        let mailboxes = mailboxes(size)?;
        let mut pool = Self {
            spares: Vec::with_capacity(size),
            messages,
            sessions,
            portion: config.drive.portion(),
            _listening: listen(config, mailboxes.clone(), sender.clone()),
            mailboxes,
        };
        let factory = Arc::new(factory);
        let sequence = Arc::new(AtomicU64::new(u64::from(sessions)));
        let shape = shape(config);
        // Copying a descriptor table while a script has a pipe to a program keeps the pipe open, so
        // the script would never read its end. So no script begins before all workers have their
        // own tables.
        let opened = Arc::new(RwLock::new(()));
        let closed = opened.write();
        let (owning, owned) = channel();
        let gate = Gate {
            owning,
            opened: Arc::clone(&opened),
        };
        for index in 0..size {
            let (spares, returned) = channel();
            pool.spares.push(spares);
            let recorder = Recorder::new(index, shape, sender.clone(), returned);
            let parts = Parts {
                tids: pool.tids(index).collect(),
                connector: config.connector.clone(),
                sequence: Arc::clone(&sequence),
                stop: Arc::clone(&config.stop),
                mailbox: Arc::clone(&pool.mailboxes[index]),
                recorder,
                shapes: config.shapes,
                early_ns: config.drive.spin.unwrap_or_default().as_nanos() as Nanos,
                duet: config.duet.clone(),
            };
            let spawned = spawn(
                index,
                Arc::clone(&factory),
                parts,
                sender.clone(),
                config.entry.clone(),
                gate.clone(),
            );
            if let Err(error) = spawned {
                pool.post_all(|| Control::Abandon);
                let message = format!("cannot create thread {index} of {size}: {error}");
                return Err(LoadError::Start(message));
            }
        }
        drop(gate);
        // Nothing is ever sent: this ends when all workers have dropped their senders.
        let _ = owned.recv();
        drop(closed);
        Ok(pool)
    }

    /// Waits until all sessions are initialised.
    pub(crate) fn initialise(&self, timeout: Duration, stop: &StopSignal) -> Result<(), LoadError> {
        let limit = now().saturating_add(nanos(timeout));
        let mut ready = 0;
        if stop.level() != StopLevel::None {
            return Err(self.shut_down(LoadError::Interrupted, 0));
        }
        while ready < self.size() {
            let left = limit.saturating_sub(now());
            match self.receive(Duration::from_nanos(left)) {
                Ok(Message::Ready) => ready += 1,
                Ok(Message::Failed(tid, why)) => {
                    let error = match tid {
                        Some(tid) => LoadError::Init { tid, why },
                        None => LoadError::Start(why),
                    };
                    return Err(self.shut_down(error, 0));
                }
                Ok(Message::Stopped) => return Err(self.shut_down(LoadError::Interrupted, 0)),
                Ok(_) => {}
                Err(_) => return Err(self.shut_down(self.timed_out(timeout), 0)),
            }
        }
        Ok(())
    }

    pub(crate) fn size(&self) -> usize {
        self.mailboxes.len()
    }

    /// The sessions of a worker, by their numbers over all load generators.
    pub(crate) fn tids(&self, worker: usize) -> impl ExactSizeIterator<Item = u32> + use<> {
        let portion = self.portion.clone();
        let own = (worker as u32..self.sessions).step_by(self.size().max(1));
        own.map(move |index| match &portion {
            None => index,
            // There are as many as it has sessions.
            Some(portion) => portion.nth(index.into()).unwrap_or_default() as u32,
        })
    }

    /// The CPU time of a worker's thread since the start of the measurement, with that instant, if
    /// it reached it. `None` if the thread has ended.
    pub(crate) fn cpu_used(&self, worker: usize) -> Option<(Nanos, Option<Nanos>)> {
        self.mailboxes.get(worker)?.cpu.used()
    }

    pub(crate) fn receive(&self, timeout: Duration) -> Result<Message, RecvTimeoutError> {
        if simulated::is_on() {
            return self.receive_simulated(timeout);
        }
        self.messages.recv_timeout(timeout)
    }

    #[cold]
    fn receive_simulated(&self, timeout: Duration) -> Result<Message, RecvTimeoutError> {
        let mut received = Err(RecvTimeoutError::Timeout);
        simulated::wait(now().saturating_add(nanos(timeout)), || {
            received = self.messages.try_recv().map_err(|error| match error {
                TryRecvError::Empty => RecvTimeoutError::Timeout,
                TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
            });
            !matches!(received, Err(RecvTimeoutError::Timeout))
        });
        received
    }

    pub(crate) fn post(&self, worker: usize, control: Control) {
        self.mailboxes[worker].post(control);
    }

    pub(crate) fn post_all(&self, control: impl Fn() -> Control) {
        for mailbox in &self.mailboxes {
            mailbox.post(control());
        }
    }

    pub(crate) fn give_back(&self, handover: Box<Handover>) {
        // An ended worker needs no buffers.
        let _ = self.spares[handover.worker].send(handover);
    }

    /// Makes all workers drop everything, and waits for them for a bounded time.
    pub(crate) fn shut_down(&self, error: LoadError, gone: usize) -> LoadError {
        self.post_all(|| Control::Abandon);
        let limit = now() + DISMISS_NS;
        let mut gone = gone;
        while gone < self.size() {
            let left = limit.saturating_sub(now());
            match self.receive(Duration::from_nanos(left)) {
                Ok(Message::Ended(_) | Message::Lost(_)) => gone += 1,
                Ok(_) => {}
                Err(_) => break,
            }
        }
        error
    }

    /// The error of a timed-out initialisation, with what the sessions wait for.
    fn timed_out(&self, timeout: Duration) -> LoadError {
        self.post_all(|| Control::Report);
        let limit = now() + REPORT_NS;
        let mut sum = Waits::default();
        let mut answers = 0;
        while answers < self.size() {
            let left = limit.saturating_sub(now());
            match self.receive(Duration::from_nanos(left)) {
                Ok(Message::Waits(waits)) => {
                    answers += 1;
                    sum.ready += waits.ready;
                    sum.connecting += waits.connecting;
                    sum.statement += waits.statement;
                    sum.sleeping += waits.sleeping;
                    sum.queued += waits.queued;
                }
                Ok(_) => {}
                Err(_) => break,
            }
        }
        let known = sum.ready + sum.connecting + sum.statement + sum.sleeping + sum.queued;
        let kinds = [
            (sum.connecting, "waited for a connection"),
            (sum.statement, "waited for a statement's answer"),
            (sum.sleeping, "slept"),
            (sum.queued, "had not had their turn"),
            (
                self.sessions - known,
                "are with workers that hang in the script",
            ),
        ];
        let waits: Vec<String> = kinds
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        LoadError::InitTimeout {
            ready: sum.ready,
            sessions: self.sessions,
            timeout_s: timeout.as_secs_f64(),
            waits: waits.join(", "),
        }
    }
}

impl Drop for WorkerPool {
    fn drop(&mut self) {
        // A worker stuck in its script must not go on when it comes back.
        self.post_all(|| Control::Abandon);
    }
}

fn shape(config: &RunConfig) -> Shape {
    Shape {
        endpoints: config.connector.as_ref().map_or(0, |c| c.endpoints().len()),
        operations: config.operations,
        roles: config.drive.roles.len().max(1),
    }
}

/// A mailbox for each of `size` workers.
fn mailboxes(size: usize) -> Result<Vec<Arc<Mailbox>>, LoadError> {
    let mailboxes = (0..size).map(|_| Mailbox::new());
    mailboxes
        .collect::<std::io::Result<_>>()
        .map_err(|error| LoadError::Start(format!("no descriptor for waking a worker: {error}")))
}

/// A barrier until all workers have their own descriptors.
#[derive(Clone)]
struct Gate {
    /// Dropped by each worker that has them.
    owning: Sender<()>,
    /// Locked until all have them.
    opened: Arc<RwLock<()>>,
}

impl Gate {
    fn pass(self) {
        drop(self.owning);
        // It guards no data, so a poisoned lock is as good as an open one.
        drop(self.opened.read());
    }
}

fn spawn<P, F>(
    index: usize,
    factory: Arc<F>,
    parts: Parts,
    messages: Sender<Message>,
    entry: Entry,
    gate: Gate,
) -> std::io::Result<()>
where
    P: Program + 'static,
    F: Fn(usize) -> Result<P, String> + Send + Sync + 'static,
{
    let thread = std::thread::Builder::new().name(format!("dyno-{index}"));
    let member = Member::enter();
    let body = move || {
        let _member = member;
        let ended = messages.clone();
        let work = || {
            own_descriptors(&parts);
            scheduling::usual_slices();
            parts.mailbox.cpu.begin();
            gate.pass();
            let program = factory(index)?;
            let worker = Worker::new(index, program, parts, ended, entry)
                .map_err(|error| format!("worker {index} cannot wait for sockets: {error}"))?;
            worker.live();
            Ok(())
        };
        let why = match catch_unwind(AssertUnwindSafe(work)) {
            Ok(Ok(())) => return,
            Ok(Err(why)) => why,
            Err(panic) => format!("worker {index} crashed: {}", panic_text(&*panic)),
        };
        // If the coordinator has ended, it has its result and does not need the message.
        send_message(&messages, Message::Failed(None, why));
        send_message(&messages, Message::Lost(index));
    };
    thread.spawn(body).map(drop)
}

/// Gives the thread its own descriptor table: in a shared table, each system call on a socket
/// counts its users. Not with an embedded database, whose file locks belong to the table.
fn own_descriptors(parts: &Parts) {
    if parts
        .connector
        .as_ref()
        .is_none_or(|connector| !connector.blocks())
    {
        // If a kernel or sandbox refuses, it only costs a little CPU time.
        // SAFETY: a system call without pointers; the thread has no descriptors yet, and those that
        // it shares with others stay open on both sides.
        unsafe { libc::unshare(libc::CLONE_FILES) };
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("without a message")
}
