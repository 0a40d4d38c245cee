//! Which way up an image is, learnt beside its class (Gidaris et al. 2018; S2M2_R, Mangla et al. 2020).
//!
//! ```text
//! loss = 1/2 L(class | x turned by k quarters) + 1/2 L(k | x turned by k quarters),   mean over k = 0, 1, 2, 3
//! ```
//!
//! nupurkmr9/S2M2_fewshot (`train_cifar.py`): every image of a batch is there in all four turns, turns have a linear classifier of their
//! own on the features, and the network goes on by manifold mixup afterwards, without turns. The cosine classifier of classes is
//! [`Model::scores`](super::model::Model::scores). `turns` of the augmentation is another way: there a turned class is a class.

use burn::tensor::{Int, Tensor};

use super::augment::WAYS_UP;

/// The images, and behind them the same turned clockwise by one, two and three quarters.
pub(crate) fn all_ways_up(images: Tensor<4>) -> Tensor<4> {
    let turned = |images: Tensor<4>| images.swap_dims(2, 3).flip([3]);
    let one = turned(images.clone());
    let two = turned(one.clone());
    Tensor::cat(vec![images, one, two.clone(), turned(two)], 0)
}

/// The classes of [`all_ways_up`].
pub(crate) fn classes_all_ways_up(classes: Tensor<1, Int>) -> Tensor<1, Int> {
    classes.repeat_dim(0, WAYS_UP)
}

/// The number of quarters of each of so many images of [`all_ways_up`].
pub(super) fn quarters(like: &Tensor<1, Int>) -> Tensor<1, Int> {
    let count = like.dims()[0];
    let upright = (count / WAYS_UP).max(1);
    let numbers: Vec<i64> = (0..count).map(|at| (at / upright) as i64).collect();
    Tensor::from_data(numbers.as_slice(), &like.device())
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, TensorData};
    use handful_data::datasets::Image;

    use super::*;
    use crate::tensors::values_of;
    use crate::training::augment::quarter_turn;

    #[test]
    fn images_are_turned_as_pictures_are() {
        let size = 3;
        let pictures: Vec<Image> = (0..2)
            .map(|at| Image {
                width: size,
                height: size,
                pixels: (0..27).map(|value| value + 30 * at).collect(),
            })
            .collect();
        // Pixels of a picture stand together, planes of a tensor.
        let planes = |picture: &Image| -> Vec<f32> {
            (0..27).map(|at| f32::from(picture.pixels[3 * (at % 9) + at / 9])).collect()
        };
        let pixels: Vec<f32> = pictures.iter().flat_map(&planes).collect();
        let images = Tensor::from_data(TensorData::new(pixels, [2, 3, size, size]), &Device::flex());
        let mut expected = Vec::new();
        for quarters in 0..4 {
            for picture in &pictures {
                let mut turned = picture.clone();
                (0..quarters).for_each(|_| quarter_turn(&mut turned));
                expected.extend(planes(&turned));
            }
        }
        assert_eq!(values_of(&all_ways_up(images)), expected);
        let classes = classes_all_ways_up(Tensor::from_data([5i64, 7], &Device::flex()));
        assert_eq!(
            quarters(&classes).to_data().convert::<i64>().try_into_vec::<i64>().expect("numbers"),
            [0, 0, 1, 1, 2, 2, 3, 3]
        );
        assert_eq!(
            classes.to_data().convert::<i64>().try_into_vec::<i64>().expect("numbers"),
            [5, 7].repeat(4)
        );
    }
}
