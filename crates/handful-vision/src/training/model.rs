//! The network with the classifier that it is trained under.

use burn::module::Module;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor};

use super::augment::WAYS_UP;
use super::rotation::quarters;
use super::settings::Settings;
use crate::layers::Linear;
use crate::networks::{Blend, Network};

/// A network and a linear classifier of the base classes.
#[derive(Module, Debug)]
pub struct Model {
    /// The network.
    pub network: Network,
    /// The classifier, which is thrown away after training.
    pub classifier: Linear,
    /// The classifier of quarter turns, where they are learnt.
    pub turns: Option<Linear>,
    #[module(skip)]
    cosine: f64,
}

impl Model {
    /// A model whose weights are still to be drawn or read.
    pub fn new(settings: &Settings, classes: usize, device: &Device) -> Self {
        let features = settings.backbone.features(settings.preparation.size);
        let turns = settings.rotations.then(|| Linear::new(features, WAYS_UP, device));
        let classifier = Linear::new(features, classes, device);
        Self { turns, cosine: settings.cosine, ..Self::linear(settings.backbone.build(device), classifier) }
    }

    /// A network under a linear classifier.
    pub fn linear(network: Network, classifier: Linear) -> Self {
        Self { network, classifier, turns: None, cosine: 0.0 }
    }

    /// The same for use outside training, with another network.
    pub(crate) fn with_network(&self, network: Network) -> Self {
        Self { network, ..self.valid() }
    }

    /// Scores of classes: linear, or those of features of length 1 times a factor. That is the published cosine classifier, whose
    /// weights have learnt lengths.
    pub fn scores(&self, features: Tensor<2>) -> Tensor<2> {
        if self.cosine <= 0.0 {
            return self.classifier.forward(features);
        }
        let lengths = (features.clone() * features.clone()).sum_dim(1).sqrt().clamp_min(SHORTEST);
        (features / lengths).matmul(self.classifier.weight.val().transpose()) * self.cosine
    }

    /// The number of classes.
    pub fn classes(&self) -> usize {
        self.classifier.weight.dims()[0]
    }

    /// The mean loss of a batch and the number of images classified rightly.
    pub fn loss(&self, images: Tensor<4>, classes: Tensor<1, Int>, smoothing: f64) -> (Tensor<1>, usize) {
        self.loss_of(images, Lesson { classes, smoothing, blend: None, taught: None })
    }

    /// The mean loss of a batch and the number of images classified rightly; a mixed image's right class is that of the
    /// greater share. Where turns are learnt, images are there all ways up, and only the upright ones are counted.
    pub fn loss_of(&self, images: Tensor<4>, lesson: Lesson) -> (Tensor<1>, usize) {
        let Lesson { classes, smoothing, blend, taught } = lesson;
        let features = self.network.forward_blended(images, blend);
        let scores = self.scores(features.clone());
        let [count, _] = scores.dims();
        let upright = if self.turns.is_some() { count / WAYS_UP } else { count };
        let predicted = scores.clone().inner().argmax(1).reshape([count]);
        let right = predicted.equal(classes.clone()).narrow(0, 0, upright).int().sum().into_scalar::<i64>();
        let turned = self.turns.as_ref().map(|turns| {
            let logarithms = log_softmax(turns.forward(features), 1);
            agreement(logarithms, quarters(&classes), 0.0).mean().neg()
        });
        let logarithms = log_softmax(scores.clone(), 1);
        let agreement = match blend {
            None => agreement(logarithms, classes, smoothing),
            Some(Blend { share, .. }) => {
                let other = agreement(logarithms.clone(), classes.clone().flip([0]), smoothing);
                agreement(logarithms, classes, smoothing) * share + other * (1.0 - share)
            }
        };
        let loss = agreement.mean().neg();
        let loss = match taught {
            None => loss,
            Some(taught) => loss * (1.0 - taught.weight) + taught.divergence(scores, blend) * taught.weight,
        };
        let loss = turned.map_or(loss.clone(), |turned| (loss + turned) * 0.5);
        (loss, right as usize)
    }
}

/// What a model should say of a batch.
pub struct Lesson {
    /// The class of each image.
    pub classes: Tensor<1, Int>,
    /// The probability ε that is taken from the right class.
    pub smoothing: f64,
    /// How images, and with them their classes, are mixed.
    pub blend: Option<Blend>,
    /// What a teacher says of the images.
    pub taught: Option<Taught>,
}

/// What a teacher says.
pub struct Taught {
    /// Softened probabilities of each class for each image, before mixing.
    pub probabilities: Tensor<2>,
    /// How much of the loss is about them.
    pub weight: f64,
    /// What scores are divided by to soften them.
    pub temperature: f64,
}

