//! Real servers for the end-to-end tests.
