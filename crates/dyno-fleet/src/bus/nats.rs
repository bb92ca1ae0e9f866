//! A bus over a NATS server with JetStream, 2.9 or newer. The client runs on a dedicated thread and
//! is reached over bounded channels.
//!
//! Records of agents go into a stream as numbered messages; the server stores each number once
//! until it is read. All other messages are repeated anyway and are not stored.

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
use crate::agent::StoredMessage;
use crate::names::{AgentName, Channel, RunId, Subject};
use crate::server::{COORDINATOR, inbox};

pub use calls::await_call;
use calls::{call, subject_of};

const CONNECT_LIMIT: Duration = Duration::from_secs(10);
/// Pause between attempts to reconnect: for the first five, and for later ones.
const RECONNECT: [Duration; 2] = [Duration::from_millis(20), Duration::from_millis(500)];
/// Interval between pings to the server.
const PING: Duration = Duration::from_secs(2);
/// Timeout for a confirmation; the message is then sent again.
const CONFIRM_LIMIT: Duration = Duration::from_secs(2);
/// After an error, records are requested again after this time.
const AGAIN: Duration = Duration::from_millis(200);
/// The stream's consumer is requested again after this much silence.
const HEARTBEAT: Duration = Duration::from_secs(1);
const EXPIRES: Duration = Duration::from_secs(5);
/// Limits of a run's stream: unread bytes, age, and the window for detecting duplicates.
const STREAM_BYTES_MAX: i64 = 512 << 20;
const STREAM_AGE: Duration = Duration::from_secs(24 * 3600);
const DUPLICATES: Duration = Duration::from_secs(120);
const COMPLAINTS_MAX: usize = 64;

/// Which end of the bus this is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Role {
    /// Reads the messages of all agents.
    Coordinator,
    /// Reads the messages to this agent.
    Agent(AgentName),
}

/// The address of the bus, and the credentials.
#[derive(Clone, Debug)]
pub struct NatsConfig {
    /// Host and port.
    pub address: String,
    /// The seed of our key.
    pub key: Secret,
    /// The run.
    pub run: RunId,
    /// Which end this is.
    pub role: Role,
    /// The certificate file of the authority that signed the server's certificate. Without it there
    /// is no TLS, which is allowed only on the loopback interface.
    pub authority: Option<PathBuf>,
}

enum Outgoing {
    Send(String, Vec<u8>),
    Keep(StoredMessage),
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
    /// Connects; the coordinator's end also creates the run's stream.
    ///
    /// # Errors
    /// The server cannot be reached, does not know the key, or has no JetStream; or it is on
    /// another host and there is no TLS.
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

    /// Repeatedly calls agents that wait on the bus for a run, until `wanted` is false.
    pub fn call(&self, agents: &[AgentName], wanted: &Arc<AtomicBool>) -> Result<(), BusError> {
        let subjects = agents.iter().map(subject_of).collect();
        self.pass(Outgoing::Call(subjects, Arc::clone(wanted)))
    }

    /// Errors reported by the server, in its own words.
    pub fn complaints(&self) -> Vec<String> {
        self.complaints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// If the channel is full, the message is lost: important messages are sent again.
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

    fn keep(&mut self, kept: &StoredMessage) -> Result<(), BusError> {
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
        // The thread sends pending messages and then ends.
        self.outgoing = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Keys only sign; encryption to other hosts requires TLS.
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
            // The receiver may be gone.
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
            // While disconnected, the client would buffer messages until its buffers are full.
            if client.connection_state() != State::Connected {
                continue;
            }
            match outgoing {
                Outgoing::Send(subject, bytes) => {
                    // A failed send loses the message, which is allowed.
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
            // The run is over: delete its stream to free the space for others.
            let stream = format!("DYNO_{}", self.config.run);
            let _ = timeout(CONFIRM_LIMIT, context.delete_stream(stream)).await;
        }
    }

    /// Connects and starts forwarding messages.
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
        // Make sure that the subscriptions are active before asking anyone to write.
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
                on_event(event, &forward, &complaints);
                std::future::ready(())
            });
        match &self.config.authority {
            Some(file) => options
                .require_tls(true)
                .add_root_certificates(file.clone()),
            None => options,
        }
    }

    /// The run's stream with a single consumer, which continues where the last one ended.
    async fn consumer(&self, client: &Client) -> Result<Consumer, BusError> {
        let run = &self.config.run;
        let kept = Channel::ALL
            .into_iter()
            .filter(|channel| channel.is_stored());
        let subjects = kept.map(|channel| format!("dyno.{run}.{}.*", channel.token()));
        let made = jetstream::new(client.clone())
            .get_or_create_stream(stream::Config {
                name: format!("DYNO_{run}"),
                subjects: subjects.collect(),
                storage: StorageType::File,
                // A run may last for days: delete messages once they are read.
                retention: RetentionPolicy::WorkQueue,
                discard: DiscardPolicy::New,
                max_age: STREAM_AGE,
                max_bytes: STREAM_BYTES_MAX,
                duplicate_window: DUPLICATES,
                // The bus acknowledges a record to any reply subject, with its own rights: an agent
                // could misuse that to purge the stream.
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
                    // Redeliver soon what a stalled reader has not acknowledged.
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
                let why = "it does not know the key (authorization violation): did `dyno fleet \
                           keys` write the key for this server, and was the server started or \
                           reloaded since?";
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

/// Explains why there is no stream, with advice.
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

/// Handles an event of the client's connection.
fn on_event(event: Event, forward: &SyncSender<Incoming>, complaints: &Mutex<Vec<String>>) {
    match event {
        // If the reader does not keep up, the event is lost.
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

/// Passes a message on; returns whether there was room for it.
fn pass(forward: &SyncSender<Incoming>, subject: &str, bytes: &[u8]) -> bool {
    let Some(subject) = Subject::parse(subject) else {
        return true;
    };
    let bytes = bytes.to_vec();
    let passed = forward.try_send(Incoming::Message { subject, bytes });
    !matches!(passed, Err(TrySendError::Full(_)))
}

/// Has the stream store a message, and forwards the confirmation.
async fn keep(context: Context, kept: StoredMessage, forward: SyncSender<Incoming>) {
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
        // If there is no room, the message is sent and confirmed again.
        let _ = forward.try_send(Incoming::Confirmed { id });
    }
}

/// Forwards records, each until it is taken, across any number of disconnections.
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
            // A lost acknowledgement only repeats the message.
            let _ = message.ack().await;
        }
        sleep(AGAIN).await;
    }
}