impl Taught {
    /// Mean Kullback-Leibler divergence of the scores' probabilities from the teacher's, both softened; by the square of
    /// the temperature its gradients are of the size of those by the classes.
    fn divergence(&self, scores: Tensor<2>, blend: Option<Blend>) -> Tensor<1> {
        let own = self.probabilities.clone();
        let target = match blend {
            None => own,
            Some(Blend { share, .. }) => own.clone() * share + own.flip([0]) * (1.0 - share),
        };
        let information = (target.clone() * target.clone().clamp_min(TINY).log()).sum_dim(1).mean();
        let logarithms = log_softmax(scores / self.temperature, 1);
        let explained = (logarithms * target.autodiff()).sum_dim(1).mean();
        (information.autodiff() - explained) * (self.temperature * self.temperature)
    }
}

/// Features are not divided by a smaller length.
const SHORTEST: f64 = 1e-5;

/// Below this a probability's part in a divergence is nothing, but its logarithm no number.
const TINY: f64 = 1e-12;

/// How well logarithms of probabilities agree with classes, for each image.
///
/// With smoothing ε the right class is worth `1 - ε` and each of the others `ε / (classes - 1)`, as in TIM.
fn agreement(logarithms: Tensor<2>, classes: Tensor<1, Int>, smoothing: f64) -> Tensor<1> {
    let [count, width] = logarithms.dims();
    let index: Tensor<2, Int> = classes.reshape([count, 1]).autodiff();
    let given = logarithms.clone().gather(1, index).reshape([count]);
    if smoothing <= 0.0 || width <= 1 {
        return given;
    }
    let other = smoothing / (width - 1) as f64;
    let all = logarithms.sum_dim(1).reshape([count]);
    given * (1.0 - smoothing - other) + all * other
}

#[cfg(test)]
mod tests {
    use burn::tensor::TensorData;

    use super::*;
    use crate::networks::Architecture;
    use crate::tensors::{self, values_of};
    use crate::training::rotation::{all_ways_up, classes_all_ways_up};

    const CLASSES: usize = 3;

    fn model(seed: u64) -> Model {
        let settings = Settings::preset("compact", Architecture::Conv4, 16).expect("a preset");
        tensors::draw(Model::new(&settings, CLASSES, &Device::flex().autodiff()), seed)
    }

    fn images(device: &Device) -> Tensor<4> {
        let pixels: Vec<f32> = (0..4 * 3 * 256).map(|at| ((at * 37 % 101) as f32 / 50.0) - 1.0).collect();
        Tensor::from_data(TensorData::new(pixels, [4, 3, 16, 16]), device)
    }

    fn classes(numbers: [i64; 4]) -> Tensor<1, Int> {
        Tensor::from_data(TensorData::from(numbers), &Device::flex())
    }

    fn loss(model: &Model, lesson: Lesson) -> f32 {
        model.loss_of(images(&Device::flex().autodiff()), lesson).0.into_scalar()
    }

    fn taught(probabilities: Tensor<2>, weight: f64) -> Option<Taught> {
        Some(Taught { probabilities, weight, temperature: 4.0 })
    }

    /// What the model itself says in training, softened.
    fn own_opinion(model: &Model) -> Tensor<2> {
        let scores = model.classifier.forward(model.network.forward(images(&Device::flex().autodiff())));
        burn::tensor::activation::softmax(scores / 4.0, 1).inner()
    }

    #[test]
    fn images_mixed_with_themselves_are_themselves_and_halves_share_classes() {
        let model = model(1);
        let lesson =
            |numbers, blend| Lesson { classes: classes(numbers), smoothing: 0.1, blend, taught: None };
        let whole = loss(&model, lesson([0, 1, 2, 0], None));
        for depth in 0..4 {
            let own = loss(&model, lesson([0, 1, 2, 0], Some(Blend { depth, share: 1.0 })));
            assert!((own - whole).abs() < 1e-5, "{own} instead of {whole} at depth {depth}");
        }
        // Half and half, the order of the pair's classes is of no account.
        let half = Some(Blend { depth: 2, share: 0.5 });
        let (one, other) =
            (loss(&model, lesson([0, 1, 2, 0], half)), loss(&model, lesson([0, 2, 1, 0], half)));
        assert!((one - other).abs() < 1e-5 && (one - whole).abs() > 1e-4, "{one}, {other}, {whole}");
        // Mixed below its last place a network mixes nothing.
        assert_eq!(loss(&model, lesson([0, 1, 2, 0], Some(Blend { depth: 9, share: 1.0 }))), whole);
    }

