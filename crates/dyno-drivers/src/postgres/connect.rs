//! From a connected socket to a session that is ready for statements.

use dyno_core::Secret;
use dyno_core::db::{DbError, ErrorKind, OutcomeKind, error_text};
use dyno_core::redact;
use dyno_core::target::TlsMode;

use super::auth::{Auth, Credentials, Reply};
use super::session::{Activity, Step};
use super::wire::{self, GREETING_LEN_MAX, Malformed, Message, Reader};
use super::{Postgres, PostgresOptions, errors};
use crate::disclosure::Disclosure;

/// Protocol 3.0.
const VERSION: u32 = 3 << 16;

/// The code of SSLRequest, in the place of a version.
const TLS_REQUEST: u32 = (1234 << 16) | 5679;

/// State that is needed until the connection is ready.
pub(super) struct Handshake {
    user: String,
    password: Option<Secret>,
    database: String,
    application_name: String,
    tls_mode: TlsMode,
    disclosure: Disclosure,
    tls: bool,
    end_point: Option<Vec<u8>>,
    stage: Stage,
    auth: Auth,
    /// The server refused us, rather than we the server.
    refused: bool,
    /// During the second attempt: why the first one failed.
    before: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// TLS was requested; the server answers with a single byte.
    TlsAsked,
    /// TLS is being set up.
    TlsBegun,
    /// The startup message was sent.
    Started,
}

impl Handshake {
    pub(super) fn new(options: &PostgresOptions) -> Result<Self, DbError> {
        let password = options.password.as_ref().map_or("", Secret::expose);
        for (what, text) in [
            ("user name", options.user.as_str()),
            ("password", password),
            ("database name", &options.database),
            ("application name", &options.application_name),
        ] {
            if text.contains('\0') {
                let message =
                    format!("the {what} contains a NUL byte, which PostgreSQL does not accept");
                return Err(DbError::misuse(message));
            }
        }
        Ok(Self {
            user: options.user.clone(),
            password: options.password.clone(),
            database: options.database.clone(),
            application_name: options.application_name.clone(),
            tls_mode: match options.unix_socket {
                true => TlsMode::Disable,
                false => options.tls,
            },
            disclosure: Disclosure {
                local: options.unix_socket || options.disclosure.local,
                ..options.disclosure
            },
            tls: false,
            end_point: None,
            stage: Stage::Started,
            auth: Auth::default(),
            refused: false,
            before: None,
        })
    }

    /// Appends the first message. `allow` does not request TLS at first.
    pub(super) fn begin(&mut self, output: &mut Vec<u8>) {
        match self.tls_mode {
            TlsMode::Disable | TlsMode::Allow => self.start(output),
            TlsMode::Prefer | TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull => {
                self.stage = Stage::TlsAsked;
                output.extend_from_slice(&8_u32.to_be_bytes());
                output.extend_from_slice(&TLS_REQUEST.to_be_bytes());
            }
        }
    }

    /// The attempt that libpq would make after a failure: `allow` tries TLS when the server refuses
    /// a session in the clear; `prefer` goes without when the server refuses one with TLS, or TLS
    /// fails. There is no third attempt: the error of the second includes the first one.
    pub(super) fn second_attempt(mut self: Box<Self>, error: &mut DbError) -> Option<Box<Self>> {
        if let Some(before) = &self.before {
            if *before != error.message {
                error.message = format!("{}; the first attempt: {before}", error.message);
            }
            return None;
        }
        self.tls_mode = match self.tls_mode {
            TlsMode::Allow if self.refused => TlsMode::Require,
            TlsMode::Prefer if self.refused && self.tls => TlsMode::Disable,
            TlsMode::Prefer if self.stage == Stage::TlsBegun => TlsMode::Disable,
            _ => return None,
        };
        self.tls = false;
        self.end_point = None;
        self.stage = Stage::Started;
        self.auth = Auth::default();
        self.refused = false;
        self.before = Some(error.message.clone());
        Some(self)
    }

    pub(super) fn tls_established(&mut self, end_point: Option<Vec<u8>>, output: &mut Vec<u8>) {
        self.tls = true;
        self.end_point = end_point;
        self.start(output);
    }

    fn start(&mut self, output: &mut Vec<u8>) {
        self.stage = Stage::Started;
        let at = output.len();
        output.extend_from_slice(&0_u32.to_be_bytes());
        output.extend_from_slice(&VERSION.to_be_bytes());
        for (name, value) in [
            ("user", self.user.as_str()),
            ("database", &self.database),
            ("application_name", &self.application_name),
            ("client_encoding", "UTF8"),
        ] {
            if !value.is_empty() {
                wire::put_text(output, name.as_bytes());
                wire::put_text(output, value.as_bytes());
            }
        }
        output.push(0);
        wire::patch_length(output, at);
    }

