//! Rewrites a file of weights with 16-bit numbers, for shipping.
//!
//!     cargo run --release -p handful-vision --example halve -- run/best.safetensors small.safetensors

use std::path::Path;

use handful_vision::weights::{Precision, read, write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = words.as_slice() else { return Err("two files are needed: from, to".into()) };
    let file = read(Path::new(from))?;
    let header = file.header.ok_or("the file has no header of ours")?;
    Ok(write(Path::new(to), &file.arrays, &header, Precision::Half)?)
}
