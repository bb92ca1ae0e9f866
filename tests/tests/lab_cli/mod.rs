//! `dyno lab`: plans, runs, kills, resumes, reports and packs experiments.

mod bundle;
mod common;
mod duets;
mod killed;
mod levels;
mod mistakes;
mod there;
mod whole;
