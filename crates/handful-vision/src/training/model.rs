//! The network with the classifier that it is trained under.

use burn::module::Module;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor};

use super::settings::Settings;
use crate::layers::Linear;
use crate::networks::Network;

/// A network and a linear classifier of the base classes.
#[derive(Module, Debug)]
pub struct Model {
    /// The network.
    pub network: Network,
    /// The classifier, which is thrown away after training.
    pub classifier: Linear,
}

impl Model {
    /// A model whose weights are still to be drawn or read.
    pub fn new(settings: &Settings, classes: usize, device: &Device) -> Self {
        let features = settings.backbone.features(settings.preparation.size);
        Self { network: settings.backbone.build(device), classifier: Linear::new(features, classes, device) }
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classifier.weight.dims()[0]
    }

    /// The mean loss of a batch and the number of images classified rightly.
    ///
    /// With smoothing ε the right class is worth `1 - ε` and each of the others `ε / (classes - 1)`, as in TIM.
    pub fn loss(&self, images: Tensor<4>, classes: Tensor<1, Int>, smoothing: f64) -> (Tensor<1>, usize) {
        let scores = self.classifier.forward(self.network.forward(images));
        let [count, width] = scores.dims();
        let predicted = scores.clone().inner().argmax(1).reshape([count]);
        let right = predicted.equal(classes.clone()).int().sum().into_scalar::<i64>();
        let logarithms = log_softmax(scores, 1);
        let index: Tensor<2, Int> = classes.reshape([count, 1]).autodiff();
        let given = logarithms.clone().gather(1, index).reshape([count]);
        let loss = if smoothing > 0.0 && width > 1 {
            let other = smoothing / (width - 1) as f64;
            let all = logarithms.sum_dim(1).reshape([count]);
            given * (1.0 - smoothing - other) + all * other
        } else {
            given
        };
        (loss.mean().neg(), right as usize)
    }
}