    /// Handles the single byte that answers the TLS request.
    fn tls_reply(
        &mut self,
        input: &[u8],
        consumed: &mut usize,
        output: &mut Vec<u8>,
    ) -> Result<TlsReply, Malformed> {
        let Some(reply) = input.first() else {
            return Ok(TlsReply::Step(Step::More));
        };
        *consumed = 1;
        match reply {
            // Bytes after it came in the clear: somebody in between may want them to be taken for
            // the server's (CVE-2021-23222).
            b'S' if input.len() > 1 => Err(Malformed(
                "unencrypted bytes followed the server's consent to TLS",
            )),
            b'S' => {
                self.stage = Stage::TlsBegun;
                Ok(TlsReply::Step(Step::StartTls))
            }
            b'N' if self.tls_mode == TlsMode::Prefer => {
                self.start(output);
                Ok(TlsReply::Step(Step::More))
            }
            b'N' => Ok(TlsReply::Refused("the server does not offer TLS")),
            // Its text is not authenticated, so it is not shown.
            b'E' => Ok(TlsReply::Refused("the server answered with an error")),
            _ => Err(Malformed("an unknown answer to the TLS request")),
        }
    }
}

enum TlsReply {
    Step(Step),
    Refused(&'static str),
}

impl Postgres {
    /// Handles the server's messages until it is ready.
    pub(super) fn receive_greeting(
        &mut self,
        input: &[u8],
        consumed: &mut usize,
        output: &mut Vec<u8>,
    ) -> Result<Step, Malformed> {
        if let Some(handshake) = &mut self.handshake
            && handshake.stage == Stage::TlsAsked
        {
            match handshake.tls_reply(input, consumed, output)? {
                TlsReply::Step(Step::More) => {}
                TlsReply::Step(step) => return Ok(step),
                TlsReply::Refused(why) => {
                    self.end(tls_refused(why));
                    return Ok(Step::Finished);
                }
            }
        }
        if let Some(text) = ancient_error(&input[*consumed..]) {
            return Ok(text.map_or(Step::More, |text| {
                self.refuse(DbError::new(ErrorKind::Lost, text))
            }));
        }
        while let Some(message) = wire::next_message(&input[*consumed..], GREETING_LEN_MAX)? {
            *consumed += message.wire_len();
            let step = self.greeting_message(message, output)?;
            if step != Step::More {
                return Ok(step);
            }
        }
        Ok(Step::More)
    }

    fn greeting_message(
        &mut self,
        message: Message<'_>,
        output: &mut Vec<u8>,
    ) -> Result<Step, Malformed> {
        let Some(handshake) = &mut self.handshake else {
            return Ok(Step::More);
        };
        match message.tag {
            b'R' => {
                let credentials = Credentials {
                    user: &handshake.user,
                    password: handshake.password.as_ref(),
                    tls: handshake.tls,
                    may_disclose: handshake.disclosure.is_permitted(handshake.tls),
                    end_point: handshake.end_point.as_deref(),
                };
                match handshake.auth.answer(message.body, &credentials, output)? {
                    Reply::Continue | Reply::Accepted => {}
                    Reply::Refused(error) => return Ok(self.refuse(error)),
                }
            }
            b'E' => {
                let error = errors::parse(message.body)?.error;
                handshake.refused = true;
                return Ok(self.refuse(error));
            }
            // Notices, notifications, the key for cancelling, and the message that the server knows
            // only an older minor version or not all options, which we do not need.
            b'N' | b'A' | b'v' => {}
            b'K' if handshake.auth.is_done() => {}
            b'S' if handshake.auth.is_done() => self.setting(message.body)?,
            b'Z' if handshake.auth.is_done() => {
                let [status @ (b'I' | b'T' | b'E')] = message.body else {
                    return Err(Malformed("an unknown transaction status"));
                };
                self.status = *status;
                self.handshake = None;
                self.activity = Activity::Idle;
                self.outcome.kind = OutcomeKind::Connected;
                self.note_log_in();
                return Ok(Step::Finished);
            }
            _ => return Err(Malformed("an unexpected message")),
        }
        Ok(Step::More)
    }

    fn setting(&mut self, body: &[u8]) -> Result<(), Malformed> {
        let mut reader = Reader(body);
        let (name, value) = (reader.text()?, reader.text()?);
        if name == b"server_version" {
            let version = String::from_utf8_lossy(value).into_owned();
            // A server may copy received data into it.
            self.server.version = redact::known(&version).unwrap_or(version);
        }
        Ok(())
    }

    /// The server, or the client, refuses the session.
    fn refuse(&mut self, mut error: DbError) -> Step {
        if let Some(handshake) = &self.handshake {
            let database = match handshake.database.as_str() {
                "" => &handshake.user,
                database => database,
            };
            error.message = format!(
                "cannot log in to database \"{database}\" as user \"{}\": {}",
                handshake.user, error.message
            );
        }
        self.end(error.at_the_end());
        Step::Finished
    }
}

fn tls_refused(why: &str) -> DbError {
    let message = format!(
        "cannot protect the connection: {why}, but the target requires TLS; to connect without \
         it, use sslmode=prefer or sslmode=disable"
    );
    DbError::new(ErrorKind::Lost, message)
}

/// A server that could not start a process for us reports it in protocol 2: `E` and a text up to a
/// NUL. Read as a length, the text's first bytes are far too large. `None` if it is not such a
/// report, `Some(None)` if it is incomplete.
fn ancient_error(input: &[u8]) -> Option<Option<String>> {
    let (header, _) = input.split_first_chunk::<5>()?;
    let [b'E', length @ ..] = *header else {
        return None;
    };
    if u32::from_be_bytes(length) as usize <= GREETING_LEN_MAX || input.len() > GREETING_LEN_MAX {
        return None;
    }
    let text = &input[1..];
    let end = text.iter().position(|byte| *byte == 0);
    Some(end.map(|end| error_text(text[..end].trim_ascii())))
}
