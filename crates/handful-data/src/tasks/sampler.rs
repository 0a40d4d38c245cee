//! Draws tasks from the classes of a table.

use std::sync::Arc;

use super::{draw::TaskDraw, episode::Episode, spec::EpisodeSpec};
use crate::{
    error::DataError,
    table::{ClassIndex, FeatureTable},
};

/// Draws any task of a setting by its number; the same number gives the same task, whoever asks and when.
///
/// ```
/// use handful_data::{EpisodeSampler, EpisodeSpec, synthetic::SyntheticSpec};
/// let table = SyntheticSpec::default().table()?;
/// let sampler = EpisodeSampler::new(&table, EpisodeSpec::default(), 1)?;
/// assert_eq!(sampler.episode(41), sampler.episode(41));
/// # Ok::<(), handful_data::DataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct EpisodeSampler {
    classes: Arc<ClassIndex>,
    spec: EpisodeSpec,
    seed: u64,
}

impl EpisodeSampler {
    /// Checks that every class of the table can serve the setting.
    pub fn new(table: &FeatureTable, spec: EpisodeSpec, seed: u64) -> Result<Self, DataError> {
        Self::from_classes(Arc::clone(table.classes()), spec, seed)
    }

    /// The same for classes that are not (yet) a table of features.
    pub fn from_classes(classes: Arc<ClassIndex>, spec: EpisodeSpec, seed: u64) -> Result<Self, DataError> {
        spec.check()?;
        if spec.ways > classes.len() {
            return Err(DataError::TooFewClasses {
                available: classes.len(),
                needed: spec.ways,
                breakdown: format!("{} ways", spec.ways),
            });
        }
        let needed = spec.shots.saturating_add(spec.unlabeled).saturating_add(spec.queries);
        for (name, rows) in classes.names().iter().zip(classes.rows_of_class()) {
            if rows.len() < needed {
                return Err(DataError::TooFewRows {
                    class: name.clone(),
                    available: rows.len(),
                    needed,
                    breakdown: format!(
                        "{} shots + {} unlabeled + {} queries",
                        spec.shots, spec.unlabeled, spec.queries
                    ),
                });
            }
        }
        Ok(Self { classes, spec, seed })
    }

    /// The setting.
    pub fn spec(&self) -> &EpisodeSpec {
        &self.spec
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The task of the given number.
    pub fn episode(&self, index: u64) -> Episode {
        let mut draw = TaskDraw::new(self.seed, index);
        let EpisodeSpec { ways, shots, queries, unlabeled } = self.spec;
        let mut episode = Episode { classes: draw.distinct(ways, self.classes.len()), ..Episode::default() };
        for &class in &episode.classes {
            // One draw, then split: the three parts cannot overlap.
            let rows = &self.classes.rows_of_class()[class];
            let mut drawn =
                draw.distinct(shots + unlabeled + queries, rows.len()).into_iter().map(|at| rows[at]);
            episode.support.push(drawn.by_ref().take(shots).collect());
            if unlabeled > 0 {
                episode.unlabeled.push(drawn.by_ref().take(unlabeled).collect());
            }
            episode.query.push(drawn.collect());
        }
        episode
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(sizes: &[usize]) -> Arc<ClassIndex> {
        let labels: Vec<Option<i64>> =
            (0i64..).zip(sizes).flat_map(|(class, &size)| vec![Some(class); size]).collect();
        Arc::new(ClassIndex::from_integers(&labels, |label| format!("class {label}")))
    }

    fn error_of(sizes: &[usize], spec: EpisodeSpec) -> String {
        EpisodeSampler::from_classes(classes(sizes), spec, 0).unwrap_err().to_string()
    }

    #[test]
    fn impossible_settings_say_what_is_missing() {
        let spec = EpisodeSpec { ways: 3, shots: 2, queries: 3, unlabeled: 4 };
        assert_eq!(
            error_of(&[9, 8, 9], spec.clone()),
            "class `class 1` has 8 rows, but a task needs 9 (2 shots + 4 unlabeled + 3 queries)"
        );
        assert_eq!(error_of(&[9, 9], spec.clone()), "the table has 2 classes, but a task needs 3 (3 ways)");
        assert!(error_of(&[9, 9], EpisodeSpec { shots: 0, ..spec.clone() }).starts_with("shots is 0"));
        assert!(error_of(&[9, 9], EpisodeSpec { ways: 1, ..spec.clone() }).starts_with("ways is 1"));
        assert!(error_of(&[9, 9, 9], EpisodeSpec { shots: usize::MAX, ..spec }).contains("a task needs"));
    }

    #[test]
    fn task_uses_each_row_once_and_the_right_counts() {
        let classes = classes(&[10, 12, 9, 30]);
        let spec = EpisodeSpec { ways: 3, shots: 2, queries: 3, unlabeled: 4 };
        let sampler = EpisodeSampler::from_classes(Arc::clone(&classes), spec, 5).unwrap();
        for index in 0..200 {
            let episode = sampler.episode(index);
            let mut seen: Vec<usize> = Vec::new();
            for (way, &class) in episode.classes.iter().enumerate() {
                for (rows, count) in [(&episode.support, 2), (&episode.unlabeled, 4), (&episode.query, 3)] {
                    assert_eq!(rows[way].len(), count);
                    assert!(rows[way].iter().all(|&row| classes.class_of_row(row) == Some(class)));
                    seen.extend(&rows[way]);
                }
            }
            seen.sort_unstable();
            seen.dedup();
            assert_eq!(seen.len(), 27);
        }
    }

    #[test]
    fn transductive_task_has_no_pool_of_its_own() {
        let sampler = EpisodeSampler::from_classes(classes(&[20; 5]), EpisodeSpec::default(), 5).unwrap();
        assert!(sampler.episode(0).unlabeled.is_empty());
    }

    /// A change of these numbers is a change of everybody's tasks: it must not happen by accident.
    #[test]
    fn first_task_is_pinned() {
        let spec = EpisodeSpec { ways: 3, shots: 1, queries: 2, unlabeled: 0 };
        let sampler = EpisodeSampler::from_classes(classes(&[100; 10]), spec, 1).unwrap();
        let episode = sampler.episode(0);
        assert_eq!(episode.classes, [5, 8, 7]);
        assert_eq!(episode.support, [[582], [883], [779]]);
        assert_eq!(episode.query, [[583, 566], [875, 884], [710, 776]]);
    }
}
