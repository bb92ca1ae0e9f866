//! Protocol settings for a target's connections.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use dyno_core::Target;
use dyno_core::db::{DbError, Family};

use crate::disclosure::Disclosure;
use crate::mysql::{MysqlOptions, check_public_key};
use crate::postgres::{Postgres, PostgresOptions};

/// This program's name in the servers' lists of sessions.
const APPLICATION: &str = "dyno";

/// The protocol settings, which depend on where the server is.
pub(super) enum Speech {
    Mysql(By<Arc<MysqlOptions>>),
    Postgres(Box<By<PostgresOptions>>),
}

/// Where a connection goes.
#[derive(Clone, Copy)]
pub(super) enum Way {
    /// Through a UNIX socket, where the protocols treat TLS differently.
    Unix,
    /// To a loopback address.
    Loopback,
    /// To any other address.
    Network,
}

impl Way {
    pub(super) fn to(address: SocketAddr) -> Self {
        match address.ip().to_canonical().is_loopback() {
            true => Self::Loopback,
            false => Self::Network,
        }
    }
}

/// One value for each way.
pub(super) struct By<T> {
    unix: T,
    loopback: T,
    network: T,
}

impl<T> By<T> {
    fn new(of: impl Fn(Way) -> T) -> Self {
        Self {
            unix: of(Way::Unix),
            loopback: of(Way::Loopback),
            network: of(Way::Network),
        }
    }

    pub(super) fn of(&self, way: Way) -> &T {
        match way {
            Way::Unix => &self.unix,
            Way::Loopback => &self.loopback,
            Way::Network => &self.network,
        }
    }
}

impl Speech {
    pub(super) fn family(&self) -> Family {
        match self {
            Self::Mysql(_) => Family::Mysql,
            Self::Postgres(_) => Family::Postgres,
        }
    }

    /// # Errors
    /// Settings that the protocol cannot transmit; an invalid key.
    pub(super) fn new(target: &Target) -> Result<Self, DbError> {
        match target.family {
            Family::Mysql => Self::mysql(target),
            Family::Postgres => Self::postgres(target),
            Family::Sqlite => Err(DbError::misuse("SQLite has no server to connect to")),
        }
    }

    fn mysql(target: &Target) -> Result<Self, DbError> {
        let key = target.server_public_key.as_deref();
        let key = key.map(public_key).transpose()?;
        let options = |way| {
            Arc::new(MysqlOptions {
                user: target.user.clone(),
                password: target.password.clone(),
                database: target.database.clone(),
                found_rows: target.found_rows,
                tls: target.tls.mode,
                unix_socket: matches!(way, Way::Unix),
                disclosure: disclosure(target, way),
                server_public_key: key.clone(),
                ..MysqlOptions::default()
            })
        };
        Ok(Self::Mysql(By::new(options)))
    }

    fn postgres(target: &Target) -> Result<Self, DbError> {
        let options = |way| PostgresOptions {
            user: target.user.clone(),
            password: target.password.clone(),
            database: target.database.clone(),
            tls: target.tls.mode,
            unix_socket: matches!(way, Way::Unix),
            disclosure: disclosure(target, way),
            application_name: APPLICATION.to_owned(),
        };
        let by = By::new(options);
        // Refuse names that the protocol cannot transmit here, not at each connection.
        Postgres::new(&by.network)?;
        Ok(Self::Postgres(Box::new(by)))
    }
}

fn disclosure(target: &Target, way: Way) -> Disclosure {
    Disclosure {
        local: !matches!(way, Way::Network),
        verified: target.tls.identifies(),
        allowed: target.allow_cleartext_password,
    }
}

/// Reads the server's RSA key from the file that the user configured.
fn public_key(path: &Path) -> Result<Arc<[u8]>, DbError> {
    let refused = |why: &dyn std::fmt::Display| {
        DbError::misuse(format!(
            "cannot read an RSA key from {} (server_public_key): {why}; it must be the server's \
             public_key.pem",
            path.display()
        ))
    };
    let pem = std::fs::read(path).map_err(|error| refused(&error))?;
    check_public_key(&pem).map_err(|why| refused(&why))?;
    Ok(pem.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refuse(url: &str) -> DbError {
        Speech::new(&Target::parse(url).unwrap()).err().unwrap()
    }

    #[test]
    fn only_sockets_and_loopback_addresses_are_local() {
        for (address, local) in [
            ("127.0.0.1:1", true),
            ("127.9.9.9:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("192.0.2.2:1", false),
            ("[fe80::1]:1", false),
            ("0.0.0.0:1", false),
        ] {
            let way = Way::to(address.parse().unwrap());
            assert_eq!(matches!(way, Way::Loopback), local, "{address}");
        }
        let target = Target::parse("mysql://u@h").unwrap();
        let Speech::Mysql(by) = Speech::new(&target).unwrap() else {
            panic!("another family");
        };
        let may = |way, tls| by.of(way).disclosure.is_permitted(tls);
        assert!(may(Way::Unix, false) && may(Way::Loopback, false));
        assert!(!may(Way::Network, false) && !may(Way::Network, true));
    }

    #[test]
    fn a_certificate_that_anybody_can_have_proves_nothing() {
        for (parameters, proves) in [
            ("", false),
            ("sslmode=require", false),
            ("sslmode=verify-ca", false),
            ("sslmode=verify-full", true),
            ("sslrootcert=/ca.pem", true),
        ] {
            let target = Target::parse(&format!("mysql://u@h/?{parameters}")).unwrap();
            assert_eq!(target.tls.identifies(), proves, "{parameters}");
        }
    }

    #[test]
    fn a_file_that_holds_no_key_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "-----BEGIN CERTIFICATE-----").unwrap();
        let path = file.path().display();
        let error = refuse(&format!("mysql://u@127.0.0.1/?server_public_key={path}"));
        assert!(error.message.contains("(server_public_key)"), "{error}");
        let nowhere = refuse("mysql://u@127.0.0.1/?server_public_key=/nowhere/key.pem");
        assert!(nowhere.message.contains("/nowhere/key.pem"), "{nowhere}");
    }
}
