//! Turns a connected socket into a ready connection: greeting, TLS, authentication.

use std::sync::Arc;

use dyno_core::Secret;
use dyno_core::db::{DbError, ErrorKind, ServerInfo};
use dyno_core::redact;
use dyno_core::target::TlsMode;
use zeroize::Zeroizing;

use super::auth::{self, Plugin};
use super::errors::{self, client_error};
use super::greeting::Greeting;
use super::wire::{self, Malformed, Packet, Reader, capability};
use crate::disclosure::{self, Disclosure};

/// Connection settings.
#[derive(Clone, Debug)]
pub struct MysqlOptions {
    /// The user.
    pub user: String,
    /// The password; `None` is the same as empty.
    pub password: Option<Secret>,
    /// The default database; empty for none.
    pub database: String,
    /// Whether an UPDATE counts the rows found instead of the rows changed.
    pub found_rows: bool,
    /// The TLS mode. The server never says that it requires TLS, so `Allow` does not encrypt.
    /// `Prefer` does not encrypt on a UNIX socket, like MySQL's own clients.
    pub tls: TlsMode,
    /// Whether bulk loads may use LOAD DATA LOCAL INFILE. Dyno never reads a file for it.
    pub local_infile: bool,
    /// Whether the socket is a UNIX socket, which nobody else can read.
    pub unix_socket: bool,
    /// Whether the server may receive a password in readable form.
    pub disclosure: Disclosure,
    /// The server's RSA key in PEM. It encrypts a password on a connection without TLS, so that
    /// only this server can decrypt it.
    pub server_public_key: Option<Arc<[u8]>>,
    /// Connection attributes that the server shows in its tables.
    pub attributes: Vec<(String, String)>,
}

impl Default for MysqlOptions {
    fn default() -> Self {
        let attribute = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        Self {
            user: String::new(),
            password: None,
            database: String::new(),
            found_rows: false,
            tls: TlsMode::default(),
            local_infile: true,
            unix_socket: false,
            disclosure: Disclosure::default(),
            server_public_key: None,
            attributes: vec![
                attribute("program_name", "dyno"),
                attribute("_client_name", "dyno"),
                attribute("_client_version", env!("CARGO_PKG_VERSION")),
                attribute("_os", std::env::consts::OS),
            ],
        }
    }
}

/// How to continue a handshake.
#[derive(Debug)]
pub(super) enum Progress {
    /// Wait for the server.
    Wait,
    /// Start TLS now.
    StartTls,
    /// The connection is ready.
    Connected,
    /// The connection is refused.
    Refused(DbError),
}

/// Why a handshake ends early.
enum Stop {
    Malformed(Malformed),
    Refused(DbError),
}

impl From<Malformed> for Stop {
    fn from(what: Malformed) -> Self {
        Self::Malformed(what)
    }
}

/// A connection's state during the handshake.
pub(super) struct Handshake {
    options: Arc<MysqlOptions>,
    stage: Stage,
    /// The capabilities that the server and the client have in common.
    capabilities: u32,
    server_capabilities: u32,
    collation: u8,
    plugin: Plugin,
    nonce: Vec<u8>,
    tls: bool,
    /// Whether the client has asked the server for its RSA key.
    key_asked: bool,
    rounds: u32,
    server: ServerInfo,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Greeting,
    Tls,
    Authentication,
}

/// Maximum number of messages from the server in an authentication. No known plugin needs as many.
const ROUNDS_MAX: u32 = 16;
const COLLATION_UTF8MB4_GENERAL_CI: u8 = 45;
const COLLATION_UTF8MB4_0900_AI_CI: u8 = 255;
const CACHING_SHA2_FAST_OK: u8 = 3;
const CACHING_SHA2_FULL: u8 = 4;
const CACHING_SHA2_KEY_REQUEST: u8 = 2;
const SHA256_KEY_REQUEST: u8 = 1;

impl Handshake {
    /// Creates the state before the greeting.
    pub(super) fn new(options: Arc<MysqlOptions>) -> Self {
        Self {
            options,
            stage: Stage::Greeting,
            capabilities: 0,
            server_capabilities: 0,
            collation: COLLATION_UTF8MB4_GENERAL_CI,
            plugin: Plugin::Native,
            nonce: Vec::new(),
            tls: false,
            key_asked: false,
            rounds: 0,
            server: ServerInfo::default(),
        }
    }

    /// The capabilities that both sides have. Final once the greeting was read.
    pub(super) fn capabilities(&self) -> u32 {
        self.capabilities
    }

    /// What is known about the server.
    pub(super) fn into_server(self) -> ServerInfo {
        self.server
    }

