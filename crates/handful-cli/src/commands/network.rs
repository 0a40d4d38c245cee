//! Which network turns images into features: the options that `embed`, `label` and `reproduce` share.

use std::path::PathBuf;

use clap::Args;

#[cfg(feature = "vision")]
use crate::error::CliError;

/// Which network, and where it runs.
#[derive(Args, Clone, Debug)]
pub struct NetworkArgs {
    /// Weights: our .safetensors, .pth .pt .tar of PyTorch, or .onnx; without this the network that comes with the
    /// program
    #[arg(long, value_name = "FILE")]
    pub weights: Option<PathBuf>,
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
    /// Average the features of each image and of its mirror image: twice the time, often a point of accuracy
    #[arg(long)]
    pub mirror: bool,
    /// Where to compute: cpu, cuda:0, wgpu
    #[arg(long, default_value = "cpu")]
    pub device: String,
}

/// The layer of an .onnx file; apart from the others since `embed` calls it `--output`, which is a file elsewhere.
#[derive(Args, Clone, Debug)]
pub struct LayerArg {
    /// Layer of an .onnx file to take the features from, if not the last pooled one
    #[arg(long, value_name = "NAME")]
    pub layer: Option<String>,
}

impl NetworkArgs {
    /// Everything besides the weights that decides what an image becomes, in one line.
    pub fn choices(&self, layer: Option<&str>) -> String {
        format!("{:?} {:?} {:?} {layer:?} {}", self.backbone, self.size, self.pixels, self.mirror)
    }

    /// Reads the network.
    #[cfg(feature = "vision")]
    pub fn open(&self, layer: Option<&str>) -> Result<handful_vision::backbone::Backbone, CliError> {
        use handful_vision::backbone::{Backbone, Wanted};
        let backbone = self.backbone.as_deref().map(str::parse).transpose()?;
        let device = handful_vision::device::device(&self.device)?;
        let pixels = self.pixels.as_deref().map(str::parse).transpose()?;
        let layer = layer.map(str::to_owned);
        let wanted = Wanted { backbone, size: self.size, pixels, layer, mirrored: self.mirror };
        Ok(match &self.weights {
            Some(path) => Backbone::open(path, wanted, &device)?,
            None => Backbone::shipped(wanted, &device)?,
        })
    }
}
