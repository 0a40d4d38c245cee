//! Fitting the softmax classifier: full-batch Adam on the objective, from the prototypes.
//!
//! A [`Fitter`] holds everything of one task that several fits share (padded rows, the centred feature kernel, all
//! buffers), so a fit allocates nothing per step. The unlabelled rows are scored once per step whatever uses them:
//! rows of the pool that have joined the labelled set add their cross-entropy to the residuals that the unlabelled
//! terms left there.

pub mod adam;
pub mod basis;
pub mod class_shares;
pub mod classifier;
pub mod head;
pub(crate) mod lbfgs;
pub mod logistic;
pub mod pool_fit;
pub(crate) mod segment;
mod soft_loss;

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, TaskError, check_range};
use crate::fit::adam::{Parameters, StepScale};
use crate::fit::classifier::{LinearClassifier, weighted_prototypes};
use crate::fit::segment::{Dependence, DependenceValues, Labelled, Segment};
use crate::linalg::Matrix;
use crate::linalg::sums::sum_by_lanes;
use crate::paper::fisher_dependence::FisherDependence;
use crate::paper::hsic::{Bandwidth, KernelFeatures, centred_gaussian};
use crate::paper::objective::{Objective, TermWeights};
use crate::scalar::Scalar;
use crate::simd::{AdamStep, Kernels, PaddedRows, padded};
use crate::solution::{FitTrace, LossParts};

/// What the parameters of the classifier are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Head {
    /// Weights and biases of a linear classifier, free after the prototype start (the paper).
    Linear,
    /// One prototype per class, logits -|z - w|^2 / T (TIM, whose temperature is 2 / T).
    Prototype,
}

/// Everything a fit needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct FitParams {
    /// What is fitted.
    pub head: Head,
    /// T of the start `W = 2 mu / T`, `b = -|mu|^2 / T`.
    pub temperature: f64,
    /// T when classes have five or more labelled rows on average.
    pub temperature_five_shot: f64,
    /// The loss.
    #[serde(flatten)]
    pub objective: Objective,
    /// Bandwidth of the Gaussian kernel on features.
    pub feature_bandwidth: Bandwidth,
    /// Which features that kernel compares.
    pub kernel_features: KernelFeatures,
    /// Adam steps.
    pub steps: usize,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// What its steps are measured by.
    pub step_scale: StepScale,
    /// Stop when the loss has changed by less than this fraction over ten steps; 0 never stops early.
    pub tolerance: f64,
    /// Weight of a pseudo-labelled row in the start and in the cross-entropy, relative to a given label's 1.
    pub pseudo_label_weight: f64,
    /// The most memory the feature kernel may take, in megabytes.
    pub memory_limit_mb: u64,
}

impl FitParams {
    /// Checks every value's range.
    ///
    /// # Errors
    /// [`ParamError::OutOfRange`] names the first value that is wrong.
    pub fn check(&self) -> Result<(), ParamError> {
        self.objective.check()?;
        check_range("temperature", self.temperature, self.temperature > 0.0, "a number above 0")?;
        let temperature = self.temperature_five_shot;
        check_range("temperature_five_shot", temperature, temperature > 0.0, "a number above 0")?;
        check_range("learning_rate", self.learning_rate, self.learning_rate > 0.0, "a number above 0")?;
        check_range("tolerance", self.tolerance, self.tolerance >= 0.0, "a number from 0 up")?;
        let weight = self.pseudo_label_weight;
        check_range("pseudo_label_weight", weight, weight > 0.0, "a number above 0")?;
        let bandwidth = match self.feature_bandwidth {
            Bandwidth::Fixed(value) | Bandwidth::Median(value) => value,
        };
        check_range("feature_bandwidth", bandwidth, bandwidth > 0.0, "a number above 0")
    }
}

/// Whether a task has so many labelled rows per class that the parameters named `five_shot` are meant.
pub(crate) fn has_five_shots(mean_shots: f64) -> bool {
    mean_shots >= 5.0
}

impl FitParams {
    /// Returns the parameters with the temperature that suits a task's labelled rows per class.
    pub fn for_shots(&self, mean_shots: f64) -> Self {
        let many = has_five_shots(mean_shots);
        let temperature = if many { self.temperature_five_shot } else { self.temperature };
        Self { temperature, temperature_five_shot: temperature, ..*self }
    }
}

const BETA1: f64 = 0.9;
const BETA2: f64 = 0.999;
const EPSILON: f64 = 1e-8;
/// What a class's share is at least, so that its logarithm is finite.
const LEAST_SHARE: f64 = 1e-6;
/// Steps between two looks at the loss when stopping early.
const CHECK_EVERY: usize = 10;

