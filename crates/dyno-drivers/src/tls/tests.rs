//! The client against a server in memory, with generated certificates.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use dyno_core::target::{TlsMode, TlsOptions};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose, SignatureAlgorithm, date_time_ymd,
};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};
use sha2::{Digest, Sha256, Sha384};
use tempfile::TempDir;

use super::*;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn leaf(names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name.push(DnType::CommonName, "leaf");
    params.extended_key_usages = vec![
        ExtendedKeyUsagePurpose::ServerAuth,
        ExtendedKeyUsagePurpose::ClientAuth,
    ];
    params
}

/// A certificate and its key.
struct Identity {
    certificate: CertificateDer<'static>,
    pem: String,
    key: KeyPair,
}

fn issue(params: &CertificateParams, by: &Authority) -> Identity {
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, by).unwrap();
    Identity {
        certificate: certificate.der().clone(),
        pem: certificate.pem(),
        key,
    }
}

fn self_signed(params: &CertificateParams, algorithm: &'static SignatureAlgorithm) -> Identity {
    let key = KeyPair::generate_for(algorithm).unwrap();
    let certificate = params.self_signed(&key).unwrap();
    Identity {
        certificate: certificate.der().clone(),
        pem: certificate.pem(),
        key,
    }
}

impl Identity {
    fn server(&self, client_authority: Option<&Authority>) -> ServerConnection {
        ServerConnection::new(self.config(client_authority)).unwrap()
    }

