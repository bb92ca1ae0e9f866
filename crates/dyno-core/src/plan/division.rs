//! Divides the sessions, arrivals and events of a run among agents, in proportion to weights.
//!
//! Everything counted from 0 on is assigned to agents by a repeating pattern of slots, one slot per
//! unit of total weight. An agent owns the indices that fall on its slots. With equal weights the
//! agents take turns, which is `dyno run --shard I/N`. The slots of an agent are spread as evenly
//! as possible (the order of seats in Webster's method), so any prefix of the sequence, such as the
//! sessions of a role, is divided in proportion, too. Everything uses the same pattern and the same
//! random sequence: together the agents do exactly what one alone would.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Drive;

/// The largest sum of all weights of a run.
pub(super) const SLOTS_MAX: u64 = 1 << 20;

/// Maximum number of agents of a run.
pub const AGENTS_MAX: usize = 4096;

/// Precision of weights from capacities: slots of the agent with the least capacity.
const SLOTS_OF_LEAST: f64 = 16.0;

/// The largest ratio between the weights of two agents; larger ones are capped.
const CAPACITY_RATIO_MAX: f64 = 64.0;

/// Why a run cannot be divided.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DivisionError {
    /// No agents.
    #[error("a run needs at least one agent")]
    NoAgents,
    /// Too many agents.
    #[error("{count} agents are more than {AGENTS_MAX}")]
    TooMany {
        /// Their number.
        count: usize,
    },
    /// A weight of 0.
    #[error("agent {number} has the weight 0: leave it out instead")]
    NoWeight {
        /// The agent's number, from 1.
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
    /// An invalid capacity.
    #[error("agent {number} has the capacity {capacity}, which is not a rate above 0")]
    NoCapacity {
        /// The agent's number, from 1.
        number: usize,
        /// Its capacity.
        capacity: f64,
    },
    /// The number of agents does not match the number of parts.
    #[error("{agents} agents of different names cannot share a run divided into {parts}")]
    Agents {
        /// The number of agent names.
        agents: usize,
        /// The number of parts.
        parts: u32,
    },
    /// Too few sessions.
    #[error(
        "agent {number} of {of} would get none of the {sessions} sessions: use fewer agents, more \
         sessions or other weights"
    )]
    NoSessions {
        /// The agent's number, from 1.
        number: u32,
        /// The number of agents.
        of: u32,
        /// The sessions of the run.
        sessions: u32,
    },
}

/// One of several load generators that share the sessions, arrivals and events of one run in
/// proportion to their weights, so that together they do the same as one alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// The agent's number, from 1.
    pub number: u32,
    /// The number of agents.
    pub of: u32,
    /// The weight of each; empty if all are equal, so that each has every `of`th item.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<u32>,
}

impl Shard {
    /// One of `of` equal shards.
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
    /// A description of the error.
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

    /// Whether the shard is valid.
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

/// The portion of all counted items that a load generator has.
#[derive(Clone, Debug)]
pub struct Portion {
    division: Arc<Division>,
    number: u32,
}

impl Portion {
    /// The portion of this shard; `None` if the shard is invalid.
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

/// The division of a run among agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Division {
    weights: Vec<u32>,
    /// The owner of each slot, from 0.
    owners: Vec<u32>,
    /// The slots of each agent, in order.
    own: Vec<Vec<u32>>,
}

impl Division {
    /// Divides by these weights.
    ///
    /// # Errors
    /// No agents or too many, a weight of 0, or weights that are too fine.
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

    /// Divides in equal parts.
    ///
    /// # Errors
    /// No agents or too many.
    pub fn equal(agents: usize) -> Result<Self, DivisionError> {
        Self::by_weights(&vec![1; agents])
    }

    /// Divides by capacity, e.g. events per second of a calibration. The precision is 1/16 of the
    /// smallest; the largest is limited to 64 times the smallest.
    ///
    /// # Errors
    /// No agents or too many, or an invalid capacity.
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

    /// The division that this shard is a part of; `None` if the shard is invalid.
    pub fn of(share: &Shard) -> Option<Self> {
        let division = match share.weights.is_empty() {
            true => Self::equal(share.of as usize),
            false => Self::by_weights(&share.weights),
        };
        division.ok().filter(|_| share.is_valid())
    }

    /// Number of agents.
    pub fn agents(&self) -> u32 {
        self.weights.len() as u32
    }

    /// The shard of agent `number`, from 1.
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

    /// The fraction of everything that agent `number`, from 1, has: its weight over the sum.
    pub fn fraction(&self, number: u32) -> f64 {
        let own = self.own_slots(number).len() as f64;
        own / self.owners.len() as f64
    }

    /// Whether the item at `index` belongs to agent `number`, from 1.
    pub fn has(&self, number: u32, index: u64) -> bool {
        let slot = (index % self.owners.len() as u64) as usize;
        self.owners[slot] + 1 == number
    }

    /// How many of the first `count` items agent `number`, from 1, has.
    pub fn count(&self, number: u32, count: u64) -> u64 {
        let (own, period) = (self.own_slots(number), self.owners.len() as u64);
        let begun = own.partition_point(|slot| u64::from(*slot) < count % period);
        (count / period) * own.len() as u64 + begun as u64
    }

    /// The index of item `nth` (from 0) of agent `number` (from 1).
    pub fn nth(&self, number: u32, nth: u64) -> Option<u64> {
        let own = self.own_slots(number);
        let slot = own.get((nth % own.len().max(1) as u64) as usize)?;
        Some(nth / own.len() as u64 * self.owners.len() as u64 + u64::from(*slot))
    }

    /// The part of a run that agent `number`, from 1, has: see [`Drive::own`].
    ///
    /// # Errors
    /// The agent would have no session.
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

    /// The fewest sessions that give each agent at least one.
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

/// The owner of each slot. An agent of weight w would have its slots at (j + 1/2) / w; sorted by
/// position, ties in the order of the agents.
fn order(weights: &[u32]) -> Vec<u32> {
    let mut places = Vec::new();
    for (agent, weight) in weights.iter().enumerate() {
        places.extend((0..*weight).map(|slot| (2 * u64::from(slot) + 1, *weight, agent as u32)));
    }
    places.sort_by(|(a, a_weight, a_agent), (b, b_weight, b_agent)| {
        // Compares exactly as fractions; the products of 2^22 and 2^20 fit.
        let (left, right) = (a * u64::from(*b_weight), b * u64::from(*a_weight));
        left.cmp(&right).then(a_agent.cmp(b_agent))
    });
    places.into_iter().map(|(_, _, agent)| agent).collect()
}

#[cfg(test)]
#[path = "division_tests.rs"]
mod tests;