/// A pool row that joined the labelled set, and the class it joined with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PseudoLabel {
    /// Row of the pool.
    pub row: usize,
    /// Its class.
    pub class: usize,
}

/// Fits classifiers on one set of rows; see the module.
pub struct Fitter<'a, T: Scalar> {
    params: &'a FitParams,
    kernels: &'static Kernels<T>,
    ways: usize,
    anchors: &'a Matrix<T>,
    anchor_labels: &'a [usize],
    /// The first anchors, whose labels were given; the others are pseudo-labelled.
    given: usize,
    pool: &'a Matrix<T>,
    weights: TermWeights,
    labelled: Segment<T>,
    unlabelled: Segment<T>,
    dependence: Dependence<T>,
    weight: Parameters<T>,
    bias: Parameters<T>,
    /// Weights and biases of the linear form of a prototype head.
    linear_weight: PaddedRows<T>,
    linear_bias: Vec<T>,
    /// Logarithms of the shares the classes are pulled towards; empty where they are equal.
    log_shares: Vec<T>,
}

impl<'a, T: Scalar> Fitter<'a, T> {
    /// Prepares fits with given labels on `anchors` and none on `pool`.
    ///
    /// # Errors
    /// [`TaskError::KernelTooLarge`] where the kernel of the pool would not fit.
    pub fn new(
        params: &'a FitParams,
        ways: usize,
        anchors: &'a Matrix<T>,
        anchor_labels: &'a [usize],
        pool: &'a Matrix<T>,
    ) -> Result<Self, TaskError> {
        let weights = params.objective.weights(pool.rows());
        let centred_kernel = if weights.trace != 0.0 {
            Some(centred_gaussian(
                pool,
                params.feature_bandwidth,
                params.kernel_features,
                params.memory_limit_mb,
            )?)
        } else {
            None
        };
        let fisher = (weights.fisher != 0.0)
            .then(|| FisherDependence::new(pool, ways, params.objective.fisher_directions));
        let bandwidth = T::from_f64(params.objective.prediction_bandwidth);
        let unlabelled = if weights.uses_unlabelled() { pool.clone() } else { pool.gather(&[]) };
        Ok(Self {
            params,
            kernels: T::kernels(),
            ways,
            anchors,
            anchor_labels,
            given: anchor_labels.len(),
            pool,
            weights,
            labelled: Segment::new(anchors, ways),
            unlabelled: Segment::new(&unlabelled, ways),
            dependence: Dependence { centred_kernel, bandwidth, fisher },
            weight: Parameters::zeros(ways, anchors.columns()),
            bias: Parameters::zeros(1, ways),
            linear_weight: PaddedRows::zeros(ways, anchors.columns()),
            linear_bias: vec![T::ZERO; padded(ways)],
            log_shares: Vec::new(),
        })
    }

    /// Makes the marginal term pull towards these shares of the classes instead of equal ones; none mean equal ones.
    pub fn with_class_shares(mut self, shares: &[f64]) -> Self {
        self.log_shares = shares.iter().map(|share| T::from_f64(share.max(LEAST_SHARE).ln())).collect();
        self
    }

    /// Fits from the prototypes of the anchors and the pseudo-labelled rows. Give a trace to have it filled.
    pub fn fit(&mut self, pseudo: &[PseudoLabel], mut trace: Option<&mut FitTrace>) -> LinearClassifier<T> {
        let (given, joined) = self.prepare(pseudo);
        let mut last_loss = f64::INFINITY;
        for step in 0..self.params.steps {
            let look = self.params.tolerance > 0.0 && step % CHECK_EVERY == 0;
            let parts = self.gradient(&given, &joined, trace.is_some() || look);
            if let (Some(trace), Some(parts)) = (trace.as_deref_mut(), parts) {
                trace.steps.push(parts);
                if self.weights.uses_unlabelled() {
                    trace.labels.push(self.unlabelled.labels());
                }
            }
            if let (true, Some(parts)) = (look, parts) {
                if (last_loss - parts.loss).abs() <= self.params.tolerance * parts.loss.abs() {
                    break;
                }
                last_loss = parts.loss;
            }
            self.update(step);
        }
        self.classifier()
    }

