//! Figures for each statement shape. Statements that differ only in their values, or in the number
//! at the end of a table's name, have the same shape.

use std::collections::HashMap;
use std::hash::{BuildHasher, DefaultHasher, Hasher, RandomState};

use dyno_core::clock::Nanos;
use dyno_core::db::{Outcome, OutcomeKind, Param, PipedResult, StatementId, TransactionStep};
use dyno_core::interval::Latencies;
use dyno_core::session::Request;
use serde::{Deserialize, Serialize};

use super::examples;
use super::literals::{Literals, shape};

/// Maximum number of shapes. Any more are counted together.
const SHAPES_MAX: usize = 256;
/// Maximum number of texts that are remembered with their shapes.
const TEXTS_MAX: usize = 65_536;
/// The name of the shapes beyond [`SHAPES_MAX`].
const OTHERS: &str = "other statements";

/// The statements of one shape within the measurement.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ShapeFigures {
    /// The statement with `?` for values and `N` for numbers at the end of names.
    pub shape: Box<str>,
    /// Failed executions.
    pub errors: u64,
    /// Rows that successful executions returned or changed.
    pub rows: u64,
    /// The latencies of successful executions, from sending the statement to receiving the whole
    /// answer.
    pub latencies: Latencies,
    /// The first statement with its values, if it is not too long.
    pub example: Option<Box<str>>,
    /// The prepared text.
    #[serde(skip)]
    pub(crate) prepared: Option<Box<str>>,
}

