//! Searches on simulated servers.

use dyno_stats::search::{Asked, Goal, Loads, Next, Outcome, Purpose, Search, Start};

use super::*;

fn plan(searched: Searched) -> SearchPlan {
    SearchPlan {
        name: "20261125-224512-oltp_read_write-3f9a".into(),
        workload: "oltp_read_write".into(),
        server: "MariaDB 11.8.3-MariaDB-ubu2404".into(),
        promise: "p99 < 10 ms".into(),
        searched,
        sessions: (searched == Searched::Rate).then_some(64),
        loss_ratio: 0.01,
        width: 0.02,
        votes: 7,
        confirming: 10,
        trial_s: 10.0,
        settle_s: 3.0,
        greatest: (searched == Searched::Rate).then_some(70_000.0),
    }
}

fn searched(
    plan: SearchPlan,
    (loads, start): (Loads, Start),
    mut outcome: impl FnMut(usize, &Asked) -> Outcome,
) -> SearchResult {
    let mut search = Search::new(Goal::new(0.01), loads, &start).unwrap();
    let found = loop {
        match search.next() {
            Next::Trial(asked) => {
                let number = search.so_far().trials.len();
                let outcome = outcome(number, &asked);
                search.observe(asked.ended(outcome)).unwrap();
            }
            Next::Done(found) => break *found,
        }
    };
    let judged = found.trials.iter().enumerate();
    let trials = judged.map(|(at, judged)| SearchTrial {
        run: Some(at as i64 + 8),
        events_per_s: judged.load,
        ..SearchTrial::of(at + 1, judged)
    });
    let trials = trials.collect();
    SearchResult {
        elapsed_s: 552.4,
        ..SearchResult::of(plan, &found, trials)
    }
}

/// The late share of a load on a server with a limit; some trials have more of it.
fn late(limit: f64, number: usize, asked: &Asked) -> Outcome {
    let noise = if number % 5 == 3 { 1.6 } else { 1.0 };
    let ratio = 0.01 * (asked.load / limit).powi(12) * noise;
    Outcome::Measured {
        loss_ratio: ratio.min(1.0),
        duration: asked.duration,
        kept: true,
    }
}

/// A search on a server that keeps the promise up to about 8,500/s.
pub(crate) fn of_rates() -> SearchResult {
    let ground = (Loads::rates(90.0, 70_000.0), Start::from_knee(9_000.0));
    searched(plan(Searched::Rate), ground, |number, asked| {
        late(8_500.0, number, asked)
    })
}

/// A search for sessions; up to 23 keep the promise.
pub(crate) fn of_sessions() -> SearchResult {
    let ground = (
        Loads::whole(1, 1_024),
        Start {
            candidates: vec![16.0, 32.0],
        },
    );
    searched(plan(Searched::Sessions), ground, |_, asked| {
        late(23.4, 0, asked)
    })
}

/// A search with void trials from some load on.
pub(crate) fn refused() -> SearchResult {
    let ground = (Loads::rates(90.0, 70_000.0), Start::from_knee(9_000.0));
    searched(plan(Searched::Rate), ground, |number, asked| {
        match asked.load > 5_000.0 {
            true => Outcome::Void {
                why: "client-cpu: The busiest worker used 99 % of a core.".into(),
            },
            false => late(8_500.0, number, asked),
        }
    })
}

#[test]
fn a_search_is_shown_with_its_votes_and_trials() {
    let found = of_rates();
    assert_eq!((found.ending, found.confirmed), (SearchEnd::Found, true));
    let (lower, upper) = (found.lower.unwrap(), found.upper.unwrap());
    assert!(lower < upper && upper < lower * 1.0201);
    let votes = found.votes(upper).unwrap();
    assert!(votes.judged == Judgement::Breaks && votes.bad >= 4);
    assert!(found.goodput_per_s.unwrap() < lower);
    let counted = |judged| {
        found
            .trials
            .iter()
            .filter(|own| own.judged == judged)
            .count()
    };
    assert_eq!(counted(Judgement::Void), 0);
    assert!(found.trials.iter().any(|own| own.confirms));
    assert_eq!(refused().ending, SearchEnd::Refused);
    let sessions = of_sessions();
    assert_eq!((sessions.lower, sessions.upper), (Some(23.0), Some(24.0)));
    // When searching sessions, the rate is that of their events, not their number.
    assert_eq!(sessions.goodput_per_s, Some(23.0));
    assert!(sessions.loads.iter().all(|own| own.goodput_per_s.is_none()));
}

#[test]
fn the_json_has_plan_and_result_next_to_each_other() {
    let json = serde_json::to_value(of_rates()).unwrap();
    assert_eq!(json["schema_version"], 1);
    assert_eq!(
        (&json["searched"], &json["ending"]),
        (&"rate".into(), &"found".into())
    );
    assert_eq!(json["trials"][0]["judged"], "keeps");
    assert!(json["plausible"]["low"].as_f64() < json["lower"].as_f64());
}

#[test]
fn an_unconfirmed_load_is_not_reported_as_breaking_the_promise() {
    let ground = (Loads::whole(4, 1_024), Start::default());
    let with = |in_votes: f64| {
        let ground = (ground.0, ground.1.clone());
        searched(plan(Searched::Sessions), ground, |_, asked| {
            let is_vote = asked.purpose == Purpose::Vote && asked.load < 4.5;
            Outcome::Measured {
                loss_ratio: if is_vote { in_votes } else { 1.0 },
                duration: asked.duration,
                kept: true,
            }
        })
    };
    assert_eq!(
        search_answer(&with(0.0)),
        "Not confirmed: 4 sessions kept p99 < 10 ms in only 0 of 3 further trials; so far no load \
         is known to keep p99 < 10 ms"
    );
    assert_eq!(
        search_answer(&with(1.0)),
        "No number from 4 sessions on keeps p99 < 10 ms: even 4 sessions break it"
    );
}

#[test]
fn a_crowded_host_is_not_blamed_on_the_load_generator() {
    let found = SearchResult {
        ending: SearchEnd::Crowded,
        ..refused()
    };
    let answer = search_answer(&found);
    let begin = "Refused: other processes took the load generator's CPU time; so far ";
    assert!(answer.starts_with(begin), "{answer}");
    let json = serde_json::to_value(found).unwrap();
    assert_eq!(json["ending"], "crowded");
}
