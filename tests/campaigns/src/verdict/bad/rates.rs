//! Unsteady rates, and stalls.

use xtask::servers::Kind::{Mariadb, Mysql, Postgres};

use super::super::case::{Act, Case, Expect, On, Stops, doubted};

/// Cold starts, drifts, steps, and dips.
pub(super) const CASES: &[Case] = &[
    doubted(
        Mariadb,
        "the first 3 of 14 s are at a quarter of the rate",
        "SHAPES --reads=1 --slow-start=3 -c 4 -t 14s --warmup 0",
        "warm-up",
        "events per second and the rest",
    ),
    doubted(
        Postgres,
        "the first 3 of 30 s are at a quarter of the rate",
        "SHAPES --reads=1 --slow-start=3 -c 4 -t 30s --warmup 0",
        "warm-up",
        "events per second and the rest",
    ),
    doubted(
        Mysql,
        "the first 6 of 60 s are at a quarter of the rate",
        "SHAPES --reads=1 --slow-start=6 -c 4 -t 60s --warmup 0",
        "warm-up",
        "events per second and the rest",
    ),
    doubted(
        Mariadb,
        "the first 4 of 20 s are four times as fast",
        "SHAPES --reads=1 --pause=0.02 --fast-start=4 -c 4 -t 20s --warmup 0",
        "warm-up",
        "events per second and the rest",
    )
    .also(&["steady-state"]),
    doubted(
        Postgres,
        "the warm-up is shorter than the cold start",
        "SHAPES --reads=1 --slow-start=6 -c 4 -t 20s --warmup 2s",
        "warm-up",
        "events per second and the rest",
    ),
    doubted(
        Mariadb,
        "events grow by half a pause a second",
        "SHAPES --reads=1 --growth=0.5 -c 4 -t 14s --warmup 0",
        "steady-state",
        "the rate drifts",
    )
    .also(&["warm-up"]),
    doubted(
        Postgres,
        "events grow by a thirtieth of a pause a second",
        "SHAPES --reads=1 --growth=0.033 -c 4 -t 30s --warmup 0",
        "steady-state",
        "the rate drifts",
    )
    .also(&["warm-up"]),
    doubted(
        Mysql,
        "events shrink from second to second",
        "SHAPES --reads=1 --pause=0.02 --growth=-0.02 -c 4 -t 30s --warmup 0",
        "steady-state",
        "the rate drifts",
    )
    .also(&["warm-up"]),
    doubted(
        Mariadb,
        "the rate halves in the middle",
        "SHAPES --reads=1 --step-at=15 --step=2 -c 4 -t 30s --warmup 0",
        "steady-state",
        "the rate steps by -",
    ),
    doubted(
        Postgres,
        "the rate doubles after two thirds",
        "SHAPES --reads=1 --pause=0.008 --step-at=20 --step=0.5 -c 4 -t 30s --warmup 0",
        "steady-state",
        "the rate steps by +",
    ),
    doubted(
        Mysql,
        "the rate falls by two fifths at 12 s of 30",
        "SHAPES --reads=1 --step-at=12 --step=1.7 -c 4 -t 30s --warmup 0",
        "steady-state",
        "the rate steps by -",
    ),
    doubted(
        Mariadb,
        "one second in five has a third of the rate",
        "SHAPES --reads=1 --dip-every=5 --dip-for=1 --dip=3 -c 4 -t 60s --warmup 0",
        "steady-state",
        "dips",
    ),
    doubted(
        Postgres,
        "one second in ten has a fifth of the rate",
        "SHAPES --reads=1 --dip-every=10 --dip-for=1 --dip=5 -c 4 -t 90s --warmup 0",
        "steady-state",
        "dips",
    ),
    doubted(
        Mysql,
        "two seconds in eight have half of the rate",
        "SHAPES --reads=1 --dip-every=8 --dip-for=2 --dip=2 -c 4 -t 80s --warmup 0",
        "steady-state",
        "dips",
    ),
    doubted(
        Mariadb,
        "three seconds are too few",
        "SHAPES --reads=1 -c 4 -t 3s --warmup 0",
        "length",
        "",
    ),
    doubted(
        Postgres,
        "sixty events are too few",
        "SHAPES --reads=1 -c 1 --rate 2/s --arrivals constant -t 30s --warmup 0",
        "samples",
        "60 latencies",
    ),
];

pub(super) const fn stops(times: u32, for_ms: u64, between_ms: u64) -> Stops {
    Stops {
        times,
        for_ms,
        between_ms,
    }
}

const LOCK: &[&str] = &["LOCK TABLES shape WRITE"];
const PG_LOCK: &[&str] = &["BEGIN", "LOCK TABLE shape IN ACCESS EXCLUSIVE MODE"];

