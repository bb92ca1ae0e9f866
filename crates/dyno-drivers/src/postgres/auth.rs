//! Authentication: the server's requests and our answers.

use dyno_core::Secret;
use dyno_core::db::{DbError, ErrorKind};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{
    ChannelBinding, SCRAM_SHA_256, SCRAM_SHA_256_PLUS, ScramSha256,
};

use super::wire::{self, Malformed, Reader};
use crate::disclosure;

/// More SCRAM iterations than anybody sets, a second's work; PostgreSQL's default is 4096.
const ITERATIONS_MAX: u64 = 2_000_000;

/// What the client can authenticate with.
pub(super) struct Credentials<'a> {
    pub(super) user: &'a str,
    pub(super) password: Option<&'a Secret>,
    /// Whether TLS protects the connection.
    pub(super) tls: bool,
    /// Whether the password may be sent in the clear.
    pub(super) may_disclose: bool,
    /// The hash of the server's certificate, for channel binding.
    pub(super) end_point: Option<&'a [u8]>,
}

/// The result of an authentication request.
pub(super) enum Reply {
    /// The answer was appended, or none was needed; wait for the server.
    Continue,
    /// The server accepted the login.
    Accepted,
    /// It cannot continue, for this reason.
    Refused(DbError),
}

/// The state of the exchange.
#[derive(Default)]
pub(super) enum Auth {
    /// Nothing was requested, or a password was sent.
    #[default]
    Open,
    /// The first SCRAM message was sent.
    ScramBegun(Box<ScramSha256>),
    /// The proof was sent; the server must send its own.
    ScramProven(Box<ScramSha256>),
    /// The server has proved that it knows the password.
    ScramVerified,
    /// The server accepted the login.
    Done,
}

impl Auth {
    pub(super) fn is_done(&self) -> bool {
        matches!(self, Self::Done)
    }

    /// Answers an authentication request with the given body.
    pub(super) fn answer(
        &mut self,
        body: &[u8],
        credentials: &Credentials<'_>,
        output: &mut Vec<u8>,
    ) -> Result<Reply, Malformed> {
        let mut reader = Reader(body);
        let request = reader.i32()?;
        // The order matters: a server that skips its proof may not know the password at all.
        match (request, std::mem::replace(self, Self::Done)) {
            (_, Self::Done) => Err(Malformed(
                "authentication was requested again after it ended",
            )),
            (0, Self::Open | Self::ScramVerified) => Ok(Reply::Accepted),
            (3, Self::Open) => {
                let Some(password) = credentials.password else {
                    return Ok(no_password(credentials, "a password"));
                };
                if !credentials.may_disclose && !password.expose().is_empty() {
                    let how = "the password in clear text (method \"password\")";
                    return Ok(refused(disclosure::refusal(how, credentials.tls, "")));
                }
                put_password(output, password.expose().as_bytes());
                *self = Self::Open;
                Ok(Reply::Continue)
            }
            (5, Self::Open) => {
                let Some(password) = credentials.password else {
                    return Ok(no_password(credentials, "a password (md5)"));
                };
                let Ok(salt) = <[u8; 4]>::try_from(reader.bytes(4)?) else {
                    return Err(Malformed("a salt of the wrong length"));
                };
                let user = credentials.user.as_bytes();
                let hash = md5_hash(user, password.expose().as_bytes(), salt);
                put_password(output, hash.as_bytes());
                *self = Self::Open;
                Ok(Reply::Continue)
            }
            (10, Self::Open) => self.begin_scram(reader, credentials, output),
            (11, Self::ScramBegun(scram)) => self.prove(reader.0, scram, output),
            (12, Self::ScramProven(mut scram)) => match scram.finish(reader.0) {
                Ok(()) => {
                    *self = Self::ScramVerified;
                    Ok(Reply::Continue)
                }
                Err(error) => Ok(refused(format!(
                    "the server could not prove that it knows the password: {error}"
                ))),
            },
            (2 | 6..=9, Self::Open) => Ok(refused(format!(
                "the server asks for {}; Dyno supports trust, password, md5 and SCRAM-SHA-256",
                method_name(request)
            ))),
            _ => Err(Malformed("an unexpected authentication request")),
        }
    }

