//! Real features that come with the program: the CIFAR-FS novel classes (20 x 600 images) as the `compact` network
//! sees them, trained on the 64 base classes only. `docs/src/results/backbones.md` has the commands that made them.

use std::path::Path;

use handful::methods::trained::Head;

use crate::heads::parse_head;
use crate::{DataError, FeatureTable, TableFormat, parse_table};

/// The table, read from the program itself.
pub fn features() -> Result<FeatureTable, DataError> {
    const BYTES: &[u8] = include_bytes!("../assets/cifar-fs-novel.compact.npz");
    parse_table(TableFormat::Npz, Path::new("<cifar-fs-novel.compact.npz>"), BYTES)
}

/// Systems trained on the base classes of the same dataset through the same network: system, shots, file.
/// `docs/src/results/meta-trained.md` has the commands that made them.
const HEADS: &[(&str, usize, &[u8])] = &[];

/// The shots for which a system's head comes with the program.
pub fn heads(system: &str) -> impl Iterator<Item = usize> {
    HEADS.iter().filter(move |(name, ..)| *name == system).map(|(_, shots, _)| *shots)
}

/// A head that comes with the program: the one trained with at most as many shots, or else the first.
///
/// # Errors
/// [`DataError`] for a system without one.
pub fn head(system: &str, shots: usize) -> Result<Head, DataError> {
    let own = || HEADS.iter().filter(|(name, ..)| *name == system);
    let chosen = own().rfind(|(_, trained, _)| *trained <= shots).or_else(|| own().next());
    let path = format!("<{system} head>");
    let path = Path::new(&path);
    let (.., bytes) =
        chosen.ok_or_else(|| DataError::content(path, "no such head comes with the program"))?;
    parse_head(path, bytes)
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
