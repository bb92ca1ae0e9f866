//! The few fields of an X.509 certificate (RFC 5280, section 4.1) that rustls does not expose.

use std::time::Duration;

use rustls::pki_types::UnixTime;
use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};
use spki::AlgorithmIdentifierRef;
use spki::der::asn1::{AnyRef, GeneralizedTime, UtcTime};
use spki::der::{self, Decode, Reader, Tag, TagMode, TagNumber, Tagged};

/// The hash of the certificate for the channel binding `tls-server-end-point` (RFC 5929, section
/// 4.1). The hash function is that of the certificate's own signature, with SHA-256 in place of MD5
/// and SHA-1. `None` if the signature has no single hash function (Ed25519), or is unknown.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let (_, signature) = parts(certificate).ok()?;
    Some(match hash_bits(&signature)? {
        224 => Sha224::digest(certificate).to_vec(),
        384 => Sha384::digest(certificate).to_vec(),
        512 => Sha512::digest(certificate).to_vec(),
        _ => Sha256::digest(certificate).to_vec(),
    })
}

/// When the validity of the certificate starts and ends.
pub(super) fn validity(certificate: &[u8]) -> der::Result<(UnixTime, UnixTime)> {
    let (signed, _) = parts(certificate)?;
    signed.sequence(|fields| {
        // The version is optional; serial number, signature algorithm and issuer follow.
        if fields.peek_tag()?.is_context_specific() {
            fields.decode::<AnyRef<'_>>()?;
        }
        for _ in 0..3 {
            fields.decode::<AnyRef<'_>>()?;
        }
        let validity = fields.sequence(|times| Ok((time(times)?, time(times)?)))?;
        fields.read_slice(fields.remaining_len())?;
        Ok(validity)
    })
}

/// The signed part of a certificate, and the algorithm of its signature.
fn parts(certificate: &[u8]) -> der::Result<(AnyRef<'_>, AlgorithmIdentifierRef<'_>)> {
    AnyRef::from_der(certificate)?.sequence(|fields| {
        let parts = (fields.decode()?, fields.decode()?);
        fields.decode::<AnyRef<'_>>()?;
        Ok(parts)
    })
}

/// The size in bits of the hash for the channel binding, from the algorithm of a signature.
fn hash_bits(signature: &AlgorithmIdentifierRef<'_>) -> Option<u16> {
    let mut algorithm = signature.oid.to_string();
    if algorithm == "1.2.840.113549.1.1.10" {
        algorithm = pss_hash(signature.parameters?).ok()?;
    }
    Some(match algorithm.as_str() {
        // RSA with MD5, SHA-1 and SHA-2.
        "1.2.840.113549.1.1.4" | "1.2.840.113549.1.1.5" | "1.2.840.113549.1.1.11" => 256,
        "1.2.840.113549.1.1.12" => 384,
        "1.2.840.113549.1.1.13" => 512,
        "1.2.840.113549.1.1.14" => 224,
        // DSA and ECDSA with SHA-1; ECDSA with SHA-2.
        "1.2.840.10040.4.3" | "1.2.840.10045.4.1" | "1.2.840.10045.4.3.2" => 256,
        "1.2.840.10045.4.3.1" => 224,
        "1.2.840.10045.4.3.3" => 384,
        "1.2.840.10045.4.3.4" => 512,
        SHA_1 | "2.16.840.1.101.3.4.2.1" => 256,
        "2.16.840.1.101.3.4.2.2" => 384,
        "2.16.840.1.101.3.4.2.3" => 512,
        "2.16.840.1.101.3.4.2.4" => 224,
        _ => return None,
    })
}

const SHA_1: &str = "1.3.14.3.2.26";

/// The hash that the parameters of RSASSA-PSS name (RFC 4055, section 3.1). The default is SHA-1.
fn pss_hash(parameters: AnyRef<'_>) -> der::Result<String> {
    parameters.sequence(|fields| {
        let mode = TagMode::Explicit;
        let hash = fields.context_specific::<AlgorithmIdentifierRef<'_>>(TagNumber::N0, mode)?;
        fields.read_slice(fields.remaining_len())?;
        Ok(hash.map_or_else(|| SHA_1.to_owned(), |hash| hash.oid.to_string()))
    })
}

