//! Answers a server's challenge for each authentication plugin.

use curve25519_dalek::EdwardsPoint;
use curve25519_dalek::scalar::{Scalar, clamp_integer};
use ring::digest;
use zeroize::Zeroizing;

use super::rsa;

/// The authentication plugins that the driver supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plugin {
    /// `mysql_native_password`: SHA-1.
    Native,
    /// `caching_sha2_password`: SHA-256, with a full exchange if the server has not cached the
    /// hash.
    CachingSha2,
    /// `sha256_password`: always the full exchange.
    Sha256,
    /// `client_ed25519`: MariaDB's signature scheme.
    Ed25519,
    /// `mysql_clear_password`: the password in clear text.
    Clear,
}

impl Plugin {
    /// Finds a plugin by the name that the server uses.
    pub(super) fn by_name(name: &[u8]) -> Option<Self> {
        let plugins = [
            Self::Native,
            Self::CachingSha2,
            Self::Sha256,
            Self::Ed25519,
            Self::Clear,
        ];
        plugins
            .into_iter()
            .find(|plugin| plugin.name().as_bytes() == name)
    }

    /// The plugin's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Native => "mysql_native_password",
            Self::CachingSha2 => "caching_sha2_password",
            Self::Sha256 => "sha256_password",
            Self::Ed25519 => "client_ed25519",
            Self::Clear => "mysql_clear_password",
        }
    }
}

/// SHA1(password) XOR SHA1(nonce, SHA1(SHA1(password))).
pub(super) fn native(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let hash = |parts: &[&[u8]]| hash(&digest::SHA1_FOR_LEGACY_USE_ONLY, parts);
    let once = hash(&[password]);
    let twice = hash(&[once.as_ref()]);
    xor(once.as_ref(), hash(&[nonce, twice.as_ref()]).as_ref())
}

/// SHA256(password) XOR SHA256(SHA256(SHA256(password)), nonce).
pub(super) fn caching_sha2(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let hash = |parts: &[&[u8]]| hash(&digest::SHA256, parts);
    let once = hash(&[password]);
    let twice = hash(&[once.as_ref()]);
    xor(once.as_ref(), hash(&[twice.as_ref(), nonce]).as_ref())
}

/// An Ed25519 signature (RFC 8032, section 5.1.6) of the nonce, with a password of any length
/// instead of the 32-byte private key.
pub(super) fn ed25519(password: &[u8], nonce: &[u8]) -> Vec<u8> {
    let expanded = wide(&[password]);
    let mut secret = Zeroizing::new([0; 32]);
    secret.copy_from_slice(&expanded[..32]);
    let public = EdwardsPoint::mul_base_clamped(*secret).compress();
    let r = Scalar::from_bytes_mod_order_wide(&wide(&[&expanded[32..], nonce]));
    let commitment = EdwardsPoint::mul_base(&r).compress();
    let challenge = Scalar::from_bytes_mod_order_wide(&wide(&[
        commitment.as_bytes(),
        public.as_bytes(),
        nonce,
    ]));
    let secret = Scalar::from_bytes_mod_order(clamp_integer(*secret));
    let response = r + challenge * secret;
    [commitment.to_bytes(), response.to_bytes()].concat()
}

/// The password as a zero-terminated string, for channels that nobody else can read.
pub(super) fn clear(password: &[u8]) -> Zeroizing<Vec<u8>> {
    // Allocate the full capacity, so that no reallocation leaves a copy behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(password.len() + 1));
    bytes.extend_from_slice(password);
    bytes.push(0);
    bytes
}

/// The password encrypted with the server's public key: the zero-terminated password XOR the
/// repeated nonce, under RSA-OAEP.
///
/// # Errors
/// The key is invalid, or too short for the password.
pub(super) fn encrypted(
    password: &[u8],
    nonce: &[u8],
    key: &[u8],
) -> Result<Vec<u8>, &'static str> {
    let mut bytes = clear(password);
    for (byte, mask) in bytes.iter_mut().zip(nonce.iter().cycle()) {
        *byte ^= mask;
    }
    rsa::encrypt(&bytes, key)
}

fn hash(algorithm: &'static digest::Algorithm, parts: &[&[u8]]) -> digest::Digest {
    let mut context = digest::Context::new(algorithm);
    for part in parts {
        context.update(part);
    }
    context.finish()
}

fn wide(parts: &[&[u8]]) -> Zeroizing<[u8; 64]> {
    let mut bytes = Zeroizing::new([0; 64]);
    bytes.copy_from_slice(hash(&digest::SHA512, parts).as_ref());
    bytes
}

fn xor(left: &[u8], right: &[u8]) -> Vec<u8> {
    left.iter().zip(right).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

    use super::*;

    /// The server's side of `mysql_native_password`: recovers SHA1(password) from the answer and
    /// the nonce, and checks it against the stored SHA1(SHA1(password)).
    #[test]
    fn native_answers_pass_the_servers_check() {
        let sha1 = |parts: &[&[u8]]| hash(&digest::SHA1_FOR_LEGACY_USE_ONLY, parts);
        let (password, nonce) = (b"secret", b"01234567890123456789");
        let stored = sha1(&[sha1(&[password]).as_ref()]);
        let answer = native(password, nonce);
        let once = xor(&answer, sha1(&[nonce, stored.as_ref()]).as_ref());
        assert_eq!(sha1(&[&once]).as_ref(), stored.as_ref());
    }

    #[test]
    fn caching_sha2_answers_pass_the_servers_check() {
        let sha256 = |parts: &[&[u8]]| hash(&digest::SHA256, parts);
        let (password, nonce) = (b"secret", b"01234567890123456789");
        let stored = sha256(&[sha256(&[password]).as_ref()]);
        let answer = caching_sha2(password, nonce);
        let once = xor(&answer, sha256(&[stored.as_ref(), nonce]).as_ref());
        assert_eq!(sha256(&[&once]).as_ref(), stored.as_ref());
    }

    /// For a 32-byte password the scheme is plain Ed25519, so another implementation can check it.
    #[test]
    fn ed25519_signs_as_the_standard_does() {
        let (seed, nonce) = ([7; 32], [9; 32]);
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
        let signature = ed25519(&seed, &nonce);
        assert_eq!(signature, pair.sign(&nonce).as_ref());
        let public = UnparsedPublicKey::new(&ED25519, pair.public_key());
        public.verify(&nonce, &signature).unwrap();
    }
}
