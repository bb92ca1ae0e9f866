//! A small, fixed part of the campaigns; `cargo campaign` runs as many cases as you like.
#![cfg(feature = "servers")]
#![allow(clippy::unwrap_used)] // a test

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use dyno_campaigns::{Campaign, Options, Part, faults, hostile};
use dyno_tests::command::dyno_path;

/// Only limits a campaign that hangs.
const LENGTH: Duration = Duration::from_secs(600);

fn campaign(part: Part, seed: u64, cases: &[u64], keep: &tempfile::TempDir) -> Campaign {
    let options = Options {
        part,
        seed,
        length: LENGTH,
        cases: Some(cases.to_vec()),
        seeds: None,
        dyno: dyno_path(),
        keep: keep.path().to_owned(),
    };
    Campaign::new(options, Arc::new(AtomicBool::new(false))).unwrap()
}

#[test]
fn faults_of_connections_servers_and_dyno_lose_nothing() {
    let keep = tempfile::tempdir().unwrap();
    let campaign = campaign(Part::Faults, FAULTS_SEED, FAULTS, &keep);
    faults::run(&campaign).unwrap();
    // Each failure has been printed, with the command to repeat it.
    assert_eq!(campaign.failures(), 0);
    assert_eq!(campaign.done(), FAULTS.len() as u64);
}

#[test]
fn malicious_servers_and_inputs_are_survived() {
    let keep = tempfile::tempdir().unwrap();
    // The children of the campaign run as a different user.
    fs::set_permissions(keep.path(), Permissions::from_mode(0o755)).unwrap();
    let cases: Vec<u64> = HOSTILE.collect();
    let campaign = campaign(Part::Hostile, HOSTILE_SEED, &cases, &keep);
    hostile::run(&campaign).unwrap();
    assert_eq!(campaign.failures(), 0);
    assert_eq!(campaign.done(), cases.len() as u64);
}

const FAULTS_SEED: u64 = 3;
/// Selected to cover each server and most faults, with five cases per server.
#[rustfmt::skip] // five a line
const FAULTS: &[u64] = &[
    // MariaDB: cut within packets, refused, killed, restarted; Dyno's disk is full.
    51, 33, 57, 60, 78,
    // MySQL: cut under TLS, refused under `dyno sysbench`, sessions ended, Dyno killed, all reset.
    13, 16, 28, 49, 82,
    // PostgreSQL: frozen, crashed, cut under TLS, half closed; `prepare` is killed.
    23, 32, 35, 44, 71,
];
const HOSTILE_SEED: u64 = 6;
/// Covers servers with all kinds of payload, command lines, URLs, workloads, results files and
/// logs.
const HOSTILE: std::ops::Range<u64> = 11..52;
