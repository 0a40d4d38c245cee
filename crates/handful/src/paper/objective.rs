//! What a fit minimises.
//!
//! ```text
//! loss(W, b) = w_ce CE(labelled) + w_cond H(Y|X) - w_marg H(Y) - lambda HSIC(Z, Y) - w_fisher F(Z, Y)
//! ```
//!
//! over the labelled rows (first term) and the unlabelled ones (the others), with HSIC = (U-1)^-2 tr(KHLH) and F the
//! dependence normalised by the covariance of the features (`fisher_dependence.rs`). The kind says which terms are
//! there; the weights of the others are ignored:
//!
//! | kind | terms | known as |
//! |---|---|---|
//! | `cross-entropy` | CE | baseline |
//! | `conditional-entropy` | CE, H(Y\|X) | entropy minimisation (Dhillon et al.) |
//! | `mutual-information` | CE, H(Y\|X), H(Y) | TIM |
//! | `dependence` | CE, HSIC | DM, Eq. 4 of the paper |
//! | `hybrid` | CE, H(Y\|X), H(Y), HSIC | the default of the authors' code |
//! | `fisher-dependence` | CE, F | Fisher's criterion, Eq. 5, with soft labels; not in the paper |
//! | `fisher-hybrid` | all | |
//!
//! Eq. 4 prints the softmax denominator as exp(sum), where sum(exp) is meant; CE here is softmax cross-entropy. The
//! text divides HSIC by (U-1)^2 and has lambda = 0.01; the authors' code does not divide and also has 0.01, which at
//! U = 75 is 5,476 times as much. [`DependenceScale`] says which reading a weight belongs to.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, check_range};

/// Which terms the loss has; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectiveKind {
    /// Cross-entropy of the labelled rows alone.
    CrossEntropy,
    /// And the mean entropy of the unlabelled rows' predictions.
    ConditionalEntropy,
    /// And the (negative) entropy of their mean prediction.
    MutualInformation,
    /// Cross-entropy and the dependence between unlabelled features and predictions.
    Dependence,
    /// Mutual information and dependence.
    Hybrid,
    /// Cross-entropy and the dependence normalised by the covariance of the features.
    FisherDependence,
    /// Everything.
    FisherHybrid,
}

impl ObjectiveKind {
    /// Tells whether the loss has the conditional-entropy term.
    pub fn has_conditional_entropy(self) -> bool {
        matches!(self, Self::ConditionalEntropy) || self.has_marginal_entropy()
    }

    /// Tells whether the loss has the marginal-entropy term.
    pub fn has_marginal_entropy(self) -> bool {
        matches!(self, Self::MutualInformation | Self::Hybrid | Self::FisherHybrid)
    }

    /// Tells whether the loss has the dependence term.
    pub fn has_dependence(self) -> bool {
        matches!(self, Self::Dependence | Self::Hybrid | Self::FisherHybrid)
    }

    /// Tells whether the loss has the normalised dependence.
    pub fn has_fisher_dependence(self) -> bool {
        matches!(self, Self::FisherDependence | Self::FisherHybrid)
    }
}

/// What the dependence weight multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DependenceScale {
    /// The estimator (U-1)^-2 tr(KHLH), as in the text; comparable between pools of different size.
    Normalised,
    /// tr(KHLH), as in the authors' code.
    Unnormalised,
}

/// Terms and weights of the loss; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Objective {
    /// Which terms there are.
    #[serde(rename = "objective")]
    pub kind: ObjectiveKind,
    /// Weight of the labelled rows' mean cross-entropy.
    pub cross_entropy_weight: f64,
    /// Weight of H(Y|X).
    pub conditional_weight: f64,
    /// Weight of -H(Y).
    pub marginal_weight: f64,
    /// lambda, the weight of minus the dependence.
    pub dependence_weight: f64,
    /// What lambda multiplies.
    pub dependence_scale: DependenceScale,
    /// Bandwidth of the Gaussian kernel on predictions.
    pub prediction_bandwidth: f64,
    /// Weight of minus the normalised dependence.
    pub fisher_weight: f64,
    /// Leading directions of the features that the normalised dependence looks at; 0 for all.
    pub fisher_directions: usize,
}

