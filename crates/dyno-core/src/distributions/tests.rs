//! Every distribution against its law. Seeds are fixed, so the tests are deterministic; the error
//! probabilities state how often a correct implementation would fail.

use crate::plan::{RandKind, RandPlan};
use crate::rand::Stream;
use proptest::prelude::*;

use super::Distributions;

const KINDS: [RandKind; 5] = [
    RandKind::Uniform,
    RandKind::Gaussian,
    RandKind::Special,
    RandKind::Pareto,
    RandKind::Zipfian,
];

fn of(change: impl FnOnce(&mut RandPlan)) -> Distributions {
    let mut plan = RandPlan::default();
    change(&mut plan);
    Distributions::new(&plan)
}

fn counts(from: &Distributions, kind: RandKind, draws: u32, a: u32, b: u32) -> Vec<f64> {
    let mut stream = Stream::new(2_026, 1);
    let mut counts = vec![0.0; (b - a + 1) as usize];
    for _ in 0..draws {
        counts[(from.draw(kind, &mut stream, a, b) - a) as usize] += 1.0;
    }
    counts
}

fn chi_square(seen: &[f64], expected: impl Iterator<Item = f64>) -> f64 {
    seen.iter()
        .zip(expected)
        .map(|(seen, mean)| (seen - mean).powi(2) / mean)
        .sum()
}

/// The point that chi-square exceeds with probability 10^-3 (Wilson and Hilferty).
fn limit(degrees: usize) -> f64 {
    let n = degrees as f64;
    n * (1.0 - 2.0 / (9.0 * n) + 3.09 * (2.0 / (9.0 * n)).sqrt()).powi(3)
}

#[test]
fn uniform_is_flat() {
    let seen = counts(&of(|_| ()), RandKind::Uniform, 100_000, 3, 102);
    let chi = chi_square(&seen, std::iter::repeat_n(1_000.0, 100));
    assert!(chi < limit(99), "chi-square {chi}");
}

#[test]
fn uniform_covers_the_full_ranges() {
    let from = of(|_| ());
    let mut stream = Stream::new(1, 0);
    let mut seen = [0.0; 16];
    for _ in 0..16_000 {
        let value = from.draw(RandKind::Uniform, &mut stream, 0, u32::MAX);
        seen[(value >> 28) as usize] += 1.0;
    }
    let chi = chi_square(&seen, std::iter::repeat_n(1_000.0, 16));
    assert!(chi < limit(15), "chi-square {chi}");

    let mut seen = [0.0; 16];
    for _ in 0..16_000 {
        let value = from.draw_u64(RandKind::Uniform, &mut stream, 0, u64::MAX);
        seen[(value >> 60) as usize] += 1.0;
    }
    let chi = chi_square(&seen, std::iter::repeat_n(1_000.0, 16));
    assert!(chi < limit(15), "chi-square {chi}");
}

#[test]
fn uniform_has_no_bias_on_an_awkward_range() {
    // With a range of 3/4 of 2^32, a plain modulo would give the lower third twice the share.
    let from = of(|_| ());
    let mut stream = Stream::new(2, 0);
    let mut seen = [0.0; 3];
    for _ in 0..30_000 {
        let value = from.draw(RandKind::Uniform, &mut stream, 0, 3 * (1 << 30) - 1);
        seen[(value >> 30) as usize] += 1.0;
    }
    let chi = chi_square(&seen, std::iter::repeat_n(10_000.0, 3));
    assert!(chi < limit(2), "chi-square {chi}");
}

/// P(mean of 12 uniforms < x), Irwin and Hall.
fn bell_below(x: f64) -> f64 {
    let n = 12;
    let scaled = x * f64::from(n);
    let mut sum = 0.0;
    let mut choose = 1.0;
    for k in 0..=n {
        if scaled > f64::from(k) {
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            sum += sign * choose * (scaled - f64::from(k)).powi(n);
        }
        choose = choose * f64::from(n - k) / f64::from(k + 1);
    }
    sum / (1..=n).map(f64::from).product::<f64>()
}

