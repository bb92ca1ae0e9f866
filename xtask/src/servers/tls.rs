//! Creates a certificate authority and a server certificate for the tests with openssl.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::{Kind, process};

/// The folder with the certificates.
pub(super) struct Certificates {
    dir: PathBuf,
}

impl Certificates {
    /// Creates an authority and a certificate for `localhost` and `127.0.0.1` in `dir`.
    pub(super) fn make(dir: &Path) -> Result<Self> {
        let key = [
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
        ];
        let authority = "-x509 -days 30 -subj /CN=Dyno-test-authority -keyout ca.key -out ca.pem";
        openssl(dir, "req", &key, authority)?;
        openssl(
            dir,
            "req",
            &key,
            "-subj /CN=localhost -keyout server.key -out server.csr",
        )?;
        fs::write(
            dir.join("names"),
            "subjectAltName=DNS:localhost,IP:127.0.0.1\n",
        )?;
        let sign = "-req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 \
                    -extfile names -out server.pem";
        openssl(dir, "x509", &[], sign)?;
        Ok(Self {
            dir: dir.to_owned(),
        })
    }

    /// The certificate of the authority.
    pub(super) fn authority(&self) -> PathBuf {
        self.dir.join("ca.pem")
    }

    /// Copies the files that a server needs to its folder. Returns the arguments that enable TLS.
    pub(super) fn install(&self, kind: Kind, server: &Path) -> Result<Vec<String>> {
        for name in ["ca.pem", "server.pem", "server.key"] {
            let copy = server.join(name);
            fs::copy(self.dir.join(name), &copy)
                .with_context(|| format!("cannot write {}", copy.display()))?;
            fs::set_permissions(&copy, fs::Permissions::from_mode(0o600))?;
            process::give(&copy, process::unprivileged()?)?;
        }
        let named = |option: &str, name: &str| format!("{option}={}", server.join(name).display());
        Ok(match kind {
            Kind::Mariadb | Kind::Mysql => vec![
                named("--ssl-ca", "ca.pem"),
                named("--ssl-cert", "server.pem"),
                named("--ssl-key", "server.key"),
            ],
            Kind::Postgres => [
                "ssl=on".to_owned(),
                named("ssl_ca_file", "ca.pem"),
                named("ssl_cert_file", "server.pem"),
                named("ssl_key_file", "server.key"),
            ]
            .into_iter()
            .flat_map(|setting| ["-c".to_owned(), setting])
            .collect(),
        })
    }
}

fn openssl(dir: &Path, command: &str, first: &[&str], rest: &str) -> Result<()> {
    let output = Command::new("openssl")
        .arg(command)
        .args(first)
        .args(rest.split_whitespace())
        .current_dir(dir)
        .output()
        .context("cannot run openssl, which makes the test servers' certificates")?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("openssl {command} failed ({}):\n{stderr}", output.status);
    }
    Ok(())
}
