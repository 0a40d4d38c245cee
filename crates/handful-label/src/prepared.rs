//! A pool made ready: all that does not depend on labels, once.

use std::collections::HashMap;
use std::sync::Arc;

use handful::graph::evenly_spread;
use handful::graph::inverted_lists::InvertedLists;
use handful::graph::neighbours::Neighbours;
use handful::linalg::dot;
use handful::{Matrix, Method};

use crate::error::LabelError;
use crate::labelling::{Labelling, NeighbourRow, RowLabel};
use crate::map::PoolMap;
use crate::members::{Fit, HEAD_STEPS, Member};
use crate::model::{Anchors, LabelModel, ModelHeader};
use crate::model_file::VERSION;
use crate::neighbourhood::Neighbourhood;
use crate::params::{LabelParams, Rule};
use crate::pool::PoolRows;
use crate::projection::{Projection, unit_rows};
use crate::rules::adaptive::{Evidence, Fitted, Recipe};
use crate::rules::method;
use crate::rules::smoothing::SmoothingPool;

/// Unlabelled rows of the transductive fits, in the pool and where labels are left out.
const TRANSDUCTIVE_ROWS: usize = 20_000;
const CHECKED_ROWS: usize = 1500;
/// Rows times classes from which one member has to do and the head is not distilled.
pub(crate) const MANY_CELLS: usize = 40_000_000;
/// Iterations of the member's head there: with thousands of classes a step costs seconds, and a few find what matters.
const MANY_CELLS_STEPS: usize = 8;
/// What of the head is in the labels.
const HEAD_SHARE: f32 = 0.5;
/// The most labels that a fit looks at, evenly spread over each class's.
const MOST_LABELS: usize = 20_000;
/// Share of left-out labels that may look as strange as a rejected row.
const REJECT_MISS: f64 = 0.05;

/// A pool with its coordinates, neighbours, smoothed features and whitening.
pub struct PreparedPool {
    source: Arc<dyn PoolRows>,
    params: LabelParams,
    projection: Arc<Projection>,
    kind: Kind,
}

enum Kind {
    Members(Neighbourhood),
    Smoothing { coordinates: Matrix<f32>, pool: SmoothingPool },
    Method { method: Box<dyn Method>, rows: Matrix<f32>, pool: Neighbourhood },
}

/// What a fit gave.
pub struct LabelFit {
    /// Labels new rows.
    pub model: LabelModel,
    /// The labels of the pool's rows.
    pub labelling: Labelling,
    /// Lets the next fit go without leaving labels out; its calibration is then this one's.
    pub evidence: Option<LabelEvidence>,
}

/// What the labels left out said in an earlier fit.
#[derive(Clone)]
pub struct LabelEvidence {
    ways: usize,
    evidence: Evidence,
}

impl PreparedPool {
    /// Prepares a pool: projection, neighbours, smoothing, whitening.
    ///
    /// # Errors
    /// A parameter out of range, a value that is not finite, a source that cannot be read.
    pub fn new(source: Arc<dyn PoolRows>, params: &LabelParams) -> Result<Self, LabelError> {
        params.check()?;
        let projection = Projection::fit(source.as_ref(), params.components, params.seed)?;
        let kind = if params.rule == Rule::Smoothing {
            let mut coordinates = projection.apply(source.as_ref())?;
            unit_rows(&mut coordinates);
            let pool = SmoothingPool::new(&coordinates, params);
            Kind::Smoothing { coordinates, pool }
        } else {
            Kind::Members(neighbourhood(source.as_ref(), &projection, params, &[])?)
        };
        Ok(Self { source, params: *params, projection: Arc::new(projection), kind })
    }

    /// Prepares a pool for a method of the benchmark.
    ///
    /// # Errors
    /// As [`Self::new`]; a pool beyond what the method can hold.
    pub fn for_method(
        source: Arc<dyn PoolRows>,
        method: Box<dyn Method>,
        params: &LabelParams,
    ) -> Result<Self, LabelError> {
        params.check()?;
        if source.rows() > method::MOST_ROWS {
            return Err(LabelError::TooManyRows {
                method: method.name(),
                rows: source.rows(),
                most: method::MOST_ROWS,
            });
        }
        let projection = Projection::fit(source.as_ref(), params.components, params.seed)?;
        let whole = LabelParams { exact_rows: usize::MAX, ..*params };
        let pool = neighbourhood(source.as_ref(), &projection, &whole, &[])?;
        let rows = source.gather(&(0..source.rows()).collect::<Vec<_>>());
        Ok(Self {
            kind: Kind::Method { method, rows, pool },
            source,
            params: whole,
            projection: Arc::new(projection),
        })
    }

    /// Number of rows; those of prototypes are none of the pool's.
    pub fn rows(&self) -> usize {
        self.source.rows() - self.source.prototypes().map_or(0, |prototypes| prototypes.classes.len())
    }

