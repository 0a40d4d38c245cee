//! When features are worth taking the root of.
//!
//! The square root (PT-MAP's power transform) evens out the long tails of features that a rectifier made: none of them
//! negative, many zero, a few large. Features that are signed have no such tails, and a root blows up what is noise
//! around zero: on the principal components of the CIFAR-FS validation features it costs three points at one shot
//! (docs/src/results/results.md), on a random rotation of them next to nothing.

use crate::scalar::Scalar;

/// Share of the features' size that may be negative: networks that end in a smooth rectifier have a little below zero. Not
/// tuned: signed features have about half below zero, those of a rectifier nothing.
const MOST_NEGATIVE: f64 = 0.1;

/// Tells whether features are signed, so that they are better left as they are.
pub fn are_signed<'a, T: Scalar>(parts: impl IntoIterator<Item = &'a [T]>) -> bool {
    let (mut negative, mut total) = (0.0, 0.0);
    for values in parts {
        // Sums of a few thousand at a time in the features' own precision, which is enough for a comparison.
        for values in values.chunks(4096) {
            let (mut below, mut above) = (T::ZERO, T::ZERO);
            for &value in values {
                if value < T::ZERO {
                    below += -value;
                } else {
                    above += value;
                }
            }
            negative += below.to_f64();
            total += below.to_f64() + above.to_f64();
        }
    }
    negative > MOST_NEGATIVE * total
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_little_below_zero_is_not_signed() {
        assert!(!are_signed([&[0.0f32, 3.0, 0.5][..], &[]]));
        assert!(!are_signed([&[-0.1f32, 3.0, -0.2][..]]));
        assert!(are_signed([&[-0.1f64, 3.0][..], &[-2.0, 1.0]]));
        assert!(!are_signed([&[0.0f64; 5][..]]), "nothing but zeros");
    }
}
