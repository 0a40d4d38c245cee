//! A system with what it learnt: a method.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::rows::prepared;
use super::{EpisodeRows, System, SystemEntry, Weights, find_system};
use crate::differentiation::Graph;
use crate::embedder::Embedder;
use crate::error::{ParamError, TaskError};
use crate::fit::classifier::softmax_rows;
use crate::linalg::Matrix;
use crate::methods::dsn::with_mirror_images;
use crate::methods::{Method, PriorKnowledge};
use crate::solution::Solution;
use crate::task::{Task, Unlabeled};

/// The tensor that holds the mean of the base classes.
pub const CENTRE: &str = "centre";

/// Learnt tensors by name.
pub type Tensors = BTreeMap<String, Matrix<f32>>;

/// What a head is and what it was trained on; kept in its file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadFacts {
    /// The system.
    pub system: String,
    /// Its constants.
    pub settings: Value,
    /// Dimensions of the features.
    pub dim: usize,
    /// Classes of the tasks it was trained with.
    pub ways: usize,
    /// Labelled rows per class of those tasks.
    pub shots: usize,
    /// The file of base-class features it was trained on.
    pub features: String,
    /// The first digits of that file's SHA-256.
    pub fingerprint: String,
    /// Number of base classes.
    pub classes: usize,
    /// Seed of the training.
    pub seed: u64,
    /// The command that trained it.
    pub command: String,
    /// The first digits of the SHA-256 of the network's weights, where they were trained together with the head: rows are
    /// then taken as that network gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<String>,
    /// The network that computed the features, where they were frozen and said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedder: Option<Embedder>,
}

impl HeadFacts {
    /// The network whose features it is for, where that is known.
    pub fn wanted(&self) -> Option<Embedder> {
        let own = self.network.as_ref().map(|weights| Embedder::new("the network trained with it", weights));
        own.or_else(|| self.embedder.clone())
    }
}

/// What is wrong with the parts of a head.
#[derive(Debug, thiserror::Error, PartialEq)]
#[non_exhaustive]
pub enum HeadError {
    /// There is no such system, or it does not take these constants.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A tensor that the system needs is not there.
    #[error("the tensor `{tensor}` of {system} is missing")]
    Missing {
        /// The system.
        system: String,
        /// The tensor.
        tensor: String,
    },
    /// A tensor has another shape than the system needs.
    #[error("the tensor `{tensor}` of {system} is {found:?}, but must be {expected:?}")]
    Shape {
        /// The system.
        system: String,
        /// The tensor.
        tensor: String,
        /// Its rows and columns.
        found: [usize; 2],
        /// What they must be.
        expected: [usize; 2],
    },
    /// A tensor holds something that is no number.
    #[error("the tensor `{tensor}` of {system} has numbers that are not finite")]
    NotFinite {
        /// The system.
        system: String,
        /// The tensor.
        tensor: String,
    },
}

/// A trained system.
pub struct Head {
    entry: &'static SystemEntry,
    system: Box<dyn System>,
    facts: HeadFacts,
    centre: Vec<f32>,
    weights: Vec<(&'static str, Arc<Matrix<f64>>)>,
}

impl Head {
    /// Puts a head together.
    ///
    /// # Errors
    /// [`HeadError`] names what is missing or does not fit.
    pub fn new(facts: HeadFacts, tensors: &Tensors) -> Result<Self, HeadError> {
        let entry = find_system(&facts.system)?;
        let system = entry.make(&facts.settings)?;
        let find = |name: &str, expected: [usize; 2]| {
            let (owner, tensor) = (facts.system.clone(), name.to_owned());
            let Some(matrix) = tensors.get(name) else {
                return Err(HeadError::Missing { system: owner, tensor });
            };
            let found = [matrix.rows(), matrix.columns()];
            if found != expected {
                return Err(HeadError::Shape { system: owner, tensor, found, expected });
            }
            match matrix.first_non_finite() {
                Some(_) => Err(HeadError::NotFinite { system: owner, tensor }),
                None => Ok(matrix),
            }
        };
        let centre = find(CENTRE, [1, facts.dim])?.as_slice().to_vec();
        let weights = system
            .tensors(facts.dim, facts.ways)
            .into_iter()
            .map(|spec| Ok((spec.name, Arc::new(find(spec.name, [spec.rows, spec.columns])?.cast()))))
            .collect::<Result<_, HeadError>>()?;
        Ok(Self { entry, system, facts, centre, weights })
    }

