//! The observers record what the catalogue of series and facts says.

use std::time::Duration;

use dyno_core::catalogue::{self, Kind};
use dyno_core::record::SeriesKind;
use dyno_observe::{Config, Observation, Observers};

/// Enough for several samples, however many.
const LIMIT: Duration = Duration::from_secs(30);

#[test]
fn series_and_facts_of_the_host_are_in_the_catalogue() {
    let config = Config {
        period: Duration::from_millis(20),
        ..Config::default()
    };
    let (observers, observations) = Observers::start(config).unwrap();
    let (mut series, mut facts, mut samples) = (0, 0, 0);
    while samples < 8 || facts == 0 {
        match observations.recv_timeout(LIMIT).unwrap() {
            Observation::Series { key, kind, .. } => {
                let kind = match kind {
                    SeriesKind::Gauge => Kind::Gauge,
                    SeriesKind::Rate => Kind::Rate,
                };
                let row = catalogue::row(&key.name).map(|row| (row.kind, row.unit));
                assert_eq!(row, Some((kind, key.unit.as_str())), "{}", key.name);
                series += 1;
            }
            Observation::Fact(fact) => {
                assert!(catalogue::row(&fact.name).is_some(), "{}", fact.name);
                facts += 1;
            }
            Observation::Sample { .. } => samples += 1,
            _ => {}
        }
    }
    assert!(series > 20, "{series}");
    let _ = observers.stop();
}
