//! The few fields of an X.509 certificate (RFC 5280, section 4.1) that no dependency exposes.

use sha2::{Digest, Sha224, Sha256, Sha384, Sha512};

const INTEGER: u8 = 0x02;
const OID: u8 = 0x06;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// Context-specific, constructed, number 0.
const CONTEXT_0: u8 = 0xa0;

/// The hash of the certificate for the channel binding `tls-server-end-point` (RFC 5929, section
/// 4.1): by the hash function of the certificate's own signature, SHA-256 in place of MD5 and
/// SHA-1. `None` if the signature has no single hash function (Ed25519), or is unknown.
pub(super) fn end_point(certificate: &[u8]) -> Option<Vec<u8>> {
    let (_, body) = expect(certificate, SEQUENCE)?;
    let (after_tbs, _) = expect(body, SEQUENCE)?;
    let (_, algorithm) = expect(after_tbs, SEQUENCE)?;
    let (parameters, oid) = expect(algorithm, OID)?;
    Some(match signature_hash(oid, parameters)? {
        Hash::Sha224 => Sha224::digest(certificate).to_vec(),
        Hash::Sha256 => Sha256::digest(certificate).to_vec(),
        Hash::Sha384 => Sha384::digest(certificate).to_vec(),
        Hash::Sha512 => Sha512::digest(certificate).to_vec(),
    })
}

/// The start and end of the certificate's validity, in seconds since the Unix epoch.
pub(super) fn validity(certificate: &[u8]) -> Option<(u64, u64)> {
    let (_, body) = expect(certificate, SEQUENCE)?;
    let (_, mut tbs) = expect(body, SEQUENCE)?;
    // The version is optional; serial number, signature algorithm and issuer follow.
    if let Some((after, _)) = expect(tbs, CONTEXT_0) {
        tbs = after;
    }
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        (tbs, _) = expect(tbs, tag)?;
    }
    let (_, validity) = expect(tbs, SEQUENCE)?;
    let (validity, not_before) = time(validity)?;
    let (_, not_after) = time(validity)?;
    Some((not_before, not_after))
}

/// Formats a date as `2026-11-20`.
pub(super) fn date(unix_s: u64) -> String {
    // Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms", civil_from_days.
    let days = unix_s / 86_400 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = (month_from_march + 2) % 12 + 1;
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

enum Hash {
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

fn signature_hash(oid: &[u8], parameters: &[u8]) -> Option<Hash> {
    // 1.2.840.113549.1.1.n: RSA.
    if let [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, kind] = oid {
        return match kind {
            // MD5, SHA-1; and SHA-256 itself.
            4 | 5 | 11 => Some(Hash::Sha256),
            12 => Some(Hash::Sha384),
            13 => Some(Hash::Sha512),
            14 => Some(Hash::Sha224),
            10 => pss_hash(parameters),
            _ => None,
        };
    }
    match oid {
        // 1.2.840.10045.4.1 and 1.2.840.10040.4.3: ECDSA and DSA with SHA-1.
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1] | [0x2a, 0x86, 0x48, 0xce, 0x38, 4, 3] => {
            Some(Hash::Sha256)
        }
        // 1.2.840.10045.4.3.n: ECDSA with SHA-2.
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3, kind] => match kind {
            1 => Some(Hash::Sha224),
            2 => Some(Hash::Sha256),
            3 => Some(Hash::Sha384),
            4 => Some(Hash::Sha512),
            _ => None,
        },
        _ => None,
    }
}

/// RSASSA-PSS (RFC 4055, section 3.1) names its hash in its parameters; the default is SHA-1.
fn pss_hash(parameters: &[u8]) -> Option<Hash> {
    let (_, fields) = expect(parameters, SEQUENCE)?;
    let Some((_, algorithm)) = expect(fields, CONTEXT_0) else {
        return Some(Hash::Sha256);
    };
    let (_, algorithm) = expect(algorithm, SEQUENCE)?;
    let (_, oid) = expect(algorithm, OID)?;
    match oid {
        // 1.3.14.3.2.26: SHA-1.
        [0x2b, 0x0e, 0x03, 0x02, 0x1a] => Some(Hash::Sha256),
        // 2.16.840.1.101.3.4.2.n: SHA-2.
        [0x60, 0x86, 0x48, 0x01, 0x65, 3, 4, 2, kind] => match kind {
            1 => Some(Hash::Sha256),
            2 => Some(Hash::Sha384),
            3 => Some(Hash::Sha512),
            4 => Some(Hash::Sha224),
            _ => None,
        },
        _ => None,
    }
}

