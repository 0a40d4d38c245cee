//! What the name of a file says about the image in it.

use std::path::Path;

/// Kinds of images that can be decoded.
const READABLE: [&str; 10] = ["png", "jpg", "jpeg", "jpe", "jfif", "bmp", "gif", "tif", "tiff", "webp"];

/// Kinds of images and photographs that people have and that cannot be decoded.
const UNREADABLE: [&str; 21] = [
    "heic", "heif", "avif", "jxl", "jp2", "psd", "svg", "ico", "tga", "exr", "hdr", "ppm", "pgm", "dng",
    "cr2", "cr3", "nef", "arw", "raf", "orf", "rw2",
];

/// The readable kinds, for messages.
pub(super) const READABLE_KINDS: &str = "png, jpg, bmp, gif, tiff, webp";

fn extension(path: &Path) -> String {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default().to_ascii_lowercase()
}

/// Whether a file's name says that it is an image that can be decoded.
pub(super) fn is_image(path: &Path) -> bool {
    READABLE.contains(&extension(path).as_str())
}

/// The kind of an image that cannot be decoded, where the name says that it is one.
pub(super) fn unreadable_kind(path: &Path) -> Option<String> {
    Some(extension(path)).filter(|extension| UNREADABLE.contains(&extension.as_str()))
}

/// Whether a file or folder is hidden; programs keep their own things there, such as previews of the images.
pub(super) fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'))
}
