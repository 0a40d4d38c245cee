//! Resizing as Pillow does it: separable, with a window that grows when the image shrinks, in two 8-bit passes.
//!
//! Features depend on it: a bicubic of another library moves them by more than the difference between two networks.

use handful_data::datasets::Image;

/// The interpolation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filter {
    /// A triangle of half-width 1.
    Bilinear,
    /// Keys' cubic with a = -0.5, half-width 2.
    Bicubic,
}

impl Filter {
    fn half_width(self) -> f64 {
        match self {
            Self::Bilinear => 1.0,
            Self::Bicubic => 2.0,
        }
    }

    fn weight(self, x: f64) -> f64 {
        let x = x.abs();
        match self {
            Self::Bilinear => (1.0 - x).max(0.0),
            Self::Bicubic if x < 1.0 => (1.5 * x - 2.5) * x * x + 1.0,
            Self::Bicubic if x < 2.0 => ((-0.5 * x + 2.5) * x - 4.0) * x + 2.0,
            Self::Bicubic => 0.0,
        }
    }
}

/// Bits behind the point of Pillow's weights for 8-bit images.
const PRECISION: u32 = 32 - 8 - 2;

/// The first input of each output, and its weights as whole numbers.
fn taps(input: usize, output: usize, filter: Filter) -> Vec<(usize, Vec<i64>)> {
    let scale = input as f64 / output as f64;
    let stretch = scale.max(1.0);
    let support = filter.half_width() * stretch;
    (0..output)
        .map(|at| {
            let centre = (at as f64 + 0.5) * scale;
            let first = ((centre - support + 0.5) as i64).max(0) as usize;
            let end = (((centre + support + 0.5) as i64).max(0) as usize).min(input);
            let weights: Vec<f64> =
                (first..end).map(|place| filter.weight((place as f64 - centre + 0.5) / stretch)).collect();
            let sum: f64 = weights.iter().sum();
            let one = f64::from(1u32 << PRECISION);
            let whole = |weight: f64| {
                let scaled = weight / sum * one;
                (if scaled < 0.0 { scaled - 0.5 } else { scaled + 0.5 }) as i64
            };
            (first, weights.into_iter().map(whole).collect())
        })
        .collect()
}

fn to_byte(sum: i64) -> u8 {
    ((sum + (1 << (PRECISION - 1))) >> PRECISION).clamp(0, 255) as u8
}

/// The image at another size.
pub fn resize(image: &Image, width: usize, height: usize, filter: Filter) -> Image {
    let narrowed = if width == image.width { image.clone() } else { resize_rows(image, width, filter) };
    if height == image.height {
        return narrowed;
    }
    let taps = taps(image.height, height, filter);
    let mut pixels = Vec::with_capacity(3 * width * height);
    for (first, weights) in &taps {
        for at in 0..3 * width {
            let column = narrowed.pixels[3 * width * first + at..].iter().step_by(3 * width);
            pixels.push(to_byte(column.zip(weights).map(|(&value, weight)| i64::from(value) * weight).sum()));
        }
    }
    Image { width, height, pixels }
}

fn resize_rows(image: &Image, width: usize, filter: Filter) -> Image {
    let taps = taps(image.width, width, filter);
    let mut pixels = Vec::with_capacity(3 * width * image.height);
    for row in image.pixels.chunks_exact(3 * image.width) {
        for (first, weights) in &taps {
            for channel in 0..3 {
                let values = row[3 * first + channel..].iter().step_by(3);
                pixels.push(to_byte(
                    values.zip(weights).map(|(&value, weight)| i64::from(value) * weight).sum(),
                ));
            }
        }
    }
    Image { width, height: image.height, pixels }
}

/// A window of the image; the window must lie inside it.
pub fn crop(image: &Image, x: usize, y: usize, width: usize, height: usize) -> Image {
    let rows = image.pixels.chunks_exact(3 * image.width).skip(y).take(height);
    let pixels = rows.flat_map(|row| &row[3 * x..3 * (x + width)]).copied().collect();
    Image { width, height, pixels }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_constant_image_stays_constant() {
        let image = Image { width: 5, height: 7, pixels: vec![93; 3 * 35] };
        for filter in [Filter::Bilinear, Filter::Bicubic] {
            for (width, height) in [(13, 3), (5, 20), (2, 7)] {
                let resized = resize(&image, width, height, filter);
                assert_eq!(resized.pixels, vec![93; 3 * width * height]);
            }
        }
    }

    #[test]
    fn known_rows_of_pillow() {
        // Image.fromarray(numpy.uint8([[0, 50, 100, 255]])).resize((8, 1), BICUBIC) and (2, 1), BILINEAR.
        let pixels = [0u8, 50, 100, 255].iter().flat_map(|&value| [value; 3]).collect();
        let image = Image { width: 4, height: 1, pixels };
        let red = |image: Image| image.pixels.iter().step_by(3).copied().collect::<Vec<u8>>();
        assert_eq!(red(resize(&image, 8, 1, Filter::Bicubic)), [0, 8, 35, 60, 80, 138, 227, 255]);
        assert_eq!(red(resize(&image, 2, 1, Filter::Bilinear)), [36, 159]);
    }
}
