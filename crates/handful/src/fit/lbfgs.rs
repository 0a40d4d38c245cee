//! Limited-memory BFGS for smooth convex functions.

use std::collections::VecDeque;

use rayon::prelude::*;

use crate::linalg::sums::dot_by_lanes;

/// When to stop.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct LbfgsStop {
    /// Largest entry of the gradient.
    pub tolerance: f64,
    /// The most iterations.
    pub max_iterations: usize,
}

/// Pairs of steps and gradient changes that are remembered.
const MEMORY: usize = 10;
/// Share of the promised decrease a step must bring (Armijo).
const DECREASE: f64 = 1e-4;
/// Share of the slope that must be gone after a step (the second Wolfe condition).
const SLOPE: f64 = 0.9;
/// Looks along one direction; each halves or doubles an interval, so 60 exhaust double precision.
const LOOKS: usize = 60;
/// Numbers that one thread handles at a time: whatever is shorter is a single sum.
const PART: usize = 1 << 16;

struct Pair {
    step: Vec<f64>,
    change: Vec<f64>,
    inverse_curvature: f64,
}

/// Minimises `function`, which returns its value at a point and writes its gradient. Starts at `point`, ends there.
pub(crate) fn minimise(
    point: &mut [f64],
    stop: LbfgsStop,
    mut function: impl FnMut(&[f64], &mut [f64]) -> f64,
) {
    let size = point.len();
    let mut gradient = vec![0.0; size];
    let mut value = function(point, &mut gradient);
    let mut memory: VecDeque<Pair> = VecDeque::with_capacity(MEMORY);
    let (mut next, mut next_gradient) = (vec![0.0; size], vec![0.0; size]);
    for _ in 0..stop.max_iterations {
        if gradient.iter().all(|entry| entry.abs() <= stop.tolerance) {
            return;
        }
        let direction = descent(&gradient, &memory);
        let slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            return;
        }
        // Bracketing: `low` keeps the decrease condition, `high` breaks it.
        let first = if memory.is_empty() { (1.0 / -slope).sqrt().min(1.0) } else { 1.0 };
        let (mut low, mut high, mut length) = (0.0, f64::INFINITY, first);
        let mut next_value = value;
        for _ in 0..LOOKS {
            next.copy_from_slice(point);
            add_scaled(&mut next, length, &direction);
            next_value = function(&next, &mut next_gradient);
            if next_value > value + DECREASE * length * slope || next_value.is_nan() {
                high = length;
            } else if dot(&direction, &next_gradient) < SLOPE * slope {
                low = length;
            } else {
                break;
            }
            length = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * length };
        }
        if next_value > value {
            // No step decreases the value: the point is the minimum up to rounding.
            return;
        }
        let step: Vec<f64> = next.iter().zip(point.iter()).map(|(a, b)| a - b).collect();
        let change: Vec<f64> = next_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let curvature = dot(&step, &change);
        if curvature > f64::MIN_POSITIVE {
            if memory.len() == MEMORY {
                memory.pop_front();
            }
            memory.push_back(Pair { step, change, inverse_curvature: 1.0 / curvature });
        }
        point.copy_from_slice(&next);
        gradient.copy_from_slice(&next_gradient);
        value = next_value;
    }
}

/// Minus the inverse-Hessian estimate times the gradient, by the two-loop recursion.
fn descent(gradient: &[f64], memory: &VecDeque<Pair>) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|entry| -entry).collect();
    let mut shares = Vec::with_capacity(memory.len());
    for pair in memory.iter().rev() {
        let share = pair.inverse_curvature * dot(&pair.step, &direction);
        add_scaled(&mut direction, -share, &pair.change);
        shares.push(share);
    }
    if let Some(last) = memory.back() {
        let scale = 1.0 / (last.inverse_curvature * dot(&last.change, &last.change));
        direction.iter_mut().for_each(|entry| *entry *= scale);
    }
    for (pair, share) in memory.iter().zip(shares.into_iter().rev()) {
        let back = share - pair.inverse_curvature * dot(&pair.change, &direction);
        add_scaled(&mut direction, back, &pair.step);
    }
    direction
}

/// Inner product, in parts that are added in order.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() <= PART {
        return dot_by_lanes(a, b);
    }
    let parts: Vec<f64> =
        a.par_chunks(PART).zip(b.par_chunks(PART)).map(|(a, b)| dot_by_lanes(a, b)).collect();
    parts.iter().sum()
}

/// `to += factor * from`.
fn add_scaled(to: &mut [f64], factor: f64, from: &[f64]) {
    let add = |(to, from): (&mut [f64], &[f64])| {
        to.iter_mut().zip(from).for_each(|(to, from)| *to += factor * from);
    };
    if to.len() <= PART {
        return add((to, from));
    }
    to.par_chunks_mut(PART).zip(from.par_chunks(PART)).for_each(add);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_badly_scaled_quadratic_is_solved() {
        let scales: Vec<f64> = (0..30).map(|at| 10f64.powf(at as f64 / 10.0)).collect();
        let mut point = vec![0.0; 30];
        let stop = LbfgsStop { tolerance: 1e-9, max_iterations: 500 };
        minimise(&mut point, stop, |x, gradient| {
            let mut value = 0.0;
            for at in 0..30 {
                let distance = x[at] - at as f64;
                gradient[at] = scales[at] * distance;
                value += 0.5 * scales[at] * distance * distance;
            }
            value
        });
        for (at, value) in point.iter().enumerate() {
            assert!((value - at as f64).abs() < 1e-7, "{at}: {value}");
        }
    }
}
