//! Runs that look good but are not. The right check names each cause with numbers, and a run
//! without the cause has no finding.

use dyno_tests::Kind;
use dyno_tests::private::at_once;

use super::relay::in_two_parts;
use crate::common::{alone, judged_while, private, shapes};

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
fn reports_slower_statements_as_a_mode_with_its_share() {
    let _turn = alone();
    let servers = [Kind::Mariadb, Kind::Postgres].map(|kind| {
        let (server, url) = private(kind);
        let line = format!("{} -c 4 --warmup 0 --pause=0", shapes(&url));
        let pid = Some(server.pid());
        judged_while(&format!("{line} -t 3s"), pid, |_| {}).passed("latency-modes");
        (server, line)
    });
    // The servers mostly sleep, so the runs do not disturb one another.
    at_once(&servers, |(server, line)| {
        let line = format!("{line} -t 6s --slow-share=0.4");
        let slow = judged_while(&line, Some(server.pid()), |_| {});
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
    });
}

#[test]
fn delayed_acknowledgements_are_named_by_their_pause() {
    let _turn = alone();
    let kinds = [Kind::Mariadb, Kind::Postgres];
    let ways = kinds.into_iter().flat_map(|kind| [(kind, 1), (kind, 2)]);
    // The sessions mostly wait for acknowledgements, so the runs do not disturb one another.
    at_once(ways, |(kind, every)| {
        let (server, url) = private(kind);
        // The check needs 500 events. Four sessions make about 90 a second.
        let line = format!("{} -c 4 -t 8s --warmup 0 --pause=0", shapes(&url));
        let port = in_two_parts(server.server().port, every);
        let own = format!(":{}/", server.server().port);
        let through = line.replace(&own, &format!(":{port}/"));
        let paused = judged_while(&through, Some(server.pid()), |_| {});
        let expected = "pause of 40 ms, by which linux delays an acknowledgement";
        paused.caught("latency-modes", "doubt", expected);
        let advice = &paused.finding("latency-modes")["advice"];
        assert!(advice.as_str().unwrap().contains("TCP_NODELAY"), "{advice}");
    });
}
