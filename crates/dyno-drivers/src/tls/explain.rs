//! Explains TLS errors and what to do about them.

use dyno_core::clock::civil;
use rustls::pki_types::UnixTime;
use rustls::{AlertDescription, CertificateError, Error, PeerIncompatible};

/// What failed, and what to try.
pub(super) fn explain(error: &Error) -> String {
    use AlertDescription as Alert;
    match error {
        Error::InvalidCertificate(error) => certificate(error),
        Error::PeerIncompatible(
            PeerIncompatible::ServerDoesNotSupportTls12Or13
            | PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig,
        )
        | Error::AlertReceived(Alert::ProtocolVersion) => {
            "the server offers only TLS 1.0 or 1.1; Dyno needs TLS 1.2 or later".to_owned()
        }
        Error::AlertReceived(Alert::CertificateRequired) => {
            "the server asks for a client certificate; name it with sslcert= and sslkey=".to_owned()
        }
        Error::AlertReceived(Alert::UnknownCA) => {
            "the server does not trust the authority of the client certificate (sslcert)".to_owned()
        }
        Error::AlertReceived(
            alert @ (Alert::BadCertificate
            | Alert::UnsupportedCertificate
            | Alert::CertificateRevoked
            | Alert::CertificateExpired
            | Alert::CertificateUnknown),
        ) => format!("the server refuses the client certificate (sslcert): {alert:?}"),
        Error::AlertReceived(Alert::HandshakeFailure) => {
            "the server found no common cipher suite (TLS 1.2 with ECDHE, or 1.3, is needed), or \
             it asks for a client certificate (sslcert=, sslkey=)"
                .to_owned()
        }
        Error::InvalidMessage(error) => {
            format!("the server answered with something that is not TLS ({error:?})")
        }
        other => other.to_string(),
    }
}

fn certificate(error: &CertificateError) -> String {
    match error {
        CertificateError::Expired => "the server's certificate has expired".to_owned(),
        CertificateError::ExpiredContext { not_after, .. } => format!(
            "the server's certificate, or one above it, expired on {}",
            date(*not_after)
        ),
        CertificateError::NotValidYet => {
            "the server's certificate is not valid yet; check this host's clock".to_owned()
        }
        CertificateError::NotValidYetContext { not_before, .. } => format!(
            "the server's certificate, or one above it, is not valid before {}; check this host's \
             clock",
            date(*not_before)
        ),
        CertificateError::UnknownIssuer => "no trusted authority signed the server's certificate; \
             name the right authority's PEM file with sslrootcert="
            .to_owned(),
        CertificateError::BadSignature => {
            "the signature on the server's certificate is wrong".to_owned()
        }
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } if presented.is_empty() => format!(
            "the server's certificate names no host (it has no subjectAltName), so it cannot be \
             checked against {}; use sslmode=verify-ca, or a certificate with that name",
            expected.to_str()
        ),
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => format!(
            "the server's certificate is not for {} but for {}; connect by such a name, or use \
             sslmode=verify-ca",
            expected.to_str(),
            presented.join(", ")
        ),
        CertificateError::NotValidForName => {
            "the server's certificate is for another name; use sslmode=verify-ca if this is \
             intended"
                .to_owned()
        }
        CertificateError::Revoked => "the server's certificate was revoked".to_owned(),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "the server's certificate is not meant for servers".to_owned()
        }
        // The verifier's own error type is not exported, but its name is printed.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => "the server presents an \
             untrusted CA certificate, probably self-signed; name that certificate with \
             sslrootcert="
            .to_owned(),
        other => format!("the server's certificate is not acceptable: {other}"),
    }
}

fn date(time: UnixTime) -> String {
    civil(time.as_secs() as f64, "%Y-%m-%d")
}
