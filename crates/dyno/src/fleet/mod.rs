//! Runs whose load several processes make, on this host or on others: who they are, how they are
//! started, what each is told, and how what they measured becomes one run.

mod beside;
mod bus;
mod launch;
mod lead;
mod outcome;
mod parcel;
mod part;
mod specs;
mod ticket;
mod watch;

pub use beside::observe;
pub use bus::Standing;
pub use lead::lead;
pub use part::Part;
pub use specs::Fleet;
pub use ticket::{Seat, Ticket, serve};
pub use watch::ServerAgent;
