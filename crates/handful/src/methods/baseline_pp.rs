//! `baseline-pp`: a cosine classifier trained on the labelled rows (Baseline++, Chen et al. 2019), inductive.
//!
//! ```text
//! min  CE(labelled),      logits_c(z) = s g_c cos(z, v_c)
//! ```
//!
//! Defaults (wyharveychen/CloserLookFewShot, `methods/baselinefinetune.py`, `backbone.py`): s = 2, the class norms g
//! learnt through weight normalisation, SGD with rate 0.01, momentum 0.9, dampening 0.9, weight decay 1e-3, batches of 4, 100
//! epochs, PyTorch's random start (preset `authors`). `default` starts at the prototypes with g = 1 and takes full batches,
//! so that its answer does not depend on a seed. `easyfsl` is that library's `Finetune`: prototypes as start, s = 10, no
//! class norms, 50 steps of Adam at 1e-4.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use crate::error::check_range;
use crate::error::{ParamError, TaskError};
use crate::fit::classifier::{prototypes, softmax_rows};
use crate::linalg::Matrix;
use crate::linalg::sums::dot_by_lanes;
use crate::methods::Setting;
use crate::methods::common::answer::inductive_answer;
use crate::methods::common::feature_rows::{FeatureRows, unit_rows};
use crate::methods::common::{check_count, check_positive, comparator};
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::Transform;

/// Where the class vectors start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// At the class means of the rows' directions.
    Prototypes,
    /// Uniform at random within 1/sqrt(d), PyTorch's default.
    Random,
}

/// How the class vectors are updated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Optimiser {
    /// Gradient descent with momentum, dampening and weight decay.
    Sgd,
    /// Adam with its usual moments.
    Adam,
}

/// Parameters of `baseline-pp`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselinePpParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// s, what cosines are multiplied by.
    pub scale: f64,
    /// Whether the class norms g are learnt.
    pub learn_class_norms: bool,
    /// Where the class vectors start.
    pub start: Start,
    /// How they are updated.
    pub optimiser: Optimiser,
    /// Learning rate.
    pub learning_rate: f64,
    /// Momentum of `sgd`.
    pub momentum: f64,
    /// Dampening of `sgd`.
    pub dampening: f64,
    /// Weight decay of `sgd`.
    pub weight_decay: f64,
    /// Rows per step; 0 takes all.
    pub batch: usize,
    /// Passes over the labelled rows.
    pub epochs: usize,
    /// Seed of the random start and of the order of the batches.
    pub seed: u64,
}

comparator!(BaselinePpParams, "baseline-pp", Setting::Inductive, knows_class_sizes: |_| false, presets: {
    "default" => Self { start: Start::Prototypes, batch: 0, ..Self::authors() },
    "authors" => Self::authors(),
    "easyfsl" => Self {
        scale: 10.0,
        learn_class_norms: false,
        start: Start::Prototypes,
        optimiser: Optimiser::Adam,
        learning_rate: 1e-4,
        batch: 0,
        epochs: 50,
        ..Self::authors()
    },
});

impl BaselinePpParams {
    fn authors() -> Self {
        Self {
            transform: Transform::none(),
            scale: 2.0,
            learn_class_norms: true,
            start: Start::Random,
            optimiser: Optimiser::Sgd,
            learning_rate: 0.01,
            momentum: 0.9,
            dampening: 0.9,
            weight_decay: 1e-3,
            batch: 4,
            epochs: 100,
            seed: 0,
        }
    }

    fn check_values(&self) -> Result<(), ParamError> {
        check_positive("scale", self.scale)?;
        check_positive("learning_rate", self.learning_rate)?;
        for (key, value) in [("momentum", self.momentum), ("dampening", self.dampening)] {
            check_range(key, value, (0.0..1.0).contains(&value), "a number from 0 up and below 1")?;
        }
        let decay = self.weight_decay;
        check_range("weight_decay", decay, decay >= 0.0, "a number from 0 up")?;
        check_count("epochs", self.epochs)
    }

