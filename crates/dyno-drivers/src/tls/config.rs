//! Creates rustls's configuration from TLS settings.

use std::path::Path;
use std::sync::Arc;

use dyno_core::clock;
use dyno_core::db::DbError;
use dyno_core::target::{TlsMode, TlsOptions};
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, RootCertStore};

use super::verify::{Trust, Verifier};

/// The configuration for these settings. It reads files, so it is made once per target. Sessions
/// are not resumed, so that each connection has its full cost.
///
/// # Errors
/// Files that cannot be read or have other contents; no authority to trust.
pub(crate) fn client_config(options: &TlsOptions) -> Result<Arc<ClientConfig>, DbError> {
    client_config_by(options, Arc::new(ring::default_provider()))
}

/// Like [`client_config`], with a provider of cryptography.
pub(crate) fn client_config_by(
    options: &TlsOptions,
    provider: Arc<CryptoProvider>,
) -> Result<Arc<ClientConfig>, DbError> {
    let verifier = Verifier::new(trust(options)?, &provider);
    let builder = ClientConfig::builder_with_details(provider, Arc::new(DynoTime))
        .with_safe_default_protocol_versions()
        .map_err(|error| DbError::misuse(format!("TLS cannot be set up: {error}")))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match (&options.cert, &options.key) {
        (Some(cert), Some(key)) => {
            let chain = certificates(cert, "sslcert")?;
            let key_der = private_key(key)?;
            builder
                .with_client_auth_cert(chain, key_der)
                .map_err(|error| {
                    DbError::misuse(format!(
                        "the client certificate {} (sslcert) does not work with its key {} \
                         (sslkey): {error}",
                        cert.display(),
                        key.display()
                    ))
                })?
        }
        _ => builder.with_no_client_auth(),
    };
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

fn trust(options: &TlsOptions) -> Result<Trust, DbError> {
    let check_name = match options.mode {
        TlsMode::VerifyFull => true,
        TlsMode::VerifyCa => false,
        TlsMode::Disable | TlsMode::Allow | TlsMode::Prefer | TlsMode::Require => {
            return Ok(Trust::Anyone);
        }
    };
    let (roots, named) = match &options.ca {
        Some(path) => named_roots(path)?,
        None => (system_roots()?, Vec::new()),
    };
    Ok(Trust::Roots {
        roots,
        named,
        check_name,
    })
}

fn named_roots(path: &Path) -> Result<(RootCertStore, Vec<CertificateDer<'static>>), DbError> {
    let named = certificates(path, "sslrootcert")?;
    let mut roots = RootCertStore::empty();
    for (index, certificate) in named.iter().enumerate() {
        roots.add(certificate.clone()).map_err(|error| {
            DbError::misuse(format!(
                "certificate {} in {} (sslrootcert) cannot be used: {error}",
                index + 1,
                path.display()
            ))
        })?;
    }
    Ok((roots, named))
}

fn system_roots() -> Result<RootCertStore, DbError> {
    let loaded = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (added, _ignored) = roots.add_parsable_certificates(loaded.certs);
    if added > 0 {
        return Ok(roots);
    }
    let why = match loaded.errors.first() {
        Some(error) => format!(" ({error})"),
        None => String::new(),
    };
    Err(DbError::misuse(format!(
        "this system has no CA certificates{why}; install the package ca-certificates, or name the \
         PEM file of the server's authority with sslrootcert="
    )))
}

fn certificates(path: &Path, what: &str) -> Result<Vec<CertificateDer<'static>>, DbError> {
    let error = |why: &dyn std::fmt::Display| {
        DbError::misuse(format!(
            "cannot read certificates from {} ({what}): {why}",
            path.display()
        ))
    };
    let certificates = CertificateDer::pem_file_iter(path)
        .map_err(|why| error(&why))?
        .collect::<Result<Vec<_>, _>>()
        .map_err(|why| error(&why))?;
    match certificates.is_empty() {
        true => Err(error(&"there is no '-----BEGIN CERTIFICATE-----' in it")),
        false => Ok(certificates),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, DbError> {
    PrivateKeyDer::from_pem_file(path).map_err(|why| {
        DbError::misuse(format!(
            "cannot read a private key from {} (sslkey): {why}; it must be a PEM file with a key \
             that is not encrypted (openssl pkey -in OLD -out NEW removes the passphrase)",
            path.display()
        ))
    })
}

/// The civil time, from the one place that reads clocks.
#[derive(Debug)]
struct DynoTime;

impl TimeProvider for DynoTime {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(clock::wall_time()))
    }
}
