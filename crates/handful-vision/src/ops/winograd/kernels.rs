//! The transformation of kernels, `G g Gᵀ`, and its transpose.

use super::super::panels::Packed;
use super::PLACES;

/// `G g Gᵀ` of each kernel: 16 matrices `[filters, channels]`.
pub(in super::super) struct Kernels(pub(super) Vec<Packed>);

impl Kernels {
    /// From `[filters, channels, 3, 3]`.
    pub(in super::super) fn forward(weight: &[f32], filters: usize, channels: usize) -> Self {
        Self(Packed::places(filters, channels, |filter, channel| {
            let kernel = &weight[(filter * channels + channel) * 9..][..9];
            transform(std::array::from_fn(|tap| kernel[tap]))
        }))
    }

    /// Those of the way back: filters and channels exchanged, kernels turned by a half.
    pub(in super::super) fn backward(weight: &[f32], filters: usize, channels: usize) -> Self {
        Self(Packed::places(channels, filters, |channel, filter| {
            let kernel = &weight[(filter * channels + channel) * 9..][..9];
            transform(std::array::from_fn(|tap| kernel[8 - tap]))
        }))
    }
}

/// `G g Gᵀ`.
fn transform(g: [f32; 9]) -> [f32; PLACES] {
    let transform = |[a, b, c]: [f32; 3]| [a, 0.5 * (a + b + c), 0.5 * (a - b + c), c];
    let columns: [[f32; 4]; 3] =
        std::array::from_fn(|column| transform([g[column], g[3 + column], g[6 + column]]));
    let rows: [[f32; 4]; 4] =
        std::array::from_fn(|row| transform([columns[0][row], columns[1][row], columns[2][row]]));
    std::array::from_fn(|place| rows[place / 4][place % 4])
}

/// `Gᵀ m G`.
pub(super) fn transform_back(m: [f32; PLACES]) -> [f32; 9] {
    let transform = |[a, b, c, d]: [f32; 4]| [a + 0.5 * (b + c), 0.5 * (b - c), 0.5 * (b + c) + d];
    let columns: [[f32; 3]; 4] =
        std::array::from_fn(|column| transform([m[column], m[4 + column], m[8 + column], m[12 + column]]));
    let rows: [[f32; 3]; 3] = std::array::from_fn(|row| {
        transform([columns[0][row], columns[1][row], columns[2][row], columns[3][row]])
    });
    std::array::from_fn(|tap| rows[tap / 3][tap % 3])
}
