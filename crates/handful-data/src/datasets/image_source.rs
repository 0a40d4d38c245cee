//! Where the pixels are, and how one image of them is decoded.

use std::{
    borrow::Cow,
    path::{Path, PathBuf},
    sync::Arc,
};

#[cfg(feature = "images")]
use super::decode::decode;
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
    /// The bytes of an image's file; `None` where pixels are stored as they are.
    pub(super) fn encoded(&self, image: usize, id: &str) -> Result<Option<Cow<'_, [u8]>>, DataError> {
        match self {
            Self::Files(paths) => {
                let path = paths.get(image).ok_or_else(|| missing(image, id))?;
                let facts = std::fs::metadata(path).map_err(|error| DataError::io(path, error))?;
                // Reading a pipe or a device may never end.
                if !facts.is_file() {
                    return Err(DataError::content(path, "it is not a file"));
                }
                std::fs::read(path)
                    .map(|bytes| Some(Cow::Owned(bytes)))
                    .map_err(|error| DataError::io(path, error))
            }
            Self::Encoded { files, .. } => {
                let bytes = files.get(image).ok_or_else(|| missing(image, id))?;
                Ok(Some(Cow::Borrowed(bytes)))
            }
            Self::Planes { .. } | Self::Array { .. } => Ok(None),
        }
    }

    /// The pixels of an image from the bytes of its file.
    pub(super) fn decode(&self, image: usize, id: &str, bytes: &[u8]) -> Result<Image, DataError> {
        match self {
            Self::Files(paths) => decode(paths.get(image).ok_or_else(|| missing(image, id))?, bytes),
            Self::Encoded { archive, .. } => decode(&archive.join(id), bytes),
            Self::Planes { .. } | Self::Array { .. } => decode(Path::new(id), bytes),
        }
    }

    pub(super) fn load(&self, image: usize, id: &str) -> Result<Image, DataError> {
        let missing = || missing(image, id);
        match self {
            Self::Files(_) | Self::Encoded { .. } => {
                let bytes = self.encoded(image, id)?.ok_or_else(missing)?;
                self.decode(image, id, &bytes)
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

fn missing(image: usize, id: &str) -> DataError {
    DataError::content(Path::new(id), format!("there is no image {image}"))
}

#[cfg(not(feature = "images"))]
fn decode(path: &Path, _: &[u8]) -> Result<Image, DataError> {
    let reason = "this program was built without the decoders of images; build it with its default features";
    Err(DataError::malformed(path, "image", reason))
}
