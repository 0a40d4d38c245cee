//! Which network computed features, where that is known.
//!
//! Features of two networks may have as many dimensions as each other and nothing else in common. Tables and heads that were
//! learnt on them carry where they come from, so that one is not used on the other.

use serde::{Deserialize, Serialize};

/// The network that computed features.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Embedder {
    /// What it is and how it looked, for people: two looks of one network at an image may be compared.
    pub network: String,
    /// The first digits of the SHA-256 of its weights: these decide whether two networks are the same.
    pub weights: String,
}

impl Embedder {
    /// Digits of a digest that are kept.
    pub const DIGITS: usize = 12;

    /// The network of a digest.
    pub fn new(network: impl Into<String>, sha256: &str) -> Self {
        Self { network: network.into(), weights: sha256.chars().take(Self::DIGITS).collect() }
    }

    /// Several networks whose features stand side by side; none of none.
    pub fn joined(embedders: impl IntoIterator<Item = Self>) -> Option<Self> {
        embedders.into_iter().reduce(|all, next| Self {
            network: format!("{} + {}", all.network, next.network),
            weights: format!("{} + {}", all.weights, next.weights),
        })
    }

    /// Whether both have the same weights.
    pub fn agrees(&self, other: &Self) -> bool {
        self.weights == other.weights
    }
}

impl std::fmt::Display for Embedder {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} ({})", self.network, self.weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_decide_and_not_how_they_were_looked_through() {
        let [plain, mirrored] =
            ["conv4", "conv4, mirrored too"].map(|name| Embedder::new(name, "0123456789abcdef"));
        assert!(plain.agrees(&mirrored) && plain != mirrored);
        assert!(!plain.agrees(&Embedder::new("conv4", "1123456789abcdef")));
        assert_eq!(plain.to_string(), "conv4 (0123456789ab)");
    }

    #[test]
    fn several_networks_are_others_than_one_of_them() {
        let [one, other] = ["ab", "cd"].map(|digest| Embedder::new("net", digest));
        let both = Embedder::joined([one.clone(), other]).expect("two");
        assert_eq!(both.to_string(), "net + net (ab + cd)");
        assert!(!both.agrees(&one));
        assert_eq!(Embedder::joined([]), None);
    }
}
