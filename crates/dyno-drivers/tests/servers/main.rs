//! The drivers on real servers.

#![allow(clippy::unwrap_used, clippy::panic)] // a broken test may well panic

mod common;
mod connector;
mod mysql;
mod postgres;
mod postgres_login;
