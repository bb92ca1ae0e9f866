use proptest::prelude::*;

use super::super::{Arrivals, LoadPart, LoadSchedule, LoadShape, OpenLoop, Pace, Role, Scheduled};
use super::*;

fn weights() -> impl Strategy<Value = Vec<u32>> {
    prop_oneof![
        prop::collection::vec(1_u32..20, 1..8),
        prop::collection::vec(1_u32..=1, 1..40),
        prop::collection::vec(1_u32..1000, 1..4),
    ]
}

fn role(name: &str, sessions: u32, pace: Option<Pace>) -> Role {
    Role {
        name: name.to_owned(),
        sessions,
        background: false,
        unit: "events".to_owned(),
        per_event: 1.0,
        pace,
    }
}

/// A run in which everything divisible is set.
fn run(sessions: u32, events: u64, rate: f64, roles: [u32; 2]) -> Drive {
    let arrivals = OpenLoop::new(rate, Arrivals::Constant);
    let pace = Pace {
        arrivals,
        each: false,
        skip_after_s: None,
    };
    let part = LoadPart {
        shape: LoadShape::Ramp,
        from: rate,
        to: 2.0 * rate,
        seconds: 5.0,
        period_s: None,
    };
    Drive {
        sessions,
        workers: 4,
        events: Some(events),
        open_loop: Some(arrivals),
        schedule: Some(LoadSchedule {
            of: Scheduled::Rate,
            parts: vec![part],
        }),
        roles: vec![
            role("read", roles[0], Some(pace)),
            role("write", roles[1], Some(Pace { each: true, ..pace })),
        ],
        ..Drive::default()
    }
}

#[test]
fn the_order_of_slots_is_as_even_as_can_be() {
    let order = |weights: &[u32]| Division::by_weights(weights).unwrap().owners;
    assert_eq!(order(&[1, 1, 1]), [0, 1, 2]);
    assert_eq!(order(&[7, 7]), [0, 1]);
    assert_eq!(order(&[1, 3]), [1, 0, 1, 1]);
    assert_eq!(order(&[5, 1, 1]), [0, 0, 0, 1, 2, 0, 0]);
    // A large weight and several small ones.
    let order = order(&[4, 1, 1, 1, 1]);
    assert_eq!(order, [0, 0, 1, 2, 3, 4, 0, 0]);
}

#[test]
fn capacities_become_weights() {
    let division = Division::by_capacity(&[1000.0, 2000.0, 1510.0]).unwrap();
    assert_eq!(division.weights, [2, 4, 3]);
    assert_eq!(division.share(3).weights, [2, 4, 3]);
    // A tiny capacity still gets a slot.
    let division = Division::by_capacity(&[1e-9, 1e9]).unwrap();
    assert_eq!(division.weights, [1, 64]);
    for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = Division::by_capacity(&[1.0, wrong]).unwrap_err();
        assert!(
            matches!(error, DivisionError::NoCapacity { number: 2, .. }),
            "{error}"
        );
    }
}

#[test]
fn refuses_impossible_divisions() {
    assert_eq!(Division::by_weights(&[]), Err(DivisionError::NoAgents));
    assert_eq!(
        Division::by_weights(&[1, 0]),
        Err(DivisionError::NoWeight { number: 2 })
    );
    let fine = Division::by_weights(&[1 << 20, (1 << 20) - 1]);
    assert!(matches!(fine, Err(DivisionError::TooFine { .. })));
    assert!(matches!(
        Division::equal(AGENTS_MAX + 1),
        Err(DivisionError::TooMany { .. })
    ));
    let few = Drive {
        sessions: 3,
        ..Drive::default()
    };
    let error = Division::equal(4).unwrap().own(&few, 4).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("agent 4 of 4 would get none of the 3 sessions")
    );
    let share = |number, of, weights: &[u32]| Shard {
        number,
        of,
        weights: weights.to_vec(),
    };
    for wrong in [
        share(0, 2, &[]),
        share(3, 2, &[]),
        share(1, 2, &[1]),
        share(1, 2, &[1, 0]),
    ] {
        assert_eq!(Division::of(&wrong), None, "{wrong:?}");
    }
}

