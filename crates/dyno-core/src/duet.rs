//! The result of a duet: two loads in one process, compared slice by slice.

use serde::{Deserialize, Serialize};

use crate::finding::{DurabilityClass, Outcome, Verdict};
use crate::reported::Better;
use crate::summary::Recorded;

/// The version of [`DuetSummary`] as JSON.
pub const DUET_SCHEMA_VERSION: u32 = 1;

/// How the sides share the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DuetMode {
    /// One works while the other waits.
    #[default]
    Alternating,
    /// Both work all the time.
    Simultaneous,
}

impl DuetMode {
    /// Its name as an option's value.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alternating => "alternating",
            Self::Simultaneous => "simultaneous",
        }
    }
}

/// Why a duet ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DuetEnd {
    /// The ratio of the rates is known as precisely as requested.
    Precise,
    /// The time was used up.
    TimeUp,
    /// The user interrupted it.
    Interrupted,
    /// A side failed.
    Failed,
}

/// Whether the sides differ in the first figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DuetAnswer {
    /// The interval of the ratio does not contain 1.
    Different,
    /// The ratio is within the margin that was requested.
    Same {
        /// The interval does not contain 1, so the small difference is measurable.
        measurable: bool,
    },
    /// The data are too few for either answer.
    Undecided {
        /// About how many seconds the whole duet would take to decide; `None` if unknown.
        needs_s: Option<f64>,
    },
}

/// The result of a duet. Ratios are side B over side A.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuetSummary {
    /// [`DUET_SCHEMA_VERSION`].
    pub schema_version: u32,
    /// `dyno 0.1.0`.
    pub tool: String,
    /// Its name, which both runs have as a fact.
    pub name: String,
    /// The sides, A first.
    pub sides: Vec<DuetSide>,
    /// How they shared the time.
    pub mode: DuetMode,
    /// The length of a slice.
    pub slice_ms: f64,
    /// The time after a switch that is not counted.
    pub cut_ms: f64,
    /// Counted blocks of four slices.
    pub blocks: u64,
    /// The time of these blocks.
    pub measured_s: f64,
    /// Why it ended.
    pub end: DuetEnd,
    /// The compared figures. The first is the one that the answer is about: the rate, or in an open
    /// loop the lowest percentile of the response time.
    pub figures: Vec<DuetFigure>,
    /// The first figure of a comparison of side A with itself, if one was requested.
    pub a_with_itself: Option<DuetFigure>,
    /// What else differs between the sides' runs.
    pub differences: Vec<DuetDifference>,
    /// The margin within which sides count as the same: 0.02 is 2 %.
    pub margin: Option<f64>,
    /// The answer about the first figure.
    pub answer: DuetAnswer,
    /// Findings about the duet as a whole, and those about a side that concern the ratio.
    pub findings: Vec<DuetFinding>,
    /// The worst of its findings.
    pub verdict: Verdict,
}

/// One side of a duet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuetSide {
    /// What differs from the other side, as typed.
    pub label: String,
    /// The server and its version; empty without one.
    pub server: String,
    /// Its run, if it was recorded.
    pub run: Option<Recorded>,
    /// Counted events.
    pub events: u64,
    /// The verdict of its run.
    pub verdict: Option<Verdict>,
    /// What a crash may lose under this side's settings; `None` if that is unknown.
    #[serde(default)]
    pub durability: Option<DurabilityClass>,
}

impl DuetSummary {
    /// The durability classes of A and B, if they differ: their figures then do not compare equal
    /// work.
    pub fn durabilities(&self) -> Option<(DurabilityClass, DurabilityClass)> {
        let [a, b] = self.sides.as_slice() else {
            return None;
        };
        let both = a.durability.zip(b.durability);
        both.filter(|(a, b)| a != b)
    }
}

/// A figure of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuetFigure {
    /// Its name, e.g. `rate`, `p95`, `server CPU per event`.
    pub name: String,
    /// The unit of `a` and `b`.
    pub unit: String,
    /// Which direction is better.
    pub better: Better,
    /// Side A, while it worked.
    pub a: Option<f64>,
    /// Side B, while it worked.
    pub b: Option<f64>,
    /// B over A, from paired blocks; `None` with too few.
    pub ratio: Option<f64>,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// The p-value of a difference. Those of other figures than the first are corrected for their
    /// number (Holm).
    pub p_corrected: Option<f64>,
    /// How many pairs the ratio comes from.
    pub pairs: u64,
}

/// A difference between the runs of both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuetDifference {
    /// What differs, e.g. `setting sync_binlog`.
    pub what: String,
    /// Its value on side A.
    pub a: String,
    /// Its value on side B.
    pub b: String,
}

/// A finding about a duet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DuetFinding {
    /// The check: `blocks`, `carry-over`, `idle-side`, or one of a side's run.
    pub check: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The evidence in whole sentences.
    pub evidence: String,
    /// What to try; empty if it passed.
    pub advice: String,
}
