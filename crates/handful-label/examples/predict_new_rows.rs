//! Label rows that were never in the pool with a model that was saved.
//!
//!     cargo run --release -p handful-label --example predict_new_rows

use std::sync::Arc;

use handful::Matrix;
use handful_label::{LabelModel, LabelParams, PreparedPool};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::temp_dir().join("handful-example-two-kinds.safetensors");
    save_a_model(&path)?;

    // Neither the pool nor its labels are needed from here on.
    let model = LabelModel::load(&path)?;
    println!("classes {:?}, features of {} columns", model.header().classes, model.header().dim);
    let new = Matrix::from_vec(3, 4, vec![0.9, 0.1, 0.0, 0.1, 0.0, 0.1, 1.0, 0.2, -1.0, -1.0, 0.1, -1.0]);
    for label in model.predict(&new)?.rows {
        let class = &model.header().classes[label.class];
        println!("{class}: probability {:.2}, familiarity {:.2}", label.probability, label.familiarity);
    }

    // Rows of another network are refused rather than labelled at random.
    let other = Matrix::zeros(1, 7);
    println!("{}", model.predict(&other).err().map_or_else(String::new, |error| error.to_string()));
    Ok(())
}

fn save_a_model(path: &std::path::Path) -> Result<(), Box<dyn std::error::Error>> {
    let value = |at: usize| {
        let (row, column) = (at / 4, at % 4);
        let centre = if (column < 2) == (row % 2 == 0) { 1.0 } else { 0.0 };
        centre + 0.2 * (at as f32 * 12.9898).sin()
    };
    let rows = Matrix::from_vec(60, 4, (0..240).map(value).collect());
    let pool = PreparedPool::new(Arc::new(rows), &LabelParams::default())?;
    let fit = pool.fit(&[(0, 0), (2, 0), (4, 0), (1, 1), (3, 1), (5, 1)], 2)?;
    fit.model.with_classes(&["left".to_owned(), "right".to_owned()]).save(path)?;
    Ok(())
}