#[test]
fn gaussian_is_the_mean_of_twelve() {
    let draws = 200_000;
    let seen = counts(&of(|_| ()), RandKind::Gaussian, draws, 0, 19);
    // The outermost values are rare: they are counted with their neighbours.
    let share = |i: u32| bell_below(f64::from(i + 1) / 20.0) - bell_below(f64::from(i) / 20.0);
    let (mut groups, mut expected) = (Vec::new(), Vec::new());
    for (low, high) in [(0, 5), (14, 19)]
        .into_iter()
        .chain((6..14).map(|i| (i, i)))
    {
        groups.push(seen[low as usize..=high as usize].iter().sum());
        expected.push((low..=high).map(share).sum::<f64>() * f64::from(draws));
    }
    let chi = chi_square(&groups, expected.iter().copied());
    assert!(
        chi < limit(groups.len() - 1),
        "chi-square {chi}: {groups:?} {expected:?}"
    );
}

#[test]
fn special_heats_one_percent_with_three_quarters() {
    let (draws, size) = (200_000, 10_000);
    let seen = counts(&of(|_| ()), RandKind::Special, draws, 1, size);
    // The hundred hot values are those around the middle: 4951 to 5050.
    let hot = &seen[4_950..5_050];
    let bell = bell_below(0.505) - bell_below(0.495);
    let share = 0.75 + 0.25 * bell;
    let got = hot.iter().sum::<f64>() / f64::from(draws);
    // 4.5 standard deviations: exceeded with probability 7·10^-6.
    let slack = 4.5 * (share * (1.0 - share) / f64::from(draws)).sqrt();
    assert!((got - share).abs() < slack, "share {got}, expected {share}");

    let mean = f64::from(draws) * share / 100.0;
    let chi = chi_square(hot, std::iter::repeat_n(mean, 100));
    assert!(chi < limit(99), "chi-square {chi}");

    let left: f64 = seen[..4_950].iter().sum();
    let right: f64 = seen[5_050..].iter().sum();
    assert!(
        (left - right).abs() < 4.5 * (left + right).sqrt(),
        "left {left}, right {right}"
    );
}

#[test]
fn special_follows_its_options() {
    let from = of(|plan| {
        plan.spec_pct = 10;
        plan.spec_res = 100;
    });
    let seen = counts(&from, RandKind::Special, 20_000, 0, 99);
    assert_eq!(
        seen[45..55].iter().sum::<f64>(),
        20_000.0,
        "all draws are hot"
    );
    let none = of(|plan| plan.spec_res = 0);
    let bell = counts(&none, RandKind::Special, 100_000, 0, 99);
    assert!(bell[..45].iter().sum::<f64>() > 20_000.0, "no draw is hot");
}

#[test]
fn pareto_gives_four_fifths_to_one_fifth() {
    let draws = 200_000;
    for share in [0.2, 0.1, 0.4] {
        let from = of(|plan| plan.pareto_h = share);
        let seen = counts(&from, RandKind::Pareto, draws, 1, 1_000);
        let low = seen[..(1_000.0 * share) as usize].iter().sum::<f64>() / f64::from(draws);
        let slack = 4.5 * (share * (1.0 - share) / f64::from(draws)).sqrt();
        assert!((low - (1.0 - share)).abs() < slack, "h {share}: {low}");
    }
}

#[test]
fn pareto_follows_its_law() {
    let draws = 200_000;
    let seen = counts(&of(|_| ()), RandKind::Pareto, draws, 0, 49);
    let power = 0.2_f64.ln() / 0.8_f64.ln();
    let below = |i: usize| (i as f64 / 50.0).powf(1.0 / power);
    let expected = (0..50).map(|i| (below(i + 1) - below(i)) * f64::from(draws));
    let chi = chi_square(&seen, expected);
    assert!(chi < limit(49), "chi-square {chi}");
}

