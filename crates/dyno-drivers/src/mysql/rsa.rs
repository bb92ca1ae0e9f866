//! Encryption with a server's RSA public key: PKCS #1 version 2 (RFC 8017) OAEP with SHA-1, the
//! padding that the servers use. Only the public operation is here, so no secret exponent can leak
//! through timing.

use num_bigint::BigUint;
use ring::digest;
use ring::rand::{SecureRandom, SystemRandom};
use rustls_pki_types::SubjectPublicKeyInfoDer;
use rustls_pki_types::pem::PemObject;
use spki::SubjectPublicKeyInfoRef;
use spki::der::asn1::{AnyRef, UintRef};
use spki::der::{Decode, Reader};

/// The length of a SHA-1 hash.
const HASH: usize = 20;

/// The longest modulus accepted, so that a hostile key cannot keep the client computing.
const MODULUS_MAX: usize = 2048;

/// Encrypts `message` for the key, a PEM "PUBLIC KEY".
///
/// # Errors
/// An invalid key, or a message too long for it.
pub(super) fn encrypt(message: &[u8], pem: &[u8]) -> Result<Vec<u8>, &'static str> {
    let key = SubjectPublicKeyInfoDer::from_pem_slice(pem)
        .map_err(|_| "the server's public key is not PEM")?;
    let (modulus, exponent) =
        parse_key(key.as_ref()).ok_or("the server's public key is not an RSA key")?;
    let size = modulus.len();
    let padded = pad(message, size)?;
    let (modulus, exponent) = (
        BigUint::from_bytes_be(modulus),
        BigUint::from_bytes_be(exponent),
    );
    let cipher = BigUint::from_bytes_be(&padded)
        .modpow(&exponent, &modulus)
        .to_bytes_be();
    let mut output = vec![0; size.saturating_sub(cipher.len())];
    output.extend_from_slice(&cipher);
    Ok(output)
}

/// Checks that a password can be encrypted for the key.
///
/// # Errors
/// An invalid key.
pub fn check(pem: &[u8]) -> Result<(), &'static str> {
    encrypt(&[], pem).map(drop)
}

/// EME-OAEP encoding (RFC 8017, section 7.1.1) with an empty label.
fn pad(message: &[u8], size: usize) -> Result<Vec<u8>, &'static str> {
    let room = size
        .checked_sub(2 * HASH + 2)
        .ok_or("the server's public key is too short")?;
    if message.len() > room {
        return Err("the password is too long for the server's public key");
    }
    let mut encoded = vec![0; size];
    let (seed, data) = encoded[1..].split_at_mut(HASH);
    SystemRandom::new()
        .fill(seed)
        .map_err(|_| "the system provides no random numbers")?;
    data[..HASH].copy_from_slice(sha1(&[]).as_ref());
    let at = data.len() - message.len();
    data[at - 1] = 1;
    data[at..].copy_from_slice(message);
    mask(data, seed);
    mask(seed, data);
    Ok(encoded)
}

/// XORs the MGF1 stream (RFC 8017, section B.2.1) of `seed` into `target`.
fn mask(target: &mut [u8], seed: &[u8]) {
    for (counter, chunk) in target.chunks_mut(HASH).enumerate() {
        let block = sha1(&[seed, &(counter as u32).to_be_bytes()]);
        for (byte, mask) in chunk.iter_mut().zip(block.as_ref()) {
            *byte ^= mask;
        }
    }
}

fn sha1(parts: &[&[u8]]) -> digest::Digest {
    let mut context = digest::Context::new(&digest::SHA1_FOR_LEGACY_USE_ONLY);
    for part in parts {
        context.update(part);
    }
    context.finish()
}

/// Modulus and exponent of a SubjectPublicKeyInfo.
fn parse_key(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let info = SubjectPublicKeyInfoRef::from_der(der).ok()?;
    let key = AnyRef::from_der(info.subject_public_key.as_bytes()?).ok()?;
    let numbers = key.sequence(|fields| {
        let modulus: UintRef<'_> = fields.decode()?;
        let exponent: UintRef<'_> = fields.decode()?;
        Ok((modulus.as_bytes(), exponent.as_bytes()))
    });
    let (modulus, exponent) = numbers.ok()?;
    let sane = modulus.len() <= MODULUS_MAX && exponent.len() <= 8;
    sane.then_some((modulus, exponent))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn padding_can_be_undone() {
        let mut encoded = pad(b"message", 128).unwrap();
        assert_eq!(encoded[0], 0);
        let (seed, data) = encoded[1..].split_at_mut(HASH);
        mask(seed, data);
        mask(data, seed);
        assert_eq!(&data[..HASH], sha1(&[]).as_ref());
        let body = &data[HASH..];
        let one = body.iter().position(|&byte| byte != 0).unwrap();
        assert_eq!((body[one], &body[one + 1..]), (1, &b"message"[..]));
    }

    #[test]
    fn refuses_input_too_long_for_the_key() {
        assert!(pad(&[0; 86], 128).is_ok());
        assert!(pad(&[0; 87], 128).is_err());
        assert!(pad(&[], 41).is_err());
        assert!(encrypt(b"x", b"-----BEGIN PUBLIC KEY-----").is_err());
    }

    /// A 512-bit key; the test decrypts with the private exponent.
    #[test]
    fn a_private_key_decrypts_the_password() {
        let prime = |text: &str| BigUint::parse_bytes(text.as_bytes(), 16).unwrap();
        // 2^521 - 1 and 2^607 - 1 are Mersenne primes.
        let p = (BigUint::from(1_u8) << 521_u32) - 1_u8;
        let q = (BigUint::from(1_u8) << 607_u32) - 1_u8;
        let modulus = (&p * &q).to_bytes_be();
        let exponent = prime("10001");
        let phi = (&p - 1_u8) * (&q - 1_u8);
        let private = exponent.modinv(&phi).unwrap();
        let padded = pad(b"hidden\0", modulus.len()).unwrap();
        let n = BigUint::from_bytes_be(&modulus);
        let cipher = BigUint::from_bytes_be(&padded).modpow(&exponent, &n);
        // Compared as numbers: the padding is random, and may begin with zero bytes.
        let plain = cipher.modpow(&private, &n);
        assert_eq!(plain, BigUint::from_bytes_be(&padded));
    }

    proptest! {
        #[test]
        fn no_key_makes_it_panic(der in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_key(&der);
        }

        #[test]
        fn no_pem_makes_it_panic(body in "[A-Za-z0-9+/]{0,200}={0,2}") {
            let pem = format!("-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n");
            let _ = encrypt(b"password", pem.as_bytes());
        }
    }
}
