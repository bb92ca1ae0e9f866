//! Who has what of a run: sessions, arrivals and events, in proportion to weights.
//!
//! What is counted, from 0 on, goes to agents by a fixed pattern of as many slots as all weights
//! add up to: an agent has the indices whose slots are its own. With equal weights slot after slot
//! is another agent's, which is `dyno run --shard I/N`. Slots of an agent are as even as can be
//! (the order in which Webster's method hands out seats), so that each part of any beginning of the
//! sequence, such as the sessions of a role, is divided in proportion, too. Everything is divided
//! by the same pattern, of one random sequence: together agents do exactly what one alone would.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Drive;

/// All weights of a run add up to so much at most.
pub const SLOTS_MAX: u64 = 1 << 20;

/// How many agents a run may have.
pub const AGENTS_MAX: usize = 4096;

/// How finely capacities become weights: an agent of the least of them has so many slots.
const SLOTS_OF_LEAST: f64 = 16.0;

/// How much more one agent may be able to do than another.
const CAPACITY_RATIO_MAX: f64 = 64.0;

/// Why a run cannot be divided so.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DivisionError {
    /// Nobody is there.
    #[error("a run needs at least one agent")]
    NoAgents,
    /// Too many are.
    #[error("{count} agents are more than {AGENTS_MAX}")]
    TooMany {
        /// How many.
        count: usize,
    },
    /// A weight of nothing.
    #[error("agent {number} has the weight 0: leave it out instead")]
    NoWeight {
        /// Which one, from 1.
        number: usize,
    },
    /// Weights that are too fine.
    #[error(
        "the weights add up to {sum}, even after dividing by their common divisor; at most \
         {SLOTS_MAX}"
    )]
    TooFine {
        /// Their sum.
        sum: u64,
    },
    /// A capacity that is none.
    #[error("agent {number} has the capacity {capacity}, which is not a rate above 0")]
    NoCapacity {
        /// Which one, from 1.
        number: usize,
        /// What it has.
        capacity: f64,
    },
    /// Agents that do not fit to the parts.
    #[error("{agents} agents of different names cannot share a run divided into {parts}")]
    Agents {
        /// How many names there are.
        agents: usize,
        /// Into how many parts it is divided.
        parts: u32,
    },
    /// Too few sessions.
    #[error(
        "agent {number} of {of} would get none of the {sessions} sessions: use fewer agents, more \
         sessions or other weights"
    )]
    NoSessions {
        /// Which one, from 1.
        number: u32,
        /// Of how many.
        of: u32,
        /// How many sessions the run has.
        sessions: u32,
    },
}

/// One of several load generators that share the sessions, arrivals and events of one run, so that
/// together they are what one alone would be: each has its part, in proportion to its weight.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// Which one, from 1.
    pub number: u32,
    /// How many there are.
    pub of: u32,
    /// The weight of each; none where all are equal, and each has every `of`th.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<u32>,
}

impl Shard {
    /// This one of so many equal ones.
    pub fn equal(number: u32, of: u32) -> Self {
        Self {
            number,
            of,
            weights: Vec::new(),
        }
    }

    /// Reads `2/4`, the second of four, or `2/3:1:1`, the second of three with these weights.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a part such as 2/4, or 2/3:1:1 with weights");
        let (number, rest) = text.split_once('/').ok_or_else(wrong)?;
        let number = number.parse().map_err(|_| wrong())?;
        let shard = match rest.contains(':') {
            false => Self::equal(number, rest.parse().map_err(|_| wrong())?),
            true => {
                let weights: Result<Vec<u32>, _> = rest.split(':').map(str::parse).collect();
                let weights = weights.map_err(|_| wrong())?;
                let division = Division::by_weights(&weights);
                division
                    .map_err(|error| format!("'{text}': {error}"))?
                    .share(number)
            }
        };
        match shard.is_valid() {
            true => Ok(shard),
            false => Err(format!(
                "'{text}': the parts of {of} are numbered from 1 to {of}, and there are at most \
                 {AGENTS_MAX}",
                of = shard.of
            )),
        }
    }

    /// Whether there is such a part.
    pub fn is_valid(&self) -> bool {
        let weighed = self.weights.is_empty()
            || (self.weights.len() == self.of as usize && slots(&self.weights).is_ok());
        (1..=self.of).contains(&self.number) && self.of as usize <= AGENTS_MAX && weighed
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.weights.is_empty() {
            return write!(f, "{}/{}", self.number, self.of);
        }
        let weights: Vec<String> = self.weights.iter().map(u32::to_string).collect();
        write!(f, "{}/{}", self.number, weights.join(":"))
    }
}

