//! Experiments: checks before the trials, command lines, servers and data, the order of steps, and
//! the figures of finished trials.

pub mod attempts;
mod caller;
mod capture;
pub mod checks;
mod conduct;
mod definition;
mod duets;
pub mod figures;
mod host;
mod images;
pub mod line;
mod pace;
mod search;
mod server;
mod site;
mod slips;
pub mod there;

pub use caller::{Caller, LabEvent};
pub use conduct::{LabEnd, LabSettings, conduct};
pub use definition::Lab;
pub use pace::Pace;
