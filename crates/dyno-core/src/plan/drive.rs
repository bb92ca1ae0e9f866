//! How a run is driven, and the random distributions.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::division::{Portion, Shard};
use super::schedule::{LoadSchedule, Scheduled};

/// How arrivals are spaced in an open loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    /// Exponential gaps.
    Poisson,
    /// Equal gaps.
    Constant,
}

/// An open loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct OpenLoop {
    /// Events per second over all sessions; fractions allowed.
    pub per_second: f64,
    /// How they are spaced.
    pub arrivals: Arrivals,
}

impl OpenLoop {
    /// Arrivals with this rate and spacing.
    pub const fn new(per_second: f64, arrivals: Arrivals) -> Self {
        Self {
            per_second,
            arrivals,
        }
    }
}

/// Which distribution `sysbench.rand.default` draws from, and the shapes of all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RandPlan {
    /// The default distribution.
    pub kind: RandKind,
    /// Pareto: the share h (0 < h < 1) for which h of the range gets 1 - h of the draws.
    pub pareto_h: f64,
    /// Zipf's exponent, >= 0.
    pub zipfian_exp: f64,
    /// How many uniform draws make a gaussian one.
    pub spec_iter: u32,
    /// Special: percent of the range that is hot.
    pub spec_pct: u32,
    /// Special: percent of the draws that fall on the hot part.
    pub spec_res: u32,
}

/// The distributions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum RandKind {
    /// Every value alike.
    Uniform,
    /// Bell-shaped over the range.
    Gaussian,
    /// A hot centre in a bell.
    Special,
    /// Skewed to the low end by a power.
    Pareto,
    /// Zipf's law, rank 1 first.
    Zipfian,
}

impl Default for RandPlan {
    fn default() -> Self {
        Self {
            kind: RandKind::Uniform,
            pareto_h: 0.2,
            zipfian_exp: 0.8,
            spec_iter: 12,
            spec_pct: 1,
            spec_res: 75,
        }
    }
}

/// A group of sessions with its own behaviour. Roles have consecutive sessions, in order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Role {
    /// The script's name for it.
    pub name: String,
    /// How many sessions play it.
    pub sessions: u32,
    /// Its events are not the run's: they are counted separately and do not count towards limits.
    /// The run ends when all other roles have ended.
    pub background: bool,
    /// The unit of work in an event, e.g. `rows`; `events` unless the script sets it.
    pub unit: String,
    /// Units per event.
    pub per_event: f64,
    /// Its pace. Without one, foreground roles have the run's, and background roles run as fast as
    /// the server answers.
    pub pace: Option<Pace>,
}

/// The pace of a role.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// The rate, and the spacing of arrivals.
    pub arrivals: OpenLoop,
    /// The rate is per session, not for all together.
    pub each: bool,
    /// Drop an arrival that cannot start within this many seconds; `None`: it waits.
    pub skip_after_s: Option<f64>,
}

impl Role {
    /// Arrivals per second of all its sessions, if it has a pace.
    pub fn asked_per_s(&self) -> Option<f64> {
        let pace = self.pace?;
        let streams = if pace.each { self.sessions } else { 1 };
        Some(pace.arrivals.per_second * f64::from(streams))
    }
}

/// How a run is driven, independent of the workload and the target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// Simulated users.
    pub sessions: u32,
    /// Threads that drive the sessions.
    pub workers: u32,
    /// How long to measure; `None` means no limit.
    #[serde(rename = "time_s", with = "optional_seconds")]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub time: Option<Duration>,
    /// Events to run over all sessions; `None` means no limit.
    pub events: Option<u64>,
    /// How long to run before measuring.
    #[serde(rename = "warmup_s", with = "seconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub warmup: Duration,
    /// How long events in flight may take to end after the time limit.
    #[serde(rename = "grace_s", with = "seconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub grace: Duration,
    /// Time over which sessions start, evenly; zero starts them together.
    #[serde(rename = "ramp_up_s", with = "seconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub ramp_up: Duration,
    /// Open loop; `None` is a closed loop.
    pub open_loop: Option<OpenLoop>,
    /// A load that changes over the measurement. With a rate schedule, `open_loop` has the mean
    /// rate; with a session schedule, `sessions` is the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<LoadSchedule>,
    /// Count latencies above this limit; in an open loop, drop events that cannot start within it.
    #[serde(
        rename = "latency_limit_s",
        default,
        skip_serializing_if = "Option::is_none",
        with = "optional_seconds"
    )]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub latency_limit: Option<Duration>,
    /// In an open loop, wake up this early and spin until an arrival is due; `None` decides by
    /// whether the server shares this host's CPUs.
    #[serde(
        rename = "spin_s",
        default,
        skip_serializing_if = "Option::is_none",
        with = "optional_seconds"
    )]
    #[cfg_attr(test, schemars(with = "Option<f64>"))]
    pub spin: Option<Duration>,
    /// The roles of the sessions; empty if all play the same. Empty in a plan, which has its own
    /// list of roles.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(test, schemars(skip))]
    pub roles: Vec<Role>,
    /// How long sessions may take to connect and initialise.
    #[serde(rename = "init_timeout_s", with = "seconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub init_timeout: Duration,
    /// The interval of recording and reporting.
    #[serde(rename = "interval_s", with = "seconds")]
    #[cfg_attr(test, schemars(with = "f64"))]
    pub interval: Duration,
    /// The seed of all random streams.
    pub seed: u64,
    /// The part of the run that this load generator has; `None` for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
    /// When the first session begins, in seconds since 1970; `None`: once all are ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_unix_s: Option<f64>,
}