impl Objective {
    /// Checks that every weight is finite and not negative and the bandwidth positive.
    ///
    /// # Errors
    /// [`ParamError::OutOfRange`] names the first value that is wrong.
    pub fn check(&self) -> Result<(), ParamError> {
        for (key, value) in [
            ("cross_entropy_weight", self.cross_entropy_weight),
            ("conditional_weight", self.conditional_weight),
            ("marginal_weight", self.marginal_weight),
            ("dependence_weight", self.dependence_weight),
            ("fisher_weight", self.fisher_weight),
        ] {
            check_range(key, value, value >= 0.0, "a number from 0 up")?;
        }
        let bandwidth = self.prediction_bandwidth;
        check_range("prediction_bandwidth", bandwidth, bandwidth > 0.0, "a number above 0")
    }

    /// The weights in force for `unlabelled` rows: zero for terms that are not there.
    pub(crate) fn weights(&self, unlabelled: usize) -> TermWeights {
        let present = |there: bool, weight: f64| if there && unlabelled > 0 { weight } else { 0.0 };
        let pairs = (unlabelled.max(2) - 1) as f64;
        let trace = match self.dependence_scale {
            DependenceScale::Normalised => self.dependence_weight / (pairs * pairs),
            DependenceScale::Unnormalised => self.dependence_weight,
        };
        TermWeights {
            cross_entropy: self.cross_entropy_weight,
            conditional: present(self.kind.has_conditional_entropy(), self.conditional_weight),
            marginal: present(self.kind.has_marginal_entropy(), self.marginal_weight),
            trace: present(self.kind.has_dependence(), trace),
            fisher: present(self.kind.has_fisher_dependence(), self.fisher_weight),
        }
    }
}

/// Weights of the terms of one fit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TermWeights {
    pub cross_entropy: f64,
    pub conditional: f64,
    pub marginal: f64,
    /// Weight of tr(KHLH).
    pub trace: f64,
    /// Weight of F.
    pub fisher: f64,
}

impl TermWeights {
    /// Tells whether the unlabelled rows have any say.
    pub fn uses_unlabelled(&self) -> bool {
        [self.conditional, self.marginal, self.trace, self.fisher].iter().any(|weight| *weight != 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn hybrid() -> Objective {
        Objective {
            kind: ObjectiveKind::Hybrid,
            cross_entropy_weight: 1.0,
            conditional_weight: 0.1,
            marginal_weight: 1.0,
            dependence_weight: 0.01,
            dependence_scale: DependenceScale::Unnormalised,
            prediction_bandwidth: 0.5,
            fisher_weight: 1.0,
            fisher_directions: 10,
        }
    }

    #[test]
    fn the_two_scales_differ_by_the_squared_number_of_rows() {
        let text = Objective { dependence_scale: DependenceScale::Normalised, ..hybrid() };
        assert_eq!(hybrid().weights(75).trace / text.weights(75).trace, 5476.0);
    }

    #[test]
    fn absent_terms_have_no_weight() {
        let only = Objective { kind: ObjectiveKind::CrossEntropy, ..hybrid() };
        assert!(!only.weights(75).uses_unlabelled() && hybrid().weights(75).uses_unlabelled());
        assert!(!hybrid().weights(0).uses_unlabelled(), "no rows, no term");
    }

    #[test]
    fn bad_weights_are_named() {
        for bad in [f64::NAN, -1.0, f64::INFINITY] {
            let error = Objective { marginal_weight: bad, ..hybrid() }.check().expect_err("out of range");
            assert!(error.to_string().starts_with("marginal_weight"), "{error}");
        }
    }
}
