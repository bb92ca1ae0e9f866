//! Runs that look good but are not: the right check names each cause, with numbers, and a run
//! without the cause gives no finding.

use dyno_tests::Kind;

use crate::common::{alone, judged_while, private, shapes};
use crate::relay::in_two_parts;

#[test]
fn reports_a_level_change_with_its_second() {
    let _turn = alone();
    let (server, url) = private(Kind::Mariadb);
    let line = format!("{} -c 4 -t 20s --warmup 0", shapes(&url));
    let pid = Some(server.pid());
    let stepped = judged_while(&format!("{line} --step-at=12 --step=1.7"), pid, |_| {});
    if stepped.host.was_busy() {
        return;
    }
    stepped.caught("steady-state", "doubt", "the rate steps by -");
    let evidence = stepped.finding("steady-state")["evidence"]
        .as_str()
        .unwrap();
    let at = |second: u32| evidence.contains(&format!("at {second} s (p < 0.001)"));
    assert!((11..=13).any(at), "{evidence}");
    assert!(!evidence.contains("rate drifts;"), "{evidence}");
    stepped.passed("warm-up");
}

#[test]
fn statements_that_are_slower_are_a_mode_with_its_share() {
    let _turn = alone();
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let (server, url) = private(kind);
        let line = format!("{} -c 4 -t 6s --warmup 0 --pause=0", shapes(&url));
        let pid = Some(server.pid());
        judged_while(&line, pid, |_| {}).passed("latency-modes");
        let slow = judged_while(&format!("{line} --slow-share=0.4"), pid, |_| {});
        slow.caught("latency-modes", "doubt", "the events have two modes");
        let numbers = slow.finding("latency-modes")["numbers"].as_array().unwrap();
        let number = |name: &str| {
            let found = numbers.iter().find(|number| number["name"] == name);
            found.unwrap()["value"].as_f64().unwrap()
        };
        assert!(
            (number("slow events") - 40.0).abs() < 5.0,
            "{}",
            slow.findings_text()
        );
        assert!(
            (number("slow mode") - 21.0).abs() < 4.0,
            "{}",
            slow.findings_text()
        );
        assert!(number("fast mode") < 5.0, "{}", slow.findings_text());
    }
}

#[test]
fn delayed_acknowledgements_are_named_by_their_pause() {
    let _turn = alone();
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let (server, url) = private(kind);
        let line = format!("{} -c 4 -t 6s --warmup 0 --pause=0", shapes(&url));
        for every in [1, 2] {
            let port = in_two_parts(server.server().port, every);
            let own = format!(":{}/", server.server().port);
            let through = line.replace(&own, &format!(":{port}/"));
            let paused = judged_while(&through, Some(server.pid()), |_| {});
            let expected = "pause of 40 ms, by which linux delays an acknowledgement";
            paused.caught("latency-modes", "doubt", expected);
            let advice = &paused.finding("latency-modes")["advice"];
            assert!(advice.as_str().unwrap().contains("TCP_NODELAY"), "{advice}");
        }
    }
}
