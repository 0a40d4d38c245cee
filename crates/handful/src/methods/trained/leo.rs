//! `leo`: a classifier decoded from a code that is fitted to the task (Rusu et al. 2019), inductive.
//!
//! ```text
//! code_c = mean over pairs of relation([E x_i ; E x_j]), i in c, j any   -> mean m_c and spread s_c of z_c
//! w_c = decoder(z_c),   logits(x) = x.w;   5 steps on z, then 5 on w, each down the cross entropy of the labelled rows
//! loss = cross entropy of the query + kl KL(z) + encoder |z_0 - z_5|^2 + l2 |.|^2 / 2 + orthogonality |corr(decoder) - I|^2
//! ```
//!
//! google-deepmind/leo (`model.py`, `config.py`): 64 dimensions of code, layers without bias, the spread of z is
//! max(exp(s) - 1, 1e-10), that of w is max(exp(s) - 1 + sqrt(2 / (d + N)), 1e-10); both are drawn in training and left
//! out when the head is used. Every labelled row has a code of its own draw, and logits are averaged over them. The
//! gradients of the inner steps are sums over rows, as there, and are written out, so training sees through them. Rows have
//! length 1 (`data.py`), for which the rate of 1 on the code is made: on rows of length sqrt(d) it diverges.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rows::{class_means, ridge};
use super::{Constants, Draws, EpisodeRows, Start, System, TensorSpec, Weights, tensor, to_value};
use crate::differentiation::Var;
use crate::linalg::Matrix;
use crate::methods::common::answer::one_hot;

/// Constants of LEO.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leo {
    /// Dimensions of the code.
    pub latents: usize,
    /// Steps on the code.
    pub inner_steps: usize,
    /// Steps on the classifier.
    pub final_steps: usize,
    /// What the learnt rates of the first start as.
    pub inner_rate: f64,
    /// What those of the second start as.
    pub final_rate: f64,
    /// Dropout of the rows.
    pub dropout: f64,
    /// Weight of the divergence from the standard normal.
    pub kl: f64,
    /// Weight of the distance between first and last code.
    pub encoder: f64,
    /// Weight of the squares of all tensors.
    pub l2: f64,
    /// Weight of the correlations of the decoder.
    pub orthogonality: f64,
}

const LEAST_SPREAD: f64 = 1e-10;

impl Constants for Leo {
    const NAME: &'static str = "leo";
    const ABOUT: &'static str = "LEO (Rusu et al. 2019): a classifier decoded from a fitted code";

    fn for_shots(shots: usize) -> Self {
        let of_one = shots < 5;
        let at = |one: f64, five: f64| if of_one { one } else { five };
        Self {
            latents: 64,
            inner_steps: 5,
            final_steps: 5,
            inner_rate: 1.0,
            final_rate: 1e-3,
            dropout: at(0.308, 0.300),
            kl: at(0.756, 0.466),
            encoder: at(5.76e-6, 2.66e-7),
            l2: at(3.62e-10, 8.54e-9),
            orthogonality: at(0.188, 1.52e-3),
        }
    }
}

/// Numbers with a mean and, in training, a spread around it.
struct Drawn<'g> {
    value: Var<'g>,
    /// Spread, its noise, and where it changes with the number it is made of.
    spread: Option<(Var<'g>, Var<'g>, Var<'g>)>,
}

/// Halves the columns into mean and log-spread and draws with the given noise.
fn drawn<'g>(parameters: Var<'g>, offset: f64, noise: Option<Matrix<f64>>) -> Drawn<'g> {
    let half = parameters.columns() / 2;
    let mean = parameters.columns_from(0, half);
    let Some(noise) = noise else { return Drawn { value: mean, spread: None } };
    let grown = parameters.columns_from(half, half).exp();
    let above = grown.shifted(offset - 1.0 - LEAST_SPREAD).relu();
    let spread = above.shifted(LEAST_SPREAD);
    // d spread / d s = exp(s) where it is above its least.
    let open = above.value().as_slice().iter().map(|&value| f64::from(u8::from(value > 0.0))).collect();
    let open = mean.graph().constant(Matrix::from_vec(mean.rows(), half, open));
    let noise = mean.graph().constant(noise);
    Drawn { value: mean.plus(spread.times(noise)), spread: Some((spread, noise, grown.times(open))) }
}

/// One use of the system on a task.
struct Run<'s, 'g, 'd> {
    leo: &'s Leo,
    weights: &'s Weights<'g>,
    rows: &'s EpisodeRows<'g>,
    draws: Option<&'d mut dyn Draws>,
}

/// What the inner loop ends with.
struct Fitted<'g> {
    classifier: Var<'g>,
    first_code: Var<'g>,
    last_code: Var<'g>,
    divergence: Option<Var<'g>>,
}

impl<'g> Run<'_, 'g, '_> {
    fn noise(&mut self, columns: usize) -> Option<Matrix<f64>> {
        let rows = self.rows.labels.len();
        self.draws.as_mut().map(|draws| draws.normal(rows, columns))
    }

    fn dropped(&mut self, rows: Var<'g>) -> Var<'g> {
        match &mut self.draws {
            Some(draws) if self.leo.dropout > 0.0 => {
                let kept = draws.kept(rows.rows(), rows.columns(), self.leo.dropout);
                rows.times(rows.graph().constant(kept))
            }
            _ => rows,
        }
    }

    /// Mean and log-spread of the code of each labelled row's class.
    fn encoded(&mut self) -> Var<'g> {
        let (rows, weights) = (self.rows, self.weights);
        let codes = self.dropped(rows.support).inner_products(weights["encoder"]);
        let count = codes.rows();
        let one = codes.gather((0..count * count).map(|pair| pair / count).collect());
        let other = codes.gather((0..count * count).map(|pair| pair % count).collect());
        // Side by side.
        let pairs = one.transposed().stack(other.transposed()).transposed();
        let first = pairs.inner_products(weights["relation1"]).relu();
        let second = first.inner_products(weights["relation2"]).relu();
        let related = second.inner_products(weights["relation3"]);
        let of_class: Vec<usize> = (0..count * count).map(|pair| rows.labels[pair / count]).collect();
        class_means(related, &of_class, rows.ways).gather(rows.labels.clone())
    }

