//! A proxy in front of a server: HAProxy on loopback, which forwards bytes and ends with Dyno.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use dyno_core::ports::free_port;

use crate::error::{OnPath, Result, failed, usage};
use crate::process::{confine, give, program, unprivileged, wait_until};
use crate::server::Server;

/// How long it may take to accept connections.
const BEGIN_LIMIT: Duration = Duration::from_secs(10);
/// Its locations, in addition to the search path.
const PLACES: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];
/// Lines of its output shown if it does not start.
const LINES: usize = 5;

/// A running proxy. It ends when this is dropped, or with Dyno in any way.
#[derive(Debug)]
pub struct Proxy {
    child: Child,
    port: u16,
}

/// The options of a proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyOptions {
    program: PathBuf,
    threads: u32,
}

impl ProxyOptions {
    /// Parses names and values: `kind = "haproxy"`, `mode = "tcp"`, `threads = 1`.
    ///
    /// # Errors
    /// An unknown option or value, or a missing program.
    pub fn of<'a>(options: impl Iterator<Item = (&'a str, String)>) -> Result<Self> {
        let mut threads = 1;
        let mut kind = None;
        for (name, value) in options {
            match (name, value.as_str()) {
                ("kind", "haproxy") => kind = Some(value),
                ("mode", "tcp") => {}
                ("threads", _) => match value.parse() {
                    Ok(number @ 1..=64) => threads = number,
                    _ => return usage(format!("the proxy's threads must be 1 to 64, not {value}")),
                },
                ("kind", _) => {
                    return usage(format!("the proxy's kind must be haproxy, not '{value}'"));
                }
                ("mode", _) => {
                    return usage(format!("the proxy's mode must be tcp, not '{value}'"));
                }
                _ => {
                    return usage(format!(
                        "unknown proxy option '{name}'; expected kind, mode or threads"
                    ));
                }
            }
        }
        if kind.is_none() {
            return usage("the proxy needs kind = \"haproxy\"");
        }
        match program("haproxy", &PLACES) {
            Some(program) => Ok(Self { program, threads }),
            None => failed(
                "the program haproxy is neither in the search path nor in /usr/sbin: install the \
                 package haproxy",
            ),
        }
    }
}

impl Proxy {
    /// Starts it in front of a server, which it reaches by TCP.
    ///
    /// # Errors
    /// It does not start, or does not accept connections; with its output.
    pub fn start(server: &Server, options: &ProxyOptions) -> Result<Self> {
        let identity = unprivileged()?;
        let port = free_port().on("find a port on", Path::new("127.0.0.1"))?;
        let folder = server.folder().path().to_owned();
        let (file, log) = (folder.join("haproxy.cfg"), folder.join("haproxy.log"));
        fs::write(&file, configuration(port, server.port(), options.threads)).on("write", &file)?;
        give(&file, identity)?;
        let output = File::create(&log).on("write", &log)?;
        let errors = output.try_clone().on("write", &log)?;
        let mut command = Command::new(&options.program);
        command.arg("-db").arg("-f").arg(&file);
        command.stdin(Stdio::null()).stdout(output).stderr(errors);
        confine(&mut command, identity);
        let child = command.spawn().on("start", &options.program)?;
        let mut proxy = Self { child, port };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let answers = wait_until(BEGIN_LIMIT, || {
            proxy.has_ended() || TcpStream::connect(address).is_ok()
        });
        if proxy.has_ended() || !answers {
            return failed(format!("haproxy does not start: {}", last_lines(&log)));
        }
        Ok(proxy)
    }

    /// Its port on loopback.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // If it has already ended, nothing needs to be done.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn configuration(port: u16, server: u16, threads: u32) -> String {
    format!(
        "global\n    nbthread {threads}\ndefaults\n    mode tcp\n    timeout \
         connect 5s\n    timeout client 24h\n    timeout server 24h\nlisten database\n    bind \
         127.0.0.1:{port}\n    server database 127.0.0.1:{server}\n"
    )
}

fn last_lines(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let from = lines.len().saturating_sub(LINES);
    match lines.is_empty() {
        true => "it wrote nothing".to_owned(),
        false => lines[from..].join(" | "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(options: &[(&'static str, &str)]) -> String {
        let options = options
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned()));
        match ProxyOptions::of(options) {
            Ok(own) => format!("{} threads", own.threads),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn rejects_options_that_a_proxy_lacks() {
        for (options, expected) in [
            (
                &[("kind", "proxysql")][..],
                "kind must be haproxy, not 'proxysql'",
            ),
            (
                &[("kind", "haproxy"), ("mode", "http")],
                "mode must be tcp, not 'http'",
            ),
            (&[("kind", "haproxy"), ("port", "1")], "option 'port'"),
            (
                &[("kind", "haproxy"), ("threads", "0")],
                "threads must be 1 to 64",
            ),
            (&[], "needs kind"),
        ] {
            assert!(of(options).contains(expected), "{}", of(options));
        }
    }

    #[test]
    fn bytes_are_passed_from_its_port_to_the_server() {
        let text = configuration(4001, 4002, 2);
        assert!(text.contains("bind 127.0.0.1:4001\n"), "{text}");
        assert!(text.contains("server database 127.0.0.1:4002\n"), "{text}");
    }
}