    /// Handles a packet from the server.
    ///
    /// # Errors
    /// The protocol does not permit this packet.
    pub(super) fn packet(
        &mut self,
        packet: Packet<'_>,
        output: &mut Vec<u8>,
    ) -> Result<Progress, Malformed> {
        let sequence = packet.sequence.wrapping_add(1);
        let progress = match self.stage {
            _ if errors::is_error(packet.payload) => Err(Stop::Refused(
                self.explain(errors::server_error(packet.payload)?),
            )),
            Stage::Greeting => self.greeting(packet.payload, sequence, output),
            Stage::Tls => Err(Stop::Malformed(Malformed(
                "a packet where TLS should begin",
            ))),
            Stage::Authentication => self.authentication(packet.payload, sequence, output),
        };
        match progress {
            Ok(progress) => Ok(progress),
            Err(Stop::Refused(error)) => Ok(Progress::Refused(error)),
            Err(Stop::Malformed(what)) => Err(what),
        }
    }

    /// Handles the end of the TLS handshake: appends the answer to the greeting. Returns the
    /// sequence number of the server's next packet.
    pub(super) fn tls_established(&mut self, version: &str, output: &mut Vec<u8>) -> u8 {
        self.tls = true;
        self.server.tls = Some(version.to_owned());
        self.respond(2, output);
        3
    }

    fn greeting(
        &mut self,
        payload: &[u8],
        sequence: u8,
        output: &mut Vec<u8>,
    ) -> Result<Progress, Stop> {
        let greeting = Greeting::parse(payload)?;
        self.server_capabilities = greeting.capabilities;
        let needed = capability::PROTOCOL_41 | capability::SECURE_CONNECTION;
        if greeting.capabilities & needed != needed {
            let message = "the server is older than MySQL 4.1, whose protocol is not supported";
            let error = client_error(ErrorKind::Unsupported, errors::MALFORMED_PACKET, message);
            return Err(Stop::Refused(error));
        }
        self.describe(&greeting);
        self.capabilities = greeting.capabilities & self.wanted();
        self.nonce = greeting.nonce;
        // If the plugin is unknown, an answer for another one makes the server name the one that
        // the user needs. This also avoids sending the password itself before it is known that
        // this user needs it.
        self.plugin = match Plugin::by_name(&greeting.plugin) {
            Some(Plugin::Clear | Plugin::Sha256) | None => Plugin::Native,
            Some(plugin) => plugin,
        };
        if self.wants_tls()? {
            self.capabilities |= capability::SSL;
            let start = wire::begin(output);
            self.put_preamble(output);
            wire::finish(output, start, sequence);
            self.stage = Stage::Tls;
            return Ok(Progress::StartTls);
        }
        self.respond(sequence, output);
        Ok(Progress::Wait)
    }

    fn describe(&mut self, greeting: &Greeting) {
        let version = String::from_utf8_lossy(&greeting.version).into_owned();
        let mariadb = version.contains("MariaDB");
        // MariaDB puts a version that old replicas understand before the real one.
        let own = version.strip_prefix("5.5.5-").filter(|_| mariadb);
        let own = own.unwrap_or(&version);
        self.server.version = redact::known(own).unwrap_or_else(|| own.to_owned());
        self.server.product = if mariadb { "MariaDB" } else { "MySQL" }.to_owned();
        let major = version.split('.').next().unwrap_or_default();
        if !mariadb && major.parse::<u32>().is_ok_and(|major| major >= 8) {
            self.collation = COLLATION_UTF8MB4_0900_AI_CI;
        }
    }

    fn wanted(&self) -> u32 {
        use capability as c;
        let mut wanted = c::LONG_PASSWORD
            | c::LONG_FLAG
            | c::PROTOCOL_41
            | c::TRANSACTIONS
            | c::SECURE_CONNECTION
            | c::MULTI_STATEMENTS
            | c::MULTI_RESULTS
            | c::PS_MULTI_RESULTS
            | c::PLUGIN_AUTH
            | c::PLUGIN_AUTH_LENENC
            | c::DEPRECATE_EOF;
        for (flag, on) in [
            (c::FOUND_ROWS, self.options.found_rows),
            (c::LOCAL_FILES, self.options.local_infile),
            (c::CONNECT_WITH_DB, !self.options.database.is_empty()),
            (c::CONNECT_ATTRS, !self.options.attributes.is_empty()),
        ] {
            wanted |= if on { flag } else { 0 };
        }
        wanted
    }

    fn wants_tls(&self) -> Result<bool, Stop> {
        let offered = self.server_capabilities & capability::SSL != 0;
        match self.options.tls {
            TlsMode::Disable | TlsMode::Allow => Ok(false),
            TlsMode::Prefer => Ok(offered && !self.options.unix_socket),
            TlsMode::Require | TlsMode::VerifyCa | TlsMode::VerifyFull if offered => Ok(true),
            mode => {
                let message = format!(
                    "TLS is required (sslmode={}), but the server does not offer it: configure a \
                     certificate on the server, or connect with sslmode=prefer or sslmode=disable",
                    mode.name()
                );
                let error = client_error(ErrorKind::Unsupported, errors::TLS, message);
                Err(Stop::Refused(error))
            }
        }
    }