#[test]
fn parts_are_read_as_they_are_written() {
    for text in ["2/4", "1/1", "2/3:1:1", "3/16:64:1"] {
        assert_eq!(Shard::parse(text).unwrap().to_string(), text);
    }
    // Reduced to lowest terms; equal weights are omitted.
    assert_eq!(Shard::parse("2/6:2").unwrap().to_string(), "2/3:1");
    assert_eq!(Shard::parse("2/7:7").unwrap(), Shard::equal(2, 2));
    for wrong in [
        "", "2", "0/4", "5/4", "3/1:1", "0/1:2", "1/0:1", "1/1:", "1/:", "1/a", "1/4097",
    ] {
        assert!(Shard::parse(wrong).is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn everything_has_one_owner(
        weights in weights(),
        begin in 0_u64..10_000,
        length in 1_u64..300,
    ) {
        let division = Division::by_weights(&weights).unwrap();
        let agents = division.agents();
        for index in begin..begin + length {
            let owners: Vec<u32> = (1..=agents).filter(|n| division.has(*n, index)).collect();
            prop_assert_eq!(owners.len(), 1);
            let number = owners[0];
            // `count`, `has` and `nth` agree.
            let before = division.count(number, index);
            prop_assert_eq!(division.count(number, index + 1), before + 1);
            prop_assert_eq!(division.nth(number, before), Some(index));
        }
        let end = begin + length;
        let sum: u64 = (1..=agents).map(|number| division.count(number, end)).sum();
        prop_assert_eq!(sum, end);
        let fractions: f64 = (1..=agents).map(|number| division.fraction(number)).sum();
        prop_assert!((fractions - 1.0).abs() < 1e-12);
    }

    #[test]
    fn every_beginning_is_divided_in_proportion(weights in weights(), count in 0_u64..5_000) {
        let division = Division::by_weights(&weights).unwrap();
        let agents = f64::from(division.agents());
        for number in 1..=division.agents() {
            let fraction = division.fraction(number);
            let ideal = count as f64 * fraction;
            // Rounding at the same place for all: half a slot, plus half of each agent's share.
            let bound = 0.5 + 0.5 * agents * fraction;
            let off = (division.count(number, count) as f64 - ideal).abs();
            prop_assert!(off <= bound + 1e-9, "{weights:?} {number}: {off}");
        }
    }

    #[test]
    fn a_whole_is_the_sum_of_its_parts(
        weights in weights(),
        roles in [40_u32..400, 40_u32..400],
        events in 0_u64..100_000,
        rate in 1.0_f64..1e6,
    ) {
        let division = Division::by_weights(&weights).unwrap();
        let sessions = roles[0] + roles[1];
        let whole = run(sessions, events, rate, roles);
        let own: Result<Vec<Drive>, _> =
            (1..=division.agents()).map(|number| division.own(&whole, number)).collect();
        // With a weight of a thousandth, an agent may get none of a few sessions.
        prop_assume!(own.is_ok());
        let own = own.unwrap();
        let sum = |of: &dyn Fn(&Drive) -> f64| own.iter().map(of).sum::<f64>();
        let close = |got: f64, whole: f64| (got / whole - 1.0).abs() < 1e-9;
        prop_assert_eq!(own.iter().map(|own| own.sessions).sum::<u32>(), sessions);
        prop_assert_eq!(own.iter().map(|own| own.events.unwrap()).sum::<u64>(), events);
        prop_assert!(close(sum(&|own| own.open_loop.unwrap().per_second), rate));
        prop_assert!(close(sum(&|own| own.schedule.as_ref().unwrap().parts[0].to), 2.0 * rate));
        for (number, sessions) in roles.into_iter().enumerate() {
            let played: u32 = own.iter().map(|own| own.roles[number].sessions).sum();
            prop_assert_eq!(played, sessions);
        }
        prop_assert!(close(sum(&|own| own.roles[0].pace.unwrap().arrivals.per_second), rate));
        // A pace per session stays the same on every agent.
        prop_assert!(own.iter().all(|own| own.roles[1].pace == whole.roles[1].pace));
        let roles = |own: &Drive| own.roles.iter().map(|role| role.sessions).sum::<u32>();
        prop_assert!(own.iter().all(|own| roles(own) == own.sessions));
    }

    #[test]
    fn each_of_n_equal_agents_gets_every_nth_slot(agents in 1_u32..12, index in 0_u64..10_000) {
        let division = Division::equal(agents as usize).unwrap();
        for number in 1..=agents {
            prop_assert_eq!(division.share(number), Shard::equal(number, agents));
            let own = index % u64::from(agents) + 1 == u64::from(number);
            prop_assert_eq!(division.has(number, index), own);
        }
    }

    #[test]
    fn a_share_describes_the_whole_division(weights in weights()) {
        let division = Division::by_weights(&weights).unwrap();
        for number in 1..=division.agents() {
            let share = division.share(number);
            prop_assert!(share.is_valid());
            let text = serde_json::to_string(&share).unwrap();
            let read: Shard = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(Division::of(&read), Some(division.clone()));
            prop_assert_eq!(Shard::parse(&share.to_string()), Ok(share));
        }
    }
}
