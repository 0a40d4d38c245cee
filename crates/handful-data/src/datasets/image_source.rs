//! Where the pixels are, and how one image of them is decoded.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::error::DataError;

/// A decoded image: 8-bit red, green and blue, row by row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// `3 * width * height` numbers.
    pub pixels: Vec<u8>,
}

/// The pixels of a dataset.
pub(super) enum ImageSource {
    /// Image files.
    Files(Vec<PathBuf>),
    /// Image files inside an archive that was read.
    Encoded { archive: PathBuf, files: Vec<Vec<u8>> },
    /// CIFAR records: each the red, then the green, then the blue plane of 32 x 32.
    Planes { buffers: Vec<Arc<[u8]>>, starts: Vec<(usize, usize)> },
    /// One array `[n, height, width, 3]`, and which of its images are wanted.
    Array { pixels: Vec<u8>, height: usize, width: usize, images: Vec<usize> },
}

impl std::fmt::Debug for ImageSource {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The pixels themselves would fill the screen.
        out.write_str(match self {
            Self::Files(_) => "Files",
            Self::Encoded { .. } => "Encoded",
            Self::Planes { .. } => "Planes",
            Self::Array { .. } => "Array",
        })
    }
}

const SIDE: usize = 32;
const PLANE: usize = SIDE * SIDE;

impl ImageSource {
    pub(super) fn load(&self, image: usize, id: &str) -> Result<Image, DataError> {
        let missing = || DataError::content(Path::new(id), format!("there is no image {image}"));
        match self {
            Self::Files(paths) => {
                let path = paths.get(image).ok_or_else(missing)?;
                let bytes = std::fs::read(path).map_err(|error| DataError::io(path, error))?;
                decode(path, &bytes)
            }
            Self::Encoded { archive, files } => {
                let bytes = files.get(image).ok_or_else(missing)?;
                decode(&archive.join(id), bytes)
            }
            Self::Planes { buffers, starts } => {
                let &(buffer, start) = starts.get(image).ok_or_else(missing)?;
                let planes = buffers.get(buffer).and_then(|bytes| bytes.get(start..start + 3 * PLANE));
                let planes = planes.ok_or_else(missing)?;
                let pixels = (0..PLANE)
                    .flat_map(|at| [planes[at], planes[PLANE + at], planes[2 * PLANE + at]])
                    .collect();
                Ok(Image { width: SIDE, height: SIDE, pixels })
            }
            Self::Array { pixels, height, width, images } => {
                let size = 3 * height * width;
                let start = images.get(image).ok_or_else(missing)? * size;
                let pixels = pixels.get(start..start + size).ok_or_else(missing)?.to_vec();
                Ok(Image { width: *width, height: *height, pixels })
            }
        }
    }
}

#[cfg(feature = "images")]
fn decode(path: &Path, bytes: &[u8]) -> Result<Image, DataError> {
    /// No dataset has larger images; a file that claims so is broken.
    const LONGEST_SIDE: u32 = 20_000;
    let malformed = |reason: String| DataError::malformed(path, "image", reason);
    let mut reader = image::ImageReader::new(std::io::Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|error| malformed(error.to_string()))?;
    let mut limits = image::Limits::default();
    limits.max_image_width = Some(LONGEST_SIDE);
    limits.max_image_height = Some(LONGEST_SIDE);
    reader.limits(limits);
    let image = reader.decode().map_err(|error| malformed(error.to_string()))?.into_rgb8();
    Ok(Image { width: image.width() as usize, height: image.height() as usize, pixels: image.into_raw() })
}

#[cfg(not(feature = "images"))]
fn decode(path: &Path, _: &[u8]) -> Result<Image, DataError> {
    let reason = "this program was built without the decoders of images; build it with its default features";
    Err(DataError::malformed(path, "image", reason))
}

/// Whether a file's name says that it is an image that can be decoded.
pub(super) fn is_image(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    ["png", "jpg", "jpeg", "bmp", "webp"].contains(&extension.to_ascii_lowercase().as_str())
}