impl ShapeFigures {
    pub(crate) fn merge(&mut self, other: Self) {
        self.errors += other.errors;
        self.rows += other.rows;
        self.latencies.merge(&other.latencies);
        self.example = self.example.take().or(other.example);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Shapes {
    figures: Vec<ShapeFigures>,
    by_shape: HashMap<Box<str>, u32>,
    /// By the hash of the text, because most texts are sent over and over.
    by_text: HashMap<u64, u32>,
    seed: RandomState,
    literals: Literals,
}

/// The statements of a connection.
#[derive(Debug, Default)]
pub(crate) struct OwnShapes {
    /// The prepared statements in ascending order, with their shapes.
    prepared: Vec<(StatementId, u32)>,
    /// The shape being prepared.
    prepares: Option<u32>,
    /// The shape in progress, and when it started.
    under_way: Option<(u32, Nanos)>,
    /// Statements queued in a pipeline, with their shapes.
    piped: Vec<Option<u32>>,
    /// When the pipeline was sent, and how long it took.
    pipeline: (Nanos, Nanos),
}

impl Shapes {
    pub(crate) fn new(literals: Literals) -> Self {
        Self {
            literals,
            ..Self::default()
        }
    }

    pub(crate) fn begin(&mut self, own: &mut OwnShapes, request: &Request<'_>, at: Nanos) {
        own.under_way = None;
        let shape = match *request {
            Request::Query(sql) => {
                let shape = self.of(sql);
                let figures = &mut self.figures[shape as usize];
                if figures.example.is_none() {
                    figures.example = examples::of_text(sql);
                }
                shape
            }
            Request::Execute(statement, params) => match own.find(statement) {
                Some(shape) => {
                    self.exemplify(shape, params);
                    shape
                }
                None => return,
            },
            Request::Prepare(sql, _) => {
                let shape = self.of(sql);
                let figures = &mut self.figures[shape as usize];
                if figures.prepared.is_none() {
                    figures.prepared = examples::of_text(sql);
                }
                own.prepares = Some(shape);
                return;
            }
            Request::Transaction(step) => self.of(match step {
                TransactionStep::Begin { .. } => b"BEGIN",
                TransactionStep::Commit => b"COMMIT",
                TransactionStep::Rollback => b"ROLLBACK",
            }),
            Request::BulkLoad(_) => self.of(b"bulk load"),
            Request::EndPipeline => {
                own.pipeline = (at, 0);
                return;
            }
            Request::Recover | Request::CloseStatement(_) | Request::NextResult => return,
        };
        own.under_way = Some((shape, at));
    }

    /// Keeps the first execution of a prepared statement as an example.
    fn exemplify(&mut self, shape: u32, params: &[&Param]) {
        let literals = self.literals;
        let figures = self.figures.get_mut(shape as usize);
        let Some(figures) = figures.filter(|figures| figures.example.is_none()) else {
            return;
        };
        // If this fails, it is not tried again.
        if let Some(text) = figures.prepared.take() {
            figures.example = examples::filled(&text, params, literals);
        }
    }

    /// Handles the end of a statement, which need not be in the measurement.
    pub(crate) fn end(&mut self, own: &mut OwnShapes, outcome: &Outcome, at: Nanos, counts: bool) {
        if outcome.kind == OutcomeKind::Prepared
            && let Some(shape) = own.prepares.take()
        {
            own.add(outcome.statement, shape);
        }
        if outcome.kind == OutcomeKind::Piped {
            own.piped.push(own.under_way.take().map(|(shape, _)| shape));
            return;
        }
        own.pipeline.1 = at.saturating_sub(own.pipeline.0);
        let Some((shape, since)) = own.under_way.take() else {
            return;
        };
        let Some(figures) = self.figures.get_mut(shape as usize).filter(|_| counts) else {
            return;
        };
        if outcome.kind == OutcomeKind::Failed {
            figures.errors += 1;
            return;
        }
        figures.rows += outcome.rows + outcome.affected;
        figures.latencies.record_service(at.saturating_sub(since));
    }

    /// Handles a statement of a pipeline that has ended or failed. Its time is an equal share of
    /// the time of the pipeline.
    pub(crate) fn piped(
        &mut self,
        own: &OwnShapes,
        index: usize,
        result: Option<PipedResult>,
        counts: bool,
    ) {
        let shape = own.piped.get(index).copied().flatten();
        let figures = shape.and_then(|shape| self.figures.get_mut(shape as usize));
        let Some(figures) = figures.filter(|_| counts) else {
            return;
        };
        let Some(result) = result else {
            figures.errors += 1;
            return;
        };
        figures.rows += result.rows + result.affected;
        let share_ns = own.pipeline.1 / own.piped.len() as u64;
        figures.latencies.record_service(share_ns);
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for theirs in other.figures {
            let place = self.index_of(theirs.shape.clone());
            self.figures[place as usize].merge(theirs);
        }
    }

    /// The shapes that were executed, those with the most total time first.
    pub(crate) fn figures(self) -> Vec<ShapeFigures> {
        let mut figures = self.figures;
        figures.retain(|one| one.errors > 0 || !one.latencies.service.is_empty());
        figures.sort_by_key(|one| std::cmp::Reverse(one.latencies.service_ns_sum));
        figures
    }

    fn of(&mut self, sql: &[u8]) -> u32 {
        let mut hasher: DefaultHasher = self.seed.build_hasher();
        hasher.write(sql);
        let hash = hasher.finish();
        if let Some(shape) = self.by_text.get(&hash) {
            return *shape;
        }
        let shape = self.index_of(shape(sql, self.literals).into());
        if self.by_text.len() < TEXTS_MAX {
            self.by_text.insert(hash, shape);
        }
        shape
    }

    /// The index of a shape. Adds the shape if it is new.
    fn index_of(&mut self, shape: Box<str>) -> u32 {
        if let Some(place) = self.by_shape.get(&shape) {
            return *place;
        }
        let full = self.figures.len() + 1 >= SHAPES_MAX;
        let shape = if full { OTHERS.into() } else { shape };
        if let Some(place) = self.by_shape.get(&shape) {
            return *place;
        }
        let place = self.figures.len() as u32;
        self.figures.push(ShapeFigures {
            shape: shape.clone(),
            ..ShapeFigures::default()
        });
        self.by_shape.insert(shape, place);
        place
    }
}

impl OwnShapes {
    pub(crate) fn forget_piped(&mut self) {
        self.piped.clear();
    }

    fn find(&self, statement: StatementId) -> Option<u32> {
        let place = self
            .prepared
            .binary_search_by_key(&statement, |(number, _)| *number);
        Some(self.prepared[place.ok()?].1)
    }

    fn add(&mut self, statement: StatementId, shape: u32) {
        let place = self
            .prepared
            .binary_search_by_key(&statement, |(number, _)| *number);
        match place {
            Ok(place) => self.prepared[place].1 = shape,
            Err(place) => self.prepared.insert(place, (statement, shape)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(kind: OutcomeKind, rows: u64) -> Outcome {
        Outcome {
            kind,
            rows,
            ..Outcome::default()
        }
    }

    #[test]
    fn prepared_and_texts_are_counted_by_shape() {
        let (mut shapes, mut own) = (Shapes::default(), OwnShapes::default());
        let run = |shapes: &mut Shapes, own: &mut OwnShapes, request: Request<'_>, counts| {
            shapes.begin(own, &request, 100);
            shapes.end(own, &outcome(OutcomeKind::Rows, 2), 350, counts);
        };
        let prepare = Request::Prepare(b"SELECT a FROM t1 WHERE id = ?", &[]);
        shapes.begin(&mut own, &prepare, 0);
        shapes.end(&mut own, &outcome(OutcomeKind::Prepared, 0), 5, true);
        let execute = || Request::Execute(StatementId::default(), &[]);
        run(&mut shapes, &mut own, execute(), true);
        run(&mut shapes, &mut own, execute(), false);
        run(
            &mut shapes,
            &mut own,
            Request::Query(b"SELECT a FROM t7 WHERE id = 3"),
            true,
        );
        shapes.begin(&mut own, &execute(), 1);
        shapes.end(&mut own, &outcome(OutcomeKind::Failed, 0), 9, true);
        let mut other = Shapes::default();
        run(
            &mut other,
            &mut OwnShapes::default(),
            Request::Query(b"SELECT 1"),
            true,
        );
        shapes.merge(other);
        let figures = shapes.figures();
        assert_eq!(figures.len(), 2);
        assert_eq!(&*figures[0].shape, "SELECT a FROM tN WHERE id = ?");
        assert_eq!((figures[0].errors, figures[0].rows), (1, 4));
        assert_eq!(figures[0].latencies.service.len(), 2);
        assert_eq!(figures[0].latencies.service_ns_sum, 500);
        assert_eq!(&*figures[1].shape, "SELECT ?");
    }

    #[test]
    fn beyond_a_bound_shapes_are_not_distinguished() {
        let (mut shapes, mut own) = (Shapes::default(), OwnShapes::default());
        for number in 0..1_000 {
            let sql = format!("SELECT {}", "a".repeat(number + 1));
            shapes.begin(&mut own, &Request::Query(sql.as_bytes()), 0);
            shapes.end(&mut own, &outcome(OutcomeKind::Rows, 1), 10, true);
        }
        let figures = shapes.figures();
        assert_eq!(figures.len(), SHAPES_MAX);
        let rows: u64 = figures.iter().map(|one| one.rows).sum();
        assert_eq!(rows, 1_000);
        assert!(figures.iter().any(|one| &*one.shape == OTHERS));
    }
}