    /// Appends the common beginning of a TLS request and an answer to the greeting.
    fn put_preamble(&self, output: &mut Vec<u8>) {
        output.extend_from_slice(&self.capabilities.to_le_bytes());
        output.extend_from_slice(&(1_u32 << 30).to_le_bytes());
        output.push(self.collation);
        output.extend_from_slice(&[0; 23]);
    }

    /// Appends the answer to the greeting.
    fn respond(&mut self, sequence: u8, output: &mut Vec<u8>) {
        self.stage = Stage::Authentication;
        let start = wire::begin(output);
        self.put_preamble(output);
        put_nul_bytes(output, self.options.user.as_bytes());
        let answer = self.answer();
        if self.capabilities & capability::PLUGIN_AUTH_LENENC != 0 {
            wire::put_lenenc_bytes(output, &answer);
        } else {
            // Only a password in clear text could be longer, and that needs a switch of the plugin.
            let answer = if answer.len() < 256 { &answer[..] } else { &[] };
            output.push(answer.len() as u8);
            output.extend_from_slice(answer);
        }
        if self.capabilities & capability::CONNECT_WITH_DB != 0 {
            put_nul_bytes(output, self.options.database.as_bytes());
        }
        if self.capabilities & capability::PLUGIN_AUTH != 0 {
            put_nul_bytes(output, self.plugin.name().as_bytes());
        }
        if self.capabilities & capability::CONNECT_ATTRS != 0 {
            let mut attributes = Vec::new();
            for (name, value) in &self.options.attributes {
                wire::put_lenenc_bytes(&mut attributes, name.as_bytes());
                wire::put_lenenc_bytes(&mut attributes, value.as_bytes());
            }
            wire::put_lenenc_bytes(output, &attributes);
        }
        wire::finish(output, start, sequence);
    }

    fn password(&self) -> &[u8] {
        let password = self.options.password.as_ref();
        password.map_or(&[], |secret| secret.expose().as_bytes())
    }

    /// Whether nobody in between can read the connection, whoever the server is.
    fn is_secure(&self) -> bool {
        self.tls || self.options.unix_socket
    }

    /// Whether the password may be sent to the server in readable form.
    ///
    /// # Errors
    /// The refusal to disclose the password to `plugin`.
    fn may_disclose(&self, plugin: Plugin) -> Result<(), Stop> {
        let local = self.options.unix_socket;
        if local || self.password().is_empty() || self.options.disclosure.is_permitted(self.tls) {
            return Ok(());
        }
        let how = match plugin {
            Plugin::Clear => "the password in clear text (mysql_clear_password)".to_owned(),
            plugin => format!("the password itself ({})", plugin.name()),
        };
        let also = match plugin {
            Plugin::Clear => "",
            _ => ", name the server's RSA key (server_public_key=FILE, with sslmode=disable)",
        };
        let message = disclosure::refusal(&how, self.tls, also);
        let error = client_error(ErrorKind::Unsupported, errors::PLUGIN_REFUSED, message);
        Err(Stop::Refused(error))
    }

    /// The first answer of the plugin.
    fn answer(&self) -> Zeroizing<Vec<u8>> {
        let (password, nonce) = (self.password(), &self.nonce[..]);
        if password.is_empty() && self.plugin != Plugin::Ed25519 && self.plugin != Plugin::Clear {
            return Zeroizing::default();
        }
        match self.plugin {
            Plugin::Native => Zeroizing::new(auth::native(password, nonce)),
            Plugin::CachingSha2 => Zeroizing::new(auth::caching_sha2(password, nonce)),
            Plugin::Ed25519 => Zeroizing::new(auth::ed25519(password, nonce)),
            // The server's side of this plugin does not trust UNIX sockets.
            Plugin::Sha256 if !self.tls => Zeroizing::new(vec![SHA256_KEY_REQUEST]),
            Plugin::Sha256 | Plugin::Clear => auth::clear(password),
        }
    }

