//! Experiments: their trials, the checks before these, their command lines, servers and data, how
//! they are conducted, and what they measured.

pub mod attempts;
mod caller;
mod capture;
pub mod checks;
mod conduct;
mod definition;
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
