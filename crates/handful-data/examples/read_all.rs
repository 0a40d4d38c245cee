//! Reads every feature of a table once, as `read_table` does, and says how fast that was.
//!
//!     cargo run --release -p handful-data --example read_all -- features.npy

use std::time::Instant;

use handful_data::{OpenOptions, open_table};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args_os().nth(1).ok_or("give the path of a feature table")?;
    let started = Instant::now();
    let table = open_table(path.as_ref(), &OpenOptions::default())?;
    let opened = started.elapsed();
    table.check_finite()?;
    let read = started.elapsed() - opened;
    let bytes = (4 * table.rows() * table.dim()) as f64;
    println!("{} rows x {} columns", table.rows(), table.dim());
    println!(
        "opened in {:.4} s, read in {:.3} s: {:.2} GB/s",
        opened.as_secs_f64(),
        read.as_secs_f64(),
        bytes / 1e9 / read.as_secs_f64()
    );
    Ok(())
}