impl Drive {
    /// The rate schedule, if there is one.
    pub fn rate_schedule(&self) -> Option<&LoadSchedule> {
        let schedule = self.schedule.as_ref();
        schedule.filter(|schedule| schedule.of == Scheduled::Rate)
    }

    /// The session schedule, if there is one.
    pub fn session_schedule(&self) -> Option<&LoadSchedule> {
        let schedule = self.schedule.as_ref();
        schedule.filter(|schedule| schedule.of == Scheduled::Sessions)
    }

    /// The portion of this load generator, if it is one of several.
    pub fn portion(&self) -> Option<Portion> {
        self.shard.as_ref().and_then(Portion::of)
    }

    /// The part of this load generator, if it is one of several: its sessions, events and arrivals.
    pub fn own(&self) -> Self {
        let mut own = self.clone();
        let Some(portion) = self.portion() else {
            return own;
        };
        let fraction = portion.fraction();
        own.sessions = portion.count(self.sessions.into()) as u32;
        own.workers = self.workers.min(own.sessions);
        own.events = self.events.map(|events| portion.count(events));
        if let Some(open) = &mut own.open_loop {
            open.per_second *= fraction;
        }
        if let Some(schedule) = &mut own.schedule
            && schedule.of == Scheduled::Rate
        {
            for part in &mut schedule.parts {
                part.from *= fraction;
                part.to *= fraction;
            }
        }
        let mut first = 0;
        for role in &mut own.roles {
            let end = first + u64::from(role.sessions);
            role.sessions = (portion.count(end) - portion.count(first)) as u32;
            first = end;
            if let Some(pace) = role.pace.as_mut().filter(|pace| !pace.each) {
                pace.arrivals.per_second *= fraction;
            }
        }
        own
    }
}

impl Default for Drive {
    fn default() -> Self {
        Self {
            sessions: 1,
            workers: 1,
            time: Some(Duration::from_secs(10)),
            events: None,
            warmup: Duration::ZERO,
            grace: Duration::from_secs(1),
            ramp_up: Duration::ZERO,
            open_loop: None,
            schedule: None,
            latency_limit: None,
            spin: None,
            roles: Vec::new(),
            init_timeout: Duration::from_secs(30),
            interval: Duration::from_secs(1),
            seed: 0,
            shard: None,
            begin_unix_s: None,
        }
    }
}

pub(crate) mod seconds {
    use super::{Deserialize, Deserializer, Duration, Serializer};
    use serde::de::Error;

    pub(crate) fn serialize<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(duration.as_secs_f64())
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)?).map_err(D::Error::custom)
    }
}

pub(crate) mod optional_seconds {
    use super::{Deserialize, Deserializer, Duration, Serialize, Serializer};
    use serde::de::Error;

    pub(crate) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|time| time.as_secs_f64()).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Option::<f64>::deserialize(from)?
            .map(|seconds| Duration::try_from_secs_f64(seconds).map_err(D::Error::custom))
            .transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::Drive;

    #[test]
    fn durations_are_seconds_by_name() {
        let drive = serde_json::to_value(Drive::default()).unwrap();
        assert_eq!(drive["time_s"], 10.0);
        assert_eq!(drive["warmup_s"], 0.0);
        assert_eq!(drive["init_timeout_s"], 30.0);
    }

    #[test]
    fn a_drive_survives_a_round_trip() {
        let drive = Drive {
            time: None,
            ..Drive::default()
        };
        let text = serde_json::to_string(&drive).unwrap();
        assert_eq!(serde_json::from_str::<Drive>(&text).unwrap(), drive);
    }
}