    fn authentication(
        &mut self,
        payload: &[u8],
        sequence: u8,
        output: &mut Vec<u8>,
    ) -> Result<Progress, Stop> {
        self.rounds += 1;
        if self.rounds > ROUNDS_MAX {
            return Err(Malformed("authentication takes too many steps").into());
        }
        match payload.split_first() {
            Some((&wire::OK, _)) => return Ok(Progress::Connected),
            Some((&wire::EOF, [])) => return Err(refuse_plugin("mysql_old_password")),
            Some((&wire::EOF, rest)) => self.switch(rest)?,
            Some((1, rest)) => return self.more_data(rest, sequence, output),
            _ => return Err(Malformed("an unknown packet during authentication").into()),
        }
        let pinned = self.options.server_public_key.as_deref();
        let answer = match (self.plugin, pinned) {
            (Plugin::Sha256, Some(key)) if !self.tls && !self.password().is_empty() => {
                Zeroizing::new(self.encrypted(key)?)
            }
            (Plugin::Clear | Plugin::Sha256, _) => {
                self.may_disclose(self.plugin)?;
                self.key_asked = self.plugin == Plugin::Sha256 && !self.tls;
                self.answer()
            }
            _ => self.answer(),
        };
        put_packet(output, sequence, &answer);
        Ok(Progress::Wait)
    }

    /// Switches to the plugin that the server asks for.
    fn switch(&mut self, payload: &[u8]) -> Result<(), Stop> {
        let mut reader = Reader::new(payload);
        let name = reader.nul_bytes()?;
        let plugin =
            Plugin::by_name(name).ok_or_else(|| refuse_plugin(&String::from_utf8_lossy(name)))?;
        let nonce = reader.rest();
        self.nonce = nonce.strip_suffix(&[0]).unwrap_or(nonce).to_vec();
        if plugin == Plugin::Ed25519 {
            // The nonce of Ed25519 has 32 bytes, of which the last may be zero.
            self.nonce = nonce.get(..32).unwrap_or(nonce).to_vec();
        }
        self.plugin = plugin;
        Ok(())
    }

    /// Continues the exchange of the plugin.
    fn more_data(
        &mut self,
        data: &[u8],
        sequence: u8,
        output: &mut Vec<u8>,
    ) -> Result<Progress, Stop> {
        match (self.plugin, data) {
            (Plugin::CachingSha2, [CACHING_SHA2_FAST_OK]) => {}
            (Plugin::CachingSha2, [CACHING_SHA2_FULL]) => self.full(sequence, output)?,
            (Plugin::CachingSha2 | Plugin::Sha256, key) if self.key_asked => {
                self.key_asked = false;
                put_packet(output, sequence, &self.encrypted(key)?);
            }
            _ => return Err(Malformed("authentication data that no plugin asked for").into()),
        }
        Ok(Progress::Wait)
    }

    /// Sends the password, because the server has no cached hash to check an answer with.
    fn full(&mut self, sequence: u8, output: &mut Vec<u8>) -> Result<(), Stop> {
        if let Some(key) = self.options.server_public_key.as_deref()
            && !self.is_secure()
        {
            put_packet(output, sequence, &self.encrypted(key)?);
            return Ok(());
        }
        self.may_disclose(Plugin::CachingSha2)?;
        if self.is_secure() {
            put_packet(output, sequence, &auth::clear(self.password()));
        } else {
            self.key_asked = true;
            put_packet(output, sequence, &[CACHING_SHA2_KEY_REQUEST]);
        }
        Ok(())
    }

    /// The password encrypted with the server's public key.
    fn encrypted(&self, key: &[u8]) -> Result<Vec<u8>, Stop> {
        auth::encrypted(self.password(), &self.nonce, key).map_err(|why| {
            let message = format!("cannot encrypt the password: {why}");
            let class = ErrorKind::Unsupported;
            Stop::Refused(client_error(class, errors::PLUGIN_REFUSED, message))
        })
    }

    /// Adds a hint to the refusal of the server.
    fn explain(&self, mut error: DbError) -> DbError {
        const INSECURE_TRANSPORT: i32 = 3159;
        const ACCESS_DENIED: i32 = 1045;
        let offered = self.server_capabilities & capability::SSL != 0;
        let may_be_tls = matches!(error.code, INSECURE_TRANSPORT | ACCESS_DENIED);
        if may_be_tls && offered && !self.tls && self.options.tls == TlsMode::Allow {
            error.message.push_str(
                " (the connection was not encrypted; if the server or the user's account insists \
                 on TLS, use TLS mode prefer or require)",
            );
        }
        error
    }
}

fn refuse_plugin(name: &str) -> Stop {
    let message = format!(
        "the server requires the authentication plugin `{name}`, which Dyno does not support: use \
         an account with caching_sha2_password, sha256_password, mysql_native_password or ed25519"
    );
    let error = client_error(ErrorKind::Unsupported, errors::PLUGIN_UNKNOWN, message);
    Stop::Refused(error)
}

/// Appends a zero-terminated string, which a zero inside would end early.
fn put_nul_bytes(output: &mut Vec<u8>, bytes: &[u8]) {
    output.extend(bytes.iter().copied().filter(|&byte| byte != 0));
    output.push(0);
}

fn put_packet(output: &mut Vec<u8>, sequence: u8, payload: &[u8]) {
    let start = wire::begin(output);
    output.extend_from_slice(payload);
    wire::finish(output, start, sequence);
}
