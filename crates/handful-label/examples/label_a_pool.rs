//! Label a pool from a handful of examples, look at what the labels are worth, and save the model.
//!
//!     cargo run --release -p handful-label --example label_a_pool

use std::sync::Arc;

use handful::Matrix;
use handful_label::{LabelParams, PreparedPool};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Six hundred rows of three kinds. In a real job they come from `handful embed` or from your own network.
    let pool = PreparedPool::new(Arc::new(made_up_rows(600, 1)), &LabelParams::default())?;

    // Preparing is what takes time; it is done once. Labels are pairs of row and class.
    let mut labels: Vec<(usize, usize)> = (0..12).map(|row| (row, row % 3)).collect();
    let fit = pool.fit(&labels, 3)?;
    let right = fit.labelling.rows.iter().enumerate().filter(|(row, label)| label.class == row % 3).count();
    println!("{} labels given, {right} of {} rows right", labels.len(), pool.rows());

    // The row whose label is the most doubtful, and a fit with it: `refit` keeps the calibration of the fit before.
    let doubtful = (0..pool.rows())
        .min_by(|&a, &b| fit.labelling.rows[a].probability.total_cmp(&fit.labelling.rows[b].probability));
    labels.extend(doubtful.map(|row| (row, row % 3)));
    labels.sort_unstable();
    labels.dedup();
    let fit = match &fit.evidence {
        Some(evidence) => pool.refit(&labels, 3, evidence)?,
        None => pool.fit(&labels, 3)?,
    };

    // One file with all that is needed to label rows that were not in the pool; see the example predict_new_rows.
    let path = std::env::temp_dir().join("handful-example-model.safetensors");
    let classes = ["round", "square", "long"].map(str::to_owned);
    fit.model.with_classes(&classes).save(&path)?;
    println!("saved {}", path.display());
    Ok(())
}

/// Rows of three kinds in turn.
fn made_up_rows(count: usize, seed: u64) -> Matrix<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut rows = Matrix::zeros(count, 24);
    for row in 0..count {
        for (column, value) in rows.row_mut(row).iter_mut().enumerate() {
            let centre = if column % 3 == row % 3 { 1.0 } else { 0.0 };
            *value = centre + rng.random_range(-1.0..1.0);
        }
    }
    rows
}
