//! The parameters after `?`.

use std::path::PathBuf;
use std::time::Duration;

use super::sqlite::{JournalMode, Synchronous};
use super::url::decode;
use super::{MAX_ANSWER_BYTES, TargetError, TlsMode, TlsOptions};
use crate::db::Family;
use crate::suggest::nearest;
use crate::units::{parse_duration, parse_size};

/// A smaller limit would reject what every connection needs.
const ANSWER_BYTES_MIN: u64 = 4096;

/// Known parameters with their decoded values; each reader takes its own out once.
pub(super) struct Parameters(Vec<(&'static str, Value)>);

struct Value {
    /// Still encoded, so that lists can be split at commas.
    encoded: String,
    decoded: String,
}

const SERVER: [&str; 14] = [
    "host",
    "port",
    "user",
    "password",
    "dbname",
    "socket",
    "sslmode",
    "sslrootcert",
    "sslcert",
    "sslkey",
    "connect_timeout",
    "max_answer",
    "password_env",
    "allow_cleartext_password",
];
const SQLITE: [&str; 4] = ["busy_timeout", "journal_mode", "synchronous", "max_answer"];

/// MySQL's spellings.
const SYNONYMS: [(&str, &str); 6] = [
    ("ssl_mode", "sslmode"),
    ("ssl_ca", "sslrootcert"),
    ("ssl_cert", "sslcert"),
    ("ssl_key", "sslkey"),
    ("database", "dbname"),
    ("server_public_key_path", "server_public_key"),
];

fn known(family: Family) -> Vec<&'static str> {
    let own: &[&'static str] = match family {
        Family::Sqlite => return SQLITE.to_vec(),
        Family::Mysql => &["found_rows", "defaults_file", "server_public_key"],
        Family::Postgres => &["passfile"],
    };
    SERVER.iter().chain(own).copied().collect()
}

const AMPERSAND: &str = "the parameter after 'password' does not exist; if the & belongs to the \
                         password, write it as %26";

impl Parameters {
    /// # Errors
    /// Unknown or repeated names, empty values.
    pub(super) fn parse(family: Family, query: &str) -> Result<Self, TargetError> {
        let known = known(family);
        let mut parameters: Vec<(&'static str, Value)> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, encoded) = pair.split_once('=').unwrap_or((pair, ""));
            let plain = name.to_ascii_lowercase().replace('-', "_");
            let plain = SYNONYMS
                .iter()
                .find(|(synonym, _)| *synonym == plain)
                .map_or(plain.as_str(), |(_, name)| name);
            let Some(name) = known.iter().find(|known| **known == plain) else {
                // `password=a&b` has no parameter named b but a password with a raw &.
                if parameters.iter().any(|(name, _)| *name == "password") {
                    return Err(TargetError(AMPERSAND.to_owned()));
                }
                return Err(TargetError(unknown(name, plain, &known)));
            };
            if parameters.iter().any(|(other, _)| other == name) {
                return Err(TargetError(format!(
                    "the parameter '{name}' is given twice"
                )));
            }
            if encoded.is_empty() {
                return Err(TargetError(format!(
                    "the parameter '{name}' has no value; write {name}=VALUE or omit it"
                )));
            }
            let value = Value {
                encoded: encoded.to_owned(),
                decoded: decode(encoded, &format!("parameter '{name}'"))?,
            };
            parameters.push((*name, value));
        }
        Ok(Self(parameters))
    }

    fn remove(&mut self, name: &str) -> Option<Value> {
        let index = self.0.iter().position(|(other, _)| *other == name)?;
        Some(self.0.swap_remove(index).1)
    }

    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        self.remove(name).map(|value| value.decoded)
    }

    pub(super) fn path(&mut self, name: &str) -> Option<PathBuf> {
        self.take(name).map(PathBuf::from)
    }

    /// A value in the URL proper or as a parameter, but not both.
    pub(super) fn either(
        &mut self,
        name: &str,
        proper: Option<String>,
    ) -> Result<Option<String>, TargetError> {
        match (proper, self.take(name)) {
            (Some(_), Some(_)) => Err(TargetError(format!(
                "'{name}' is given twice: before the ? and as a parameter"
            ))),
            (proper, parameter) => Ok(proper.or(parameter)),
        }
    }

    /// The parts between commas; a comma within a part is written %2C.
    pub(super) fn list(&mut self, name: &str) -> Result<Vec<String>, TargetError> {
        let Some(value) = self.remove(name) else {
            return Ok(Vec::new());
        };
        let parts = value.encoded.split(',');
        let parts: Vec<String> = parts
            .map(|part| decode(part, &format!("parameter '{name}'")))
            .collect::<Result<_, _>>()?;
        if parts.iter().any(String::is_empty) {
            return Err(TargetError(format!(
                "the list in the parameter '{name}' has an empty part"
            )));
        }
        Ok(parts)
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<Option<bool>, TargetError> {
        let Some(text) = self.take(name) else {
            return Ok(None);
        };
        match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "on" | "yes" => Ok(Some(true)),
            "0" | "false" | "off" | "no" => Ok(Some(false)),
            _ => Err(TargetError(format!(
                "the parameter '{name}' is '{text}', but must be 1 or 0"
            ))),
        }
    }

    /// A duration, at most about 24 days: timeouts are 32-bit milliseconds to the system.
    pub(super) fn milliseconds(&mut self, name: &str) -> Result<Option<u64>, TargetError> {
        let Some(text) = self.take(name) else {
            return Ok(None);
        };
        let duration =
            parse_duration(&text).map_err(|error| TargetError(format!("{name}: {error}")))?;
        let max = Duration::from_millis(i32::MAX as u64);
        if duration > max || !duration.subsec_nanos().is_multiple_of(1_000_000) {
            return Err(TargetError(format!(
                "the parameter '{name}' is '{text}', but must be whole milliseconds, at most 24d"
            )));
        }
        Ok(Some(duration.as_millis() as u64))
    }

    /// The limit of an answer's bytes, at least the minimum.
    pub(super) fn max_answer(&mut self) -> Result<u64, TargetError> {
        let Some(text) = self.take("max_answer") else {
            return Ok(MAX_ANSWER_BYTES);
        };
        match parse_size(&text) {
            Ok(bytes) if bytes >= ANSWER_BYTES_MIN => Ok(bytes),
            Ok(_) => Err(TargetError(format!(
                "the parameter 'max_answer' is '{text}', but must be at least 4K"
            ))),
            Err(error) => Err(TargetError(format!("max_answer: {error}"))),
        }
    }

    pub(super) fn journal_mode(&mut self) -> Result<Option<JournalMode>, TargetError> {
        self.one_of("journal_mode", &JournalMode::ALL, JournalMode::name)
    }

    pub(super) fn synchronous(&mut self) -> Result<Option<Synchronous>, TargetError> {
        self.one_of("synchronous", &Synchronous::ALL, Synchronous::name)
    }

    fn one_of<T: Copy>(
        &mut self,
        name: &str,
        all: &[T],
        spelling: fn(T) -> &'static str,
    ) -> Result<Option<T>, TargetError> {
        let Some(text) = self.take(name) else {
            return Ok(None);
        };
        let found = all
            .iter()
            .find(|value| spelling(**value).eq_ignore_ascii_case(&text));
        match found {
            Some(value) => Ok(Some(*value)),
            None => {
                let names: Vec<_> = all.iter().map(|value| spelling(*value)).collect();
                Err(TargetError(format!(
                    "the parameter '{name}' is '{text}', but must be one of {}",
                    names.join(", ")
                )))
            }
        }
    }
}

