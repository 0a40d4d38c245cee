//! Random changes of training images, each a function of the image and of the random numbers it is given.
//!
//! - `Crop::Padded`: zeros around the image, then a window of the original size.
//! - `Crop::Resized`: torchvision's `RandomResizedCrop` (8 to 100 % of the area, ratio 3/4 to 4/3), bilinear.
//! - jitter: brightness, contrast and colour, each by a factor from `1 ± strength`, in that order, on 8-bit values,
//!   as in TIM and LaplacianShot.
//! - a horizontal flip of every second image.
//! - a quarter, half or three quarter turn of some images, which then belong to classes of their own: telling a turned cat
//!   from an upright one teaches what parts a cat has (self-supervised label augmentation, Lee, Hwang and Shin 2020).

use handful_data::datasets::Image;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::Rng;
use serde::{Deserialize, Serialize};

use crate::resize::{Filter, crop, resize};

/// How a window is cut.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Crop {
    /// The image as it is, resized.
    None,
    /// After this many zeros on each side at the training size.
    Padded(usize),
    /// A random part of the image, resized.
    Resized,
}

/// What is done to training images.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Augmentation {
    /// The window.
    pub crop: Crop,
    /// Strength of the colour jitter; 0 for none.
    pub jitter: f32,
    /// Whether every second image is flipped.
    pub flip: bool,
    /// Share of the images that are turned, and then belong to classes of their own.
    #[serde(default)]
    pub turns: f32,
}

/// Ways up that an image can have, the upright one included.
pub const WAYS_UP: usize = 4;

/// A number from 0 to 1, 1 excluded.
fn uniform(random: &mut ChaCha12Rng) -> f32 {
    (random.next_u32() >> 8) as f32 / (1u32 << 24) as f32
}

/// A whole number below `end`.
fn below(random: &mut ChaCha12Rng, end: usize) -> usize {
    ((u64::from(random.next_u32()) * end as u64) >> 32) as usize
}

impl Augmentation {
    /// A changed image of `size` pixels square.
    pub fn apply(&self, image: &Image, size: usize, random: &mut ChaCha12Rng) -> Image {
        let mut image = match self.crop {
            Crop::None => resize(image, size, size, Filter::Bilinear),
            Crop::Padded(zeros) => {
                let image = resize(image, size, size, Filter::Bilinear);
                let (x, y) = (below(random, 2 * zeros + 1), below(random, 2 * zeros + 1));
                padded_window(&image, zeros, x, y)
            }
            Crop::Resized => random_resized_crop(image, size, random),
        };
        if self.jitter > 0.0 {
            jitter(&mut image, self.jitter, random);
        }
        if self.flip && random.next_u32() & 1 == 1 {
            flip(&mut image);
        }
        image
    }

    /// How many classes there are to tell apart among images of so many.
    pub fn classes(&self, classes: usize) -> usize {
        if self.turns > 0.0 { classes * WAYS_UP } else { classes }
    }

    /// Turns a square image or leaves it upright; gives the number of quarter turns.
    pub fn turn(&self, image: &mut Image, random: &mut ChaCha12Rng) -> usize {
        // Nothing is drawn where nothing is turned, so that such trainings go on as they began.
        if self.turns <= 0.0 || uniform(random) >= self.turns {
            return 0;
        }
        let quarters = 1 + below(random, WAYS_UP - 1);
        (0..quarters).for_each(|_| quarter_turn(image));
        quarters
    }
}

/// Turns an image clockwise.
pub(super) fn quarter_turn(image: &mut Image) {
    let (width, height) = (image.width, image.height);
    let mut pixels = Vec::with_capacity(image.pixels.len());
    for column in 0..width {
        for row in (0..height).rev() {
            pixels.extend_from_slice(&image.pixels[3 * (row * width + column)..][..3]);
        }
    }
    *image = Image { width: height, height: width, pixels };
}

/// The window whose corner is `(x, y)` in the image with `zeros` around it; it has the image's size.
fn padded_window(image: &Image, zeros: usize, x: usize, y: usize) -> Image {
    let (width, height) = (image.width, image.height);
    let mut pixels = vec![0; image.pixels.len()];
    for row in 0..height {
        let Some(source) = (row + y).checked_sub(zeros).filter(|&source| source < height) else { continue };
        let first = zeros.saturating_sub(x);
        let end = (width + zeros).saturating_sub(x).min(width);
        if first < end {
            let start = 3 * (source * width + first + x - zeros);
            let length = 3 * (end - first);
            pixels[3 * (row * width + first)..][..length].copy_from_slice(&image.pixels[start..][..length]);
        }
    }
    Image { width, height, pixels }
}

fn random_resized_crop(image: &Image, size: usize, random: &mut ChaCha12Rng) -> Image {
    const ATTEMPTS: usize = 10;
    let area = (image.width * image.height) as f32;
    for _ in 0..ATTEMPTS {
        let target = area * (0.08 + 0.92 * uniform(random));
        let log_ratio = (4.0f32 / 3.0).ln();
        let ratio = (log_ratio * (2.0 * uniform(random) - 1.0)).exp();
        let width = (target * ratio).sqrt().round() as usize;
        let height = (target / ratio).sqrt().round() as usize;
        if (1..=image.width).contains(&width) && (1..=image.height).contains(&height) {
            let x = below(random, image.width - width + 1);
            let y = below(random, image.height - height + 1);
            return resize(&crop(image, x, y, width, height), size, size, Filter::Bilinear);
        }
    }
    // torchvision's way out: the middle, as much of it as the ratio allows.
    let side = image.width.min(image.height);
    let (x, y) = ((image.width - side) / 2, (image.height - side) / 2);
    resize(&crop(image, x, y, side, side), size, size, Filter::Bilinear)
}

