//! From 8-bit images to the numbers a network is fed with.

use handful_data::datasets::Image;
use serde::{Deserialize, Serialize};

use crate::resize::{Filter, crop, resize};

/// What happens to an image before the network sees it, outside training.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Preparation {
    /// Side of the square the network sees.
    pub size: usize,
    /// Whether the image is first resized to 8/7 of that side and its middle cut out (TIM's `--enlarge`).
    pub enlarge: bool,
    /// Whether the interpolation is bicubic instead of bilinear.
    pub bicubic: bool,
    /// Mean of each channel, in units of 255.
    pub mean: [f32; 3],
    /// Standard deviation of each channel, in units of 255.
    pub deviation: [f32; 3],
}

impl Preparation {
    /// The normalisation of ImageNet that all recipes of the few-shot literature use.
    pub fn imagenet(size: usize) -> Self {
        Self {
            size,
            enlarge: false,
            bicubic: false,
            mean: [0.485, 0.456, 0.406],
            deviation: [0.229, 0.224, 0.225],
        }
    }

    /// The normalisation of EfficientNet-Lite, `(x - 127) / 128`, and bicubic interpolation.
    pub fn efficientnet_lite(size: usize) -> Self {
        let (mean, deviation) = ([127.0 / 255.0; 3], [128.0 / 255.0; 3]);
        Self { size, enlarge: false, bicubic: true, mean, deviation }
    }

    /// The planes `[3, size, size]` of an image.
    pub fn apply(&self, image: &Image) -> Vec<f32> {
        let filter = if self.bicubic { Filter::Bicubic } else { Filter::Bilinear };
        let image = if self.enlarge {
            let side = self.size * 256 / 224;
            let edge = (side - self.size) / 2;
            crop(&resize(image, side, side, filter), edge, edge, self.size, self.size)
        } else {
            resize(image, self.size, self.size, filter)
        };
        self.normalise(&image)
    }

    /// The planes of an image that already has the right size.
    pub fn normalise(&self, image: &Image) -> Vec<f32> {
        let plane = image.width * image.height;
        let mut planes = vec![0.0; 3 * plane];
        for channel in 0..3 {
            let scale = 1.0 / (255.0 * self.deviation[channel]);
            let shift = -self.mean[channel] / self.deviation[channel];
            let values = image.pixels.iter().skip(channel).step_by(3);
            for (out, &value) in planes[channel * plane..][..plane].iter_mut().zip(values) {
                *out = f32::from(value) * scale + shift;
            }
        }
        planes
    }
}
