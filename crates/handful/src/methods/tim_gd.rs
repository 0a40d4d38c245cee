//! `tim-gd`: transductive information maximisation by gradient descent (Boudiaf et al. 2020; Table 5's *Mul. Info.*).
//!
//! ```text
//! min_w  l0 CE(support) - l1 H(Y) + l2 H(Y|X),   logits = -(tau/2) |z - w_c|^2,   w starts at the prototypes
//! ```
//!
//! Preset `authors`: unit-length features, tau = 15 (T = 2/15), (l0, l1, l2) = (0.1, 1, 0.1), 1000 Adam steps of 1e-4
//! (mboudiaf/TIM src/tim.py and scripts). Preset `default`: tuned on the CIFAR-FS validation classes; see
//! `presets.rs`.

use crate::methods::Setting;
use crate::methods::presets;
use crate::methods::single_fit::single_fit_method;

single_fit_method!(TimGdParams, "tim-gd", Setting::UsesUnlabeled, presets: {
    "default" => presets::tim_gd_default(),
    "authors" => presets::tim_gd_authors(),
});
