//! A fleet within one process, in real time.

use crate::common::{agent, config, everything, lead, names};
use dyno_fleet::agent::Exit;
use dyno_fleet::bus::local;

#[test]
fn agents_in_one_process_act_as_one() {
    let names = names(3);
    let config = config("r1", &names, 6);
    let (mut bus, ends) = local::ends(&names);
    let agents: Vec<_> = ends
        .into_iter()
        .enumerate()
        .map(|(number, end)| agent(&config, number, 6, move || end))
        .collect();
    let outputs = lead(config, &mut bus, |_| {});
    let report = outputs.report.unwrap();
    assert_eq!(report.failed, None, "{:?}", report.findings);
    assert_eq!(report.total, everything(3, 6));
    let complete = outputs.merged.iter().filter(|merged| merged.complete);
    assert_eq!(complete.count(), 6);
    for agent in agents {
        assert_eq!(agent.join().unwrap().unwrap(), Exit::Done);
    }
}
