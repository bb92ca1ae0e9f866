//! What the tests of `dyno server` share.

pub use dyno_tests::own_servers::{Lab, has};