    /// Number of columns of the features.
    pub fn dim(&self) -> usize {
        self.source.dim()
    }

    /// The rows as they were given.
    pub fn source(&self) -> &dyn PoolRows {
        self.source.as_ref()
    }

    /// What the pool was prepared with.
    pub fn params(&self) -> &LabelParams {
        &self.params
    }

    /// Labels the pool from rows with known classes (numbers from 0 to `ways - 1`, each with at least one row or prototype).
    ///
    /// # Errors
    /// Labels that do not fit the pool or contradict each other.
    pub fn fit(&self, labels: &[(usize, usize)], ways: usize) -> Result<LabelFit, LabelError> {
        self.fit_with(labels, ways, &[], None)
    }

    /// The same, where the labels of some rows were drawn from the pool by chance (`choose --random`): promises then rest
    /// on those alone, and need not guess how the other labels were come by.
    ///
    /// # Errors
    /// As [`Self::fit`].
    pub fn fit_audited(
        &self,
        labels: &[(usize, usize)],
        ways: usize,
        audit: &[usize],
    ) -> Result<LabelFit, LabelError> {
        self.fit_with(labels, ways, audit, None)
    }

    /// The same without leaving labels out: weights and calibration are those of an earlier fit with as many classes.
    ///
    /// # Errors
    /// As [`Self::fit`].
    pub fn refit(
        &self,
        labels: &[(usize, usize)],
        ways: usize,
        evidence: &LabelEvidence,
    ) -> Result<LabelFit, LabelError> {
        self.fit_with(labels, ways, &[], (evidence.ways == ways).then_some(&evidence.evidence))
    }

    fn fit_with(
        &self,
        labels: &[(usize, usize)],
        ways: usize,
        audit: &[usize],
        evidence: Option<&Evidence>,
    ) -> Result<LabelFit, LabelError> {
        let own = self.rows();
        if let Some(&(row, _)) = labels.iter().find(|(row, _)| *row >= own) {
            return Err(LabelError::RowRange { row, rows: own });
        }
        let Some(prototypes) = self.source.prototypes() else {
            return self.fit_all(labels, ways, audit, evidence);
        };
        let behind = prototypes.classes.iter().enumerate().map(|(at, &class)| (own + at, class));
        let labels: Vec<(usize, usize)> = labels.iter().copied().chain(behind).collect();
        let mut fit = self.fit_all(&labels, ways, audit, evidence)?;
        fit.labelling.keep_rows(own);
        Ok(fit)
    }

    /// Fits to labels of rows and prototypes alike.
    fn fit_all(
        &self,
        labels: &[(usize, usize)],
        ways: usize,
        audit: &[usize],
        evidence: Option<&Evidence>,
    ) -> Result<LabelFit, LabelError> {
        self.check_labels(labels, ways)?;
        let prototypes = self.source.prototypes().map(|prototypes| (self.rows(), prototypes.weight));
        match &self.kind {
            Kind::Members(pool) => {
                let few = few_of_each_class(labels, ways);
                let wider;
                let missing = few.iter().any(|&(row, _)| pool.place(row).is_none());
                let pool = if missing {
                    let rows: Vec<usize> = few.iter().map(|&(row, _)| row).collect();
                    wider = neighbourhood(self.source.as_ref(), &self.projection, &self.params, &rows)?;
                    &wider
                } else {
                    pool
                };
                let many_cells = pool.rows().saturating_mul(ways) > MANY_CELLS;
                let fast = self.params.rule == Rule::Fast || many_cells;
                let members: &[Member] = match &self.params.rule {
                    Rule::Only(member) => std::slice::from_ref(member),
                    _ if fast => &[Member::Strongly],
                    _ => Member::of_mixture(few.len() <= ways),
                };
                let infer = |given: &[_], checking: bool| {
                    let most_rows = if checking { CHECKED_ROWS } else { TRANSDUCTIVE_ROWS };
                    let head_steps = if many_cells { MANY_CELLS_STEPS } else { HEAD_STEPS };
                    Ok(Fit { pool, ways, members, most_rows, head_steps }.run(given))
                };
                let distil = !many_cells;
                // A member alone is asked for itself.
                let alone = matches!(self.params.rule, Rule::Only(_));
                let head_share = if distil && !alone { HEAD_SHARE } else { 0.0 };
                let params = &self.params;
                let recipe =
                    Recipe { pool, ways, params, prototypes, infer: &infer, head_share, audit, distil };
                let places: Vec<(usize, usize)> =
                    few.iter().filter_map(|&(row, class)| Some((pool.place(row)?, class))).collect();
                let fitted = recipe.fit(&places, evidence)?;
                self.finish(pool, fitted, labels, head_share)
            }
            Kind::Method { method, rows, pool } => {
                let infer = |given: &[_], _| method::infer(method.as_ref(), rows, given, ways);
                let params = &self.params;
                let (head_share, distil) = (0.0, true);
                let recipe =
                    Recipe { pool, ways, params, prototypes, infer: &infer, head_share, audit, distil };
                let fitted = recipe.fit(labels, evidence)?;
                self.finish(pool, fitted, labels, 0.0)
            }
            Kind::Smoothing { coordinates, pool } => self.finish_smoothing(coordinates, pool, labels, ways),
        }
    }

