//! A bus over a NATS server with JetStream, 2.9 or newer. The client runs on one thread of its own
//! and is reached by bounded channels.
//!
//! What agents measure goes into a stream, by numbered messages, of which the server keeps one
//! each until it was read. Everything else is told again anyway, and is not kept.

mod calls;

use std::net::{IpAddr, ToSocketAddrs as _};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::jetstream::{self, Context};
use async_nats::{Client, ConnectErrorKind, ConnectOptions, Event, HeaderMap};
use dyno_core::Secret;
use dyno_core::clock::{Clock, Nanos};
use futures_util::StreamExt as _;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::{Bus, BusError, Incoming, WAITING_MAX};
use crate::agent::Kept;
use crate::names::{AgentName, Channel, RunId, Subject};
use crate::server::{COORDINATOR, inbox};

pub use calls::await_call;
use calls::{call, subject_of};

/// So long may it take to connect.
const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Between tries to connect again.
const RECONNECT: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];
/// The server is asked so often whether it is there.
const PING: Duration = Duration::from_secs(2);
/// So long is a confirmation waited for; then the message is sent again.
const CONFIRM_LIMIT: Duration = Duration::from_secs(2);
/// So long after an error records are asked for again.
const AGAIN: Duration = Duration::from_millis(200);
/// The stream that did not say anything for so long is asked for again.
const HEARTBEAT: Duration = Duration::from_secs(1);
const EXPIRES: Duration = Duration::from_secs(5);
/// What the stream of a run may hold that was not read, and how long it passes over what it had.
const STREAM_BYTES_MAX: i64 = 512 << 20;
const STREAM_AGE: Duration = Duration::from_secs(24 * 3600);
const DUPLICATES: Duration = Duration::from_secs(120);
/// So many complaints of the server are kept.
const COMPLAINTS_MAX: usize = 64;

/// Whose end it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads what all agents say.
    Coordinator,
    /// Reads what it is told.
    Agent(AgentName),
}

/// Where the bus is, and who one is there.
#[derive(Clone, Debug)]
pub struct NatsConfig {
    /// Host and port.
    pub address: String,
    /// The seed of one's key.
    pub key: Secret,
    /// The run.
    pub run: RunId,
    /// Whose end it is.
    pub role: Role,
    /// The file of the authority that signed the server's certificate; without it there is no TLS,
    /// which is for the loopback interface only.
    pub authority: Option<PathBuf>,
}

enum Outgoing {
    Send(String, Vec<u8>),
    Keep(Kept),
    Call(Vec<String>, Arc<AtomicBool>),
}

/// One end of the bus.
#[derive(Debug)]
pub struct NatsBus {
    outgoing: Option<mpsc::Sender<Outgoing>>,
    incoming: Receiver<Incoming>,
    complaints: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl NatsBus {
    /// Connects, and makes the run's stream if it is the coordinator's end.
    ///
    /// # Errors
    /// The server cannot be reached, does not know the key, or has no JetStream; or it is not on
    /// this host and there is no TLS.
    pub fn connect(config: NatsConfig) -> Result<Self, BusError> {
        check_transport(&config)?;
        let (outgoing, orders) = mpsc::channel(WAITING_MAX);
        let (forward, incoming) = sync_channel(WAITING_MAX);
        let (ready, connected) = sync_channel(1);
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let worker = Worker {
            config,
            forward,
            complaints: Arc::clone(&complaints),
        };
        let thread = std::thread::Builder::new().name("dyno-nats".to_owned());
        let thread = thread
            .spawn(move || worker.live(orders, &ready))
            .map_err(|error| BusError::Ended(error.to_string()))?;
        let connected = connected
            .recv()
            .map_err(|error| BusError::Ended(error.to_string()))?;
        connected.map(|()| Self {
            outgoing: Some(outgoing),
            incoming,
            complaints,
            thread: Some(thread),
        })
    }

    /// Calls agents that wait on the bus for a run to take part in, until `wanted` is false.
    pub fn call(&self, agents: &[AgentName], wanted: &Arc<AtomicBool>) -> Result<(), BusError> {
        let subjects = agents.iter().map(subject_of).collect();
        self.pass(Outgoing::Call(subjects, Arc::clone(wanted)))
    }

    /// What the server did not like, in its own words.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// What there is no room for is lost, as it may be: whatever matters is sent again.
    fn pass(&self, outgoing: Outgoing) -> Result<(), BusError> {
        let ended = || BusError::Ended("the thread of the NATS client".to_owned());
        match self.outgoing.as_ref().ok_or_else(ended)?.try_send(outgoing) {
            Ok(()) | Err(mpsc::error::TrySendError::Full(_)) => Ok(()),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(ended()),
        }
    }
}

impl Bus for NatsBus {
    fn send(&mut self, subject: &Subject, bytes: &[u8]) -> Result<(), BusError> {
        self.pass(Outgoing::Send(subject.to_string(), bytes.to_vec()))
    }

