//! Searches for the highest load that keeps a promise.

mod ask;
mod climb;
mod conduct;
mod fault;
mod follower;
pub mod promise;
mod trial;
mod warnings;

pub use ask::{Ask, SearchSettings, Terms};
pub use conduct::conduct;
pub use follower::{Follower, SearchEvent};
pub use trial::{OFFERED, is_of_search, shown};
