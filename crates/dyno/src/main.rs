//! Dyno, a dynamometer for databases.
fn main() {}
