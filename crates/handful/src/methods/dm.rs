//! `dm`: dependency maximisation without selection, Eq. 4 of the paper (Table 5's *DM*).
//!
//! ```text
//! min_{W,b}  CE(support) - lambda (U-1)^-2 tr(KHLH)
//! ```
//!
//! It is `dm-ida` with no rounds of selection; `objective` may be any other, which makes the loss ablation.

use crate::methods::Setting;
use crate::methods::presets;
use crate::methods::single_fit::single_fit_method;

single_fit_method!(DmParams, "dm", Setting::UsesUnlabeled, presets: {
    "default" => presets::dm_default(),
    "paper" => presets::dm_paper(),
});
