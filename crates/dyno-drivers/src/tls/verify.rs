//! Checks the certificate of a server.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::x509;

/// Whom the client trusts.
#[derive(Debug)]
pub(super) enum Trust {
    /// Any server that has the key of its certificate. This encrypts, but does not prove identity.
    Anyone,
    /// Servers whose certificate was signed by an authority.
    Roots {
        roots: RootCertStore,
        /// The certificates that the user named. A server that presents one of them is trusted
        /// directly, which is how self-signed certificates are used.
        named: Vec<CertificateDer<'static>>,
        /// Whether the certificate must have been issued for the requested host.
        check_name: bool,
    },
}

/// Checks a certificate and the signatures made with its key.
#[derive(Debug)]
pub(super) struct Verifier {
    trust: Trust,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    pub(super) fn new(trust: Trust, provider: &Arc<CryptoProvider>) -> Self {
        Self {
            trust,
            algorithms: provider.signature_verification_algorithms,
        }
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Trust::Roots {
            roots,
            named,
            check_name,
        } = &self.trust
        else {
            return Ok(ServerCertVerified::assertion());
        };
        let certificate = ParsedCertificate::try_from(end_entity)?;
        if named.contains(end_entity) {
            check_validity(end_entity, now)?;
        } else {
            verify_server_cert_signed_by_trust_anchor(
                &certificate,
                roots,
                intermediates,
                now,
                self.algorithms.all,
            )?;
        }
        if *check_name {
            verify_server_name(&certificate, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn check_validity(certificate: &CertificateDer<'_>, time: UnixTime) -> Result<(), Error> {
    let (not_before, not_after) =
        x509::validity(certificate).map_err(|_| CertificateError::BadEncoding)?;
    if time < not_before {
        return Err(CertificateError::NotValidYetContext { time, not_before }.into());
    }
    if time > not_after {
        return Err(CertificateError::ExpiredContext { time, not_after }.into());
    }
    Ok(())
}