    /// Makes the model, and labels the rows outside the fitted sample with it.
    fn finish(
        &self,
        pool: &Neighbourhood,
        fitted: Fitted,
        labels: &[(usize, usize)],
        head_share: f32,
    ) -> Result<LabelFit, LabelError> {
        let ways = fitted.labelling.ways;
        let mut labelling = fitted.labelling;
        let all: Vec<usize> = (0..pool.rows()).collect();
        let credibility = labelling.rows.iter().map(|row| row.credibility).collect();
        let arranged = (Arc::clone(&pool.coordinates), Arc::clone(&pool.lists));
        let anchors = Anchors::of(arranged, &fitted.mixed, &all, credibility);
        let header = self.header(&labelling, fitted.pessimistic, head_share);
        let model = LabelModel {
            header,
            projection: Arc::clone(&self.projection),
            head: fitted.head,
            anchors,
            class_means: fitted.class_means,
            class_floor: fitted.class_floor,
        };
        if pool.numbers.is_some() {
            labelling.sampled_rows = Some(pool.rows());
            labelling.rows = model.predict(self.source.as_ref())?.rows;
            for &(row, class) in labels {
                labelling.rows[row] = RowLabel::given(class, labelling.rows[row].familiarity);
            }
        }
        Ok(LabelFit { model, labelling, evidence: Some(LabelEvidence { ways, evidence: fitted.evidence }) })
    }

    fn finish_smoothing(
        &self,
        coordinates: &Matrix<f32>,
        pool: &SmoothingPool,
        labels: &[(usize, usize)],
        ways: usize,
    ) -> Result<LabelFit, LabelError> {
        let (mut labelling, mut probabilities) = pool.fit(labels, ways, &self.params);
        labelling.sampled_rows = pool.landmarks(&self.params);
        for &(row, class) in labels {
            probabilities.row_mut(row).fill(0.0);
            probabilities.row_mut(row)[class] = 1.0;
        }
        let mut rows = evenly_spread(coordinates.rows(), self.params.exact_rows);
        rows.extend(labels.iter().map(|&(row, _)| row));
        rows.sort_unstable();
        rows.dedup();
        let sample = coordinates.gather(&rows);
        let opinions = probabilities.gather(&rows);
        let credibility = rows.iter().map(|&row| labelling.rows[row].credibility).collect();
        let lists = Arc::new(InvertedLists::new(&sample));
        let sample = Arc::new(sample);
        let places: Vec<usize> = (0..rows.len()).collect();
        let examples = handful::fit::head::Example::given(labels, ways, 0.0);
        let model = LabelModel {
            header: self.header(&labelling, labelling.calibration.temperature, 0.0),
            projection: Arc::clone(&self.projection),
            head: handful::fit::head::SoftmaxHead::fit_soft(&sample, &opinions, 3.0, 30),
            anchors: Anchors::of((sample, lists), &opinions, &places, credibility),
            class_means: crate::familiarity::class_means(&pool.features, &examples, ways),
            class_floor: vec![0.0; ways],
        };
        Ok(LabelFit { model, labelling, evidence: None })
    }

    fn header(&self, labelling: &Labelling, pessimistic: f64, head_share: f32) -> ModelHeader {
        ModelHeader {
            handful_model: VERSION,
            classes: (0..labelling.ways).map(|class| class.to_string()).collect(),
            dim: self.source.dim(),
            network: None,
            rooted: self.projection.rooted,
            temperature: labelling.calibration.temperature,
            pessimistic,
            labels_left_out: labelling.calibration.labels_left_out,
            calibrated: labelling.calibration.fitted,
            head_share,
            familiarity_limit: labelling.familiarity_limit(REJECT_MISS),
        }
    }

    /// Unit coordinates of the prepared rows, and their numbers in the pool where they are a sample of it.
    pub(crate) fn coordinates(&self) -> (&Matrix<f32>, Option<&[usize]>) {
        match &self.kind {
            Kind::Members(pool) | Kind::Method { pool, .. } => (&pool.coordinates, pool.numbers.as_deref()),
            Kind::Smoothing { coordinates, .. } => (coordinates, None),
        }
    }

