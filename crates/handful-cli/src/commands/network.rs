//! Which network turns images into features: the options that `embed`, `label` and `reproduce` share.

use std::path::PathBuf;

use clap::Args;

#[cfg(feature = "vision")]
pub use self::opening::{Unless, describe};

/// The network that comes with the program.
#[cfg(feature = "vision")]
pub const SHIPPED: &str = "compact";

/// Which network, and where it runs.
#[derive(Args, Clone, Debug)]
pub struct NetworkArgs {
    /// Weights: a name of `handful weights list`, our .safetensors, .pth .pt .tar of PyTorch, or .onnx; without this the
    /// best network that is there. May be repeated: features of several networks get length 1 and stand side by side
    #[arg(long, value_name = "FILE|NAME")]
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
mod opening {
    use std::path::Path;

    use handful::parts::PartKind;
    use handful_vision::backbone::{Backbone, Wanted};
    use handful_vision::device::{Device, device};
    use handful_vision::networks::Architecture;
    use handful_vision::pretrained::{Present, Pretrained, Subject, best};

    use super::{NetworkArgs, SHIPPED};
    use crate::error::CliError;

    /// Which network is taken, unless one is named.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Unless {
        /// The one that comes with the program: results must not depend on what else is on the machine.
        Shipped,
        /// The best that is there.
        Best,
    }

    impl NetworkArgs {
        /// Reads the networks.
        pub fn open(&self, layer: Option<&str>, unless: Unless) -> Result<Vec<Backbone>, CliError> {
            self.open_keeping(layer, unless, None)
        }

        /// Reads the networks, which keep something beside the features.
        pub fn open_keeping(
            &self,
            layer: Option<&str>,
            unless: Unless,
            parts: Option<PartKind>,
        ) -> Result<Vec<Backbone>, CliError> {
            let device = device(&self.device)?;
            let wanted = Wanted {
                backbone: self.backbone.as_deref().map(str::parse).transpose()?,
                size: self.size,
                pixels: self.pixels.as_deref().map(str::parse).transpose()?,
                layer: layer.map(str::to_owned),
                crops: self.crops,
                mirrored: self.mirror,
                parts,
            };
            if self.weights.is_empty() {
                return Ok(vec![unnamed(wanted, unless, &device)?]);
            }
            self.weights.iter().map(|path| named(path, wanted.clone(), &device)).collect()
        }
    }

    /// The network of a file, or of a name that is known.
    fn named(path: &Path, wanted: Wanted, device: &Device) -> Result<Backbone, CliError> {
        let name = path.to_str().unwrap_or_default();
        if path.exists() || name.contains(['/', '\\', '.']) {
            return Ok(Backbone::open(path, wanted, device)?);
        }
        if name == SHIPPED {
            return Ok(Backbone::shipped(wanted, device)?);
        }
        let network = Pretrained::named(name).map_err(CliError::usage)?;
        if network.subject != Subject::Images {
            return Err(CliError::Usage(format!("{name} reads texts and cannot look at images")));
        }
        Ok(Backbone::pretrained(network, wanted, device)?)
    }

    fn unnamed(wanted: Wanted, unless: Unless, device: &Device) -> Result<Backbone, CliError> {
        match (wanted.backbone, unless) {
            (None, Unless::Best) => match best(Subject::Images) {
                Some(Present { network, .. }) => Ok(Backbone::pretrained(network, wanted, device)?),
                None => {
                    eprintln!(
                        "handful: no network for photographs is here, so the small one that comes along looks at them; \
                         it was trained on 32-pixel pictures. `handful weights get efficientnet-lite0` fetches a better \
                         one (17 MB)"
                    );
                    Ok(Backbone::shipped(wanted, device)?)
                }
            },
            (Some(Architecture::EfficientNetLite0), _) => Ok(Backbone::pretrained(
                Pretrained::named("efficientnet-lite0").map_err(CliError::usage)?,
                wanted,
                device,
            )?),
            _ => Ok(Backbone::shipped(wanted, device)?),
        }
    }

    /// The networks in a few words, with the beginning of the digests of their weights.
    pub fn describe(networks: &[Backbone]) -> String {
        let words = networks.iter().filter_map(Backbone::embedder).map(|embedder| embedder.to_string());
        words.collect::<Vec<_>>().join(" + ")
    }
}
