//! TLS with records of constant length, so that a seed cuts them at the same places: keys with
//! signatures of one length, and random numbers from the seed. Only the keys of the key exchange
//! vary, and they are always 32 bytes.

use std::cell::RefCell;
use std::sync::Arc;

use dyno_core::rand::Stream;
use dyno_core::target::{TlsMode, TlsOptions};
use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::{CryptoProvider, GetRandomFailed, SecureRandom, ring};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ClientConfig, ServerConfig};

use crate::tls::client_config_by;

/// A public Ed25519 test key (RFC 8410).
const KEY: [u8; 48] = *b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20\
    a key of simulated servers only.";

/// Both sides' settings.
pub(super) struct Tls {
    pub client: Arc<ClientConfig>,
    pub server: Arc<ServerConfig>,
}

impl Tls {
    /// A client that trusts anyone, and a server.
    pub(super) fn new() -> Self {
        let provider = Arc::new(CryptoProvider {
            secure_random: &Seeded,
            ..ring::default_provider()
        });
        let key = PrivateKeyDer::try_from(KEY.to_vec()).unwrap();
        let pair = KeyPair::try_from(&key).unwrap();
        let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        let certificate = params.self_signed(&pair).unwrap().der().clone();
        let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate], key)
            .unwrap();
        let options = TlsOptions {
            mode: TlsMode::Require,
            ..TlsOptions::default()
        };
        Self {
            client: client_config_by(&options, provider).unwrap(),
            server: Arc::new(server),
        }
    }
}

thread_local! {
    static DRAWS: RefCell<Stream> = RefCell::new(Stream::new(0, 0));
}

/// Seeds all random numbers that both sides of this thread draw from now on.
pub(super) fn seed(seed: u64) {
    DRAWS.set(Stream::new(seed, 2));
}

#[derive(Debug)]
struct Seeded;

impl SecureRandom for Seeded {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), GetRandomFailed> {
        DRAWS.with_borrow_mut(|draws| {
            for piece in bytes.chunks_mut(8) {
                piece.copy_from_slice(&draws.next_u64().to_le_bytes()[..piece.len()]);
            }
        });
        Ok(())
    }
}