    /// The same head for features of this network, where its file does not say of which.
    #[must_use]
    pub fn with_embedder(mut self, embedder: Embedder) -> Self {
        self.facts.embedder.get_or_insert(embedder);
        self
    }

    /// What it was trained on.
    pub fn facts(&self) -> &HeadFacts {
        &self.facts
    }

    fn check(&self, task: &Task<f32>) -> Result<(), TaskError> {
        let refuse = |reason: String| Err(TaskError::Unsupported { method: self.entry.name, reason });
        let facts = &self.facts;
        if task.dim() != facts.dim {
            let dim = task.dim();
            return refuse(format!("it was trained on features of {} dimensions, not {dim}", facts.dim));
        }
        if self.system.fixed_ways() && task.ways() != facts.ways {
            return refuse(format!("it was trained for {} classes, not {}", facts.ways, task.ways()));
        }
        let mut counts = vec![0; task.ways()];
        task.support_labels().iter().for_each(|&label| counts[label] += 1);
        let least = self.system.least_shots();
        if least > 1 && counts.iter().any(|&count| count < least || count != counts[0]) {
            return refuse(format!(
                "it needs equally many labelled rows of every class, at least {least}; features of `handful embed --views` \
                 have the mirror image as a second"
            ));
        }
        Ok(())
    }

    fn probabilities(&self, task: &Task<f32>, query: &Matrix<f32>) -> Result<Matrix<f32>, TaskError> {
        let graph = Graph::new();
        let length = self.system.row_length(task.dim());
        let rows = |rows: &Matrix<f32>| {
            graph.constant(match self.facts.network {
                Some(_) => rows.cast(),
                None => prepared(rows, &self.centre, length),
            })
        };
        let weights: Weights<'_> =
            self.weights.iter().map(|(name, value)| (*name, graph.leaf(Arc::clone(value)))).collect();
        let query = rows(query);
        let rows = EpisodeRows {
            support: rows(task.support()),
            labels: task.support_labels().to_vec(),
            ways: task.ways(),
            unlabeled: if task.is_transductive() { query } else { rows(task.pool()) },
            query,
        };
        let mut logits = self.system.logits(&weights, &rows).value().as_ref().clone();
        if logits.first_non_finite().is_some() {
            let reason = "its numbers became too large on these features".to_owned();
            return Err(TaskError::Unsupported { method: self.entry.name, reason });
        }
        softmax_rows(&mut logits);
        Ok(logits.cast())
    }
}

impl Method for Head {
    fn name(&self) -> &'static str {
        self.entry.name
    }

    fn prior(&self) -> PriorKnowledge {
        PriorKnowledge { setting: self.system.setting(), knows_class_sizes: false }
    }

    fn params(&self) -> Value {
        let mut params = self.facts.settings.clone();
        if let Value::Object(map) = &mut params {
            let facts = &self.facts;
            map.insert("trained_on".into(), json!(facts.features));
            map.insert("trained_ways".into(), json!(facts.ways));
            map.insert("trained_shots".into(), json!(facts.shots));
            map.insert("features_sha256".into(), json!(facts.fingerprint));
            map.insert("seed".into(), json!(facts.seed));
            if let Some(network) = &facts.network {
                map.insert("network_sha256".into(), json!(network));
            }
        }
        params
    }

    fn check_embedder(&self, features: &Embedder) -> Result<(), TaskError> {
        match self.facts.wanted() {
            Some(wanted) if !wanted.agrees(features) => {
                let reason = format!("its head is for features of {wanted}, and these are of {features}");
                Err(TaskError::Unsupported { method: self.entry.name, reason })
            }
            _ => Ok(()),
        }
    }

    fn solve(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let doubled = if self.system.least_shots() > 1 { with_mirror_images(task)? } else { None };
        let task = doubled.as_ref().unwrap_or(task);
        self.check(task)?;
        let query = self.probabilities(task, task.query())?;
        let unlabeled = match task.unlabeled() {
            Unlabeled::Query => query.clone(),
            Unlabeled::Pool(pool) => self.probabilities(task, pool)?,
        };
        Ok(Solution::from_probabilities(query, unlabeled))
    }
}
