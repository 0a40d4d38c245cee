//! Real features that come with the program: the CIFAR-FS novel classes (20 x 600 images) as the `compact` network
//! sees them, trained on the 64 base classes only. `docs/src/results/backbones.md` has the commands that made them.

use std::path::Path;

use crate::{DataError, FeatureTable, TableFormat, parse_table};

/// The table, read from the program itself.
pub fn features() -> Result<FeatureTable, DataError> {
    const BYTES: &[u8] = include_bytes!("../assets/cifar-fs-novel.compact.npz");
    parse_table(TableFormat::Npz, Path::new("<cifar-fs-novel.compact.npz>"), BYTES)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_shipped_table_is_whole() {
        let table = super::features().expect("the shipped table");
        assert_eq!((table.rows(), table.class_count()), (12_000, 20));
        assert!(table.rows_of_class().iter().all(|rows| rows.len() == 600));
        table.check_finite().expect("finite features");
    }
}