    /// Logits of rows by the classifiers of all labelled rows, averaged within each class.
    fn predicted(&mut self, rows: Var<'g>, classifier: Var<'g>) -> (Var<'g>, Var<'g>) {
        let rows = self.dropped(rows);
        let by_copy = classifier.inner_products(rows);
        (rows, class_means(by_copy, &self.rows.labels, self.rows.ways).transposed())
    }

    /// The gradient of the labelled rows' summed cross entropy with respect to the classifiers.
    fn classifier_gradient(&mut self, classifier: Var<'g>) -> Var<'g> {
        let labels = &self.rows.labels;
        let (rows, logits) = self.predicted(self.rows.support, classifier);
        let graph = rows.graph();
        let wrong = logits.softmax().minus(graph.constant(one_hot(labels, self.rows.ways)));
        // Each of a class's copies has its share of the logit.
        let shares = class_means(ridge(graph, labels.len(), 1.0), labels, self.rows.ways).transposed();
        shares.product(wrong.transposed().product(rows))
    }

    fn fitted(&mut self) -> Fitted<'g> {
        let weights = self.weights;
        let (latents, dim) = (self.leo.latents, self.rows.support.columns());
        let offset = (2.0 / (dim + self.rows.ways) as f64).sqrt();
        let parameters = self.encoded();
        let code_noise = self.noise(latents);
        let code = drawn(parameters, 0.0, code_noise);
        let divergence = code.spread.map(|(spread, noise, _)| {
            // log density of the draw minus that of the standard normal.
            let own = noise.squared().scaled(-0.5).minus(spread.ln());
            own.plus(code.value.squared().scaled(0.5)).mean()
        });
        let first_code = code.value;
        let mut latent = first_code;
        let decode = |run: &mut Self, latent: Var<'g>| {
            let noise = run.noise(dim);
            drawn(latent.inner_products(weights["decoder"]), offset, noise)
        };
        let mut decoded = decode(self, latent);
        for _ in 0..self.leo.inner_steps {
            let pull = self.classifier_gradient(decoded.value);
            let spread_pull = match decoded.spread {
                Some((_, noise, growth)) => pull.times(noise).times(growth),
                None => pull.scaled(0.0),
            };
            let both = pull.transposed().stack(spread_pull.transposed()).transposed();
            latent = latent.minus(both.product(weights["decoder"]).times(weights["inner_rate"]));
            decoded = decode(self, latent);
        }
        let mut classifier = decoded.value;
        for _ in 0..self.leo.final_steps {
            let pull = self.classifier_gradient(classifier);
            classifier = classifier.minus(pull.times(weights["final_rate"]));
        }
        Fitted { classifier, first_code, last_code: latent, divergence }
    }
}

impl System for Leo {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn settings(&self) -> Value {
        to_value(self)
    }

    fn tensors(&self, dim: usize, _: usize) -> Vec<TensorSpec> {
        // Glorot's bound, which their layers start with.
        let bound = |rows: usize, columns: usize| Start::Uniform((6.0 / (rows + columns) as f64).sqrt());
        let (code, pair) = (self.latents, 2 * self.latents);
        vec![
            tensor("encoder", code, dim, bound(code, dim)),
            tensor("relation1", pair, pair, bound(pair, pair)),
            tensor("relation2", pair, pair, bound(pair, pair)),
            tensor("relation3", pair, pair, bound(pair, pair)),
            tensor("decoder", 2 * dim, code, bound(2 * dim, code)),
            tensor("inner_rate", 1, code, Start::Constant(self.inner_rate)),
            tensor("final_rate", 1, dim, Start::Constant(self.final_rate)),
        ]
    }

    fn row_length(&self, _: usize) -> f64 {
        1.0
    }

    fn logits<'g>(&self, weights: &Weights<'g>, rows: &EpisodeRows<'g>) -> Var<'g> {
        let mut run = Run { leo: self, weights, rows, draws: None };
        let fitted = run.fitted();
        run.predicted(rows.query, fitted.classifier).1
    }

    fn loss<'g>(
        &self,
        weights: &Weights<'g>,
        rows: &EpisodeRows<'g>,
        query_labels: &[usize],
        draws: &mut dyn Draws,
    ) -> Var<'g> {
        let mut run = Run { leo: self, weights, rows, draws: Some(draws) };
        let fitted = run.fitted();
        let mut loss = run.predicted(rows.query, fitted.classifier).1.cross_entropy(query_labels);
        if let Some(divergence) = fitted.divergence {
            loss = loss.plus(divergence.scaled(self.kl));
        }
        let moved = fitted.first_code.minus(fitted.last_code.detached()).squared().mean();
        loss = loss.plus(moved.scaled(self.encoder));
        for name in ["encoder", "relation1", "relation2", "relation3", "decoder"] {
            loss = loss.plus(weights[name].squared().sum().scaled(0.5 * self.l2));
        }
        let directions = weights["decoder"].transposed().unit_rows();
        let correlations = directions.inner_products(directions);
        let identity = ridge(rows.graph(), self.latents, 1.0);
        loss.plus(correlations.minus(identity).squared().mean().scaled(self.orthogonality))
    }
}
