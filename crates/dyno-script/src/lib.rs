//! Scripts: a LuaJIT host that offers sysbench's script interface, and Dyno's own beside it, to
//! any number of sessions of one worker.

mod bulk;
mod config;
mod context;
mod describe;

mod exports;
mod failure;
pub mod generate;
pub mod histogram;
mod host;
mod ledger;
mod made;
mod no_port;
mod options;
mod prelude;
mod report;
mod reported;
mod roles;
mod rows;
mod source;

pub use dyno_core::distributions;

pub use config::{Barrier, Declared, HostConfig, LoadProgress, Prints, SharedNumbers};
pub use describe::Description;
pub use failure::DatabaseErrors;
pub use host::Host;
pub use ledger::{Ledger, Sum};
pub use made::MadeTable;
pub use options::{InvalidValue, OptionKind, ScriptOption, help};
pub use report::Stat;
pub use reported::{Reported, ScriptReport};
pub use roles::Phase;
pub use source::{Builtins, Hint, Source, SourceError, find};
