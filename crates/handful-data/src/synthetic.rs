//! Made-up features that behave like those of a pretrained network, for demonstrations and tests without data.
//!
//! Pooled ReLU features have three properties that matter to few-shot methods, and a plain Gaussian mixture has
//! none of them: they are not negative, the classes vary in a shared low-dimensional subspace much more than
//! elsewhere (so raw distances are dominated by what does not tell classes apart), and classes overlap.

use handful::Matrix;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

use crate::{
    error::DataError,
    table::{ClassIndex, FeatureStore, FeatureTable, TableParts, digest_of_features},
};

/// The shape and the difficulty of a made-up table.
///
/// ```
/// let table = handful_data::synthetic::SyntheticSpec::default().table()?;
/// assert_eq!((table.rows(), table.class_count()), (2_000, 20));
/// # Ok::<(), handful_data::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticSpec {
    /// Number of classes.
    pub classes: usize,
    /// Rows of each class.
    pub rows_per_class: usize,
    /// Columns.
    pub dim: usize,
    /// Dimensions of the subspace in which rows of the same class differ most.
    pub shared_directions: usize,
    /// Distance of class centres, relative to the spread of the noise: larger is easier.
    pub separation: f64,
    /// The same seed gives the same table on every machine.
    pub seed: u64,
}

impl Default for SyntheticSpec {
    /// 20 classes of 100 rows and 64 columns: 5-way 1-shot nearest-prototype accuracy of about two thirds.
    fn default() -> Self {
        Self { classes: 20, rows_per_class: 100, dim: 64, shared_directions: 6, separation: 1.0, seed: 1 }
    }
}

impl SyntheticSpec {
    /// Makes the table.
    pub fn table(&self) -> Result<FeatureTable, DataError> {
        if self.classes == 0 || self.rows_per_class == 0 || self.dim == 0 {
            let size = format!("{} x {} x {}", self.classes, self.rows_per_class, self.dim);
            return Err(DataError::setting("size", size, "classes, rows and columns must all be 1 or more"));
        }
        if !(self.separation.is_finite() && self.separation >= 0.0) {
            return Err(DataError::setting(
                "separation",
                self.separation.to_string(),
                "it must be 0 or more",
            ));
        }
        let rows = self.classes * self.rows_per_class;
        let features = self.features(rows);
        let labels: Vec<Option<i64>> =
            (0..rows).map(|row| Some((row / self.rows_per_class) as i64)).collect();
        FeatureTable::from_parts(TableParts {
            path: "<synthetic>".into(),
            format: "made in code",
            sha256: Some(digest_of_features(&features)),
            features: FeatureStore::Memory(features.into()),
            ids: None,
            classes: ClassIndex::from_integers(&labels, |label| format!("class {label:02}")),
            notes: Vec::new(),
        })
    }

    fn features(&self, rows: usize) -> Matrix<f32> {
        let mut noise = Noise::new(self.seed);
        let shared = noise.matrix(self.shared_directions, self.dim);
        let centres = noise.matrix(self.classes, self.dim);
        // Classes differ in which of the shared directions they stretch along.
        let stretches = noise.matrix(self.classes, self.shared_directions);
        let mut features = Matrix::zeros(rows, self.dim);
        for row in 0..rows {
            let class = row / self.rows_per_class;
            let weights: Vec<f32> =
                stretches.row(class).iter().map(|stretch| noise.next() * (0.5 + 0.2 * stretch)).collect();
            for column in 0..self.dim {
                let along: f32 = weights
                    .iter()
                    .enumerate()
                    .map(|(which, weight)| weight * shared.row(which)[column])
                    .sum();
                let centre = self.separation as f32 * 1.1 * centres.row(class)[column];
                features.row_mut(row)[column] = (0.2 + centre + along + noise.next()).max(0.0);
            }
        }
        features
    }
}

/// Nearly normal numbers as a sum of twelve uniform ones: only additions, so every machine agrees on every bit.
struct Noise {
    generator: ChaCha8Rng,
}

impl Noise {
    fn new(seed: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..25].copy_from_slice(b"handful synthetic");
        Self { generator: ChaCha8Rng::from_seed(key) }
    }

    fn next(&mut self) -> f32 {
        let sum: u32 =
            (0..6).map(|_| self.generator.next_u32()).map(|bits| (bits & 0xffff) + (bits >> 16)).sum();
        // Twelve uniform numbers of 16 bits: mean 12 * 32767.5, standard deviation 65536.
        (f64::from(sum) / 65536.0 - 12.0 * 32767.5 / 65536.0) as f32
    }

    fn matrix(&mut self, rows: usize, columns: usize) -> Matrix<f32> {
        Matrix::from_vec(rows, columns, (0..rows * columns).map(|_| self.next()).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EpisodeSampler, EpisodeSpec};

    /// 1-shot accuracy of the nearest labelled row.
    fn nearest_prototype(table: &FeatureTable, tasks: u64) -> f64 {
        let sampler = EpisodeSampler::new(table, EpisodeSpec::default(), 9).unwrap();
        let (mut right, mut all) = (0.0, 0.0);
        for index in 0..tasks {
            let episode = sampler.episode(index);
            let support = table.gather(&episode.support.concat());
            for (way, rows) in episode.query.iter().enumerate() {
                for query in table.gather(rows).iter_rows() {
                    let distance =
                        |row: &[f32]| row.iter().zip(query).map(|(a, b)| (a - b).powi(2)).sum::<f32>();
                    let nearest =
                        (0..5).min_by(|&a, &b| distance(support.row(a)).total_cmp(&distance(support.row(b))));
                    right += f64::from(u8::from(nearest == Some(way)));
                    all += 1.0;
                }
            }
        }
        right / all
    }

    #[test]
    fn default_is_neither_easy_nor_hopeless() {
        let table = SyntheticSpec::default().table().unwrap();
        let accuracy = nearest_prototype(&table, 300);
        assert!((0.60..0.75).contains(&accuracy), "{accuracy}");
        assert!(
            table.gather(&(0..table.rows()).collect::<Vec<_>>()).as_slice().iter().all(|&value| value >= 0.0)
        );
    }

    #[test]
    fn separation_sets_the_difficulty() {
        let accuracy = |separation| {
            nearest_prototype(&SyntheticSpec { separation, ..SyntheticSpec::default() }.table().unwrap(), 100)
        };
        assert!(accuracy(0.0) < 0.25 && accuracy(3.0) > 0.95);
    }

    #[test]
    fn impossible_shapes_are_errors() {
        assert!(SyntheticSpec { dim: 0, ..SyntheticSpec::default() }.table().is_err());
        assert!(SyntheticSpec { separation: f64::NAN, ..SyntheticSpec::default() }.table().is_err());
    }
}