    #[test]
    fn a_cosine_classifier_looks_at_directions_only() {
        let mut settings = Settings::preset("compact", Architecture::Conv4, 16).expect("a preset");
        settings.cosine = 2.0;
        let device = Device::flex();
        let model = tensors::draw(Model::new(&settings, CLASSES, &device), 5);
        let features = model.network.forward(images(&device));
        let found = values_of(&model.scores(features.clone() * 3.0));
        let (rows, weights) = (values_of(&features), values_of(&model.classifier.weight.val()));
        let width = rows.len() / 4;
        for (at, found) in found.iter().enumerate() {
            let (row, weight) =
                (&rows[at / CLASSES * width..][..width], &weights[at % CLASSES * width..][..width]);
            let product: f32 = row.iter().zip(weight).map(|(a, b)| a * b).sum();
            let length = row.iter().map(|value| value * value).sum::<f32>().sqrt();
            assert!((found - 2.0 * product / length).abs() < 1e-5, "{at}: {found}");
        }
    }

    #[test]
    fn where_turns_are_learnt_they_are_half_of_the_loss() {
        let mut settings = Settings::preset("compact", Architecture::Conv4, 16).expect("a preset");
        settings.rotations = true;
        let model = tensors::draw(Model::new(&settings, CLASSES, &Device::flex().autodiff()), 6);
        let plain = Model::linear(model.network.clone(), model.classifier.clone());
        let turned = all_ways_up(images(&Device::flex().autodiff()));
        let lesson = || {
            let classes = classes_all_ways_up(classes([0, 1, 2, 0]));
            Lesson { classes, smoothing: 0.0, blend: None, taught: None }
        };
        let (both, right) = model.loss_of(turned.clone(), lesson());
        let (of_classes, _) = plain.loss_of(turned.clone(), lesson());
        let turns = model.turns.as_ref().expect("asked for");
        let scores = values_of(&turns.forward(model.network.forward(turned)));
        let of_turns = scores.chunks(4).enumerate().map(|(at, scores)| {
            let total: f32 = scores.iter().map(|score| score.exp()).sum();
            total.ln() - scores[at / 4]
        });
        let of_turns = of_turns.sum::<f32>() / 16.0;
        let [both, of_classes] = [both, of_classes].map(|loss| loss.into_scalar::<f32>());
        assert!((both - 0.5 * (of_classes + of_turns)).abs() < 1e-5, "{both}: {of_classes}, {of_turns}");
        assert!(right <= 4 && of_turns > 0.1);
    }

    #[test]
    fn a_teacher_of_the_same_opinion_has_nothing_to_teach() {
        let model = model(2);
        let lesson = |taught| Lesson { classes: classes([2, 1, 0, 1]), smoothing: 0.0, blend: None, taught };
        let alone = loss(&model, lesson(None));
        let agreeing = loss(&model, lesson(taught(own_opinion(&model), 0.25)));
        assert!((agreeing - 0.75 * alone).abs() < 1e-5, "{agreeing} instead of {}", 0.75 * alone);
        let sure = TensorData::from([[1.0f32, 0.0, 0.0]; 4]);
        let contradicted = loss(&model, lesson(taught(Tensor::from_data(sure, &Device::flex()), 1.0)));
        assert!(contradicted > 0.1, "{contradicted}");
    }

    #[test]
    fn gradients_of_a_mixed_and_taught_batch_are_its_slopes() {
        let student = model(3);
        let opinion = own_opinion(&model(4));
        let lesson = || Lesson {
            classes: classes([1, 0, 2, 2]),
            smoothing: 0.1,
            blend: Some(Blend { depth: 1, share: 0.7 }),
            taught: taught(opinion.clone(), 0.5),
        };
        let (value, _) = student.loss_of(images(&Device::flex().autodiff()), lesson());
        let gradients = value.backward();
        let slope_of = |name: &str, at: usize, gradient: f32| {
            let mut arrays: tensors::Arrays =
                tensors::collect(&student).into_iter().map(|named| (named.name, named.array)).collect();
            let mut moved = |by: f32| {
                let array = arrays.get_mut(name).expect("a tensor of the model");
                array.values[at] += by;
                let value = loss(&tensors::apply(student.clone(), &arrays).0, lesson());
                arrays.get_mut(name).expect("the same").values[at] -= by;
                value
            };
            let slope = (moved(1e-2) - moved(-1e-2)) / 2e-2;
            assert!(
                (slope - gradient).abs() < 2e-3 + 0.05 * gradient.abs(),
                "{name}: {slope}, not {gradient}"
            );
        };
        let by_bias = student.classifier.bias.val().grad(&gradients).expect("a gradient");
        (0..CLASSES).for_each(|at| slope_of("classifier.bias", at, values_of(&by_bias)[at]));
        let by_weight = student.classifier.weight.val().grad(&gradients).expect("a gradient");
        for at in [0, 40, 130] {
            slope_of("classifier.weight", at, values_of(&by_weight)[at]);
        }
    }
}
