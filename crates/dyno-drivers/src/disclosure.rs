//! When a password may be sent in a form from which the other end learns it: as it is, or encrypted
//! for a key that the other end itself has named. Answers to a challenge do not count: they prove
//! that the password is known without giving it away.

/// What is known of the other end, and what the user has said about it. As it is by default, no
/// password is disclosed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disclosure {
    /// The other end is on this machine: a UNIX socket, or a loopback address.
    pub local: bool,
    /// TLS, if there is any, proves who the other end is.
    pub verified: bool,
    /// The user allows it, whoever the other end may be.
    pub allowed: bool,
}

impl Disclosure {
    /// Whether it may be done on a connection with TLS, or without.
    pub fn is_permitted(self, tls: bool) -> bool {
        self.local || self.allowed || (self.verified && tls)
    }
}

/// Why it was not done. `how` says what the server asked for; `also` what else would help.
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
    fn only_proof_nearness_or_the_user_permits_it() {
        let none = Disclosure::default();
        assert!(!none.is_permitted(false) && !none.is_permitted(true));
        let verified = Disclosure {
            verified: true,
            ..none
        };
        // A connection that could have been verified, but has no TLS, was not.
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