    fn keep(&mut self, kept: &Kept) -> Result<(), BusError> {
        self.pass(Outgoing::Keep(kept.clone()))
    }

    fn receive(&mut self, until: Nanos) -> Result<Option<Incoming>, BusError> {
        let left = Duration::from_nanos(until.saturating_sub(Clock.now()));
        match self.incoming.recv_timeout(left) {
            Ok(incoming) => Ok(Some(incoming)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(BusError::Ended("the thread of the NATS client".to_owned()))
            }
        }
    }
}

impl Drop for NatsBus {
    fn drop(&mut self) {
        // The thread ends once it has sent what is on its way.
        self.outgoing = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Keys sign, but do not hide what is said: beyond this host that is TLS's part.
fn check_transport(config: &NatsConfig) -> Result<(), BusError> {
    if config.authority.is_some() {
        return Ok(());
    }
    let unreachable = |why: String| BusError::Unreachable {
        at: config.address.clone(),
        why,
    };
    let found = config.address.to_socket_addrs();
    let mut found = found.map_err(|error| unreachable(error.to_string()))?;
    let local = |ip: IpAddr| ip.is_loopback();
    match found.all(|address| local(address.ip())) {
        true => Ok(()),
        false => Err(BusError::Unencrypted {
            at: config.address.clone(),
        }),
    }
}

/// What lives on the thread.
struct Worker {
    config: NatsConfig,
    forward: SyncSender<Incoming>,
    complaints: Arc<Mutex<Vec<String>>>,
}

impl Worker {
    fn live(self, orders: mpsc::Receiver<Outgoing>, ready: &SyncSender<Result<(), BusError>>) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        match runtime {
            Ok(runtime) => runtime.block_on(self.work(orders, ready)),
            // Whoever waits for it is told; one that has gone needs no word.
            Err(error) => drop(ready.send(Err(BusError::Ended(error.to_string())))),
        }
    }

    async fn work(
        self,
        mut orders: mpsc::Receiver<Outgoing>,
        ready: &SyncSender<Result<(), BusError>>,
    ) {
        let client = match self.begin().await {
            Ok(client) => client,
            Err(error) => {
                let _ = ready.send(Err(error));
                return;
            }
        };
        let _ = ready.send(Ok(()));
        let context = jetstream::new(client.clone());
        while let Some(outgoing) = orders.recv().await {
            // While it is away the client would keep what is sent until its buffers are full.
            if client.connection_state() != State::Connected {
                continue;
            }
            match outgoing {
                Outgoing::Send(subject, bytes) => {
                    // What fails is lost, as it may be.
                    let _ = client.publish(subject, bytes.into()).await;
                }
                Outgoing::Keep(kept) => {
                    let sent = keep(context.clone(), kept, self.forward.clone());
                    drop(tokio::spawn(sent));
                }
                Outgoing::Call(subjects, wanted) => {
                    let run = self.config.run.to_string();
                    drop(tokio::spawn(call(client.clone(), run, subjects, wanted)));
                }
            }
        }
        let _ = timeout(CONFIRM_LIMIT, client.flush()).await;
        if self.config.role == Role::Coordinator {
            // The run is over: what is kept of it would be in the way of others.
            let stream = format!("DYNO_{}", self.config.run);
            let _ = timeout(CONFIRM_LIMIT, context.delete_stream(stream)).await;
        }
    }

    /// Connects, and has what is to be read forwarded.
    async fn begin(&self) -> Result<Client, BusError> {
        let connecting = self.options().connect(self.config.address.clone());
        let client = match timeout(CONNECT_LIMIT, connecting).await {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return Err(self.not_connected(&error)),
            Err(_) => return Err(self.unreachable("it does not answer")),
        };
        let run = &self.config.run;
        let subjects: Vec<String> = match &self.config.role {
            Role::Coordinator => [Channel::Hello, Channel::Pulse, Channel::Echo]
                .map(|channel| format!("dyno.{run}.{}.*", channel.token()))
                .to_vec(),
            Role::Agent(agent) => [Channel::Control, Channel::Clock]
                .map(|channel| format!("dyno.{run}.{}.{agent}", channel.token()))
                .to_vec(),
        };
        for subject in subjects {
            let read = client.subscribe(subject.clone()).await;
            let mut read = read.map_err(|error| self.refused(&subject, &error.to_string()))?;
            let forward = self.forward.clone();
            tokio::spawn(async move {
                while let Some(message) = read.next().await {
                    pass(&forward, &message.subject, &message.payload);
                }
            });
        }
        if self.config.role == Role::Coordinator {
            let consumer = self.consumer(&client).await?;
            tokio::spawn(read_records(consumer, self.forward.clone()));
        }
        // What was asked for is there before anybody is told to write.
        let _ = timeout(CONNECT_LIMIT, client.flush()).await;
        Ok(client)
    }

    fn options(&self) -> ConnectOptions {
        let whom = match &self.config.role {
            Role::Coordinator => COORDINATOR,
            Role::Agent(agent) => agent.as_str(),
        };
        let (forward, complaints) = (self.forward.clone(), Arc::clone(&self.complaints));
        let options = ConnectOptions::with_nkey(self.config.key.expose().to_owned())
            .name(format!("dyno {} {whom}", self.config.run))
            .custom_inbox_prefix(inbox(whom))
            .ping_interval(PING)
            .reconnect_delay_callback(|attempt| RECONNECT[usize::from(attempt > 5)])
            .event_callback(move |event| {
                tell(event, &forward, &complaints);
                std::future::ready(())
            });
        match &self.config.authority {
            Some(file) => options
                .require_tls(true)
                .add_root_certificates(file.clone()),
            None => options,
        }
    }

    /// The run's stream, read by one reader who starts where the last one ended.
    async fn consumer(&self, client: &Client) -> Result<Consumer, BusError> {
        let run = &self.config.run;
        let kept = Channel::ALL.into_iter().filter(|channel| channel.is_kept());
        let subjects = kept.map(|channel| format!("dyno.{run}.{}.*", channel.token()));
        let made = jetstream::new(client.clone())
            .get_or_create_stream(stream::Config {
                name: format!("DYNO_{run}"),
                subjects: subjects.collect(),
                storage: StorageType::File,
                // A run may last for days: what was read is not kept.
                retention: RetentionPolicy::WorkQueue,
                discard: DiscardPolicy::New,
                max_age: STREAM_AGE,
                max_bytes: STREAM_BYTES_MAX,
                duplicate_window: DUPLICATES,
                // The bus acknowledges a record where its sender says, with rights of its own: an
                // agent could have it ask for this.
                deny_purge: true,
                deny_delete: true,
                ..stream::Config::default()
            })
            .await;
        let stream = made.map_err(|error| self.refused("a stream", &no_stream(&error)))?;
        let reader = stream
            .get_or_create_consumer(
                "coordinator",
                pull::Config {
                    durable_name: Some("coordinator".to_owned()),
                    ack_policy: AckPolicy::Explicit,
                    // What a reader that stood still has not taken comes again soon.
                    ack_wait: CONFIRM_LIMIT,
                    ..pull::Config::default()
                },
            )
            .await;
        reader.map_err(|error| self.refused("a reader of its stream", &error.to_string()))
    }

    fn not_connected(&self, error: &async_nats::ConnectError) -> BusError {
        match error.kind() {
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                let why = "it does not know the key (authorization violation): is it one of those \
                           that `dyno fleet keys` wrote for this server, and was the server \
                           started or reloaded since?";
                self.refused("a connection", why)
            }
            _ => self.unreachable(&error.to_string()),
        }
    }

