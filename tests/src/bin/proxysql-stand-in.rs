//! Runs the stand-in for ProxySQL's admin interface as a program, for manual tests:
//!
//!     cargo run -p dyno-tests --bin proxysql-stand-in -- 6032
//!     dyno top --target mysql://admin:admin@127.0.0.1:6032/
//!
//! It is not ProxySQL: see `dyno_tests::proxysql`.
#![allow(clippy::expect_used)]

use std::thread;

use dyno_tests::proxysql::ProxySql;

fn main() {
    let port = std::env::args().nth(1).unwrap_or_else(|| "6032".to_owned());
    let port = port.parse().expect("the argument is a port");
    let _stand_in = ProxySql::start(port);
    loop {
        thread::park();
    }
}
