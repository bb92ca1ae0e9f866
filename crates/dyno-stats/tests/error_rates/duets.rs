//! Two sides on one noisy machine, in turns and together: ratios from paired blocks.

#![allow(clippy::unwrap_used)] // helper functions are test code too

use std::f64::consts::TAU;

use dyno_stats::PairedRatio;

use crate::simulate::{Source, share};
use crate::{alarms, covers};

/// Slices of a block, in the order ABBA or BAAB.
const BLOCK: usize = 4;
/// Events of a slice at full speed.
const EVENTS: f64 = 200.0;

/// The speed of a machine in each slice, relative to its full speed.
type Machine = fn(&mut Source, usize) -> Vec<f64>;

/// Drifts by 60 % over the measurement.
fn drift(_: &mut Source, slices: usize) -> Vec<f64> {
    (0..slices)
        .map(|at| 1.0 - 0.6 * at as f64 / slices as f64)
        .collect()
}

/// Jumps to another speed every 40 slices on average.
fn steps(source: &mut Source, slices: usize) -> Vec<f64> {
    let mut speed = 1.0;
    let speeds = (0..slices).map(|_| {
        if source.uniform() < 1.0 / 40.0 {
            speed = 0.4 + 0.6 * source.uniform();
        }
        speed
    });
    speeds.collect()
}

/// A neighbour that occasionally takes most of the machine for one to ten slices.
fn bursts(source: &mut Source, slices: usize) -> Vec<f64> {
    let mut left = 0;
    let speeds = (0..slices).map(|_| {
        if left == 0 && source.uniform() < 0.05 {
            left = 1 + (10.0 * source.uniform()) as usize;
        }
        let speed = if left > 0 { 0.3 } else { 1.0 };
        left = left.saturating_sub(1);
        speed
    });
    speeds.collect()
}

/// A neighbour that works every few slices, not in step with them.
fn periodic(source: &mut Source, slices: usize) -> Vec<f64> {
    let (period, phase) = (3.0 + 6.0 * source.uniform(), source.uniform());
    let angle = |at: usize| (at as f64 / period + phase) * TAU;
    (0..slices)
        .map(|at| 0.75 + 0.25 * angle(at).sin())
        .collect()
}

/// Speeds that follow one another closely.
fn correlated(source: &mut Source, slices: usize) -> Vec<f64> {
    let speeds = source.series(slices, 0.9, 1.0, 0.15);
    speeds.into_iter().map(|speed| speed.max(0.05)).collect()
}

const MACHINES: [(&str, Machine); 5] = [
    ("drift", drift),
    ("steps", steps),
    ("bursts", bursts),
    ("periodic", periodic),
    ("correlated", correlated),
];

/// Events of a side at a speed: nearly Poisson.
fn events(source: &mut Source, speed: f64) -> f64 {
    let mean = EVENTS * speed;
    (mean + mean.sqrt() * source.normal()).max(0.0)
}

/// The events of both sides by block, if B works `ratio` times as fast as A, in turns.
fn in_turns(source: &mut Source, machine: Machine, blocks: usize, ratio: f64) -> [Vec<f64>; 2] {
    let speeds = machine(source, BLOCK * blocks);
    let mut sides = [vec![0.0; blocks], vec![0.0; blocks]];
    for (block, speeds) in speeds.chunks(BLOCK).enumerate() {
        let first = usize::from(source.uniform() < 0.5);
        for (place, speed) in speeds.iter().enumerate() {
            let side = if matches!(place, 1 | 2) {
                1 - first
            } else {
                first
            };
            let own = if side == 1 { ratio } else { 1.0 };
            sides[side][block] += events(source, speed * own);
        }
    }
    sides
}

/// The same if both work all the time, each at half of the speed.
fn together(source: &mut Source, machine: Machine, blocks: usize, ratio: f64) -> [Vec<f64>; 2] {
    let speeds = machine(source, BLOCK * blocks);
    let sums = speeds
        .chunks(BLOCK)
        .map(|own| own.iter().sum::<f64>() / 2.0);
    let sums: Vec<f64> = sums.collect();
    let base = sums.iter().map(|speed| events(source, *speed)).collect();
    let new = sums
        .iter()
        .map(|speed| events(source, speed * ratio))
        .collect();
    [base, new]
}

fn holds(sides: &[Vec<f64>; 2], truth: f64) -> bool {
    let found = PairedRatio::of_sums(&sides[1], &sides[0]).unwrap();
    found.interval(0.95).unwrap().contains(truth)
}

#[test]
fn turns_cover_the_ratio_on_every_machine() {
    for (seed, (name, machine)) in (200..).zip(MACHINES) {
        let covered = share(seed, |source| {
            holds(&in_turns(source, machine, 60, 0.97), 0.97)
        });
        println!("{name}: {covered}");
        covers(covered);
    }
}

#[test]
fn many_turns_cover_the_ratio() {
    for (seed, (name, machine)) in (210..).zip(MACHINES) {
        let covered = share(seed, |source| {
            holds(&in_turns(source, machine, 400, 1.05), 1.05)
        });
        println!("{name}: {covered}");
        covers(covered);
    }
}

#[test]
fn two_sides_together_cover_the_ratio() {
    for (seed, (name, machine)) in (220..).zip(MACHINES) {
        let covered = share(seed, |source| {
            holds(&together(source, machine, 60, 1.02), 1.02)
        });
        println!("{name}: {covered}");
        covers(covered);
    }
}

#[test]
fn equal_sides_differ_as_rarely_as_stated() {
    for (seed, (name, machine)) in (230..).zip(MACHINES) {
        let alarmed = share(seed, |source| {
            !holds(&in_turns(source, machine, 60, 1.0), 1.0)
        });
        println!("{name}: {alarmed}");
        alarms(alarmed);
    }
}

/// Turns know the ratio at least ten times as precisely as two halves in sequence, on a machine
/// that drifts or jumps.
#[test]
fn turns_are_more_precise_than_a_sequence() {
    for (seed, machine) in [(240, drift as Machine), (241, steps)] {
        let mut source = Source::new(seed);
        let (mut of_turns, mut of_sequence) = (0.0, 0.0);
        const TRIALS: usize = 400;
        for _ in 0..TRIALS {
            let sides = in_turns(&mut source, machine, 300, 1.0);
            let found = PairedRatio::of_sums(&sides[1], &sides[0]).unwrap();
            of_turns += found.ratio().ln().powi(2);
            let speeds = machine(&mut source, BLOCK * 300);
            let half = |part: &[f64]| part.iter().sum::<f64>();
            let (first, second) = speeds.split_at(BLOCK * 150);
            of_sequence += (half(second) / half(first)).ln().powi(2);
        }
        let gain = (of_sequence / of_turns).sqrt();
        assert!(gain > 10.0, "{gain}");
    }
}
