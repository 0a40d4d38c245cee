//! Images as JPEG, smaller where that is asked for.

use image::RgbImage;
use image::codecs::jpeg::JpegEncoder;

use super::Image;

/// Encodes an image; its longest side becomes at most `longest`.
pub(super) fn jpeg(image: Image, longest: Option<u32>, quality: u8) -> Result<Vec<u8>, String> {
    let (width, height) = (image.width.max(1) as f32, image.height.max(1) as f32);
    let scale = longest.map_or(1.0, |longest| (longest as f32 / width.max(height)).min(1.0));
    let pixels = RgbImage::from_raw(image.width as u32, image.height as u32, image.pixels)
        .ok_or_else(|| "it has fewer pixels than it says".to_owned())?;
    let pixels = if scale < 1.0 {
        let side = |side: f32| ((side * scale).round() as u32).max(1);
        image::imageops::thumbnail(&pixels, side(width), side(height))
    } else {
        pixels
    };
    let mut bytes = Vec::new();
    let encoded = JpegEncoder::new_with_quality(&mut bytes, quality).encode_image(&pixels);
    encoded.map_err(|error| error.to_string())?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_images_shrink_and_small_ones_stay() {
        let image =
            |width: usize, height: usize| Image { width, height, pixels: vec![90; 3 * width * height] };
        let size = |bytes: &[u8]| {
            let image = image::load_from_memory(bytes).expect("a JPEG");
            (image.width(), image.height())
        };
        assert_eq!(size(&jpeg(image(400, 100), Some(200), 80).expect("encoded")), (200, 50));
        assert_eq!(size(&jpeg(image(40, 10), Some(200), 80).expect("encoded")), (40, 10));
        assert_eq!(size(&jpeg(image(400, 1), Some(8), 80).expect("encoded")), (8, 1));
        assert_eq!(size(&jpeg(image(400, 100), None, 80).expect("encoded")), (400, 100));
    }
}