    fn refused(&self, what: &str, why: &str) -> BusError {
        BusError::Refused {
            at: self.config.address.clone(),
            what: what.to_owned(),
            why: why.to_owned(),
        }
    }

    fn unreachable(&self, why: &str) -> BusError {
        BusError::Unreachable {
            at: self.config.address.clone(),
            why: why.to_owned(),
        }
    }
}

/// Why there is no stream, with what to try.
fn no_stream(error: &impl ToString) -> String {
    let why = error.to_string();
    let hint = if why.contains("timed out") {
        "; is it the coordinator's key (coordinator.nk)?"
    } else if why.contains("unavailable") || why.contains("not enabled") {
        "; start the server with -js, or with the configuration that `dyno fleet keys` writes"
    } else {
        ""
    };
    why + hint
}

type Consumer = jetstream::consumer::Consumer<pull::Config>;

/// Takes what the client says of its connection.
fn tell(event: Event, forward: &SyncSender<Incoming>, complaints: &Mutex<Vec<String>>) {
    match event {
        // A reader that does not keep up has other troubles.
        Event::Connected => drop(forward.try_send(Incoming::Up)),
        Event::Disconnected => drop(forward.try_send(Incoming::Down)),
        Event::ServerError(error) => {
            let mut complaints = complaints.lock().unwrap_or_else(PoisonError::into_inner);
            if complaints.len() < COMPLAINTS_MAX {
                complaints.push(error.to_string());
            }
        }
        _ => {}
    }
}

/// Passes a message on; whether there was room for it.
fn pass(forward: &SyncSender<Incoming>, subject: &str, bytes: &[u8]) -> bool {
    let Some(subject) = Subject::parse(subject) else {
        return true;
    };
    let bytes = bytes.to_vec();
    let passed = forward.try_send(Incoming::Message { subject, bytes });
    !matches!(passed, Err(TrySendError::Full(_)))
}

/// Has the stream keep a message, and tells when it does.
async fn keep(context: Context, kept: Kept, forward: SyncSender<Incoming>) {
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Msg-Id", &*kept.id);
    let subject = kept.subject.to_string();
    let payload = bytes::Bytes::copy_from_slice(&kept.bytes);
    let sent = context
        .publish_with_headers(subject, headers, payload)
        .await;
    let Ok(confirmation) = sent else {
        return;
    };
    if let Ok(Ok(_)) = timeout(CONFIRM_LIMIT, confirmation).await {
        let id = kept.id.to_string();
        // One that finds no room is sent again, and confirmed again.
        let _ = forward.try_send(Incoming::Confirmed { id });
    }
}

/// Forwards records, each until it was taken, however often the server goes away.
async fn read_records(consumer: Consumer, forward: SyncSender<Incoming>) {
    loop {
        let messages = consumer
            .stream()
            .heartbeat(HEARTBEAT)
            .expires(EXPIRES)
            .messages()
            .await;
        let Ok(mut messages) = messages else {
            sleep(AGAIN).await;
            continue;
        };
        while let Some(message) = messages.next().await {
            let Ok(message) = message else {
                break;
            };
            while !pass(&forward, &message.subject, &message.payload) {
                sleep(AGAIN).await;
            }
            // A confirmation that is lost brings the message once more, which does no harm.
            let _ = message.ack().await;
        }
        sleep(AGAIN).await;
    }
}
