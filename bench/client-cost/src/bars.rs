//! Limits on the measured figures.

/// A limit on a figure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bar {
    /// The section that measures the figure.
    pub section: &'static str,
    /// The name of the figure.
    pub name: &'static str,
    /// The limit, in the figure's unit.
    pub limit: f64,
    /// Whether the limit is a maximum (true) or a minimum.
    pub at_most: bool,
}

impl Bar {
    /// Whether a value is within the limit.
    pub(crate) fn is_met_by(&self, value: f64) -> bool {
        if self.at_most {
            value <= self.limit
        } else {
            value >= self.limit
        }
    }
}

const fn at_most(section: &'static str, name: &'static str, limit: f64) -> Bar {
    Bar {
        section,
        name,
        limit,
        at_most: true,
    }
}

const fn at_least(section: &'static str, name: &'static str, limit: f64) -> Bar {
    Bar {
        section,
        name,
        limit,
        at_most: false,
    }
}

pub(crate) const BARS: &[Bar] = &[
    at_most("point-select", "dyno / floor, mysql, 16 sessions", 1.25),
    at_most("point-select", "dyno / floor, mysql, 256 sessions", 1.25),
    at_most("point-select", "dyno / floor, postgres, 16 sessions", 1.25),
    at_most("point-select", "dyno / floor, postgres, 256 sessions", 1.25),
    at_most("point-select", "dyno / sysbench, mysql, 1 session", 1.10),
    at_most("point-select", "dyno / sysbench, mysql, 16 sessions", 0.45),
    at_most("point-select", "dyno / sysbench, mysql, 256 sessions", 0.30),
    at_most("point-select", "dyno / sysbench, postgres, 1 session", 1.10),
    at_most(
        "point-select",
        "dyno / sysbench, postgres, 16 sessions",
        0.42,
    ),
    at_most(
        "point-select",
        "dyno / sysbench, postgres, 256 sessions",
        0.32,
    ),
    at_most(
        "point-select",
        "dyno / pgbench, postgres, 16 sessions",
        0.85,
    ),
    at_most(
        "point-select",
        "dyno / pgbench, postgres, 256 sessions",
        0.93,
    ),
    at_most("instructions", "dyno / sysbench, mysql, 16 sessions", 0.40),
    at_most(
        "instructions",
        "dyno / sysbench, postgres, 16 sessions",
        0.40,
    ),
    at_most(
        "instructions",
        "dyno / pgbench, postgres, 16 sessions",
        0.40,
    ),
    at_most("events", "dyno / sysbench, empty event", 1.0),
    at_most(
        "events",
        "dyno / sysbench, random text of 119 characters",
        1.0,
    ),
    at_most("events", "dyno / sysbench, ten random numbers", 1.0),
    at_most("load", "dyno / sysbench, CPU per row, mysql", 0.25),
    at_most("load", "dyno / sysbench, CPU per row, postgres", 0.25),
    at_least(
        "load-servers",
        "dyno / sysbench, rows per second, mysql",
        2.0,
    ),
    at_least(
        "load-servers",
        "dyno / sysbench, rows per second, postgres",
        2.0,
    ),
    at_most("many-sessions", "dyno, memory per session, mysql", 24.0),
    at_most("many-sessions", "dyno, memory per session, postgres", 24.0),
    at_least(
        "many-sessions",
        "dyno, throughput of 10000 over 1000 sessions, mysql",
        0.9,
    ),
    at_least(
        "many-sessions",
        "dyno, throughput of 10000 over 1000 sessions, postgres",
        0.9,
    ),
    at_most("pacing", "dyno, pacing lag at 20000/s, p99.9", 200.0),
    at_most("recording", "on / off, null server", 1.03),
    at_most("recording", "on / off, real server", 1.03),
    at_most("exporting", "exporting / client, null server, both", 1.0),
    at_most(
        "exporting",
        "exporting / client, tpcc, real server, scraped",
        1.0,
    ),
    at_most(
        "exporting",
        "exporting / client, tpcc, real server, pushed",
        1.0,
    ),
    at_most(
        "workloads",
        "tpcc / point select, per statement, mysql",
        1.3,
    ),
    at_most(
        "workloads",
        "tpcc / point select, per statement, postgres",
        1.3,
    ),
    at_most("workloads", "dyno / pgbench, select_only", 0.9),
    at_most("workloads", "dyno / pgbench, pipeline of ten", 1.0),
    at_most(
        "workloads",
        "dyno / pgbench, pipeline of ten in a file of SQL",
        1.0,
    ),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections::SECTIONS;

    #[test]
    fn every_bar_belongs_to_a_section_and_appears_once() {
        for (index, bar) in BARS.iter().enumerate() {
            assert!(SECTIONS.contains(&bar.section), "{}", bar.section);
            let same = |other: &&Bar| other.section == bar.section && other.name == bar.name;
            assert_eq!(BARS.iter().position(|other| same(&other)), Some(index));
        }
    }

    #[test]
    fn a_bar_has_a_direction() {
        assert!(at_most("s", "n", 1.0).is_met_by(1.0));
        assert!(!at_most("s", "n", 1.0).is_met_by(1.1));
        assert!(!at_least("s", "n", 1.0).is_met_by(0.9));
    }
}
