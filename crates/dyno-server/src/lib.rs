//! Database servers that Dyno starts: unprivileged, on loopback, each in a folder with its data,
//! socket and log. Settings are read back; data can be copied, restored and removed.
//!
//! A *kind* of server implements one contract: Dyno's own kinds (MariaDB, MySQL, PostgreSQL) from
//! installed programs, or a user's folder of executables, here or on another host. A *supervisor*
//! process runs each server, so that the server can end with the command that started it or outlive
//! it, as requested.
//!
//! # Where to change what
//!
//! - A kind of server: `src/kinds`, behind `src/contract.rs`; folders of executables:
//!   `src/executables.rs`.
//! - Whether a server ends with Dyno or outlives it: `src/supervisor.rs`.
//! - Limits: `src/limits`. File systems: `src/place`. Caches between trials: `src/reset.rs`,
//!   `src/warm.rs`. Background work: `src/quiet`.
//! - Which values of a setting are equal: `src/settings.rs`.
//! - A proxy in front of a server: `src/proxy.rs`.
//! - The command: `crates/dyno-cli/src/commands/server`.

mod companion;
mod contract;
mod copy;
mod credentials;
mod error;
mod executables;
mod held;
mod home;
mod kind;
mod kinds;
mod limits;
mod mounts;
mod online;
mod place;
mod process;
mod proxy;
mod quiet;
mod reset;
mod server;
mod settings;
mod sizes;
mod snapshot;
mod starting;
mod supervisor;
mod warm;

pub use companion::Companion;
pub use copy::{Copied, free_bytes};
pub use credentials::{DATABASE, USER};
pub use error::{Result, ServerError};
pub use executables::Executables;
pub use held::Held;
pub use home::{Folder, Home, VARIABLE};
pub use kind::{Kind, is_of_data};
pub use kinds::{Installation, KindName, PATH_VARIABLE, PRODUCTS, Product, Version, installed};
pub use limits::Limits;
pub use online::{Online, url_of};
pub use place::{FileSystem, Mounted, Place};
pub use process::{Identity, ProcessId};
pub use proxy::{Proxy, ProxyOptions};
pub use quiet::{Settled, settle};
pub use reset::{Forgotten, Reset, Trimmed, drop_page_cache, forget_files, trim};
pub use server::Server;
pub use settings::{Mismatch, ReadBack, Reported, Settings, read_back};
pub use sizes::Sizes;
pub use snapshot::Snapshot;
pub use starting::{Start, Started};
pub use supervisor::{Ended, Lifeline, Running, SupervisorCommand, supervise};