#[test]
fn zipfian_follows_its_law() {
    let draws = 200_000;
    for exponent in [0.0, 0.5, 0.8, 0.999_999_999, 1.0, 1.000_000_1, 1.5, 3.0] {
        for ranks in [2_u32, 3, 40] {
            let from = of(|plan| plan.zipfian_exp = exponent);
            let seen = counts(&from, RandKind::Zipfian, draws, 7, 6 + ranks);
            let weight = |rank: u32| f64::from(rank).powf(-exponent);
            let total: f64 = (1..=ranks).map(weight).sum();
            let expected = (1..=ranks).map(|rank| weight(rank) / total * f64::from(draws));
            let chi = chi_square(&seen, expected);
            // 24 cases: a correct implementation would fail one of them for 2.4 % of all seeds.
            assert!(
                chi < limit(ranks as usize - 1),
                "exponent {exponent}, {ranks} ranks: chi-square {chi}"
            );
        }
    }
}

#[test]
fn zipfian_is_right_over_many_ranks() {
    let draws = 200_000;
    let size = 10_000_000_u32;
    let from = of(|_| ());
    let mut stream = Stream::new(3, 3);
    let hot = (0..draws)
        .filter(|_| from.draw(RandKind::Zipfian, &mut stream, 1, size) <= 1_000)
        .count() as f64
        / f64::from(draws);
    let weight = |rank: u32| f64::from(rank).powf(-0.8);
    let share = (1..=1_000).map(weight).sum::<f64>() / (1..=size).map(weight).sum::<f64>();
    let slack = 4.5 * (share * (1.0 - share) / f64::from(draws)).sqrt();
    assert!((hot - share).abs() < slack, "share {hot}, expected {share}");
}

#[test]
fn remembered_constants_follow_the_range() {
    let from = of(|_| ());
    let fresh = |a, b, stream: &mut Stream| of(|_| ()).draw(RandKind::Zipfian, stream, a, b);
    let (mut one, mut other) = (Stream::new(4, 0), Stream::new(4, 0));
    for turn in 0..1_000_u32 {
        let b = 1 + turn % 3 * 1_000;
        let kept = from.draw(RandKind::Zipfian, &mut one, 1, b);
        assert_eq!(kept, fresh(1, b, &mut other));
    }
}

proptest! {
    #[test]
    fn nothing_falls_outside(a: u32, b: u32, seed: u64) {
        let from = of(|_| ());
        let mut stream = Stream::new(seed, 0);
        for kind in KINDS {
            let value = from.draw(kind, &mut stream, a, b);
            prop_assert!((a.min(b)..=a.max(b)).contains(&value), "{kind:?} {value}");
            let (a, b) = (u64::from(a) << 32 | 5, u64::from(b) << 32 | 9);
            let value = from.draw_u64(kind, &mut stream, a, b);
            prop_assert!((a.min(b)..=a.max(b)).contains(&value), "{kind:?} {value}");
        }
    }

    #[test]
    fn odd_shapes_stay_inside(h: f64, exponent: f64, iter: u32, pct: u32, res: u32, b: u32) {
        let from = of(|plan| {
            plan.pareto_h = h;
            plan.zipfian_exp = exponent;
            plan.spec_iter = iter % 100;
            plan.spec_pct = pct;
            plan.spec_res = res;
        });
        let mut stream = Stream::new(1, 1);
        for kind in KINDS {
            for (a, b) in [(0, b), (b, b), (b, u32::MAX), (0, u32::MAX)] {
                let value = from.draw(kind, &mut stream, a, b);
                prop_assert!((a..=b).contains(&value), "{kind:?} {value}");
            }
        }
    }

    #[test]
    fn bounds_may_be_swapped(a: u32, b: u32) {
        let from = of(|_| ());
        for kind in KINDS {
            let (mut one, mut other) = (Stream::new(6, 0), Stream::new(6, 0));
            prop_assert_eq!(
                from.draw(kind, &mut one, a, b),
                from.draw(kind, &mut other, b, a)
            );
        }
    }
}

#[test]
fn the_widest_range_is_drawn_from() {
    let from = of(|_| ());
    let mut stream = Stream::new(8, 0);
    for kind in KINDS {
        let mut above = 0;
        for _ in 0..1_000 {
            above += u32::from(from.draw_u64(kind, &mut stream, 0, u64::MAX) > u64::MAX / 4);
        }
        assert!(above > 10, "{kind:?}: {above}");
    }
}