/// A time. `der` cannot represent times before the epoch, so these become the epoch.
fn time<'a>(reader: &mut impl Reader<'a>) -> der::Result<UnixTime> {
    let time: AnyRef<'a> = reader.decode()?;
    let since_epoch = match (time.tag(), time.value()) {
        // Years from 50 on belong to the 20th century.
        (Tag::UtcTime, [b'5' | b'6', ..]) => Duration::ZERO,
        (Tag::UtcTime, _) => time.decode_as::<UtcTime>()?.to_unix_duration(),
        (Tag::GeneralizedTime, year) if year < &b"1970"[..] => Duration::ZERO,
        _ => time.decode_as::<GeneralizedTime>()?.to_unix_duration(),
    };
    Ok(UnixTime::since_unix_epoch(since_epoch))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use spki::ObjectIdentifier;

    use super::*;

    const SEQUENCE: u8 = 0x30;
    /// Context-specific, constructed, number 0.
    const CONTEXT_0: u8 = 0xa0;

    fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag];
        match content.len() {
            len @ 0..=0x7f => bytes.push(len as u8),
            len => bytes.extend([0x82, (len >> 8) as u8, len as u8]),
        }
        bytes.extend(content);
        bytes
    }

    fn oid(text: &str) -> Vec<u8> {
        tlv(0x06, ObjectIdentifier::new(text).unwrap().as_bytes())
    }

    /// A certificate with this signed part. Its signature has an algorithm but no value.
    fn certificate(signed: &[u8], algorithm: &str, parameters: &[u8]) -> Vec<u8> {
        let algorithm = tlv(SEQUENCE, &[oid(algorithm), parameters.to_vec()].concat());
        let fields = [tlv(SEQUENCE, signed), algorithm, tlv(0x03, &[0])];
        tlv(SEQUENCE, &fields.concat())
    }

    #[test]
    fn the_hash_follows_the_signature() {
        let null = tlv(0x05, &[]);
        let signed_by = |oid: &str, parameters: &[u8]| certificate(&[0; 500], oid, parameters);
        for (oid, len) in [
            ("1.2.840.113549.1.1.4", Some(32)),
            ("1.2.840.113549.1.1.5", Some(32)),
            ("1.2.840.113549.1.1.11", Some(32)),
            ("1.2.840.113549.1.1.12", Some(48)),
            ("1.2.840.113549.1.1.13", Some(64)),
            ("1.2.840.113549.1.1.14", Some(28)),
            ("1.2.840.113549.1.1.99", None),
            ("1.2.840.10045.4.3.1", Some(28)),
            ("1.2.840.10045.4.3.2", Some(32)),
            ("1.2.840.10045.4.3.3", Some(48)),
            ("1.2.840.10045.4.3.4", Some(64)),
            ("1.2.840.10045.4.1", Some(32)),
            // Ed25519.
            ("1.3.101.112", None),
        ] {
            let hash = end_point(&signed_by(oid, &null));
            assert_eq!(hash.map(|hash| hash.len()), len, "{oid}");
        }
        let sha384 = tlv(SEQUENCE, &oid("2.16.840.1.101.3.4.2.2"));
        let salt_length = tlv(0xa2, &tlv(0x02, &[48]));
        let named = tlv(SEQUENCE, &[tlv(CONTEXT_0, &sha384), salt_length].concat());
        let pss = |parameters: &[u8]| {
            end_point(&signed_by("1.2.840.113549.1.1.10", parameters)).map(|hash| hash.len())
        };
        assert_eq!(pss(&named), Some(48));
        assert_eq!(pss(&tlv(SEQUENCE, &[])), Some(32));
        let certificate = signed_by("1.2.840.113549.1.1.11", &null);
        let hash = Sha256::digest(&certificate).to_vec();
        assert_eq!(end_point(&certificate), Some(hash));
    }

    /// The fields of a signed part that has no version.
    fn valid(times: [Vec<u8>; 2]) -> Vec<u8> {
        let (number, empty) = (tlv(0x02, &[1]), tlv(SEQUENCE, &[]));
        let times = tlv(SEQUENCE, &times.concat());
        [number, empty.clone(), empty.clone(), times, empty].concat()
    }

    fn seconds(signed: &[u8]) -> (u64, u64) {
        let certificate = certificate(signed, "1.2.840.113549.1.1.11", &[]);
        let (from, to) = validity(&certificate).unwrap();
        (from.as_secs(), to.as_secs())
    }

    #[test]
    fn validity_is_behind_the_issuer() {
        let version = tlv(CONTEXT_0, &tlv(0x02, &[2]));
        let fields = valid([tlv(0x17, b"491231235959Z"), tlv(0x18, b"20500101000000Z")]);
        for signed in [fields.clone(), [version, fields].concat()] {
            assert_eq!(seconds(&signed), (2_524_607_999, 2_524_608_000));
        }
    }

    #[test]
    fn times_before_the_epoch_are_the_epoch() {
        let utc = [tlv(0x17, b"500101000000Z"), tlv(0x17, b"691231235959Z")];
        let general = [tlv(0x18, b"00010101000000Z"), tlv(0x18, b"19700101000001Z")];
        assert_eq!(seconds(&valid(utc)), (0, 0));
        assert_eq!(seconds(&valid(general)), (0, 1));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = (end_point(&bytes), validity(&bytes));
            let _ = (end_point(&tlv(SEQUENCE, &bytes)), validity(&tlv(SEQUENCE, &bytes)));
        }
    }
}
