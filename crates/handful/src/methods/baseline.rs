//! `baseline`: the paper's classifier trained with cross-entropy on the labelled rows alone (Table 5's *Baseline*).
//!
//! ```text
//! min_w  CE(support),   logits = -|z - w_c|^2 / T,   w starts at the prototypes
//! ```
//!
//! Defaults: unit-length features and T = 2/15, which equals TIM's temperature 15; 100 Adam steps of 1e-3. From the
//! prototype start the fit moves little, so it is close to the nearest prototype.

use crate::methods::Setting;
use crate::methods::presets;
use crate::methods::single_fit::single_fit_method;

single_fit_method!(BaselineParams, "baseline", Setting::Inductive, presets: {
    "default" => presets::baseline(),
});
