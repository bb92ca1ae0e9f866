//! Tests with recorded answers: screens, lines, orders, and slow or refusing sources.

mod lines;
mod poller;
mod recorded;
mod screens;
mod states;
