//! When a password may be sent in a form that reveals it to the peer: in the clear, or encrypted
//! for a key that the peer supplied. Challenge responses do not count: they prove knowledge of the
//! password without revealing it.

/// What is known about the peer, and what the user allows. The default discloses no password.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disclosure {
    /// The peer is on this machine: a UNIX socket or a loopback address.
    pub local: bool,
    /// TLS, if used, verifies the peer's identity.
    pub verified: bool,
    /// The user allows it for any peer.
    pub allowed: bool,
}

impl Disclosure {
    /// Whether a password may be disclosed on a connection with or without TLS.
    pub fn is_permitted(self, tls: bool) -> bool {
        self.local || self.allowed || (self.verified && tls)
    }
}

/// The message of a refusal. `how` is what the server asked for; `also` is a further remedy.
pub(crate) fn refusal(how: &str, tls: bool, also: &str) -> String {
    let why = match tls {
        true => "the server's identity is unproven: its certificate was not verified",
        false => "without TLS the server's identity is unproven",
    };
    format!(
        "the server asks for {how}, which would reveal the password to whoever answers there; it \
         was not sent because {why}. Verify the certificate (sslmode=verify-full, or \
         sslrootcert=FILE with the certificate of the server or of its authority), connect by a \
         UNIX socket or a loopback address{also}, or allow it with allow_cleartext_password=1 \
         (dyno sysbench: --allow-cleartext-password)"
    )
}

#[cfg(test)]
mod tests {
    use super::Disclosure;

    #[test]
    fn disclosure_needs_proof_a_local_peer_or_permission() {
        let none = Disclosure::default();
        assert!(!none.is_permitted(false) && !none.is_permitted(true));
        let verified = Disclosure {
            verified: true,
            ..none
        };
        // Verification counts only on a connection that uses TLS.
        assert!(!verified.is_permitted(false) && verified.is_permitted(true));
        let local = Disclosure {
            local: true,
            ..none
        };
        let allowed = Disclosure {
            allowed: true,
            ..none
        };
        for each in [local, allowed] {
            assert!(each.is_permitted(false) && each.is_permitted(true));
        }
    }
}
