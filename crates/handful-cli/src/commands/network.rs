//! Which network turns images into features: the options that `embed`, `label` and `reproduce` share.

use std::path::PathBuf;

use clap::Args;

#[cfg(feature = "vision")]
use crate::error::CliError;
#[cfg(feature = "vision")]
use handful_vision::backbone::{Backbone, Wanted};

/// Which network, and where it runs.
#[derive(Args, Clone, Debug)]
pub struct NetworkArgs {
    /// Weights: our .safetensors, .pth .pt .tar of PyTorch, or .onnx; without this the network that comes with the
    /// program. May be repeated: features of several networks get length 1 and stand side by side
    #[arg(long, value_name = "FILE")]
    pub weights: Vec<PathBuf>,
    /// The network that the weights are of, where the file does not say
    #[arg(long)]
    pub backbone: Option<String>,
    /// Side of the square images the network sees, if not the one it was trained with
    #[arg(long)]
    pub size: Option<usize>,
    /// What bytes of images become: imagenet, unit (0 to 1), signed (-1 to 1), lite, raw; the default is what the
    /// network is known to expect, for .onnx imagenet
    #[arg(long, value_name = "NUMBERS")]
    pub pixels: Option<String>,
    /// Average the features of this many windows of each image
    #[arg(long, value_name = "COUNT")]
    pub crops: Option<usize>,
    /// Average the features of each image and of its mirror image: twice the time, often a point of accuracy
    #[arg(long)]
    pub mirror: bool,
    /// Where to compute: cpu, cuda:0, wgpu
    #[arg(long, default_value = "cpu")]
    pub device: String,
}

/// The layer of an .onnx file.
#[derive(Args, Clone, Debug)]
pub struct LayerArg {
    /// Layer of an .onnx file to take the features from, if not the last pooled one
    #[arg(long, value_name = "NAME")]
    pub layer: Option<String>,
}

#[cfg(feature = "vision")]
impl NetworkArgs {
    /// Reads the networks.
    pub fn open(&self, layer: Option<&str>) -> Result<Vec<Backbone>, CliError> {
        let device = handful_vision::device::device(&self.device)?;
        let wanted = Wanted {
            backbone: self.backbone.as_deref().map(str::parse).transpose()?,
            size: self.size,
            pixels: self.pixels.as_deref().map(str::parse).transpose()?,
            layer: layer.map(str::to_owned),
            crops: self.crops,
            mirrored: self.mirror,
        };
        if self.weights.is_empty() {
            return Ok(vec![Backbone::shipped(wanted, &device)?]);
        }
        let open = |path: &PathBuf| Ok(Backbone::open(path, wanted.clone(), &device)?);
        self.weights.iter().map(open).collect()
    }
}

/// The networks in a few words, with the beginning of the digests of their weights.
#[cfg(feature = "vision")]
pub fn describe(networks: &[Backbone]) -> String {
    let words =
        networks.iter().map(|network| format!("{} ({})", network.description(), &network.sha256()[..12]));
    words.collect::<Vec<_>>().join(" + ")
}
