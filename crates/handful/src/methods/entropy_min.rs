//! `entropy-min`: cross-entropy and the conditional entropy of the unlabelled rows' predictions (Dhillon et al. 2020;
//! Table 5's *Cond. Ent.*).
//!
//! ```text
//! min_w  CE(support) + H(Y|X)(unlabelled)
//! ```
//!
//! The original fine-tunes the whole network; on frozen features only the classifier moves. Weights 1 and 1 and 25 steps
//! of 5e-5 are those of the frozen-head version in Realistic_Transductive_Few_Shot. Much longer fits empty classes:
//! nothing in this loss keeps them.

use crate::methods::Setting;
use crate::methods::presets;
use crate::methods::single_fit::single_fit_method;

single_fit_method!(EntropyMinParams, "entropy-min", Setting::UsesUnlabeled, presets: {
    "default" => presets::entropy_min(),
});