    fn config(&self, client_authority: Option<&Authority>) -> Arc<ServerConfig> {
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = match client_authority {
            None => builder.with_no_client_auth(),
            Some(authority) => {
                let mut roots = RootCertStore::empty();
                roots.add(authority.as_ref().der().clone()).unwrap();
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let key = PrivateKeyDer::try_from(self.key.serialize_der()).unwrap();
        let config = builder
            .with_single_cert(vec![self.certificate.clone()], key)
            .unwrap();
        Arc::new(config)
    }
}

/// Files in a temporary directory.
struct Files(TempDir);

impl Files {
    fn new() -> Self {
        Self(TempDir::new().unwrap())
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn options(&self, mode: TlsMode, ca: Option<&str>) -> TlsOptions {
        TlsOptions {
            mode,
            ca: ca.map(|pem| self.write("ca.pem", pem)),
            ..TlsOptions::default()
        }
    }
}

fn session(options: &TlsOptions, host: &str) -> TlsSession {
    TlsSession::new(TlsSetup {
        config: client_config(options).unwrap(),
        server_name: ServerName::try_from(host.to_owned()).unwrap(),
    })
    .unwrap()
}

/// Runs the handshake until the client has completed it, or returns its error's text.
fn handshake(client: &mut TlsSession, server: &mut ServerConnection) -> Result<(), String> {
    let (mut wire, mut clear) = (Vec::new(), Vec::new());
    client.begin(&mut wire).map_err(|error| error.to_string())?;
    for _ in 0..10 {
        server.read_tls(&mut wire.as_slice()).unwrap();
        wire.clear();
        let accepted = server.process_new_packets().map(|_| ());
        let mut answer = Vec::new();
        while server.wants_write() {
            server.write_tls(&mut answer).unwrap();
        }
        client
            .decrypt(&answer, &mut clear, &mut wire)
            .map_err(|error| error.to_string())?;
        if accepted.is_err() {
            return Err("the server refused and the client did not notice".to_owned());
        }
        if !client.is_handshaking() && !server.is_handshaking() && wire.is_empty() {
            return Ok(());
        }
    }
    Err("the handshake does not end".to_owned())
}

fn try_connect(options: &TlsOptions, host: &str, identity: &Identity) -> Result<(), String> {
    handshake(&mut session(options, host), &mut identity.server(None))
}

fn assert_refused(result: Result<(), String>, words: &str) {
    let error = result.unwrap_err();
    assert!(error.contains(words), "{error}");
}

#[test]
fn without_verification_any_certificate_will_do() {
    let files = Files::new();
    let mut expired = leaf(&["elsewhere"]);
    expired.not_after = date_time_ymd(2020, 2, 29);
    let identity = issue(&expired, &authority("unknown"));
    for mode in [TlsMode::Prefer, TlsMode::Require] {
        try_connect(&files.options(mode, None), "db.example", &identity).unwrap();
    }
}

#[test]
fn verify_ca_checks_the_chain_and_not_the_name() {
    let files = Files::new();
    let (ours, other) = (authority("ours"), authority("other"));
    let ca = ours.as_ref().pem();
    let options = files.options(TlsMode::VerifyCa, Some(&ca));
    try_connect(&options, "db.example", &issue(&leaf(&["x.example"]), &ours)).unwrap();
    assert_refused(
        try_connect(&options, "x.example", &issue(&leaf(&["x.example"]), &other)),
        "no trusted authority signed the server's certificate; name the right authority's PEM file",
    );
    let mut expired = leaf(&["x.example"]);
    expired.not_after = date_time_ymd(2020, 2, 29);
    assert_refused(
        try_connect(&options, "x.example", &issue(&expired, &ours)),
        "expired on 2020-02-29",
    );
    let mut early = leaf(&["x.example"]);
    early.not_before = date_time_ymd(3000, 1, 1);
    assert_refused(
        try_connect(&options, "x.example", &issue(&early, &ours)),
        "is not valid before 3000-01-01",
    );
}

#[test]
fn verify_full_checks_the_name_too() {
    let files = Files::new();
    let ours = authority("ours");
    let ca = ours.as_ref().pem();
    let options = files.options(TlsMode::VerifyFull, Some(&ca));
    let identity = issue(&leaf(&["db.example", "127.0.0.1"]), &ours);
    try_connect(&options, "db.example", &identity).unwrap();
    try_connect(&options, "127.0.0.1", &identity).unwrap();
    assert_refused(
        try_connect(&options, "other.example", &identity),
        "is not for other.example but for",
    );
    assert_refused(
        try_connect(&options, "db.example", &issue(&leaf(&[]), &ours)),
        "names no host",
    );
}

#[test]
fn a_self_signed_certificate_is_trusted_when_it_is_named_itself() {
    let files = Files::new();
    let mut params = leaf(&["db.example"]);
    // As `openssl req -x509` makes them.
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let identity = self_signed(&params, &rcgen::PKCS_ECDSA_P256_SHA256);
    let options = files.options(TlsMode::VerifyFull, Some(&identity.pem));
    try_connect(&options, "db.example", &identity).unwrap();
    assert_refused(
        try_connect(&options, "x.example", &identity),
        "is not for x.example",
    );

    let other = files.options(TlsMode::VerifyCa, Some(&authority("other").as_ref().pem()));
    assert_refused(
        try_connect(&other, "db.example", &identity),
        "name that certificate with sslrootcert=",
    );

    params.not_after = date_time_ymd(2021, 1, 1);
    let identity = self_signed(&params, &rcgen::PKCS_ECDSA_P256_SHA256);
    let options = files.options(TlsMode::VerifyCa, Some(&identity.pem));
    assert_refused(
        try_connect(&options, "x.example", &identity),
        "expired on 2021-01-01",
    );
}

#[test]
fn client_certificates_are_shown_when_asked_for() {
    let files = Files::new();
    let (ours, other) = (authority("ours"), authority("other"));
    let identity = issue(&leaf(&["db.example"]), &ours);
    let client = issue(&leaf(&["me"]), &ours);
    let mut options = files.options(TlsMode::Require, None);
    let connect = |options: &TlsOptions, authority: &Authority| {
        let mut client = session(options, "db.example");
        handshake(&mut client, &mut identity.server(Some(authority)))
    };
    assert_refused(
        connect(&options, &ours),
        "asks for a client certificate; name it with sslcert",
    );
    options.cert = Some(files.write("client.pem", &client.pem));
    options.key = Some(files.write("client.key", &client.key.serialize_pem()));
    connect(&options, &ours).unwrap();
    assert_refused(connect(&options, &other), "client certificate (sslcert)");
}

#[test]
fn data_passes_both_ways_however_it_is_cut() {
    let files = Files::new();
    let identity = issue(&leaf(&["db.example"]), &authority("ours"));
    let mut client = session(&files.options(TlsMode::Require, None), "db.example");
    let mut server = identity.server(None);
    handshake(&mut client, &mut server).unwrap();
    assert_eq!(client.version(), "TLSv1.3");

    let data: Vec<u8> = (0..100_000u32).map(|i| (i % 251) as u8).collect();
    let mut wire = Vec::new();
    client.encrypt(&data, &mut wire).unwrap();
    let (mut rest, mut received) = (wire.as_slice(), Vec::new());
    while !rest.is_empty() {
        server.read_tls(&mut rest).unwrap();
        let state = server.process_new_packets().unwrap();
        let start = received.len();
        received.resize(start + state.plaintext_bytes_to_read(), 0);
        server.reader().read_exact(&mut received[start..]).unwrap();
    }
    assert!(received == data);

    let (mut answer, mut clear) = (Vec::new(), Vec::new());
    for chunk in data.chunks(16_000) {
        server.writer().write_all(chunk).unwrap();
        while server.wants_write() {
            server.write_tls(&mut answer).unwrap();
        }
    }
    for piece in answer.chunks(777) {
        client.decrypt(piece, &mut clear, &mut wire).unwrap();
    }
    assert!(clear == data);
}

#[test]
fn the_channel_is_bound_to_the_certificate() {
    let files = Files::new();
    let options = files.options(TlsMode::Require, None);
    let end_point = |identity: &Identity| {
        let mut client = session(&options, "db.example");
        handshake(&mut client, &mut identity.server(None)).unwrap();
        client.end_point()
    };
    let params = leaf(&["db.example"]);
    let p256 = self_signed(&params, &rcgen::PKCS_ECDSA_P256_SHA256);
    assert_eq!(
        end_point(&p256),
        Some(Sha256::digest(&p256.certificate).to_vec())
    );
    let p384 = self_signed(&params, &rcgen::PKCS_ECDSA_P384_SHA384);
    assert_eq!(
        end_point(&p384),
        Some(Sha384::digest(&p384.certificate).to_vec())
    );
    assert_eq!(end_point(&self_signed(&params, &rcgen::PKCS_ED25519)), None);
}

#[test]
fn servers_without_tls_that_suffices_are_named() {
    let files = Files::new();
    let options = files.options(TlsMode::Require, None);
    let answer = |bytes: &[u8]| {
        let mut client = session(&options, "db.example");
        let (mut wire, mut clear) = (Vec::new(), Vec::new());
        client.begin(&mut wire).unwrap();
        let result = client.decrypt(bytes, &mut clear, &mut wire);
        result.map_err(|error| error.to_string())
    };
    // A server hello of TLS 1.1 (RFC 4346, section 7.4.1.3), with a cipher suite of its time.
    let mut hello = vec![0x16, 3, 2, 0, 42, 2, 0, 0, 38, 3, 2];
    hello.extend([7; 32]);
    hello.extend([0, 0xc0, 0x13, 0]);
    assert_refused(answer(&hello), "only TLS 1.0 or 1.1; Dyno needs TLS 1.2");
    // The alert protocol_version.
    assert_refused(answer(&[0x15, 3, 1, 0, 2, 2, 70]), "only TLS 1.0 or 1.1");
    assert_refused(answer(&[0x15, 3, 3, 0, 2, 2, 40]), "no common cipher suite");
    assert_refused(answer(b"HTTP/1.1 400 Bad Request\r\n"), "not TLS");
}

#[test]
fn errors_name_unusable_files() {
    let files = Files::new();
    let identity = issue(&leaf(&["x"]), &authority("ours"));
    let refuse = |options: &TlsOptions| client_config(options).unwrap_err().to_string();
    let mut options = files.options(TlsMode::VerifyCa, Some("no certificate"));
    let error = refuse(&options);
    assert!(
        error.contains("ca.pem (sslrootcert)") && error.contains("BEGIN"),
        "{error}"
    );
    options.ca = Some(PathBuf::from("/nowhere/ca.pem"));
    assert!(refuse(&options).contains("/nowhere/ca.pem"));

    let mut options = files.options(TlsMode::Require, None);
    options.cert = Some(files.write("client.pem", &identity.pem));
    options.key = Some(files.write("client.key", "no key"));
    let error = refuse(&options);
    assert!(
        error.contains("client.key (sslkey)") && error.contains("openssl"),
        "{error}"
    );
    let other = KeyPair::generate().unwrap();
    options.key = Some(files.write("client.key", &other.serialize_pem()));
    assert!(refuse(&options).contains("does not work with its key"));
    let der = CertificateDer::from_pem_slice(identity.pem.as_bytes()).unwrap();
    assert_eq!(der, identity.certificate);
}
