//! Calls agents that wait on a bus for a run.

use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::Client;
use futures_util::StreamExt as _;
use futures_util::future::{Either, select};
use tokio::time::{sleep, timeout};

use super::{CONNECT_LIMIT, NatsConfig, Role, Worker, check_transport};
use crate::bus::BusError;
use crate::names::{AgentName, RunId};

/// Interval between calls.
const CALL: Duration = Duration::from_millis(300);

/// The subject on which a waiting agent is called: the message is the run's name.
pub(super) fn subject_of(agent: &AgentName) -> String {
    format!("dyno.any.call.{agent}")
}

pub(super) async fn call(
    client: Client,
    run: String,
    subjects: Vec<String>,
    wanted: Arc<AtomicBool>,
) {
    while wanted.load(Ordering::Relaxed) {
        for subject in &subjects {
            // A lost call is repeated.
            let _ = client.publish(subject.clone(), run.clone().into()).await;
        }
        sleep(CALL).await;
    }
}

/// Waits on a bus for a run that wants this agent; `None` on timeout. `waits` is called when it has
/// connected and must wait.
///
/// # Errors
/// The server cannot be reached, or does not know the key; or it is on another host and there is no
/// TLS.
pub fn await_call(
    config: &NatsConfig,
    limit: Duration,
    waits: impl FnOnce(),
) -> Result<Option<RunId>, BusError> {
    check_transport(config)?;
    let Role::Agent(agent) = &config.role else {
        return Ok(None);
    };
    let subject = subject_of(agent);
    // These events are not read.
    let (forward, _) = sync_channel(1);
    let worker = Worker {
        config: config.clone(),
        forward,
        complaints: Arc::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| BusError::Ended(error.to_string()))?;
    runtime.block_on(async {
        let connecting = worker.options().connect(config.address.clone());
        let client = match timeout(CONNECT_LIMIT, connecting).await {
            Ok(Ok(client)) => client,
            Ok(Err(error)) => return Err(worker.not_connected(&error)),
            Err(_) => return Err(worker.unreachable("it does not answer")),
        };
        let read = client.subscribe(subject.clone()).await;
        let mut read = read.map_err(|error| worker.refused(&subject, &error.to_string()))?;
        let called = async {
            while let Some(message) = read.next().await {
                let name = String::from_utf8_lossy(&message.payload).into_owned();
                if let Ok(run) = RunId::new(name) {
                    return Some(run);
                }
            }
            None
        };
        // Another agent's key can connect, but receives nothing.
        let refused = async {
            let mut waits = Some(waits);
            loop {
                sleep(CALL).await;
                if let Some(why) = first(&worker.complaints) {
                    return why;
                }
                if let Some(waits) = waits.take() {
                    waits();
                }
            }
        };
        let (called, refused) = (pin!(timeout(limit, called)), pin!(refused));
        match select(called, refused).await {
            Either::Left((run, _)) => Ok(run.ok().flatten()),
            Either::Right((why, _)) => {
                let why = format!("{why}; is it the key of {agent} ({agent}.nk)?");
                Err(worker.refused(&format!("to let this key wait for runs as {agent}"), &why))
            }
        }
    })
}

fn first(complaints: &Mutex<Vec<String>>) -> Option<String> {
    let complaints = complaints.lock().unwrap_or_else(PoisonError::into_inner);
    complaints.first().cloned()
}
