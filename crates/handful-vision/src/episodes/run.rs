//! The loop that every training on tasks has: steps, validations, checkpoints.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::checkpoint::State;
use super::{EpisodicEvent, EpisodicOutcome};
use crate::error::VisionError;

/// What differs between trainings.
pub(super) trait Training {
    /// Where it is.
    fn state(&mut self) -> &mut State;
    /// Takes a step; gives its loss.
    fn take_step(&mut self) -> Result<f64, VisionError>;
    /// The accuracy on validation classes.
    fn accuracy(&mut self) -> Result<f64, VisionError>;
    /// Keeps what is there as the best.
    fn keep(&mut self) -> Result<(), VisionError>;
    /// Writes a checkpoint.
    fn save(&mut self) -> Result<(), VisionError>;
}

/// Runs a training until its last step, or until told to stop.
pub(super) fn run(
    training: &mut dyn Training,
    save_every: Duration,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(EpisodicEvent),
) -> Result<EpisodicOutcome, VisionError> {
    let settings = training.state().header.settings.clone();
    let mut saved = Instant::now();
    loop {
        let step = training.state().header.step;
        let finished = step >= settings.steps;
        let is_due = step.is_multiple_of(settings.validate_every.max(1)) || finished;
        if is_due && !stop.load(Ordering::Relaxed) {
            let accuracy = training.accuracy()?;
            let best = &mut training.state().header.best;
            if best.is_none_or(|best| accuracy > best) {
                *best = Some(accuracy);
                training.keep()?;
            }
            watch(EpisodicEvent::Validated(step, accuracy));
        }
        let stopped = stop.load(Ordering::Relaxed);
        if finished || stopped || saved.elapsed() >= save_every {
            training.save()?;
            saved = Instant::now();
        }
        if finished || stopped {
            let best = training.state().header.best.unwrap_or_default();
            return Ok(EpisodicOutcome { finished, steps: step, best });
        }
        let loss = training.take_step()?;
        let header = &mut training.state().header;
        if !loss.is_finite() {
            let (step, rate) = (header.step + 1, settings.rate);
            return Err(VisionError::Diverged { loss: loss as f32, epoch: 1, step, rate });
        }
        header.step += 1;
        watch(EpisodicEvent::Step(header.step, loss));
    }
}