fn grey(pixel: &[u8]) -> f32 {
    0.299 * f32::from(pixel[0]) + 0.587 * f32::from(pixel[1]) + 0.114 * f32::from(pixel[2])
}

/// `to + factor (pixel - to)`, in 8 bits.
fn blend(value: u8, to: f32, factor: f32) -> u8 {
    (to + factor * (f32::from(value) - to)).clamp(0.0, 255.0) as u8
}

fn jitter(image: &mut Image, strength: f32, random: &mut ChaCha12Rng) {
    let [brightness, contrast, colour] = [0; 3].map(|_: u8| 1.0 + strength * (2.0 * uniform(random) - 1.0));
    image.pixels.iter_mut().for_each(|value| *value = blend(*value, 0.0, brightness));
    let pixels = image.pixels.len().max(3) / 3;
    let mean = (image.pixels.chunks_exact(3).map(|pixel| f64::from(grey(pixel))).sum::<f64>() / pixels as f64)
        .round() as f32;
    image.pixels.iter_mut().for_each(|value| *value = blend(*value, mean, contrast));
    for pixel in image.pixels.chunks_exact_mut(3) {
        let grey = grey(pixel).round();
        pixel.iter_mut().for_each(|value| *value = blend(*value, grey, colour));
    }
}

fn flip(image: &mut Image) {
    for row in image.pixels.chunks_exact_mut(3 * image.width) {
        for left in 0..image.width / 2 {
            let right = image.width - 1 - left;
            for channel in 0..3 {
                row.swap(3 * left + channel, 3 * right + channel);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand_chacha::rand_core::SeedableRng;

    use super::*;

    fn numbered(width: usize, height: usize) -> Image {
        Image { width, height, pixels: (0..3 * width * height).map(|value| value as u8).collect() }
    }

    #[test]
    fn the_middle_window_is_the_image_and_corners_have_zeros() {
        let image = numbered(4, 3);
        assert_eq!(padded_window(&image, 2, 2, 2), image);
        let corner = padded_window(&image, 2, 0, 0);
        assert!(corner.pixels[..2 * 4 * 3].iter().all(|&value| value == 0));
        assert_eq!(corner.pixels[(2 * 4 + 2) * 3..][..3], image.pixels[..3]);
        let other = padded_window(&image, 2, 4, 4);
        assert_eq!(other.pixels[..3], image.pixels[(2 * 4 + 2) * 3..][..3]);
    }

    #[test]
    fn a_flip_twice_is_nothing_and_once_is_a_mirror() {
        let image = numbered(5, 2);
        let mut mirrored = image.clone();
        flip(&mut mirrored);
        assert_eq!(mirrored.pixels[..3], image.pixels[4 * 3..][..3]);
        flip(&mut mirrored);
        assert_eq!(mirrored, image);
    }

    #[test]
    fn four_quarter_turns_are_none_and_one_brings_the_left_column_up() {
        let image = numbered(3, 2);
        let mut turned = image.clone();
        quarter_turn(&mut turned);
        assert_eq!((turned.width, turned.height), (2, 3));
        // The lower left pixel comes to the upper left.
        assert_eq!(turned.pixels[..3], image.pixels[3 * 3..][..3]);
        (0..3).for_each(|_| quarter_turn(&mut turned));
        assert_eq!(turned, image);
    }

    #[test]
    fn turned_images_are_told_by_their_number_of_turns() {
        let half = Augmentation { crop: Crop::None, jitter: 0.0, flip: false, turns: 0.5 };
        let mut found = [0; WAYS_UP];
        for seed in 0..400 {
            let mut image = numbered(2, 2);
            let turns = half.turn(&mut image, &mut ChaCha12Rng::seed_from_u64(seed));
            let mut expected = numbered(2, 2);
            (0..turns).for_each(|_| quarter_turn(&mut expected));
            assert_eq!(image, expected);
            found[turns] += 1;
        }
        assert!(found[0] > 150 && found[1..].iter().all(|&count| count > 40), "{found:?}");
        let none = Augmentation { turns: 0.0, ..half };
        assert_eq!((half.classes(5), none.classes(5)), (20, 5));
        assert_eq!(none.turn(&mut numbered(2, 2), &mut ChaCha12Rng::seed_from_u64(1)), 0);
    }

    #[test]
    fn the_same_numbers_give_the_same_image_of_the_wanted_size() {
        let all = Augmentation { crop: Crop::Resized, jitter: 0.4, flip: true, turns: 0.0 };
        let image = numbered(9, 7);
        let draw = |seed| all.apply(&image, 6, &mut ChaCha12Rng::seed_from_u64(seed));
        assert_eq!(draw(3), draw(3));
        assert_ne!(draw(3), draw(4));
        assert_eq!(draw(5).pixels.len(), 3 * 36);
    }

    #[test]
    fn factors_of_one_change_no_pixel() {
        let mut image = numbered(4, 4);
        jitter(&mut image, 0.0, &mut ChaCha12Rng::seed_from_u64(1));
        assert_eq!(image, numbered(4, 4));
    }
}