    /// Puts the classifier at its start, and says which rows of the two segments are labelled, and how heavily.
    fn prepare(&mut self, pseudo: &[PseudoLabel]) -> (Vec<Labelled<T>>, Vec<Labelled<T>>) {
        let pseudo_weight = self.params.pseudo_label_weight;
        let weight = |row: usize| if row < self.given { 1.0 } else { pseudo_weight };
        let (known, labels) = self.labelled_set(pseudo);
        let weighted = labels.iter().enumerate().map(|(row, &label)| (label, weight(row)));
        let start = weighted_prototypes(&known, weighted, self.ways);
        let total: f64 = (0..labels.len()).map(weight).sum();
        let share = self.weights.cross_entropy / total;
        let given = |(row, &class): (usize, &usize)| Labelled {
            row,
            class,
            weight: T::from_f64(share * weight(row)),
        };
        let given: Vec<_> = self.anchor_labels.iter().enumerate().map(given).collect();
        let joined_weight = T::from_f64(share * pseudo_weight);
        let joined = |(at, label): (usize, &PseudoLabel)| Labelled {
            // Without a say of the unlabelled rows only the joined ones are kept, in the order they joined.
            row: if self.weights.uses_unlabelled() { label.row } else { at },
            class: label.class,
            weight: joined_weight,
        };
        let joined: Vec<_> = pseudo.iter().enumerate().map(joined).collect();
        if !self.weights.uses_unlabelled() {
            let rows: Vec<usize> = pseudo.iter().map(|label| label.row).collect();
            self.unlabelled = Segment::new(&self.pool.gather(&rows), self.ways);
        }
        self.start(&start);
        (given, joined)
    }

    /// The start of a fit and the gradient of the loss there, with respect to the head's parameters: weights and bias
    /// of a linear head, prototypes (as weights) of the other. For checking the gradient.
    pub fn gradient_at_start(
        &mut self,
        pseudo: &[PseudoLabel],
    ) -> (LinearClassifier<T>, LinearClassifier<T>) {
        let (given, joined) = self.prepare(pseudo);
        self.gradient(&given, &joined, false);
        let gradient = unpadded(&self.weight.gradient, self.bias.gradient.as_slice());
        (self.classifier(), gradient)
    }

    /// Declares all anchors from the given number on pseudo-labelled: they weigh what pseudo-labelled rows weigh.
    pub fn with_given_labels(mut self, given: usize) -> Self {
        self.given = given;
        self
    }

    /// Returns the number of classes.
    pub fn ways(&self) -> usize {
        self.ways
    }

