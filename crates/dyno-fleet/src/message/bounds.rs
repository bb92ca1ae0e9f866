//! Size limits of messages.

use super::outcome::{PIECE_BYTES_MAX, PIECES_MAX};
use super::parts::{OPERATIONS_PER_PART_MAX, PARTS_MAX};
use super::{Body, Ceiling, MESSAGE_BYTES_MAX, MessageError, PROTOCOL, TEXT_BYTES_MAX, Task};
use crate::names::{Channel, Subject};

/// Maximum length of lists that are naturally short: endpoints, roles, protocols.
const LIST_MAX: usize = 4096;

/// Maximum size of a message in bytes, deflated or not.
pub(super) fn bytes_max(channel: Channel) -> usize {
    match channel {
        Channel::Hello => 16 << 10,
        Channel::Pulse => 4 << 10,
        Channel::Echo | Channel::Clock => 1 << 10,
        Channel::Control | Channel::Intervals | Channel::End => MESSAGE_BYTES_MAX,
    }
}

/// Checks that it has the protocol version of this program.
pub(super) fn check_version(subject: &Subject, version: Option<u32>) -> Result<(), MessageError> {
    match version {
        None | Some(PROTOCOL) => Ok(()),
        Some(theirs) => Err(MessageError::Protocol {
            subject: subject.to_string(),
            theirs,
        }),
    }
}

/// Checks that a decoded message is within the limits of the protocol.
pub(super) fn check_content(subject: &Subject, body: &Body) -> Result<(), MessageError> {
    let operations = match body {
        Body::Record(record) => record.interval.operations.len(),
        _ => 0,
    };
    // Each allocates a histogram in the sum, even if it is empty.
    if operations > OPERATIONS_PER_PART_MAX {
        return Err(MessageError::TooLarge {
            subject: subject.to_string(),
            what: "operations",
            size: operations,
            limit: OPERATIONS_PER_PART_MAX,
        });
    }
    check_body(body).map_err(|why| MessageError::Malformed {
        subject: subject.to_string(),
        why,
    })
}

fn check_body(body: &Body) -> Result<(), String> {
    match body {
        Body::Hello(hello) => {
            let build = &hello.build;
            let texts = [
                &build.version,
                &build.commit,
                &build.binary_sha256,
                &build.script_sha256,
                &hello.host,
                &hello.machine,
                &hello.kernel,
                &hello.clock_source,
            ];
            texts.into_iter().try_for_each(|text| short(text))?;
            list("protocols", hello.protocols.len())
        }
        Body::Pulse(pulse) => {
            short(&pulse.why)?;
            pulse.ceiling.as_ref().map_or(Ok(()), ceiling)
        }
        Body::Echo(_) | Body::Probe(_) => Ok(()),
        Body::Outcome(piece) => match piece.number < PIECES_MAX {
            true if piece.text.len() <= PIECE_BYTES_MAX => Ok(()),
            _ => Err(format!(
                "piece {} of {} bytes",
                piece.number,
                piece.text.len()
            )),
        },
        Body::Record(record) => {
            if !(1..=PARTS_MAX).contains(&record.parts) || record.part >= record.parts {
                return Err(format!("part {} of {}", record.part, record.parts));
            }
            if record.pieces > PIECES_MAX {
                return Err(format!("{} pieces", record.pieces));
            }
            let interval = &record.interval;
            list("endpoints", interval.endpoints.len())?;
            list("roles", interval.roles.len())?;
            list("sessions", interval.sessions.len())?;
            list("errors", interval.errors.len())?;
            list("errors of connecting", interval.connect_errors.len())
        }
        Body::Order(order) => match &order.task {
            Task::Stop { why } | Task::Refuse { why } => short(why),
            Task::Prepare(assignment) | Task::Calibrate(assignment)
                if !assignment.share.is_valid() =>
            {
                Err("its share of the run is invalid".to_owned())
            }
            _ => Ok(()),
        },
    }
}

fn ceiling(ceiling: &Ceiling) -> Result<(), String> {
    short(&ceiling.why)?;
    let rate = |per_s: f64| per_s.is_finite() && per_s > 0.0;
    let figure = |value: f64| value.is_finite() && value >= 0.0;
    let others = [
        ceiling.cpu_us_per_event,
        ceiling.p999_ms,
        ceiling.stall_ms_max,
        ceiling.made_unix_s,
    ];
    match ceiling.per_s.is_none_or(rate) && others.into_iter().all(figure) {
        true => Ok(()),
        false => Err("its ceiling is not a rate".to_owned()),
    }
}

fn short(text: &str) -> Result<(), String> {
    match text.len() > TEXT_BYTES_MAX {
        true => Err(format!("a text of {} bytes", text.len())),
        false => Ok(()),
    }
}

fn list(what: &str, length: usize) -> Result<(), String> {
    match length > LIST_MAX {
        true => Err(format!("{length} {what}")),
        false => Ok(()),
    }
}
