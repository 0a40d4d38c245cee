//! Rewrites a file of weights, or the network of a checkpoint, with 16-bit numbers, for shipping.
//!
//!     cargo run --release -p handful-vision --example halve -- run/last.safetensors small.safetensors

use std::path::Path;

use handful_vision::backbone::{BackboneHeader, network_arrays};
use handful_vision::weights::{Precision, read, write};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [from, to] = words.as_slice() else { return Err("two files are needed: from, to".into()) };
    let file = read(Path::new(from))?;
    let header: BackboneHeader = serde_json::from_str(&file.header.ok_or("the file has no header of ours")?)?;
    let header = serde_json::to_string(&header)?;
    Ok(write(Path::new(to), &network_arrays(file.arrays), &header, Precision::Half)?)
}
