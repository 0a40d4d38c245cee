//! The bytes of an image file as pixels, upright.
//!
//! Photographs are stored as the sensor lay and say in their EXIF data which way is up; everybody who looks at them
//! sees them upright, so the networks do too. An animation is its first frame. Transparency is dropped, as Pillow's
//! `convert("RGB")` does, which trained every network there is.

use std::{io::Cursor, path::Path};

use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};

use super::Image;
use crate::error::DataError;

/// No dataset has larger images; a file that claims so is broken.
const LONGEST_SIDE: u32 = 20_000;

/// Memory that any image may take while it is decoded, in which 60 megapixels fit...
const ALWAYS_ALLOWED: u64 = 400 << 20;
/// ...and that one of a large file may, as many times the file: photographs are not compressed further.
const LARGEST_EXPANSION: u64 = 32;

/// Decodes a file; `path` is for messages.
pub(super) fn decode(path: &Path, bytes: &[u8]) -> Result<Image, DataError> {
    let malformed = |reason: String| DataError::malformed(path, "image", reason);
    if let Some(kind) = phone_kind(bytes) {
        return Err(malformed(format!(
            "{kind} images cannot be read; convert it to JPEG first, as with `heif-convert in.heic out.jpg` or \
             `sips -s format jpeg in.heic --out out.jpg`"
        )));
    }
    let mut reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| malformed(error.to_string()))?;
    // Decoders fill what is missing of a JPEG with grey, and miss the orientation at the end of a WebP, silently.
    let is_whole = match reader.format() {
        Some(ImageFormat::Jpeg) => has_end_of_jpeg(bytes),
        Some(ImageFormat::WebP) => has_end_of_riff(bytes),
        _ => true,
    };
    if !is_whole {
        return Err(malformed("it ends before the image does: the file is truncated".to_owned()));
    }
    let allowed = ALWAYS_ALLOWED.max(LARGEST_EXPANSION * bytes.len() as u64);
    let mut limits = Limits::default();
    limits.max_alloc = Some(allowed);
    limits.max_image_width = Some(LONGEST_SIDE);
    limits.max_image_height = Some(LONGEST_SIDE);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|error| malformed(error.to_string()))?;
    // The pixels as they are stored, and once more upright in three colours.
    let (width, height) = decoder.dimensions();
    let needed = decoder.total_bytes().saturating_add(3 * u64::from(width) * u64::from(height));
    if needed > allowed {
        let what = format!("the memory for {width} x {height} pixels");
        return Err(DataError::Limit { path: path.to_owned(), what, limit: allowed });
    }
    // Broken EXIF data are no reason to refuse a photograph: it is then taken as it is stored.
    let orientation = decoder.orientation().ok();
    let mut image = DynamicImage::from_decoder(decoder).map_err(|error| malformed(error.to_string()))?;
    if let Some(orientation) = orientation {
        image.apply_orientation(orientation);
    }
    let image = image.into_rgb8();
    Ok(Image { width: image.width() as usize, height: image.height() as usize, pixels: image.into_raw() })
}

/// Photographs of phones in a box of the MPEG kind, by the brand in it.
fn phone_kind(bytes: &[u8]) -> Option<&'static str> {
    match (bytes.get(4..8)?, bytes.get(8..12)?) {
        (b"ftyp", b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"mif1" | b"msf1") => Some("HEIC"),
        (b"ftyp", b"avif" | b"avis") => Some("AVIF"),
        _ => None,
    }
}

/// Whether a file is as long as it says, and so are its chunks: the decoder reserves whatever length they declare.
fn has_end_of_riff(bytes: &[u8]) -> bool {
    let length = |at: usize| -> Option<usize> {
        let field = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        usize::try_from(u32::from_le_bytes(field)).ok()
    };
    let Some(end) = length(4).and_then(|length| length.checked_add(8)).filter(|&end| end <= bytes.len())
    else {
        return false;
    };
    // Behind `RIFF`, the length and `WEBP`.
    let mut at = 12;
    while at + 8 <= end {
        match length(at + 4) {
            // Chunks begin at even places.
            Some(length) if length <= end - at - 8 => at += 8 + length + length % 2,
            _ => return false,
        }
    }
    true
}

/// Whether the last scan of a JPEG is followed by the marker of its end. What comes behind that, such as a second
/// picture or the video of a phone, does not matter.
fn has_end_of_jpeg(bytes: &[u8]) -> bool {
    const END_OF_IMAGE: u8 = 0xD9;
    // Behind the marker of the start.
    let mut at = 2;
    loop {
        // Behind the header of a scan come its data, in which 0xFF is followed by 0 or by the marker of a restart.
        let marker = loop {
            let Some(&[first, second]) = bytes.get(at..at + 2) else { return false };
            match (first, second) {
                (0xFF, 0x00 | 0xD0..=0xD7) => at += 2,
                (0xFF, 0xFF) => at += 1,
                (0xFF, marker) => break marker,
                _ => at += 1,
            }
        };
        if marker == END_OF_IMAGE {
            return true;
        }
        let Some(&[high, low]) = bytes.get(at + 2..at + 4) else { return false };
        at += 2 + usize::from(u16::from_be_bytes([high, low]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let mut sum = flate2::Crc::new();
        sum.update(kind);
        sum.update(data);
        [&(data.len() as u32).to_be_bytes(), &kind[..], data, &sum.sum().to_be_bytes()].concat()
    }

    /// A PNG whose header says how large it is, and whose data end at once.
    fn claiming(width: u32, height: u32, colours: u8) -> Vec<u8> {
        let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
        let header = chunk(b"IHDR", &[&size[..], &[8, colours, 0, 0, 0]].concat());
        let data = chunk(b"IDAT", &[0x78, 0x01, 0x03, 0x00, 0x00, 0x00, 0x00, 0x01]);
        [b"\x89PNG\r\n\x1a\n", &header[..], &data, &chunk(b"IEND", &[])].concat()
    }

    #[test]
    fn a_webp_whose_chunks_are_longer_than_it_is_refused() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/images/orientation-6.webp");
        let mut bytes = std::fs::read(&fixture).unwrap();
        decode(&fixture, &bytes).unwrap();
        let exif = bytes.windows(4).position(|name| name == b"EXIF").unwrap();
        bytes[exif + 4..exif + 8].copy_from_slice(&0xcccc_cccc_u32.to_le_bytes());
        let error = decode(&fixture, &bytes).unwrap_err().to_string();
        assert!(error.contains("the file is truncated"), "{error}");
    }

    #[test]
    fn an_image_that_would_fill_the_memory_is_refused_before_it_does() {
        let error = decode(Path::new("bomb.png"), &claiming(19_000, 19_000, 6)).unwrap_err();
        assert!(matches!(error, DataError::Limit { limit: ALWAYS_ALLOWED, .. }), "{error}");
        assert!(error.to_string().contains("the memory for 19000 x 19000 pixels"), "{error}");
        let error = decode(Path::new("cut.png"), &claiming(8_000, 7_000, 6)).unwrap_err();
        assert!(matches!(error, DataError::Malformed { .. }), "{error}");
    }
}