    fn solve_task(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let task = self.transform.apply(task)?;
        let mut rows = task.support().clone();
        unit_rows(&mut rows);
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed ^ task.id().rotate_left(32));
        let mut head = CosineHead::start(self, &rows, task.support_labels(), task.ways(), &mut rng);
        let batch = if self.batch == 0 { rows.rows() } else { self.batch.min(rows.rows()) };
        let mut order: Vec<usize> = (0..rows.rows()).collect();
        let mut state = OptimiserState::new(head.parameters.len());
        for _ in 0..self.epochs {
            if batch < rows.rows() {
                for at in (1..order.len()).rev() {
                    order.swap(at, rng.random_range(0..=at));
                }
            }
            for batch in order.chunks(batch) {
                let gradient = head.gradient(&rows, task.support_labels(), batch);
                state.step(self, &mut head.parameters, &gradient);
            }
        }
        Ok(inductive_answer(&task, |rows| head.probabilities(rows)))
    }
}

/// Class vectors v and norms g, in one flat vector: first all v, then all g.
struct CosineHead {
    scale: f32,
    learn_class_norms: bool,
    ways: usize,
    dim: usize,
    parameters: Vec<f32>,
}

impl CosineHead {
    fn start(
        params: &BaselinePpParams,
        rows: &Matrix<f32>,
        labels: &[usize],
        ways: usize,
        rng: &mut ChaCha8Rng,
    ) -> Self {
        let dim = rows.columns();
        let mut parameters = match params.start {
            Start::Prototypes => prototypes(rows, labels, ways).as_slice().to_vec(),
            Start::Random => {
                let bound = 1.0 / (dim as f32).sqrt();
                (0..ways * dim).map(|_| rng.random_range(-bound..bound)).collect()
            }
        };
        let norms: Vec<f32> = parameters.chunks_exact(dim).map(|v| dot_by_lanes(v, v).sqrt()).collect();
        match params.start {
            // Weight normalisation starts with the norms the vectors have.
            Start::Random => parameters.extend(norms),
            Start::Prototypes => parameters.extend(vec![1.0; ways]),
        }
        let (scale, learn_class_norms) = (params.scale as f32, params.learn_class_norms);
        Self { scale, learn_class_norms, ways, dim, parameters }
    }

    fn vector(&self, class: usize) -> &[f32] {
        &self.parameters[class * self.dim..(class + 1) * self.dim]
    }

    fn norm(&self, class: usize) -> f32 {
        if self.learn_class_norms { self.parameters[self.ways * self.dim + class] } else { 1.0 }
    }

    /// Gradient of the mean cross-entropy of some unit-length rows.
    fn gradient(&self, rows: &Matrix<f32>, labels: &[usize], batch: &[usize]) -> Vec<f32> {
        let lengths: Vec<f32> =
            (0..self.ways).map(|c| dot_by_lanes(self.vector(c), self.vector(c)).sqrt().max(1e-12)).collect();
        let mut gradient = vec![0.0; self.parameters.len()];
        for &row in batch {
            let z = rows.row(row);
            let cosine = |c: usize| dot_by_lanes(z, self.vector(c)) / lengths[c];
            let cosines: Vec<f32> = (0..self.ways).map(cosine).collect();
            let logits = (0..self.ways).map(|c| self.scale * self.norm(c) * cosines[c]).collect();
            let mut p = Matrix::from_vec(1, self.ways, logits);
            softmax_rows(&mut p);
            for class in 0..self.ways {
                let target = f32::from(u8::from(labels[row] == class));
                let residual = self.scale * (p.row(0)[class] - target) / batch.len() as f32;
                gradient[self.ways * self.dim + class] += residual * cosines[class];
                // d cos / dv = (z - cos v / |v|) / |v|
                let outer = residual * self.norm(class) / lengths[class];
                let back = outer * cosines[class] / lengths[class];
                let to = &mut gradient[class * self.dim..(class + 1) * self.dim];
                for ((to, &z), &v) in to.iter_mut().zip(z).zip(self.vector(class)) {
                    *to += outer * z - back * v;
                }
            }
        }
        if !self.learn_class_norms {
            gradient[self.ways * self.dim..].fill(0.0);
        }
        gradient
    }

