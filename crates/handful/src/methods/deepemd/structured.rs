//! Structured prototypes: maps of classes that are fitted to the labelled rows through the transport.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::DeepemdParams;
use super::maps::{Maps, centre};
use crate::fit::classifier::softmax_rows;
use crate::linalg::Matrix;
use crate::linalg::product::{View, product};
use crate::linalg::sums::dot;
use crate::parts::TaskParts;
use crate::task::Task;

/// The maps of the classes after all passes, from those they start as.
pub(super) fn fitted(
    params: &DeepemdParams,
    task: &Task<f32>,
    parts: &TaskParts,
    start: Matrix<f32>,
) -> Maps {
    let places = parts.count();
    let (support, labels) = (Maps::new(parts.support().clone(), places), task.support_labels());
    let mut rng = ChaCha8Rng::seed_from_u64(params.seed ^ task.id().rotate_left(32));
    let mut order: Vec<usize> = (0..labels.len()).collect();
    let mut classes = Maps::new(start, places);
    let mut velocity: Option<Vec<f32>> = None;
    let (momentum, rate) = (params.prototype_momentum as f32, params.prototype_rate as f32);
    for _ in 0..params.prototype_epochs {
        for at in (1..order.len()).rev() {
            order.swap(at, rng.random_range(0..=at));
        }
        for batch in order.chunks(params.prototype_batch) {
            let of_batch: Vec<usize> = batch.iter().map(|&row| labels[row]).collect();
            let (_, gradient) = loss_and_gradient(params, &classes, &support.gather(batch), &of_batch);
            // The first step is not dampened, as PyTorch has it.
            let velocity = match &mut velocity {
                Some(velocity) => {
                    let both = velocity.iter_mut().zip(gradient.as_slice());
                    both.for_each(|(to, new)| *to = momentum * *to + (1.0 - momentum) * new);
                    velocity
                }
                none => none.insert(gradient.as_slice().to_vec()),
            };
            let mut raw = classes.raw;
            raw.as_mut_slice()
                .iter_mut()
                .zip(velocity.iter())
                .for_each(|(value, step)| *value -= rate * step);
            classes = Maps::new(raw, places);
        }
    }
    classes
}

/// Mean cross entropy of some rows, and its gradient with respect to the maps of the classes: the flow is held, and so are
/// the weights.
pub(super) fn loss_and_gradient(
    params: &DeepemdParams,
    classes: &Maps,
    rows: &Maps,
    labels: &[usize],
) -> (f64, Matrix<f32>) {
    let (places, width) = (classes.places, classes.raw.columns());
    let (mut chances, mut flows) = params.logits(classes, rows);
    softmax_rows(&mut chances);
    let share = 1.0 / labels.len() as f64;
    let loss = labels.iter().enumerate().map(|(row, &label)| -share * chances.row(row)[label].ln()).sum();
    // From here on `flows` is the gradient with respect to the similarities.
    for (row, &label) in labels.iter().enumerate() {
        for class in 0..classes.count() {
            let wrong = chances.row(row)[class] - f64::from(u8::from(class == label));
            let scale = (share * wrong * params.temperature / places as f64) as f32;
            for place in 0..places {
                let own = &mut flows.row_mut(row * places + place)[class * places..(class + 1) * places];
                own.iter_mut().for_each(|value| *value *= scale);
            }
        }
    }
    let mut gradient = Matrix::zeros(classes.raw.rows(), width);
    let of_flows = View::new(flows.as_slice(), flows.rows(), flows.columns()).transposed();
    product(
        gradient.as_mut_slice(),
        width,
        of_flows,
        View::new(rows.unit.as_slice(), rows.unit.rows(), width),
        false,
    );
    for (place, &length) in classes.lengths.iter().enumerate() {
        let (row, unit) = (gradient.row_mut(place), classes.unit.row(place));
        let along = dot(row, unit);
        let scale = if length > 0.0 { 1.0 / length } else { 0.0 };
        row.iter_mut().zip(unit).for_each(|(value, unit)| *value = scale * (*value - along * unit));
        centre(row);
    }
    (loss, gradient)
}
