//! The one place where a device is chosen.

pub use burn::tensor::Device;

use crate::error::VisionError;

/// A device by its name on the command line: `cpu`, `cuda:0`, `wgpu`.
pub fn device(name: &str) -> Result<Device, VisionError> {
    let refuse = |reason: String| Err(VisionError::Device { name: name.to_owned(), reason });
    let (kind, index) = match name.split_once(':') {
        Some((kind, index)) => match index.parse::<usize>() {
            Ok(index) => (kind, index),
            Err(_) => return refuse("has no whole number after its colon, as in cuda:0".to_owned()),
        },
        None => (name, 0),
    };
    match kind {
        "cpu" if index == 0 => Ok(Device::flex()),
        #[cfg(feature = "cuda")]
        "cuda" => Ok(Device::cuda(index)),
        #[cfg(feature = "wgpu")]
        "wgpu" => Ok(Device::wgpu(burn::tensor::DeviceKind::DiscreteGpu(index))),
        "cuda" | "wgpu" => refuse(format!(
            "is not part of this program; build it with `cargo build --release --features {kind}`"
        )),
        _ => refuse("is not known; it must be cpu, cuda:0 or wgpu".to_owned()),
    }
}
