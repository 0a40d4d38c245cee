//! Distillation (Hinton et al. 2015): an earlier generation says how like the other classes an image is, and the network
//! learns that beside the class itself. A new generation of the same size ends ahead of its teacher on unseen classes
//! (Tian et al. 2020).

use std::path::Path;

use burn::tensor::activation::softmax;
use burn::tensor::{Device, Tensor};

use super::average::averaged;
use super::checkpoint;
use super::model::Model;
use super::settings::Distillation;
use crate::error::VisionError;
use crate::weights;

/// A trained network with its classifier.
pub struct Teacher {
    model: Model,
    sha256: String,
}

impl Teacher {
    /// Reads the last checkpoint of a training, whose averaged network is taken where there is one.
    ///
    /// # Errors
    /// If the file cannot be read or is no checkpoint with a classifier.
    pub fn open(path: &Path, device: &Device) -> Result<Self, VisionError> {
        let sha256 = weights::read(path)?.sha256;
        let found = checkpoint::load(path, device)?;
        let network = averaged(&found.model.network, found.average.as_ref());
        Ok(Self { model: found.model.with_network(network), sha256 })
    }

    /// A digest of the file.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// Refuses a teacher of other classes than the student's, or another than the training began with.
    pub(super) fn check(&self, classes: usize, distillation: &Distillation) -> Result<(), VisionError> {
        let refuse = |value: String, requirement: String| {
            Err(VisionError::Setting { setting: "teacher", value, requirement })
        };
        if self.model.classes() != classes {
            let requirement =
                format!("the training has {classes}; a teacher needs the same, and the same turns");
            return refuse(format!("a network of {} classes", self.model.classes()), requirement);
        }
        if self.sha256 != distillation.teacher {
            let requirement = format!("the training began with {}", digest(&distillation.teacher));
            return refuse(digest(&self.sha256).to_owned(), requirement);
        }
        Ok(())
    }

    /// The probabilities of classes that the teacher gives images, softened.
    pub(super) fn probabilities(&self, images: Tensor<4>, temperature: f64) -> Tensor<2> {
        let scores = self.model.scores(self.model.network.forward(images));
        softmax(scores / temperature, 1)
    }
}

/// Enough of a digest to tell two apart.
fn digest(sha256: &str) -> &str {
    sha256.get(..12).unwrap_or(sha256)
}