/// What a load generator has of everything that is counted.
#[derive(Clone, Debug)]
pub struct Portion {
    division: Arc<Division>,
    number: u32,
}

impl Portion {
    /// That of this shard; `None` for one that is not valid.
    pub fn of(shard: &Shard) -> Option<Self> {
        Some(Self {
            division: Arc::new(Division::of(shard)?),
            number: shard.number,
        })
    }

    /// See [`Division::has`].
    #[inline]
    pub fn has(&self, index: u64) -> bool {
        self.division.has(self.number, index)
    }

    /// See [`Division::count`].
    pub fn count(&self, count: u64) -> u64 {
        self.division.count(self.number, count)
    }

    /// See [`Division::nth`].
    pub fn nth(&self, nth: u64) -> Option<u64> {
        self.division.nth(self.number, nth)
    }

    /// See [`Division::fraction`].
    pub fn fraction(&self) -> f64 {
        self.division.fraction(self.number)
    }
}

/// How a run is divided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    weights: Vec<u32>,
    /// Whose each slot is, from 0.
    owners: Vec<u32>,
    /// The slots of each agent, in their order.
    own: Vec<Vec<u32>>,
}

impl Division {
    /// By these weights.
    ///
    /// # Errors
    /// There are no agents or too many, a weight is 0, or the weights are too fine.
    pub fn by_weights(weights: &[u32]) -> Result<Self, DivisionError> {
        let weights = slots(weights)?;
        let owners = order(&weights);
        let mut own = vec![Vec::new(); weights.len()];
        for (slot, owner) in owners.iter().enumerate() {
            own[*owner as usize].push(slot as u32);
        }
        Ok(Self {
            weights,
            owners,
            own,
        })
    }

    /// In equal parts.
    ///
    /// # Errors
    /// There are no agents or too many.
    pub fn equal(agents: usize) -> Result<Self, DivisionError> {
        Self::by_weights(&vec![1; agents])
    }

    /// In proportion to what each agent can do, e.g. events per second of a calibration: to one
    /// part in sixteen of the least, and nobody has more than 64 times what another has.
    ///
    /// # Errors
    /// There are no agents or too many, or a capacity is no rate.
    pub fn by_capacity(per_s: &[f64]) -> Result<Self, DivisionError> {
        let wrong = per_s
            .iter()
            .position(|capacity| !capacity.is_finite() || *capacity <= 0.0);
        if let Some(wrong) = wrong {
            return Err(DivisionError::NoCapacity {
                number: wrong + 1,
                capacity: per_s[wrong],
            });
        }
        let least = per_s.iter().copied().fold(f64::INFINITY, f64::min);
        let weight = |capacity: &f64| {
            let ratio = (capacity / least).min(CAPACITY_RATIO_MAX);
            (ratio * SLOTS_OF_LEAST).round() as u32
        };
        Self::by_weights(&per_s.iter().map(weight).collect::<Vec<_>>())
    }

    /// That of which this is a part; `None` for one that is not valid.
    pub fn of(share: &Shard) -> Option<Self> {
        let division = match share.weights.is_empty() {
            true => Self::equal(share.of as usize),
            false => Self::by_weights(&share.weights),
        };
        division.ok().filter(|_| share.is_valid())
    }

    /// How many agents there are.
    pub fn agents(&self) -> u32 {
        self.weights.len() as u32
    }

    /// What agent `number`, from 1, is told.
    pub fn share(&self, number: u32) -> Shard {
        let equal = self.weights.iter().all(|weight| *weight == 1);
        Shard {
            number,
            of: self.agents(),
            weights: if equal {
                Vec::new()
            } else {
                self.weights.clone()
            },
        }
    }