    fn probabilities(&self, rows: &Matrix<f32>) -> Matrix<f64> {
        let vectors = Matrix::from_vec(self.ways, self.dim, self.parameters[..self.ways * self.dim].to_vec());
        let mut logits = FeatureRows::new(rows).cosines(&vectors);
        for row in 0..logits.rows() {
            for (class, logit) in logits.row_mut(row).iter_mut().enumerate() {
                *logit *= f64::from(self.scale * self.norm(class));
            }
        }
        softmax_rows(&mut logits);
        logits
    }
}

struct OptimiserState {
    first: Vec<f32>,
    second: Vec<f32>,
    steps: i32,
}

impl OptimiserState {
    fn new(size: usize) -> Self {
        Self { first: vec![0.0; size], second: vec![0.0; size], steps: 0 }
    }

    fn step(&mut self, params: &BaselinePpParams, values: &mut [f32], gradient: &[f32]) {
        self.steps += 1;
        let rate = params.learning_rate as f32;
        let moments = self.first.iter_mut().zip(&mut self.second);
        match params.optimiser {
            Optimiser::Sgd => {
                let (momentum, decay) = (params.momentum as f32, params.weight_decay as f32);
                // PyTorch's buffer starts as the first gradient, undampened.
                let kept = if self.steps == 1 { 1.0 } else { 1.0 - params.dampening as f32 };
                for ((value, &gradient), (buffer, _)) in values.iter_mut().zip(gradient).zip(moments) {
                    *buffer = momentum * *buffer + kept * (gradient + decay * *value);
                    *value -= rate * *buffer;
                }
            }
            Optimiser::Adam => {
                let rate = rate / (1.0 - 0.9f32.powi(self.steps));
                let correction = 1.0 / (1.0 - 0.999f32.powi(self.steps)).sqrt();
                for ((value, &gradient), (first, second)) in values.iter_mut().zip(gradient).zip(moments) {
                    *first = 0.9 * *first + 0.1 * gradient;
                    *second = 0.999 * *second + 0.001 * gradient * gradient;
                    *value -= rate * *first / (second.sqrt() * correction + 1e-8);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::common::test_tasks::{PerClass, accuracy, clouds, mean_accuracy};
    use crate::methods::{MethodParams, build};

    #[test]
    fn gradient_is_that_of_finite_differences() {
        let known = clouds(3, 6, PerClass { shots: 2, queries: 1, pool: None }, 0.5, 1);
        let mut rows = known.task.support().clone();
        unit_rows(&mut rows);
        let labels = known.task.support_labels();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut head = CosineHead::start(&BaselinePpParams::authors(), &rows, labels, 3, &mut rng);
        let batch = [0, 2, 3, 5];
        let gradient = head.gradient(&rows, labels, &batch);
        let loss = |head: &CosineHead| -> f64 {
            let p = head.probabilities(&rows);
            batch.iter().map(|&i| -p.row(i)[labels[i]].ln()).sum::<f64>() / batch.len() as f64
        };
        for (at, gradient) in gradient.into_iter().enumerate() {
            let kept = head.parameters[at];
            head.parameters[at] = kept + 1e-2;
            let up = loss(&head);
            head.parameters[at] = kept - 1e-2;
            let down = loss(&head);
            head.parameters[at] = kept;
            let slope = (up - down) / 2e-2;
            assert!((slope - f64::from(gradient)).abs() < 2e-3, "{at}: {slope} {gradient}");
        }
    }

    #[test]
    fn every_preset_separates_what_is_apart() {
        for preset in BaselinePpParams::PRESETS {
            let method = build("baseline-pp", Some(preset), &[]).expect("valid");
            let known = clouds(5, 40, PerClass { shots: 5, queries: 15, pool: None }, 0.3, 2);
            assert!(accuracy(&*method, &known) > 0.95, "{preset}");
        }
    }

    #[test]
    fn training_leaves_the_prototypes_near_where_they_were() {
        // At one shot the start already has the support rows right: training must not lose that.
        let trained = build("baseline-pp", None, &[]).expect("valid");
        let nearest = build("simpleshot", Some("easyfsl"), &[]).expect("valid");
        assert!((mean_accuracy(&*trained, None) - mean_accuracy(&*nearest, None)).abs() < 0.05);
    }
}
