//! Dyno's own database servers: unprivileged, on loopback, each in a folder with its data, its
//! socket and its log. Settings are read back after the start; data can be copied and restored;
//! servers can be removed.
//!
//! A *kind* of server is an implementation of one contract: Dyno's built-in kinds (MariaDB, MySQL,
//! PostgreSQL) from installed programs, or a folder of a user's executables, here or on another
//! host. A *supervisor* process runs each server, so that it can outlive the command that started
//! it or end with it, as requested.

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
