//! Endpoints in sysbench's options.

use std::path::PathBuf;

use anyhow::Result;
use dyno_core::target::Endpoint;

use crate::settings::usage;

/// The endpoints of the drivers' options for hosts, ports and sockets: the sockets if there are
/// any, else all ports of the first host, then of the second, …
pub(super) fn endpoints(
    driver: &str,
    hosts: &[String],
    ports: &[String],
    sockets: &[String],
    port_given: bool,
) -> Result<Vec<Endpoint>> {
    const MYSQL_SOCKET: &str = "/run/mysqld/mysqld.sock";
    if !sockets.is_empty() {
        return Ok(sockets
            .iter()
            .map(|path| Endpoint::Unix(path.into()))
            .collect());
    }
    let mut endpoints = Vec::new();
    for host in hosts {
        for port in ports {
            let number: u16 = port
                .parse()
                .map_err(|_| usage(format!("--{driver}-port: '{port}' is no port")))?;
            let local = driver == "mysql" && host == "localhost" && !port_given;
            if local && PathBuf::from(MYSQL_SOCKET).exists() {
                endpoints.push(Endpoint::Unix(MYSQL_SOCKET.into()));
            } else if driver == "pgsql" && host.starts_with('/') {
                let file = format!(".s.PGSQL.{number}");
                endpoints.push(Endpoint::Unix(PathBuf::from(host).join(file)));
            } else {
                endpoints.push(Endpoint::Tcp(host.clone(), number));
            }
        }
    }
    Ok(endpoints)
}
