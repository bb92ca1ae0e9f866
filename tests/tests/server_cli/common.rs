//! Code shared by the tests of `dyno server`.

pub(super) use dyno_tests::command::has;
pub(super) use dyno_tests::own_servers::Lab;