/// Parses `YYMMDDhhmmssZ` or `YYYYMMDDhhmmssZ` and returns the rest. Times before the epoch become
/// 0.
fn time(bytes: &[u8]) -> Option<(&[u8], u64)> {
    let (rest, tag, text) = element(bytes)?;
    let digits = text.strip_suffix(b"Z")?;
    if !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let number = |digits: &[u8]| {
        digits
            .iter()
            .fold(0, |sum, digit| sum * 10 + u64::from(digit - b'0'))
    };
    let (year, fields) = match (tag, digits.len()) {
        // Years from 50 on belong to the 20th century.
        (UTC_TIME, 12) => {
            let year = number(&digits[..2]);
            (year + if year >= 50 { 1900 } else { 2000 }, &digits[2..])
        }
        (GENERALIZED_TIME, 14) => (number(&digits[..4]), &digits[4..]),
        _ => return None,
    };
    let [month, day, hour, minute, second] =
        [0, 2, 4, 6, 8].map(|start| number(&fields[start..start + 2]));
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let days = days_since_epoch(year, month, day);
    Some((rest, days * 86_400 + hour * 3_600 + minute * 60 + second))
}

/// The inverse of [`date`], from the same source; zero before 1970.
fn days_since_epoch(year: u64, month: u64, day: u64) -> u64 {
    let year = if month <= 2 {
        year.saturating_sub(1)
    } else {
        year
    };
    let (era, year_of_era) = (year / 400, year % 400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    (era * 146_097 + day_of_era).saturating_sub(719_468)
}

/// The bytes after an element with this tag, and its content.
fn expect(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (rest, found, content) = element(bytes)?;
    (found == tag).then_some((rest, content))
}

/// The bytes after the first element, its tag, and its content.
fn element(bytes: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (len, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        // A long form: the number of length bytes. Four make 4 GiB.
        0x81..=0x84 => {
            let (len, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            let len = len
                .iter()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            (len, rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(len)?;
    Some((rest, tag, content))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
        let mut bytes = vec![tag];
        match content.len() {
            len @ 0..=0x7f => bytes.push(len as u8),
            len => bytes.extend([0x82, (len >> 8) as u8, len as u8]),
        }
        bytes.extend(content);
        bytes
    }

    /// A certificate with only a signature algorithm.
    fn signed_by(oid: &[u8], parameters: &[u8]) -> Vec<u8> {
        let algorithm = [tlv(OID, oid), parameters.to_vec()].concat();
        tlv(
            SEQUENCE,
            &[tlv(SEQUENCE, &[0; 200]), tlv(SEQUENCE, &algorithm)].concat(),
        )
    }

    #[test]
    fn the_hash_follows_the_signature() {
        let rsa = |kind| [&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1][..], &[kind]].concat();
        let ecdsa = |kind| [&[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3][..], &[kind]].concat();
        let null = tlv(0x05, &[]);
        for (oid, len) in [
            (rsa(4), Some(32)),
            (rsa(5), Some(32)),
            (rsa(11), Some(32)),
            (rsa(12), Some(48)),
            (rsa(13), Some(64)),
            (rsa(14), Some(28)),
            (rsa(99), None),
            (ecdsa(1), Some(28)),
            (ecdsa(2), Some(32)),
            (ecdsa(3), Some(48)),
            (ecdsa(4), Some(64)),
            (vec![0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1], Some(32)),
            // 1.3.101.112: Ed25519.
            (vec![0x2b, 0x65, 0x70], None),
        ] {
            let hash = end_point(&signed_by(&oid, &null));
            assert_eq!(hash.map(|hash| hash.len()), len, "{oid:?}");
        }
        let sha384 = tlv(OID, &[0x60, 0x86, 0x48, 0x01, 0x65, 3, 4, 2, 2]);
        let named = tlv(SEQUENCE, &tlv(CONTEXT_0, &tlv(SEQUENCE, &sha384)));
        let len = |parameters: &[u8]| end_point(&signed_by(&rsa(10), parameters)).map(|h| h.len());
        assert_eq!(len(&named), Some(48));
        assert_eq!(len(&tlv(SEQUENCE, &[])), Some(32));
        let certificate = signed_by(&rsa(11), &null);
        assert_eq!(
            end_point(&certificate).unwrap(),
            Sha256::digest(&certificate).to_vec()
        );
    }

    #[test]
    fn dates() {
        for (unix_s, text) in [
            (0, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_767_225_599, "2025-12-31"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(date(unix_s), text);
        }
        assert_eq!(time(&tlv(UTC_TIME, b"500101000000Z")).unwrap().1, 0);
        assert_eq!(
            time(&tlv(UTC_TIME, b"491231235959Z")).unwrap().1,
            2_524_607_999
        );
        let far = tlv(GENERALIZED_TIME, b"20500101000000Z");
        assert_eq!(time(&far).unwrap().1, 2_524_608_000);
        assert_eq!(time(&tlv(UTC_TIME, b"501301000000Z")), None);
        assert_eq!(time(&tlv(UTC_TIME, b"5013010000Z")), None);
    }

    proptest! {
        #[test]
        fn days_and_dates_agree(days in 0u64..100_000) {
            let text = date(days * 86_400);
            let part = |range: std::ops::Range<usize>| text[range].parse::<u64>().unwrap();
            prop_assert_eq!(days_since_epoch(part(0..4), part(5..7), part(8..10)), days);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let _ = (end_point(&bytes), validity(&bytes));
            let _ = (end_point(&tlv(SEQUENCE, &bytes)), validity(&tlv(SEQUENCE, &bytes)));
        }
    }
}
