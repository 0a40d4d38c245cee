//! Several looks at one image: windows of it whose features are averaged.
//!
//! The first window is what the network's preparation shows of the image. The others are squares of 60 to 95% of its
//! shorter side, spread evenly over places and sizes by a sequence without chance (multiples of the powers of 1/1.2207,
//! the root of x⁴ = x + 1), so that the same image always gives the same features.

use handful_data::datasets::Image;

use crate::resize::crop;

/// The most windows: each costs as much as an image.
pub const MOST_CROPS: usize = 64;
const SMALLEST: f64 = 0.6;
const LARGEST: f64 = 0.95;
const ROOT: f64 = 1.220_744_084_605_759_5;

/// The windows besides the first, where `count` are wanted in all.
pub(crate) fn further_windows(image: &Image, count: usize) -> Vec<Image> {
    (1..count).map(|number| window(image, number)).collect()
}

fn window(image: &Image, number: usize) -> Image {
    let place = |power: i32| (0.5 + number as f64 * ROOT.powi(-power)).fract();
    let shorter = image.width.min(image.height);
    let share = SMALLEST + (LARGEST - SMALLEST) * place(3);
    let side = ((shorter as f64 * share).round() as usize).clamp(1, shorter.max(1));
    let start = |length: usize, place: f64| ((length - side) as f64 * place).round() as usize;
    crop(image, start(image.width, place(1)), start(image.height, place(2)), side, side)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_squares_inside_the_image_and_differ() {
        for (width, height) in [(50, 30), (30, 50), (1, 1), (2, 90)] {
            let pixels = (0..3 * width * height).map(|at| (at % 251) as u8).collect();
            let image = Image { width, height, pixels };
            let windows = further_windows(&image, 9);
            assert_eq!(windows.len(), 8);
            for window in &windows {
                assert_eq!(window.width, window.height);
                assert_eq!(window.pixels.len(), 3 * window.width * window.height);
            }
            if width == 50 {
                assert!(windows.windows(2).all(|pair| pair[0] != pair[1]));
                assert!(windows.iter().all(|window| (18..=29).contains(&window.width)));
            }
        }
    }
}