    /// Unit coordinates of some rows of the pool.
    ///
    /// # Errors
    /// A value that is not finite.
    pub fn coordinates_of(&self, rows: &[usize]) -> Result<Matrix<f32>, LabelError> {
        let mut coordinates = self.projection.apply(&self.source.gather(rows))?;
        unit_rows(&mut coordinates);
        Ok(coordinates)
    }

    /// The pool in two dimensions, to be improved.
    ///
    /// # Errors
    /// A value that is not finite.
    pub fn map(&self) -> Result<PoolMap, LabelError> {
        let graph = match &self.kind {
            Kind::Members(pool) | Kind::Method { pool, .. } => Some((&pool.graph, pool.lists.as_ref())),
            Kind::Smoothing { .. } => None,
        };
        PoolMap::new(self, self.coordinates().0, graph)
    }

    /// The rows nearest to one among `candidates`.
    ///
    /// # Errors
    /// A value that is not finite.
    pub fn nearest(
        &self,
        row: usize,
        count: usize,
        candidates: &[usize],
    ) -> Result<Vec<NeighbourRow>, LabelError> {
        let candidates: Vec<usize> = candidates.iter().copied().filter(|&other| other != row).collect();
        let (own, others) = match &self.kind {
            Kind::Smoothing { pool, .. } => (pool.features.gather(&[row]), pool.features.gather(&candidates)),
            _ => (self.coordinates_of(&[row])?, self.coordinates_of(&candidates)?),
        };
        let found = Neighbours::find(&own, &others, count);
        if found.per_row == 0 {
            return Ok(Vec::new());
        }
        let neighbour = |&at: &u32| NeighbourRow {
            row: candidates[at as usize],
            similarity: dot(own.row(0), others.row(at as usize)),
        };
        Ok(found.of_row(0).iter().map(neighbour).collect())
    }

    fn check_labels(&self, labels: &[(usize, usize)], ways: usize) -> Result<(), LabelError> {
        if ways < 2 {
            return Err(LabelError::TooFewClasses { ways });
        }
        let rows = self.source.rows();
        let mut counts = vec![0usize; ways];
        for &(row, class) in labels {
            if row >= rows {
                return Err(LabelError::RowRange { row, rows });
            }
            *counts.get_mut(class).ok_or(LabelError::EmptyClass { class })? += 1;
        }
        if let Some(class) = counts.iter().position(|&count| count == 0) {
            return Err(LabelError::EmptyClass { class });
        }
        let mut seen: HashMap<Vec<u32>, (usize, usize)> = HashMap::new();
        for labels in labels.chunks(MOST_LABELS) {
            let numbers: Vec<usize> = labels.iter().map(|&(row, _)| row).collect();
            for (values, &(row, class)) in self.source.gather(&numbers).iter_rows().zip(labels) {
                let bits = values.iter().map(|value| (value + 0.0).to_bits()).collect();
                let &mut (first, earlier) = seen.entry(bits).or_insert((row, class));
                if earlier != class {
                    return Err(LabelError::Contradiction { first, second: row });
                }
            }
        }
        Ok(())
    }
}

/// The neighbourhood of the whole pool, or of an evenly spread sample and the rows that must be in it.
fn neighbourhood(
    source: &dyn PoolRows,
    projection: &Projection,
    params: &LabelParams,
    required: &[usize],
) -> Result<Neighbourhood, LabelError> {
    if source.rows() <= params.exact_rows {
        let mut coordinates = projection.apply(source)?;
        unit_rows(&mut coordinates);
        return Ok(Neighbourhood::new(coordinates, None, params.neighbours));
    }
    let mut rows = evenly_spread(
        source.rows(),
        params.exact_rows.saturating_sub(required.len()).max(params.exact_rows / 2),
    );
    rows.extend(required);
    rows.sort_unstable();
    rows.dedup();
    let mut coordinates = projection.apply(&source.gather(&rows)).map_err(|error| match error {
        LabelError::NotFinite { row, column, value } => {
            LabelError::NotFinite { row: rows[row], column, value }
        }
        other => other,
    })?;
    unit_rows(&mut coordinates);
    Ok(Neighbourhood::new(coordinates, Some(rows), params.neighbours))
}

/// All labels, or of very many as many of each class as there is room for.
fn few_of_each_class(labels: &[(usize, usize)], ways: usize) -> Vec<(usize, usize)> {
    if labels.len() <= MOST_LABELS {
        return labels.to_vec();
    }
    let mut of_class: Vec<Vec<usize>> = vec![Vec::new(); ways];
    labels.iter().for_each(|&(row, class)| of_class[class].push(row));
    let most = (MOST_LABELS / ways).max(1);
    let spread = |(class, rows): (usize, &Vec<usize>)| {
        let chosen: Vec<(usize, usize)> =
            evenly_spread(rows.len(), most).into_iter().map(|at| (rows[at], class)).collect();
        chosen
    };
    of_class.iter().enumerate().flat_map(spread).collect()
}
