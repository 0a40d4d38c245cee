//! Real features that come with the program: the CIFAR-FS novel classes (20 x 600 images) as the `compact` network
//! sees them, trained on the 64 base classes only. `docs/src/results/backbones.md` has the commands that made them.

use std::path::Path;

use handful::embedder::Embedder;
use handful::methods::trained::Head;

use crate::heads::parse_head;
use crate::{DataError, FeatureTable, TableFormat, parse_table};

/// The table, read from the program itself.
pub fn features() -> Result<FeatureTable, DataError> {
    const BYTES: &[u8] = include_bytes!("../assets/cifar-fs-novel.compact.npz");
    let table = parse_table(TableFormat::Npz, Path::new("<cifar-fs-novel.compact.npz>"), BYTES)?;
    Ok(table.with_embedder(Some(embedder())))
}

/// The network that comes along, which the table and the heads are of.
pub fn embedder() -> Embedder {
    Embedder { network: "compact at 32 px, mirrored too".into(), weights: "2b246f41373a".into() }
}

/// Systems trained on the base classes of the same dataset through the same network: system, shots, file.
/// `docs/src/results/meta-trained.md` has the commands that made them.
/// FEAT's four matrices take half a megabyte, so there is one of it.
const HEADS: &[(&str, usize, &[u8])] = &[
    ("sib", 1, include_bytes!("../assets/heads/sib-1.safetensors")),
    ("sib", 5, include_bytes!("../assets/heads/sib-5.safetensors")),
    ("leo", 1, include_bytes!("../assets/heads/leo-1.safetensors")),
    ("leo", 5, include_bytes!("../assets/heads/leo-5.safetensors")),
    ("feat", 1, include_bytes!("../assets/heads/feat-1.safetensors")),
    ("relationnet", 1, include_bytes!("../assets/heads/relationnet-1.safetensors")),
    ("relationnet", 5, include_bytes!("../assets/heads/relationnet-5.safetensors")),
    ("metaoptnet", 1, include_bytes!("../assets/heads/metaoptnet-1.safetensors")),
    ("metaoptnet", 5, include_bytes!("../assets/heads/metaoptnet-5.safetensors")),
    ("dsn", 5, include_bytes!("../assets/heads/dsn-5.safetensors")),
];

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
    Ok(parse_head(path, bytes)?.with_embedder(embedder()))
}

/// Whether a table is the one that comes with the program, on whose base classes the heads were trained.
pub fn is_shipped(table: &FeatureTable) -> bool {
    features().is_ok_and(|shipped| shipped.sha256() == table.sha256())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_head_is_whole_and_of_the_shipped_network() {
        for &(system, shots, _) in HEADS {
            let head = head(system, shots).expect("a head");
            let facts = head.facts();
            assert_eq!((facts.system.as_str(), facts.shots, facts.ways), (system, shots, 5));
            assert_eq!((facts.dim, facts.classes), (256, 64), "{system}");
        }
        let bytes: usize = HEADS.iter().map(|(.., bytes)| bytes.len()).sum();
        assert!(bytes < 1_500_000, "{bytes} bytes of heads");
    }

    #[test]
    fn the_head_taken_was_trained_with_at_most_as_many_shots_where_there_is_one() {
        for (asked, taken) in [(1, 1), (3, 1), (5, 5), (20, 5)] {
            assert_eq!(head("sib", asked).expect("a head").facts().shots, taken);
        }
        assert_eq!(head("dsn", 1).expect("a head").facts().shots, 5);
        assert!(head("maml", 1).is_err());
    }

    #[test]
    fn the_shipped_table_is_whole() {
        let table = features().expect("the shipped table");
        assert_eq!((table.rows(), table.class_count()), (12_000, 20));
        assert!(table.rows_of_class().iter().all(|rows| rows.len() == 600));
        table.check_finite().expect("finite features");
    }
}
