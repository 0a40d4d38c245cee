//! The product against its definition, on every set of instructions that this machine has.

use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::super::activation::Activation;
use super::*;

fn here() -> Vec<Instructions> {
    match Instructions::here() {
        #[cfg(target_arch = "x86_64")]
        Instructions::Avx512 => vec![Instructions::Plain, Instructions::Avx2, Instructions::Avx512],
        Instructions::Plain => vec![Instructions::Plain],
        #[cfg(target_arch = "x86_64")]
        other => vec![Instructions::Plain, other],
    }
}

fn random(count: usize, seed: u64) -> Vec<f32> {
    let mut random = ChaCha12Rng::seed_from_u64(seed);
    (0..count).map(|_| random.next_u32() as f32 / u32::MAX as f32 * 2.0 - 1.0).collect()
}

/// Rows, depth and columns that end before, at and behind tiles of either size.
const SIZES: [(usize, usize, usize); 8] =
    [(1, 1, 1), (8, 5, 48), (9, 3, 49), (5, 17, 31), (24, 9, 97), (6, 4, 16), (7, 0, 5), (13, 6, 33)];

#[test]
fn products_are_sums_of_products_whatever_follows_them() {
    for (rows, depth, columns) in SIZES {
        let (step, out_step) = (columns + 3, columns + 2);
        let (weights, x) = (random(rows * depth, 1), random((depth * step).max(1), 2));
        let before = random(rows * out_step, 3);
        let [gamma, beta, mean] = [4, 5, 6].map(|seed| random(rows, seed));
        let variance = vec![0.25; rows];
        let activation = Activation::RELU6;
        let ending = Ending::of_norm([&gamma, &beta, &mean, &variance], 0.0, activation);
        for instructions in here() {
            let packed = Packed::for_instructions(instructions, &weights, rows, depth, [depth, 1]);
            for then in [Then::Nothing, Then::End(&ending)] {
                let mut out = before.clone();
                packed.times(&x, step, columns, &mut out, out_step, then);
                for (at, (&found, &old)) in out.iter().zip(&before).enumerate() {
                    let (row, column) = (at / out_step, at % out_step);
                    let product = |at: usize| weights[row * depth + at] * x[at * step + column];
                    let sum = (0..if column < columns { depth } else { 0 }).map(product).sum::<f32>();
                    let expected = match then {
                        _ if column >= columns => old,
                        Then::Nothing => sum,
                        Then::End(_) => activation.apply((sum - mean[row]) * 2.0 * gamma[row] + beta[row]),
                    };
                    assert!(
                        (found - expected).abs() < 1e-5,
                        "{instructions:?} {row} {column}: {found} {expected}"
                    );
                }
            }
        }
    }
}

#[test]
fn weights_may_be_given_by_columns() {
    let (rows, depth, columns) = (11, 7, 20);
    let weights = random(rows * depth, 1);
    let turned: Vec<f32> = (0..rows * depth).map(|at| weights[at % rows * depth + at / rows]).collect();
    let x = random(depth * columns, 2);
    let product = |weights: &[f32], steps| {
        let mut out = vec![0.0; rows * columns];
        Packed::new(weights, rows, depth, steps).times(
            &x,
            columns,
            columns,
            &mut out,
            columns,
            Then::Nothing,
        );
        out
    };
    assert_eq!(product(&weights, [depth, 1]), product(&turned, [1, rows]));
}

#[test]
fn matrices_packed_together_are_those_packed_alone() {
    let (rows, depth, columns) = (11, 7, 20);
    let (weights, x) = (random(3 * rows * depth, 1), random(depth * columns, 2));
    let product = |packed: &Packed| {
        let mut out = vec![0.0; rows * columns];
        packed.times(&x, columns, columns, &mut out, columns, Then::Nothing);
        out
    };
    let number = |place: usize, row: usize, at: usize| weights[(place * rows + row) * depth + at];
    let together = Packed::places(rows, depth, |row, at| [0, 1, 2].map(|place| number(place, row, at)));
    for (place, packed) in together.iter().enumerate() {
        let alone = Packed::new(&weights[place * rows * depth..], rows, depth, [depth, 1]);
        assert_eq!(product(packed), product(&alone), "{place}");
    }
}

#[test]
fn places_do_not_change_the_bits() {
    let (rows, depth, columns) = (10, 40, 61);
    let (weights, x) = (random(rows * depth, 1), random(depth * columns, 2));
    for instructions in here() {
        let packed = Packed::for_instructions(instructions, &weights, rows, depth, [depth, 1]);
        let mut whole = vec![0.0; rows * columns];
        packed.times(&x, columns, columns, &mut whole, columns, Then::Nothing);
        let mut parts = vec![0.0; rows * columns];
        for first in (0..columns).step_by(7) {
            let count = 7.min(columns - first);
            packed.times(&x[first..], columns, count, &mut parts[first..], columns, Then::Nothing);
        }
        // The product of other processors chooses its way by the sizes.
        if instructions != Instructions::Plain {
            assert_eq!(whole, parts, "{instructions:?}");
        }
    }
}

#[test]
fn what_is_not_a_number_stays_so() {
    let ending = |activation| Ending::of_norm([&[1.0], &[0.0], &[0.0], &[1.0]], 0.0, activation);
    for activation in [Activation::NONE, Activation::RELU, Activation::RELU6] {
        for instructions in here() {
            let packed = Packed::for_instructions(instructions, &[1.0], 1, 1, [1, 1]);
            let mut out = [0.0; 2];
            packed.times(&[f32::NAN, f32::INFINITY], 2, 2, &mut out, 2, Then::End(&ending(activation)));
            assert!(out[0].is_nan() && out[1] > 5.0, "{instructions:?} {activation:?}: {out:?}");
        }
    }
}
