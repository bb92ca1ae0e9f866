//! TLS on a channel, by rustls, without I/O.

use std::io::{self, Read, Write};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

mod config;
mod explain;
#[cfg(test)]
mod tests;
mod verify;
mod x509;

pub(crate) use config::client_config;
#[cfg(test)]
pub(crate) use config::client_config_by;

/// The settings of a TLS session.
pub struct TlsSetup {
    /// Trust, client certificate, versions.
    pub config: Arc<ClientConfig>,
    /// The name to check the certificate against.
    pub server_name: ServerName<'static>,
}

/// A TLS session between two byte buffers.
pub(crate) struct TlsSession {
    connection: ClientConnection,
    /// The peer has ended the session: later bytes are not under TLS.
    closed: bool,
}

impl TlsSession {
    /// Creates a session.
    pub(crate) fn new(setup: TlsSetup) -> io::Result<Self> {
        let connection = ClientConnection::new(setup.config, setup.server_name)
            .map_err(|error| invalid(&error))?;
        Ok(Self {
            connection,
            closed: false,
        })
    }

    /// Appends the first flight.
    pub(crate) fn begin(&mut self, wire: &mut Vec<u8>) -> io::Result<()> {
        self.drain(wire)
    }

    /// Whether the handshake is still going on.
    pub(crate) fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// Whether the peer has ended the session, with or without the connection.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// Encrypts `clear` onto `wire`.
    pub(crate) fn encrypt(&mut self, clear: &[u8], wire: &mut Vec<u8>) -> io::Result<()> {
        let mut rest = clear;
        while !rest.is_empty() {
            let taken = self.connection.writer().write(rest)?;
            rest = &rest[taken..];
            self.drain(wire)?;
        }
        Ok(())
    }

    /// Decrypts `input` onto `clear`; messages of the session itself go onto `wire`.
    pub(crate) fn decrypt(
        &mut self,
        mut input: &[u8],
        clear: &mut Vec<u8>,
        wire: &mut Vec<u8>,
    ) -> io::Result<()> {
        while !input.is_empty() && !self.closed {
            self.connection.read_tls(&mut input)?;
            let processed = self.connection.process_new_packets();
            self.drain(wire)?;
            let state = processed.map_err(|error| invalid(&error))?;
            let start = clear.len();
            clear.resize(start + state.plaintext_bytes_to_read(), 0);
            self.connection.reader().read_exact(&mut clear[start..])?;
            self.closed = state.peer_has_closed();
        }
        Ok(())
    }

    /// The protocol version, e.g. `TLSv1.3`.
    pub(crate) fn version(&self) -> String {
        match self.connection.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_2) => "TLSv1.2".to_owned(),
            Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3".to_owned(),
            other => format!("{other:?}"),
        }
    }

    /// The hash of the server's certificate for `tls-server-end-point` channel binding, if one is
    /// defined.
    pub(crate) fn end_point(&self) -> Option<Vec<u8>> {
        let certificates = self.connection.peer_certificates()?;
        x509::end_point(certificates.first()?)
    }

    fn drain(&mut self, wire: &mut Vec<u8>) -> io::Result<()> {
        while self.connection.wants_write() {
            self.connection.write_tls(wire)?;
        }
        Ok(())
    }
}

fn invalid(error: &rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, explain::explain(error))
}
