//! Tests the endpoint and its page in the guide.

#![allow(clippy::unwrap_used, clippy::panic)] // a broken test may well panic

mod guide;
mod http;
