//! Everything that decides the outcome of a training.

use serde::{Deserialize, Serialize};

use super::augment::{Augmentation, Crop};
use super::schedule::Schedule;
use crate::error::VisionError;
use crate::images::Preparation;
use crate::networks::Architecture;

/// The settings of a training; a checkpoint carries them, so that it can go on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The network.
    pub backbone: Architecture,
    /// What images go through outside training; its size and normalisation also count inside.
    pub preparation: Preparation,
    /// What training images go through.
    pub augmentation: Augmentation,
    /// Passes over the images.
    pub epochs: usize,
    /// Images in a step.
    pub batch: usize,
    /// The greatest learning rate.
    pub rate: f64,
    /// How it falls.
    pub schedule: Schedule,
    /// Momentum of the optimiser.
    pub momentum: f64,
    /// Weight decay.
    pub weight_decay: f64,
    /// Probability that is taken from the right class and given to the others.
    pub smoothing: f64,
    /// How much of the average of earlier weights is kept in each step; the averaged network is what is validated and
    /// used. None is kept where it is 0: the network is the last step's.
    #[serde(default)]
    pub averaging: f64,
    /// Parameter of the Beta distribution that shares of mixed images are drawn from; none are mixed where it is 0.
    #[serde(default)]
    pub mixup: f64,
    /// Whether every image is there in all four turns, and which one it is learnt beside its class.
    #[serde(default)]
    pub rotations: bool,
    /// What scores of features of length 1 are multiplied by: a cosine classifier; 0 for a linear one of features as they are.
    #[serde(default)]
    pub cosine: f64,
    /// What is learnt from a teacher, where there is one.
    #[serde(default)]
    pub distillation: Option<Distillation>,
    /// Classes of a validation task.
    pub validation_ways: usize,
    /// Decides weights, order and augmentation.
    pub seed: u64,
}

/// What is learnt from a teacher.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Distillation {
    /// How much of the loss is about what the teacher says; the rest is about the classes.
    pub weight: f64,
    /// What scores are divided by, so that the teacher's less likely classes count.
    pub temperature: f64,
    /// SHA-256 of the teacher's file: a training goes on with the one it began with.
    pub teacher: String,
}

/// The greatest parameter of the shares of mixed images: beyond, all are nearly halves.
const MOST_MIXUP: f64 = 4.0;

/// The greatest factor of cosines: beyond, a softmax of them is a choice.
const MOST_COSINE: f64 = 100.0;

/// Names of the presets.
pub const PRESETS: [&str; 3] = ["compact", "tim", "simpleshot"];

impl Settings {
    /// A named, complete set.
    ///
    /// - `tim`: 90 epochs, batch 256, rate 0.1 dropped at 1/2 and 3/4, weight decay 1e-4, smoothing 0.1, random
    ///   resized crop, jitter 0.4, flip, evaluation on enlarged images (mboudiaf/TIM).
    /// - `simpleshot`: the same without smoothing and jitter (mileyan/simple_shot).
    /// - `compact`: ours for short trainings on small images: a cosine, weight decay 5e-4, padded crop, flip.
    pub fn preset(name: &str, backbone: Architecture, size: usize) -> Result<Self, VisionError> {
        let tim = Self {
            backbone,
            preparation: Preparation { enlarge: true, ..Preparation::imagenet(size) },
            augmentation: Augmentation { crop: Crop::Resized, jitter: 0.4, flip: true, turns: 0.0 },
            epochs: 90,
            batch: 256,
            rate: 0.1,
            schedule: Schedule::Drops(vec![0.5, 0.75]),
            momentum: 0.9,
            weight_decay: 1e-4,
            smoothing: 0.1,
            averaging: 0.0,
            mixup: 0.0,
            rotations: false,
            cosine: 0.0,
            distillation: None,
            validation_ways: 5,
            seed: 1,
        };
        match name {
            "tim" => Ok(tim),
            "simpleshot" => {
                let augmentation = Augmentation { jitter: 0.0, ..tim.augmentation };
                Ok(Self { augmentation, smoothing: 0.0, ..tim })
            }
            "compact" => Ok(Self {
                preparation: Preparation::imagenet(size),
                augmentation: Augmentation { crop: Crop::Padded(size / 8), jitter: 0.0, ..tim.augmentation },
                epochs: 10,
                batch: 64,
                rate: 0.05,
                schedule: Schedule::Cosine,
                weight_decay: 5e-4,
                ..tim
            }),
            _ => Err(VisionError::Setting {
                setting: "preset",
                value: name.to_owned(),
                requirement: format!("it must be one of {}", PRESETS.join(", ")),
            }),
        }
    }

    /// Refuses what cannot be trained with.
    pub fn check(&self) -> Result<(), VisionError> {
        let refuse = |setting, value: String, requirement: String| {
            Err(VisionError::Setting { setting, value, requirement })
        };
        let smallest = self.backbone.smallest_image();
        if self.preparation.size < smallest || self.preparation.size > 1024 {
            let requirement = format!("{} needs {smallest} to 1024", self.backbone);
            return refuse("image size", self.preparation.size.to_string(), requirement);
        }
        if self.epochs == 0 {
            return refuse("epochs", "0".to_owned(), "it must be at least 1".to_owned());
        }
        if self.batch < 2 {
            let requirement = "batch normalisation needs at least 2 images".to_owned();
            return refuse("batch", self.batch.to_string(), requirement);
        }
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return refuse("learning rate", self.rate.to_string(), "it must be above 0".to_owned());
        }
        if !(0.0..1.0).contains(&self.momentum) {
            return refuse("momentum", self.momentum.to_string(), "it must be from 0 to below 1".to_owned());
        }
        if !(0.0..1.0).contains(&self.smoothing) {
            return refuse(
                "label smoothing",
                self.smoothing.to_string(),
                "it must be from 0 to below 1".to_owned(),
            );
        }
        if !(0.0..1.0).contains(&self.averaging) {
            let requirement = "it must be from 0 to below 1".to_owned();
            return refuse("averaging", self.averaging.to_string(), requirement);
        }
        if !(0.0..=MOST_MIXUP).contains(&self.mixup) {
            return refuse("mixup", self.mixup.to_string(), format!("it must be from 0 to {MOST_MIXUP}"));
        }
        if self.rotations && (self.mixup > 0.0 || self.augmentation.turns > 0.0) {
            let requirement =
                "they go with neither mixup nor turns; mixup comes after them, with --begin-with";
            return refuse("rotations", "asked for".to_owned(), requirement.to_owned());
        }
        if !(0.0..=MOST_COSINE).contains(&self.cosine) {
            return refuse("cosine", self.cosine.to_string(), format!("it must be from 0 to {MOST_COSINE}"));
        }
        if let Some(Distillation { weight, temperature, .. }) = self.distillation {
            if !(weight > 0.0 && weight <= 1.0) {
                return refuse("distillation", weight.to_string(), "it must be above 0, up to 1".to_owned());
            }
            if !(1.0..=100.0).contains(&temperature) {
                return refuse("temperature", temperature.to_string(), "it must be from 1 to 100".to_owned());
            }
        }
        if !(0.0..=1.0).contains(&self.augmentation.turns) {
            let requirement = "it must be from 0 to 1".to_owned();
            return refuse("share of turned images", self.augmentation.turns.to_string(), requirement);
        }
        if !(self.weight_decay.is_finite() && self.weight_decay >= 0.0) {
            return refuse("weight decay", self.weight_decay.to_string(), "it must be at least 0".to_owned());
        }
        Ok(())
    }
}