    /// The part of everything that agent `number`, from 1, has: its weight of all.
    pub fn fraction(&self, number: u32) -> f64 {
        let own = self.own_slots(number).len() as f64;
        own / self.owners.len() as f64
    }

    /// Whether agent `number`, from 1, has what is counted as `index`.
    pub fn has(&self, number: u32, index: u64) -> bool {
        let slot = (index % self.owners.len() as u64) as usize;
        self.owners[slot] + 1 == number
    }

    /// How many of the first `count` agent `number`, from 1, has.
    pub fn count(&self, number: u32, count: u64) -> u64 {
        let (own, period) = (self.own_slots(number), self.owners.len() as u64);
        let begun = own.partition_point(|slot| u64::from(*slot) < count % period);
        (count / period) * own.len() as u64 + begun as u64
    }

    /// The index of what agent `number`, from 1, has as its own `nth`, from 0.
    pub fn nth(&self, number: u32, nth: u64) -> Option<u64> {
        let own = self.own_slots(number);
        let slot = own.get((nth % own.len().max(1) as u64) as usize)?;
        Some(nth / own.len() as u64 * self.owners.len() as u64 + u64::from(*slot))
    }

    /// What agent `number`, from 1, has of a run: see [`Drive::own`].
    ///
    /// # Errors
    /// It would have no session.
    pub fn own(&self, drive: &Drive, number: u32) -> Result<Drive, DivisionError> {
        let sharded = Drive {
            shard: Some(self.share(number)),
            ..drive.clone()
        };
        let own = sharded.own();
        match own.sessions {
            0 => Err(DivisionError::NoSessions {
                number,
                of: self.agents(),
                sessions: drive.sessions,
            }),
            _ => Ok(own),
        }
    }

    /// The fewest sessions of which each agent has one.
    pub fn fewest(&self) -> u32 {
        let firsts = self
            .own
            .iter()
            .map(|own| own.first().map_or(0, |slot| slot + 1));
        firsts.max().unwrap_or(1)
    }

    fn own_slots(&self, number: u32) -> &[u32] {
        let index = (number as usize).wrapping_sub(1);
        self.own.get(index).map_or(&[], Vec::as_slice)
    }
}

/// The weights in their lowest terms.
fn slots(weights: &[u32]) -> Result<Vec<u32>, DivisionError> {
    if weights.is_empty() {
        return Err(DivisionError::NoAgents);
    }
    if weights.len() > AGENTS_MAX {
        let count = weights.len();
        return Err(DivisionError::TooMany { count });
    }
    if let Some(index) = weights.iter().position(|weight| *weight == 0) {
        let number = index + 1;
        return Err(DivisionError::NoWeight { number });
    }
    let common = weights.iter().copied().fold(0, divisor).max(1);
    let weights: Vec<u32> = weights.iter().map(|weight| weight / common).collect();
    let sum = weights.iter().map(|weight| u64::from(*weight)).sum();
    match sum > SLOTS_MAX {
        true => Err(DivisionError::TooFine { sum }),
        false => Ok(weights),
    }
}

/// The greatest common divisor.
fn divisor(a: u32, b: u32) -> u32 {
    match b {
        0 => a,
        _ => divisor(b, a % b),
    }
}

/// Whose each slot is. An agent of weight w would have its slots at (j + 1/2) / w; all of them in
/// this order, and those at the same place in the agents'.
fn order(weights: &[u32]) -> Vec<u32> {
    let mut places = Vec::new();
    for (agent, weight) in weights.iter().enumerate() {
        places.extend((0..*weight).map(|slot| (2 * u64::from(slot) + 1, *weight, agent as u32)));
    }
    places.sort_by(|(a, a_weight, a_agent), (b, b_weight, b_agent)| {
        // Both below 2^22 and 2^20: as fractions, exactly.
        let (left, right) = (a * u64::from(*b_weight), b * u64::from(*a_weight));
        left.cmp(&right).then(a_agent.cmp(b_agent))
    });
    places.into_iter().map(|(_, _, agent)| agent).collect()
}

#[cfg(test)]
#[path = "division_tests.rs"]
mod tests;