    /// Returns the rows without given labels.
    pub fn pool(&self) -> &'a Matrix<T> {
        self.pool
    }

    /// The rows with given labels, and their classes.
    pub(crate) fn anchors(&self) -> (&'a Matrix<T>, &'a [usize]) {
        (self.anchors, self.anchor_labels)
    }

    /// The anchors followed by the pseudo-labelled rows, and their classes.
    pub(crate) fn labelled_set(&self, pseudo: &[PseudoLabel]) -> (Matrix<T>, Vec<usize>) {
        let rows: Vec<usize> = pseudo.iter().map(|label| label.row).collect();
        let classes = self.anchor_labels.iter().copied().chain(pseudo.iter().map(|label| label.class));
        (self.anchors.stack(&self.pool.gather(&rows)), classes.collect())
    }

    /// Puts the classifier at the prototypes and forgets Adam's moments.
    fn start(&mut self, prototypes: &Matrix<T>) {
        let start = LinearClassifier::from_prototypes(prototypes, T::from_f64(self.params.temperature));
        match self.params.head {
            Head::Linear => {
                self.weight.start(&start.weights);
                self.bias.start(&Matrix::from_vec(1, self.ways, start.bias));
            }
            Head::Prototype => {
                self.weight.start(prototypes);
                self.linearise();
            }
        }
    }

    /// The linear form of a prototype head: `W = 2 w / T`, `b = -|w|^2 / T`.
    fn linearise(&mut self) {
        let temperature = T::from_f64(self.params.temperature);
        let scale = T::from_f64(2.0) / temperature;
        for class in 0..self.ways {
            let prototype = self.weight.values.row(class);
            self.linear_bias[class] = -sum_by_lanes(prototype, |value| value * value) / temperature;
            for (to, &from) in self.linear_weight.row_mut(class).iter_mut().zip(prototype) {
                *to = from * scale;
            }
        }
    }

    fn linear(&self) -> (&PaddedRows<T>, &[T]) {
        match self.params.head {
            Head::Linear => (&self.weight.values, self.bias.values.as_slice()),
            Head::Prototype => (&self.linear_weight, &self.linear_bias),
        }
    }

    /// Predictions, residuals and the gradient at the current parameters; the parts of the loss if `look`.
    fn gradient(&mut self, given: &[Labelled<T>], joined: &[Labelled<T>], look: bool) -> Option<LossParts> {
        let kernels = self.kernels;
        let (weight, bias) = match self.params.head {
            Head::Linear => (&self.weight.values, self.bias.values.as_slice()),
            Head::Prototype => (&self.linear_weight, &self.linear_bias[..]),
        };
        self.labelled.predict(kernels, weight, bias);
        self.unlabelled.predict(kernels, weight, bias);
        let values = self.unlabelled.unlabelled_residuals(
            kernels,
            &self.weights,
            &mut self.dependence,
            &self.log_shares,
        );
        self.labelled.clear_residuals();
        self.labelled.add_cross_entropy_residuals(given);
        self.unlabelled.add_cross_entropy_residuals(joined);

        kernels.weight_gradient(&self.labelled.rows, &self.labelled.residuals, &mut self.weight.gradient);
        kernels.add_weight_gradient(
            &self.unlabelled.rows,
            &self.unlabelled.residuals,
            &mut self.weight.gradient,
        );
        for class in 0..self.ways {
            let sum = sum_by_lanes(self.labelled.class_residuals(class), |value| value)
                + sum_by_lanes(self.unlabelled.class_residuals(class), |value| value);
            self.bias.gradient.row_mut(0)[class] = sum;
        }
        if self.params.head == Head::Prototype {
            self.chain_to_prototypes();
        }
        look.then(|| self.loss_parts(given, joined, values))
    }

    /// `d/dw = (2 / T) (d/dW - d/db w)`, since W = 2 w / T and b = -|w|^2 / T.
    fn chain_to_prototypes(&mut self) {
        let scale = T::from_f64(2.0 / self.params.temperature);
        for class in 0..self.ways {
            let bias_gradient = self.bias.gradient.row(0)[class];
            let prototype = self.weight.values.row(class);
            for (gradient, &w) in self.weight.gradient.row_mut(class).iter_mut().zip(prototype) {
                *gradient = (*gradient - bias_gradient * w) * scale;
            }
        }
    }

    fn update(&mut self, step: usize) {
        let count = step as i32 + 1;
        let step = AdamStep {
            beta1: T::from_f64(BETA1),
            beta2: T::from_f64(BETA2),
            rate: T::from_f64(self.params.learning_rate / (1.0 - BETA1.powi(count))),
            inverse_root_correction: T::from_f64(1.0 / (1.0 - BETA2.powi(count)).sqrt()),
            epsilon: T::from_f64(EPSILON),
        };
        let scale = self.params.step_scale;
        self.weight.step(self.kernels, step, scale);
        match self.params.head {
            Head::Linear => self.bias.step(self.kernels, step, scale),
            Head::Prototype => self.linearise(),
        }
    }

    fn loss_parts(
        &self,
        given: &[Labelled<T>],
        joined: &[Labelled<T>],
        values: DependenceValues<T>,
    ) -> LossParts {
        let weighted = self.labelled.cross_entropy(given) + self.unlabelled.cross_entropy(joined);
        let (conditional_entropy, marginal_entropy) = self.unlabelled.entropies();
        let pairs = (self.unlabelled.rows.rows().max(2) - 1) as f64;
        let weights = self.weights;
        LossParts {
            cross_entropy: weighted / weights.cross_entropy.max(f64::MIN_POSITIVE),
            conditional_entropy,
            marginal_entropy,
            dependence: values.trace.to_f64() / (pairs * pairs),
            fisher_dependence: values.fisher.to_f64(),
            loss: weighted + weights.conditional * conditional_entropy
                - weights.marginal * (marginal_entropy + self.unlabelled.log_share_mean(&self.log_shares))
                - weights.trace * values.trace.to_f64()
                - weights.fisher * values.fisher.to_f64(),
        }
    }

    fn classifier(&self) -> LinearClassifier<T> {
        let (weights, bias) = self.linear();
        unpadded(weights, bias)
    }
}

/// Weights and bias without the padding of the kernels.
fn unpadded<T: Scalar>(weights: &PaddedRows<T>, bias: &[T]) -> LinearClassifier<T> {
    let (ways, columns) = (weights.rows(), weights.columns());
    let mut out = Matrix::zeros(ways, columns);
    for class in 0..ways {
        out.row_mut(class).copy_from_slice(&weights.row(class)[..columns]);
    }
    LinearClassifier { weights: out, bias: bias[..ways].to_vec() }
}
