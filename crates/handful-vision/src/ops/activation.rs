//! What follows a normalisation or a sum: leaky ReLU, with a ceiling for ReLU6.
//!
//! ```text
//! y = min(z, ceiling) where z > 0        y = slope · z elsewhere
//! ```
//!
//! It is no operation by itself: a pass over memory would cost more than the arithmetic, so the kernels before it apply
//! it to what they are about to write.

use burn::tensor::Tensor;
use burn::tensor::activation::leaky_relu;

/// Slope and ceiling.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Activation {
    slope: f32,
    ceiling: f32,
}

impl Activation {
    /// None: `y = z`.
    pub const NONE: Self = Self::leaky(1.0);
    /// ReLU.
    pub const RELU: Self = Self::leaky(0.0);
    /// ReLU6, of the networks for phones.
    pub const RELU6: Self = Self { slope: 0.0, ceiling: 6.0 };

    /// Leaky ReLU; the slope is from 0 to 1.
    pub const fn leaky(slope: f32) -> Self {
        Self { slope, ceiling: f32::INFINITY }
    }

    /// Slope and ceiling.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn bends(self) -> (f32, f32) {
        (self.slope, self.ceiling)
    }

    /// Whether it is any.
    pub(super) fn is_none(self) -> bool {
        self == Self::NONE
    }

    /// `y` of `z`. What is not a number stays so.
    #[inline(always)]
    pub(super) fn apply(self, z: f32) -> f32 {
        let bounded = if z > self.ceiling { self.ceiling } else { z };
        if z > 0.0 { bounded } else { self.slope * z }
    }

    /// The gradient by `z`, from the one by `y`. `y` may stand for `z`: both are on the same side of both bends.
    #[inline(always)]
    pub(super) fn gradient(self, z: f32, grad: f32) -> f32 {
        let rising = if z < self.ceiling { grad } else { 0.0 };
        if z > 0.0 { rising } else { self.slope * grad }
    }

    /// The same by burn's operations, for other devices.
    pub(super) fn of_tensor(self, z: Tensor<4>) -> Tensor<4> {
        let y = if self.slope == 1.0 { z } else { leaky_relu(z, f64::from(self.slope)) };
        if self.ceiling.is_finite() { y.clamp_max(self.ceiling) } else { y }
    }
}