    fn begin_scram(
        &mut self,
        mut reader: Reader<'_>,
        credentials: &Credentials<'_>,
        output: &mut Vec<u8>,
    ) -> Result<Reply, Malformed> {
        let (mut plain, mut plus) = (false, false);
        loop {
            match reader.text()? {
                b"" => break,
                name => {
                    plain |= name == SCRAM_SHA_256.as_bytes();
                    plus |= name == SCRAM_SHA_256_PLUS.as_bytes();
                }
            }
        }
        if plus && !credentials.tls {
            // Only somebody in between could have removed TLS.
            let message = "the server offers channel binding on a connection without TLS";
            return Ok(refused(message.to_owned()));
        }
        let (mechanism, binding) = match credentials.end_point {
            Some(hash) if plus => (
                SCRAM_SHA_256_PLUS,
                ChannelBinding::tls_server_end_point(hash.to_vec()),
            ),
            // We support binding, and say so: a server that supports it too then detects a
            // downgrade.
            Some(_) if plain => (SCRAM_SHA_256, ChannelBinding::unrequested()),
            None if plain => (SCRAM_SHA_256, ChannelBinding::unsupported()),
            _ => {
                return Ok(refused(
                    "the server offers none of the SASL mechanisms that Dyno supports \
                     (SCRAM-SHA-256, and SCRAM-SHA-256-PLUS under TLS)"
                        .to_owned(),
                ));
            }
        };
        let Some(password) = credentials.password else {
            return Ok(no_password(credentials, "a password (SCRAM-SHA-256)"));
        };
        let scram = ScramSha256::new(password.expose().as_bytes(), binding);
        wire::message(output, b'p', |body| {
            wire::put_text(body, mechanism.as_bytes());
            body.extend_from_slice(&(scram.message().len() as u32).to_be_bytes());
            body.extend_from_slice(scram.message());
        });
        *self = Self::ScramBegun(Box::new(scram));
        Ok(Reply::Continue)
    }

    fn prove(
        &mut self,
        challenge: &[u8],
        mut scram: Box<ScramSha256>,
        output: &mut Vec<u8>,
    ) -> Result<Reply, Malformed> {
        if iterations(challenge).is_some_and(|rounds| rounds > ITERATIONS_MAX) {
            return Ok(refused(format!(
                "the server wants the password hashed in more than {ITERATIONS_MAX} rounds \
                 (scram_iterations), which would take this client too long"
            )));
        }
        if let Err(error) = scram.update(challenge) {
            let message = format!("the server's SCRAM challenge is not acceptable: {error}");
            return Ok(refused(message));
        }
        wire::message(output, b'p', |body| body.extend_from_slice(scram.message()));
        *self = Self::ScramProven(scram);
        Ok(Reply::Continue)
    }
}

/// The iterations that a SCRAM challenge (RFC 5802, server-first-message) asks for.
fn iterations(challenge: &[u8]) -> Option<u64> {
    let mut attributes = challenge.split(|byte| *byte == b',');
    let rounds = attributes.find_map(|attribute| attribute.strip_prefix(b"i="))?;
    std::str::from_utf8(rounds).ok()?.parse().ok()
}

fn put_password(output: &mut Vec<u8>, password: &[u8]) {
    wire::message(output, b'p', |body| wire::put_text(body, password));
}

fn no_password(credentials: &Credentials<'_>, what: &str) -> Reply {
    let user = credentials.user;
    refused(format!(
        "the server asks for {what} for user \"{user}\", but none was given"
    ))
}

fn refused(message: String) -> Reply {
    let mut error = DbError::new(ErrorKind::Refused, message).at_the_end();
    // invalid_authorization_specification
    "28000".clone_into(&mut error.sqlstate);
    Reply::Refused(error)
}

fn method_name(request: i32) -> &'static str {
    match request {
        2 => "Kerberos V5 authentication",
        6 => "SCM credentials",
        7 | 8 => "GSSAPI authentication",
        _ => "SSPI authentication",
    }
}
