//! Files for a user's own NATS server, so that agents can join runs over it: its configuration, and
//! a key for each agent and for whoever starts runs.

use std::fmt::Write as _;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use dyno_core::Secret;
use nkeys::KeyPair;

use super::{COORDINATOR, MESSAGE_BYTES_MAX, STORE_BYTES_MAX, ServerError, inbox, key};
use crate::names::{AgentName, Channel};

/// The files of a permanent server.
#[derive(Clone, Debug)]
pub struct ServerFiles {
    /// The folder of its files.
    pub folder: PathBuf,
    /// The address and port it listens at.
    pub listen: String,
    /// Its certificate and private key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The agents that may join runs.
    pub agents: Vec<AgentName>,
}

impl ServerFiles {
    /// Writes the configuration and missing keys; returns the files' paths.
    ///
    /// # Errors
    /// A file cannot be written, or does not contain a key.
    pub fn write(&self) -> Result<Vec<PathBuf>, ServerError> {
        let folder_error = |what| move |why| ServerError::Folder { what, why };
        let mut builder = fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&self.folder);
        made.map_err(folder_error("the folder"))?;
        let folder = fs::canonicalize(&self.folder).map_err(folder_error("the folder"))?;
        let mut paths = Vec::new();
        let path = folder.join(format!("{COORDINATOR}.nk"));
        let mut users = format!("    {{ nkey: {} }}\n", public(&path, COORDINATOR)?);
        paths.push(path);
        for agent in &self.agents {
            let path = folder.join(format!("{agent}.nk"));
            let own = permissions(agent);
            let public = public(&path, agent.as_str())?;
            let _ = writeln!(users, "    {{ nkey: {public}, permissions: {own} }}");
            paths.push(path);
        }
        let tls = self.tls.as_ref().map_or_else(String::new, |(cert, key)| {
            let (cert, key) = (cert.display(), key.display());
            format!("tls {{ cert_file: \"{cert}\", key_file: \"{key}\" }}\n")
        });
        let text = format!(
            "listen: \"{}\"\nmax_payload: {}\n{tls}jetstream {{\n    store_dir: \"{}\"\n    \
             max_file_store: {STORE_BYTES_MAX}\n}}\n\
             authorization {{\n  users = [\n{users}  ]\n}}\n",
            self.listen,
            MESSAGE_BYTES_MAX + 4096,
            folder.join("store").display(),
        );
        let path = folder.join("nats-server.conf");
        write(&path, &text, true).map_err(folder_error("the configuration"))?;
        paths.push(path);
        Ok(paths)
    }
}

fn permissions(agent: &AgentName) -> String {
    let subjects = |upward: bool| {
        let own = Channel::ALL.into_iter().filter(|c| c.is_upward() == upward);
        let own = own.map(|channel| format!("\"dyno.*.{}.{agent}\"", channel.token()));
        own.collect::<Vec<_>>().join(", ")
    };
    format!(
        "{{ publish: [{}], subscribe: [{}, \"dyno.any.call.{agent}\", \"{}.>\"] }}",
        subjects(true),
        subjects(false),
        inbox(agent.as_str())
    )
}

/// The public half of the key in a file, which is created if it is missing.
fn public(path: &Path, whom: &str) -> Result<String, ServerError> {
    match fs::read_to_string(path) {
        Ok(seed) => {
            let seed = Secret::new(seed.trim().to_owned());
            let pair = KeyPair::from_seed(seed.expose());
            let pair = pair.map_err(|error| ServerError::Key {
                whom: format!("{whom} in {}", path.display()),
                why: error.to_string(),
            })?;
            Ok(pair.public_key())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (public, seed) = key(whom)?;
            let written = write(path, &format!("{}\n", seed.expose()), false);
            written.map_err(|why| ServerError::Folder {
                what: "the key",
                why,
            })?;
            Ok(public)
        }
        Err(why) => Err(ServerError::Folder {
            what: "the key",
            why,
        }),
    }
}

/// Writes a file that only this user can read.
fn write(path: &Path, text: &str, replaces: bool) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let options = options.write(true).mode(0o600);
    let options = match replaces {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    options.open(path)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn keys_stay_and_are_not_in_the_configuration() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = ServerFiles {
            folder: folder.path().join("bus"),
            listen: "127.0.0.1:4222".to_owned(),
            tls: Some((PathBuf::from("/c.pem"), PathBuf::from("/k.pem"))),
            agents: vec![AgentName::new("gen1").unwrap()],
        };
        let paths = files.write().unwrap();
        let seed = fs::read_to_string(&paths[1]).unwrap();
        files.agents.push(AgentName::new("gen2").unwrap());
        let paths = files.write().unwrap();
        assert_eq!(fs::read_to_string(&paths[1]).unwrap(), seed);
        let config = fs::read_to_string(&paths[3]).unwrap();
        for path in &paths {
            let mode = fs::metadata(path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{}", path.display());
            let own = fs::read_to_string(path).unwrap();
            assert!(path == &paths[3] || !config.contains(own.trim()));
        }
        assert!(config.contains("\"dyno.*.iv.gen2\""), "{config}");
        assert!(config.contains("\"dyno.any.call.gen1\""), "{config}");
        assert!(config.contains("cert_file: \"/c.pem\""), "{config}");
        fs::write(&paths[1], "no key").unwrap();
        assert!(files.write().unwrap_err().to_string().contains("gen1"));
    }
}
