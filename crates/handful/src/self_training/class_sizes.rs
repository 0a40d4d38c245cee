//! What a method assumes about how many unlabelled rows each class has.

use serde::{Deserialize, Serialize};

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassSizes {
    /// Every class has the same number of them. That is knowledge a benchmark has and a practitioner rarely does.
    Equal,
    /// Nothing: the constraint on class sizes is left out.
    Unknown,
}

impl ClassSizes {
    /// Whether that is knowledge of the class sizes.
    pub(crate) fn known(self) -> bool {
        self == Self::Equal
    }
}
