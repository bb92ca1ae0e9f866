//! What is made of recorded answers: screens, lines, orders, and what happens when a source is slow
//! or refuses.

mod lines;
mod poller;
mod recorded;
mod screens;
mod states;
