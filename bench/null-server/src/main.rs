//! A server that answers at once with canned rows.
fn main() {}
