//! The display of a run.

use super::{AGENTS, EVENTS, INTERVALS, LATENCIES, OPERATIONS, RUN, STATES};
use crate::profile::{Ask, Figure, Latencies, Profile, Screen, Table, Values};

/// The screens.
pub(crate) fn profile(title: String) -> Profile {
    Profile {
        title,
        screens: SCREENS,
        values: VALUES,
        latencies: Latencies::Intervals(Ask::plain(LATENCIES)),
        line: &[
            AT,
            EVENTS_RATE,
            QUERIES,
            P50,
            P95,
            P99,
            MAX,
            ERRORS,
            SESSIONS,
        ],
        abilities: Vec::new(),
        schema: String::new(),
        remarks: &[],
        notes: Vec::new(),
    }
}

const VALUES: &[Values] = &[Values::columns(Ask::plain(RUN))];

/// A millisecond, the unit of a run's latencies.
const MS: f64 = 1e-3;

const AT: Figure = Figure::time("at", "at_s", 1.0);
const EVENTS_RATE: Figure = Figure::count("tx/s", "events_per_s");
const QUERIES: Figure = Figure::count("queries/s", "queries_per_s");
const ERRORS: Figure = Figure::count("errors/s", "errors_per_s");
const P50: Figure = Figure::time("p50", "p50_ms", MS);
const P95: Figure = Figure::time("p95", "p95_ms", MS);
const P99: Figure = Figure::time("p99", "p99_ms", MS);
const MAX: Figure = Figure::time("max", "max_ms", MS);
const SESSIONS: Figure = Figure::count("sessions", "sessions");

const SCREENS: &[Screen] = &[
    Screen {
        title: "Overview",
        figures: &[
            Figure::text("run is", "stage"),
            AT,
            EVENTS_RATE,
            QUERIES,
            P50,
            P95,
            P99,
            MAX,
            ERRORS,
            Figure::text("last figures", "age").if_any(),
            SESSIONS,
            Figure::count("backlog", "backlog"),
        ],
        heat: true,
        tables: &[
            Table {
                title: "Sessions by state",
                asks: &[Ask::plain(STATES)],
                columns: &[
                    Figure::text("state", "state"),
                    Figure::count("sessions", "sessions"),
                ],
                key: &["state"],
                sort: 1,
                empty: "unknown yet",
            },
            EVENT_TABLE,
        ],
    },
    Screen {
        title: "Operations",
        figures: &[],
        heat: false,
        tables: &[Table {
            title: "Operations in the last interval",
            asks: &[Ask::plain(OPERATIONS)],
            columns: &[
                Figure::text("operation", "name"),
                Figure::count("rate/s", "rate"),
                Figure::time("mean", "mean", 1.0),
                Figure::time("p50", "p50", 1.0),
                Figure::time("p95", "p95", 1.0),
                Figure::time("p99", "p99", 1.0),
                Figure::time("max", "max", 1.0),
            ],
            key: &["name"],
            sort: 1,
            empty: "none has finished yet",
        }],
    },
    Screen {
        title: "Intervals",
        figures: &[],
        heat: true,
        tables: &[Table {
            title: "Intervals",
            asks: &[Ask::plain(INTERVALS)],
            columns: &[
                Figure::time("at", "at", 1.0),
                Figure::count("tx/s", "events"),
                Figure::count("queries/s", "queries"),
                Figure::time("p50", "p50", MS),
                Figure::time("p95", "p95", MS),
                Figure::time("p99", "p99", MS),
                Figure::time("max", "max", MS),
                Figure::count("errors", "errors"),
                Figure::count("sessions", "sessions"),
                Figure::count("backlog", "backlog"),
            ],
            key: &["at"],
            sort: 0,
            empty: "the measurement has not started, or its first interval has not ended",
        }],
    },
    Screen {
        title: "Database",
        figures: &[],
        heat: false,
        tables: &[series(
            "Latest server counters",
            &[Ask::plain("series db. server. data.")],
        )],
    },
    Screen {
        title: "Host",
        figures: &[],
        heat: false,
        tables: &[series(
            "Latest host and Dyno series",
            &[Ask::plain("series host. client. observer.")],
        )],
    },
    Screen {
        title: "Events",
        figures: &[],
        heat: false,
        tables: &[EVENT_TABLE],
    },
    Screen {
        title: "Agents",
        figures: &[],
        heat: false,
        tables: &[Table {
            title: "Load generators in the last interval",
            asks: &[Ask::plain(AGENTS)],
            columns: &[
                Figure::text("agent", "agent"),
                Figure::count("tx/s", "events"),
                Figure::count("errors/s", "errors"),
                Figure::time("mean", "mean", MS),
            ],
            key: &["agent"],
            sort: 0,
            empty: "there is one load generator, or more than 64",
        }],
    },
];

const EVENT_TABLE: Table = Table {
    title: "Events",
    asks: &[Ask::plain(EVENTS)],
    columns: &[
        Figure::time("at", "at", 1.0),
        Figure::time("length", "length", 1.0),
        Figure::text("kind", "kind"),
        Figure::text("what", "text"),
    ],
    key: &["at", "text"],
    sort: 0,
    empty: "none",
};

const SERIES_COLUMNS: &[Figure] = &[
    Figure::text("name", "name"),
    Figure::text("value", "value"),
    Figure::time("at", "at", 1.0),
];

const fn series(title: &'static str, asks: &'static [Ask]) -> Table {
    Table {
        title,
        asks,
        columns: SERIES_COLUMNS,
        key: &["name"],
        sort: 0,
        empty: "nothing was observed: was the run started with --observe off?",
    }
}
