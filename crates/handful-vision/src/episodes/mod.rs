//! Training systems on tasks from base classes: sample tasks, take steps, validate, keep the best. On frozen features a head is
//! trained alone, on images the network under it too ([`network`]).
//!
//! The formulas are in [`handful::methods::trained`]. Task `n` of a training and every random number in it are functions of
//! the seed and `n`, gradients of a step's tasks are summed in their order, and tensors are rounded to single precision
//! after every step: a checkpoint says all there is to know, and the number of threads changes no bit.

mod checkpoint;
mod draws;
mod lesson;
pub mod network;
mod optimiser;
mod run;
mod settings;
mod sums;
#[cfg(test)]
mod tests;
mod trainer;

pub use draws::TaskDraws;
pub use optimiser::{Moments, Optimiser};
pub use settings::EpisodicSettings;
pub use trainer::{EpisodicEvent, EpisodicJob, EpisodicOutcome, best_head, last_state, train_system};
