//! From 8-bit images to the numbers a network is fed with.

use std::str::FromStr;

use handful_data::datasets::Image;
use serde::{Deserialize, Serialize};

use crate::error::VisionError;
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
    /// Whether the shorter side is resized and the middle cut out, instead of the image squeezed into a square.
    #[serde(default)]
    pub keep_aspect: bool,
    /// Mean of each channel, in units of 255.
    pub mean: [f32; 3],
    /// Standard deviation of each channel, in units of 255.
    pub deviation: [f32; 3],
}

/// The numbers that bytes of images become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pixels {
    /// Mean and deviation of ImageNet taken off.
    Imagenet,
    /// From 0 to 1.
    Unit,
    /// From -1 to 1.
    Signed,
    /// `(x - 127) / 128`.
    Lite,
    /// Bytes as they are, 0 to 255.
    Raw,
}

impl Pixels {
    /// By the names of the command line.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("imagenet", Self::Imagenet),
        ("unit", Self::Unit),
        ("signed", Self::Signed),
        ("lite", Self::Lite),
        ("raw", Self::Raw),
    ];

    /// Mean and deviation of each channel, in units of 255.
    fn mean_and_deviation(self) -> ([f32; 3], [f32; 3]) {
        match self {
            Self::Imagenet => ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
            Self::Unit => ([0.0; 3], [1.0; 3]),
            Self::Signed => ([0.5; 3], [0.5; 3]),
            Self::Lite => ([127.0 / 255.0; 3], [128.0 / 255.0; 3]),
            Self::Raw => ([0.0; 3], [1.0 / 255.0; 3]),
        }
    }
}

impl FromStr for Pixels {
    type Err = VisionError;

    fn from_str(text: &str) -> Result<Self, VisionError> {
        let known = Self::NAMES.iter().find(|(name, _)| *name == text).map(|(_, known)| *known);
        known.ok_or_else(|| VisionError::Setting {
            setting: "pixels",
            value: format!("`{text}`"),
            requirement: format!("it must be one of {}", Self::NAMES.map(|(name, _)| name).join(", ")),
        })
    }
}

impl Preparation {
    /// The normalisation of ImageNet that all recipes of the few-shot literature use.
    pub fn imagenet(size: usize) -> Self {
        let (mean, deviation) = Pixels::Imagenet.mean_and_deviation();
        Self { size, enlarge: false, bicubic: false, keep_aspect: false, mean, deviation }
    }

    /// The normalisation of EfficientNet-Lite, `(x - 127) / 128`, and bicubic interpolation of whole squares.
    pub fn efficientnet_lite(size: usize) -> Self {
        let (mean, deviation) = Pixels::Lite.mean_and_deviation();
        Self { size, enlarge: false, bicubic: true, keep_aspect: true, mean, deviation }
    }

    /// The same with other numbers for the bytes.
    pub fn with_pixels(self, pixels: Pixels) -> Self {
        let (mean, deviation) = pixels.mean_and_deviation();
        Self { mean, deviation, ..self }
    }

    /// The planes `[3, size, size]` of an image.
    pub fn apply(&self, image: &Image) -> Vec<f32> {
        let filter = if self.bicubic { Filter::Bicubic } else { Filter::Bilinear };
        let side = if self.enlarge { self.size * 256 / 224 } else { self.size };
        // As torchvision's Resize: the longer side is rounded down.
        let shorter = image.width.min(image.height).max(1);
        let resized =
            |length: usize| if self.keep_aspect { (side * length / shorter).max(side) } else { side };
        let (width, height) = (resized(image.width), resized(image.height));
        let image = resize(image, width, height, filter);
        let edge = |length: usize| (length - self.size) / 2;
        if (width, height) == (self.size, self.size) {
            return self.normalise(&image);
        }
        self.normalise(&crop(&image, edge(width), edge(height), self.size, self.size))
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Red tells the column, green the row.
    fn picture(width: usize, height: usize) -> Image {
        let pixels = (0..height)
            .flat_map(|y| {
                (0..width).flat_map(move |x| [(255 * x / width) as u8, (255 * y / height) as u8, 0])
            })
            .collect();
        Image { width, height, pixels }
    }

    #[test]
    fn the_middle_of_a_long_image_keeps_its_proportions() {
        let preparation =
            Preparation { keep_aspect: true, ..Preparation::imagenet(16) }.with_pixels(Pixels::Raw);
        for (width, height) in [(64, 32), (32, 64), (33, 32)] {
            let planes = preparation.apply(&picture(width, height));
            assert_eq!(planes.len(), 3 * 16 * 16);
            // From the first to the last column the middle of an image twice as wide as high has half of the red.
            let red = planes[15] - planes[0];
            let green = planes[256 + 15 * 16] - planes[256];
            let share = |length: usize| 239.0 * 32.0 / length as f32;
            assert!((red - share(width)).abs() < 12.0, "{width} x {height}: {red}");
            assert!((green - share(height)).abs() < 12.0, "{width} x {height}: {green}");
        }
        let square = picture(40, 40);
        let squeezed = Preparation { keep_aspect: false, ..preparation };
        assert_eq!(preparation.apply(&square), squeezed.apply(&square));
    }
}
