//! Opens the base part of a dataset and decodes a first batch of 64 images, as a trainer does.
//!
//!     cargo run --release -p handful-data --example first_batch -- cifar-100-binary/

use std::time::Instant;

use handful_data::datasets::{Part, open_dataset};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("give the path of an image dataset")?;
    let started = Instant::now();
    let dataset = open_dataset(path.as_ref(), None, Some(Part::Base))?;
    let step = (dataset.len() / 64).max(1);
    let batch = (0..dataset.len()).step_by(step).take(64).map(|image| dataset.load(image));
    let batch = batch.collect::<Result<Vec<_>, _>>()?;
    println!("{} images of {} classes", dataset.len(), dataset.classes().len());
    println!("opened, and {} images decoded, in {:.2} s", batch.len(), started.elapsed().as_secs_f64());
    Ok(())
}
