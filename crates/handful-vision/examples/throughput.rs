//! Images per second of a network in training and extraction, to hold beside `benches/peers/throughput.py`, which runs it.
//!
//!     cargo run --release -p handful-vision --example throughput -- resnet12 84 16 [ROUNDS] [training|extraction]

use std::time::Instant;

use burn::module::Module;
use burn::tensor::{Device, Distribution, Int, Tensor};
use handful_vision::networks::Architecture;
use handful_vision::tensors;
use handful_vision::training::model::Model;
use handful_vision::training::settings::Settings;
use handful_vision::training::sgd::Sgd;

const CLASSES: usize = 64;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize, default: &str| words.get(at).cloned().unwrap_or_else(|| default.to_owned());
    let backbone: Architecture = word(0, "resnet12").parse()?;
    let (size, batch): (usize, usize) = (word(1, "84").parse()?, word(2, "16").parse()?);
    let rounds: usize = word(3, "3").parse()?;
    let wanted = word(4, "training, extraction");
    let rounds_of = |what: &str| if wanted.contains(what) { rounds } else { 0 };
    let device = Device::flex().autodiff();
    let settings = Settings::preset("tim", backbone, size)?;
    let mut model = tensors::draw(Model::new(&settings, CLASSES, &device), 1);
    let mut sgd = Sgd::new(0.9, 1e-4);
    let images = Tensor::<4>::random([batch, 3, size, size], Distribution::Normal(0.0, 1.0), &device);
    let classes = Tensor::<1, Int>::zeros([batch], &Device::flex());

    let mut best = f64::INFINITY;
    for _ in 0..rounds_of("training") {
        let began = Instant::now();
        let (loss, _) = model.loss(images.clone(), classes.clone(), 0.1);
        let mut gradients = loss.backward();
        model = sgd.step(model, &mut gradients, 0.01);
        best = best.min(began.elapsed().as_secs_f64());
    }
    println!("{backbone} at {size} px, batch {batch}: training {:.1} images/s", batch as f64 / best);

    let network = model.network.valid();
    let images = images.inner();
    let mut best = f64::INFINITY;
    for _ in 0..rounds_of("extraction") {
        let began = Instant::now();
        tensors::values_of(&network.forward(images.clone()));
        best = best.min(began.elapsed().as_secs_f64());
    }
    println!("{backbone} at {size} px, batch {batch}: extraction {:.1} images/s", batch as f64 / best);
    Ok(())
}
