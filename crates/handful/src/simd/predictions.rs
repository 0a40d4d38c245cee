//! Passes over the predictions, vectorised over examples: softmax, and the chain from predictions back to logits.
//!
//! Predictions are kept class-major (`[class][example]`), so a register holds one class of several examples and no
//! pass needs a sum across lanes.

use super::lanes::Lanes;
use crate::scalar::Scalar;

/// Softmax over classes of every example, and the logarithm of its normaliser: `log p = logit - log_normalizer`.
///
/// # Safety
/// The instruction set of `S` is present; `logits` and `predictions` hold `classes` rows of `stride` elements,
/// `log_normalizer` holds `stride`, and `stride` is a multiple of the register width.
#[inline(always)]
pub(crate) unsafe fn softmax<S: Lanes>(
    classes: usize,
    stride: usize,
    logits: *const S::Element,
    predictions: *mut S::Element,
    log_normalizer: *mut S::Element,
) {
    let mut at = 0;
    while at < stride {
        // SAFETY: `class < classes` and `at + WIDTH <= stride`.
        unsafe {
            let mut largest = S::load(logits.add(at));
            for class in 1..classes {
                largest = S::max(largest, S::load(logits.add(class * stride + at)));
            }
            let mut total = S::splat(S::Element::ZERO);
            for class in 0..classes {
                let value = S::exp(S::sub(S::load(logits.add(class * stride + at)), largest));
                S::store(predictions.add(class * stride + at), value);
                total = S::add(total, value);
            }
            let scale = S::div(S::splat(S::Element::ONE), total);
            for class in 0..classes {
                let to = predictions.add(class * stride + at);
                S::store(to, S::mul(S::load(to), scale));
            }
            S::store(log_normalizer.add(at), S::add(largest, S::ln(total)));
        }
        at += S::WIDTH;
    }
}

/// How strongly each term of the objective pulls on the predictions; see [`logit_gradient`].
#[derive(Clone, Copy)]
pub(crate) struct PredictionWeights<T> {
    /// Factor on the dependence pass's output.
    pub dependence: T,
    /// Factor on `log p`.
    pub log_prediction: T,
}

/// From the gradient with respect to predictions to the one with respect to logits.
///
/// With `v = dependence * pull + marginal[class] + log_prediction * log p` per example and class, writes
/// `gradient = p (v - <p, v>)`, the softmax chain rule.
///
/// # Safety
/// The instruction set of `S` is present; all matrices hold `classes` rows of `stride` elements, `marginal` holds
/// `classes`, `log_normalizer` holds `stride`, and `stride` is a multiple of the register width. `pull` may be null
/// when there is no dependence term.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
pub(crate) unsafe fn logit_gradient<S: Lanes>(
    classes: usize,
    stride: usize,
    weights: PredictionWeights<S::Element>,
    logits: *const S::Element,
    log_normalizer: *const S::Element,
    predictions: *const S::Element,
    pull: *const S::Element,
    marginal: *const S::Element,
    gradient: *mut S::Element,
) {
    let mut at = 0;
    while at < stride {
        // SAFETY: `class < classes` and `at + WIDTH <= stride`; `pull` is read only when it is there.
        unsafe {
            let dependence = S::splat(weights.dependence);
            let log_weight = S::splat(weights.log_prediction);
            let normalizer = S::load(log_normalizer.add(at));
            let mut mean = S::splat(S::Element::ZERO);
            for class in 0..classes {
                let entry = class * stride + at;
                let log_prediction = S::sub(S::load(logits.add(entry)), normalizer);
                let mut v = S::mul_add(log_weight, log_prediction, S::splat(*marginal.add(class)));
                if !pull.is_null() {
                    v = S::mul_add(dependence, S::load(pull.add(entry)), v);
                }
                mean = S::mul_add(S::load(predictions.add(entry)), v, mean);
                S::store(gradient.add(entry), v);
            }
            for class in 0..classes {
                let entry = class * stride + at;
                let v = S::sub(S::load(gradient.add(entry)), mean);
                S::store(gradient.add(entry), S::mul(S::load(predictions.add(entry)), v));
            }
        }
        at += S::WIDTH;
    }
}
