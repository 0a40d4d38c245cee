//! Which class sizes the marginal term of the loss pulls towards.
//!
//! `w H(Y)` pulls towards classes of equal size, which is worth several points where they are, and costs ten where they
//! are not. Adapting, a first fit with a weak pull (`estimate_weight`) labels the rows, and the shares s it predicts say
//! how balanced the pool is. The last fit pulls towards a blend of the two, as strongly as they are believed to be equal:
//!
//! ```text
//! g = 1 / (1 + exp(-(h - balance_threshold) / balance_width)),    h = H(s) / log C
//! t = g / C + (1 - g) s,      w' = w^g estimate_weight^(1-g),      the term: w' KL(mean p || t)
//! ```
//!
//! With g = 1 that is `w H(Y)` itself, up to a constant. With one label per class a balanced pool is often labelled
//! unequally, so the threshold is lower there than at five.

use serde::{Deserialize, Serialize};

use crate::error::{ParamError, check_range};
use crate::fit::FitParams;
use crate::methods::common::check_positive;

/// What the marginal term pulls towards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WantedShares {
    /// Classes of equal size.
    Equal,
    /// What a first fit says about the pool; see the module.
    Adaptive,
}

/// Parameters of the pull; see the module.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SharesParams {
    /// What the marginal term pulls towards.
    pub class_shares: WantedShares,
    /// Weight of the marginal term in the fit that estimates the shares.
    pub estimate_weight: f64,
    /// Entropy of the predicted shares, as a part of its maximum, at which both say as much.
    pub balance_threshold: f64,
    /// The same where classes have five labelled rows or more.
    pub balance_threshold_five_shot: f64,
    /// How fast one takes over from the other.
    pub balance_width: f64,
    /// The same where classes have five labelled rows or more.
    pub balance_width_five_shot: f64,
}

impl SharesParams {
    /// Adaptive; values tuned on the CIFAR-FS validation classes, balanced and with Dirichlet(2) sizes together.
    pub const ADAPTIVE: Self = Self {
        class_shares: WantedShares::Adaptive,
        estimate_weight: 0.07,
        balance_threshold: 0.93,
        balance_threshold_five_shot: 0.95,
        balance_width: 0.05,
        balance_width_five_shot: 0.015,
    };

    /// Checks every value's range.
    ///
    /// # Errors
    /// The first value outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        check_positive("estimate_weight", self.estimate_weight)?;
        for (key, value) in [
            ("balance_threshold", self.balance_threshold),
            ("balance_threshold_five_shot", self.balance_threshold_five_shot),
        ] {
            check_range(key, value, (0.0..=1.0).contains(&value), "a number from 0 to 1")?;
        }
        check_positive("balance_width", self.balance_width)?;
        check_positive("balance_width_five_shot", self.balance_width_five_shot)
    }

    /// Whether a fit to so many unlabelled rows has shares to adapt.
    pub(crate) fn adapts_to(&self, fit: &FitParams, unlabelled: usize) -> bool {
        self.class_shares == WantedShares::Adaptive && fit.objective.weights(unlabelled).marginal != 0.0
    }

    /// The blend for rows with these predicted classes.
    pub(crate) fn blend(&self, predicted: &[usize], ways: usize, many_shots: bool) -> Blend {
        let (threshold, width) = if many_shots {
            (self.balance_threshold_five_shot, self.balance_width_five_shot)
        } else {
            (self.balance_threshold, self.balance_width)
        };
        let mut shares = vec![0.0; ways];
        predicted.iter().for_each(|&class| shares[class] += 1.0 / predicted.len() as f64);
        let entropy: f64 = shares.iter().filter(|share| **share > 0.0).map(|share| -share * share.ln()).sum();
        let balance = if ways > 1 { entropy / (ways as f64).ln() } else { 1.0 };
        let equal = 1.0 / (1.0 + (-(balance - threshold) / width).exp());
        shares.iter_mut().for_each(|share| *share = equal / ways as f64 + (1.0 - equal) * *share);
        Blend { shares, equal }
    }

    /// The last fit, with its marginal term as strong as the blend wants it.
    pub(crate) fn last_fit(&self, mut fit: FitParams, blend: &Blend) -> FitParams {
        fit.objective.marginal_weight = self.weight(fit.objective.marginal_weight, blend.equal);
        fit
    }

    /// Weight of the marginal term of the last fit, between the weak one and `full`.
    fn weight(&self, full: f64, equal: f64) -> f64 {
        full.powf(equal) * self.estimate_weight.powf(1.0 - equal)
    }
}

/// What the last fit pulls towards.
pub(crate) struct Blend {
    /// t.
    pub shares: Vec<f64>,
    /// g, how far classes are believed to be of equal size.
    pub equal: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHARES: SharesParams =
        SharesParams { balance_threshold: 0.9, balance_width: 0.01, ..SharesParams::ADAPTIVE };

    #[test]
    fn a_balanced_pool_is_pulled_to_equal_shares_and_others_to_their_own() {
        let equal = SHARES.blend(&[0, 1, 0, 1, 0, 1], 2, false);
        assert!(equal.equal > 0.999 && (equal.shares[0] - 0.5).abs() < 1e-9);
        assert!((SHARES.weight(2.0, equal.equal) - 2.0).abs() < 1e-3);
        let skewed = SHARES.blend(&[0, 0, 0, 0, 0, 1], 2, false);
        assert!(skewed.equal < 1e-3 && (skewed.shares[0] - 5.0 / 6.0).abs() < 1e-3);
        assert!((SHARES.weight(2.0, skewed.equal) - SHARES.estimate_weight).abs() < 1e-3);
    }

    #[test]
    fn half_way_both_say_as_much() {
        // Shares of 0.8 and 0.2 have 0.7219 of the largest entropy.
        let half = SharesParams { balance_threshold: 0.721_928_094_887_362_3, ..SHARES };
        let blend = half.blend(&[0, 0, 0, 0, 1], 2, false);
        assert!((blend.equal - 0.5).abs() < 1e-9 && (blend.shares[0] - 0.65).abs() < 1e-9);
        assert!((half.weight(1.0, 0.5) - half.estimate_weight.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn one_class_is_balanced() {
        assert!(SHARES.blend(&[0, 0], 1, false).equal > 0.99);
    }
}