const TABLE_LOCKED: Case = doubted(
    Mariadb,
    "somebody locks the table for 4 of 14 s",
    "SHAPES --reads=1 -c 4 -t 14s --warmup 0",
    "stalls",
    "metadata lock",
)
.while_(Act::Holds(3.0, 4.0, LOCK))
.also(&["steady-state"]);

const ALL_LOCKED: Case = doubted(
    Mysql,
    "somebody locks all tables for a backup for 5 of 15 s",
    "SHAPES --writes=1 -c 4 -t 15s --warmup 0",
    "stalls",
    "lock",
)
.while_(Act::Holds(3.0, 5.0, &["FLUSH TABLES WITH READ LOCK"]))
.also(&["steady-state"]);

/// Locks, stopped servers, and stopped load generators.
pub(super) const STALLS: &[Case] = &[
    TABLE_LOCKED,
    doubted(
        Mariadb,
        "somebody locks the table for 11 of 16 s",
        "SHAPES --reads=1 -c 4 -t 16s --warmup 0",
        "stalls",
        "metadata lock",
    )
    .while_(Act::Holds(2.0, 11.0, LOCK))
    .also(&["steady-state"]),
    TABLE_LOCKED.on(On::Server(Mysql)),
    ALL_LOCKED,
    ALL_LOCKED.on(On::Server(Mariadb)),
    doubted(
        Postgres,
        "somebody locks the table for 4 of 14 s",
        "SHAPES --reads=1 -c 4 -t 14s --warmup 0",
        "stalls",
        "lock",
    )
    .while_(Act::Holds(3.0, 4.0, PG_LOCK))
    .also(&["steady-state"]),
    doubted(
        Postgres,
        "somebody locks the table for 11 of 16 s",
        "SHAPES --writes=1 -c 4 -t 16s --warmup 0",
        "stalls",
        "lock",
    )
    .while_(Act::Holds(2.0, 11.0, PG_LOCK))
    .also(&["steady-state"]),
    doubted(
        Mariadb,
        "the server stands still for 3 s",
        "SHAPES --reads=1 -c 4 -t 14s --warmup 0",
        "stalls",
        "stall",
    )
    .while_(Act::ServerStops(stops(1, 3000, 0)))
    .also(&["steady-state", "restarts", "observers"]),
    doubted(
        Mysql,
        "the server stands still four times for 0.7 s",
        "SHAPES --reads=1 -c 4 -t 14s --warmup 0",
        "stalls",
        "4 stalls of 2.8",
    )
    .while_(Act::ServerStops(stops(4, 700, 900)))
    .also(&["steady-state"]),
    doubted(
        Postgres,
        "the server stands still four times for 1.4 s",
        "SHAPES --reads=1 -c 4 -t 20s --warmup 0",
        "stalls",
        "4 stalls of 5.6",
    )
    .while_(Act::ServerStops(stops(4, 1400, 1600)))
    .also(&["steady-state", "restarts", "observers"]),
    doubted(
        Mariadb,
        "the server stands still every 1.5 s for 0.5 s",
        "SHAPES --reads=1 -c 4 -t 15s --warmup 0",
        "stalls",
        "stalls of",
    )
    .while_(Act::ServerStops(stops(8, 500, 1000)))
    .also(&["steady-state"]),
    doubted(
        Postgres,
        "the server stands still for 9 of 15 s",
        "SHAPES --reads=1 -c 4 -t 15s --warmup 0",
        "stalls",
        "stall",
    )
    .while_(Act::ServerStops(stops(1, 9000, 0)))
    .also(&["steady-state", "restarts", "observers"]),
    doubted(
        Mariadb,
        "the generator stands still three times for a second",
        "SHAPES --reads=1 -c 4 -t 14s --warmup 0",
        "client-cpu",
        "itself paused 3 times",
    )
    .while_(Act::DynoStops(stops(3, 1000, 1500))),
    doubted(
        Postgres,
        "the generator of an open loop stands still three times for a second",
        "SHAPES --reads=1 -c 4 --rate 300/s -t 14s --warmup 0",
        "client-cpu",
        "itself paused 3 times",
    )
    .while_(Act::DynoStops(stops(3, 1000, 1500)))
    .also(&["schedule-lag"]),
    doubted(
        Mysql,
        "the generator stands still five times for 0.6 s",
        "SHAPES --reads=1 -c 4 -t 14s --warmup 0",
        "client-cpu",
        "itself paused 5 times",
    )
    .while_(Act::DynoStops(stops(5, 600, 900))),
    Case::new(
        On::Sqlite,
        "the generator stands still three times for a second",
        "SHAPES --reads=1 -c 2 -t 14s --warmup 0",
    )
    .prepared("SHAPES")
    .while_(Act::DynoStops(stops(3, 1000, 1500)))
    .finds(Expect::Check(
        "client-cpu",
        "doubt",
        "itself paused 3 times",
    )),
];
