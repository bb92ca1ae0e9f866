//! Shared code of the tests of `dyno server`.

pub use dyno_tests::own_servers::{Lab, has};