/// TLS settings; settings without effect are errors.
pub(super) fn tls_options(parameters: &mut Parameters) -> Result<TlsOptions, TargetError> {
    let mode = parameters.take("sslmode").map(|text| parse_mode(&text));
    let mode = mode.transpose()?;
    let ca = parameters.path("sslrootcert");
    let cert = parameters.path("sslcert");
    let key = parameters.path("sslkey");
    if cert.is_some() != key.is_some() {
        return Err(TargetError(
            "sslcert and sslkey must be given together: a client certificate and its key"
                .to_owned(),
        ));
    }
    let mode = match (mode, &ca) {
        (None, Some(_)) => TlsMode::VerifyCa,
        (None, None) => TlsMode::default(),
        (Some(mode), Some(_)) if !matches!(mode, TlsMode::VerifyCa | TlsMode::VerifyFull) => {
            return Err(TargetError(format!(
                "sslmode={} verifies no certificate, so sslrootcert would have no effect; use \
                 sslmode=verify-ca or verify-full",
                mode.name()
            )));
        }
        (Some(mode), _) => mode,
    };
    if mode == TlsMode::Disable && cert.is_some() {
        return Err(TargetError(
            "sslcert has no effect with sslmode=disable".to_owned(),
        ));
    }
    Ok(TlsOptions {
        mode,
        ca,
        cert,
        key,
    })
}

fn parse_mode(text: &str) -> Result<TlsMode, TargetError> {
    Ok(match text.to_ascii_lowercase().replace('_', "-").as_str() {
        "disable" | "disabled" => TlsMode::Disable,
        "allow" => TlsMode::Allow,
        "prefer" | "preferred" => TlsMode::Prefer,
        "require" | "required" => TlsMode::Require,
        "verify-ca" => TlsMode::VerifyCa,
        "verify-full" | "verify-identity" => TlsMode::VerifyFull,
        _ => {
            return Err(TargetError(format!(
                "sslmode is '{text}', but must be one of disable, allow, prefer, require, \
                 verify-ca and verify-full"
            )));
        }
    })
}

fn unknown(name: &str, plain: &str, known: &[&str]) -> String {
    match nearest(plain, known.iter().copied()) {
        Some(nearest) => format!("there is no parameter '{name}'; did you mean '{nearest}'?"),
        None => format!(
            "there is no parameter '{name}'; there are {}",
            known.join(", ")
        ),
    }
}
