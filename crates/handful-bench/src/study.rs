//! Running methods over tasks, in parallel, with results that do not depend on the number of threads.

use std::ops::Range;
use std::time::{Duration, Instant};

use handful::error::TaskError;
use handful::methods::{Method, PriorKnowledge};
use handful::parts::TaskParts;
use handful::task::{Task, Unlabeled};
use handful_data::{Episode, EpisodeSampler, FeatureTable};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::outcome::Outcome;
use crate::prototypes::ClassPrototypes;
use crate::significance::Significance;
use crate::statistics::Estimate;

/// Where the tasks of a study come from.
pub enum Tasks {
    /// Drawn by number.
    Sampled {
        /// Draws any task by its number.
        sampler: EpisodeSampler,
        /// How many.
        count: usize,
    },
    /// Listed.
    Listed(Vec<Episode>),
}

impl Tasks {
    /// Number of tasks.
    pub fn len(&self) -> usize {
        match self {
            Tasks::Sampled { count, .. } => *count,
            Tasks::Listed(episodes) => episodes.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn episode(&self, index: usize) -> Episode {
        match self {
            Tasks::Sampled { sampler, .. } => sampler.episode(index as u64),
            Tasks::Listed(episodes) => episodes[index].clone(),
        }
    }
}

/// A method in a study, with the preset it was built from.
pub struct Entrant {
    /// The preset's name.
    pub preset: String,
    /// The method.
    pub method: Box<dyn Method>,
}

/// What went wrong, and in which task.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudyError {
    /// A method refused a task.
    #[error("{method}, task {task}: {source}")]
    Task {
        /// The method.
        method: &'static str,
        /// Number of the task.
        task: usize,
        /// Why.
        source: TaskError,
    },
    /// A method was trained on features of another network.
    #[error(transparent)]
    Features(TaskError),
    /// The threads could not be started.
    #[error("cannot start {threads} threads: {reason}")]
    Threads {
        /// How many were wanted.
        threads: usize,
        /// What the system said.
        reason: String,
    },
}

/// One method on every task of a range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Solved {
    /// The method.
    pub name: String,
    /// Its preset.
    pub preset: String,
    /// Its complete parameters.
    pub params: Value,
    /// What it knows besides the labelled rows.
    pub prior: PriorKnowledge,
    /// Wall time of solving alone: the threads' time inside the method, divided by the number of threads.
    pub seconds: f64,
    /// What each task said, in their order.
    pub outcomes: Vec<Outcome>,
}

/// What one method reached.
#[derive(Clone, Debug, Serialize)]
pub struct Score {
    /// The method.
    pub name: String,
    /// Its preset.
    pub preset: String,
    /// Its complete parameters.
    pub params: Value,
    /// What it knows besides the labelled rows.
    pub prior: PriorKnowledge,
    /// Mean accuracy over tasks, a fraction.
    pub accuracy: f64,
    /// Half the width of its 95% interval.
    pub ci95: f64,
    /// Wall time of solving alone: the threads' time inside the method, divided by the number of threads.
    pub seconds: f64,
    /// Tasks solved per second of that.
    pub tasks_per_second: f64,
    /// Mean accuracy within a class, where some task has unequally many query rows per class.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub macro_accuracy: Option<Estimate>,
    /// How well confidence tells known from unknown query rows, where there are both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_set_auroc: Option<Estimate>,
    /// How well credibility tells pool rows of the task's classes from distractors, where there are both.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distractor_auroc: Option<Estimate>,
    /// Paired difference to the reference method of the study, none for itself.
    pub difference: Option<Estimate>,
    /// Whether that difference is more than chance.
    pub significance: Option<Significance>,
    /// Accuracy of each task.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_task: Option<Vec<f64>>,
}

/// Methods on identical tasks.
pub struct Study<'a> {
    table: &'a FeatureTable,
    tasks: &'a Tasks,
    threads: usize,
    reference: usize,
    prototypes: Option<&'a ClassPrototypes>,
    base_mean: Option<&'a [f32]>,
}

impl<'a> Study<'a> {
    /// Makes a study on one thread per core whose differences are to the first entrant.
    pub fn new(table: &'a FeatureTable, tasks: &'a Tasks) -> Self {
        Self { table, tasks, threads: 0, reference: 0, prototypes: None, base_mean: None }
    }

    /// Sets the number of threads; 0 takes one per core. No result depends on it.
    #[must_use]
    pub fn threads(self, threads: usize) -> Self {
        Self { threads, ..self }
    }

    /// Sets which entrant differences are taken to.
    #[must_use]
    pub fn reference(self, reference: usize) -> Self {
        Self { reference, ..self }
    }

    /// Puts vectors of classes beside the labelled rows.
    #[must_use]
    pub fn prototypes(self, prototypes: Option<&'a ClassPrototypes>) -> Self {
        Self { prototypes, ..self }
    }

    /// Gives every task the mean feature of the base classes, for transforms that centre on it.
    #[must_use]
    pub fn base_mean(self, mean: Option<&'a [f32]>) -> Self {
        Self { base_mean: mean, ..self }
    }

    /// Returns the number of tasks.
    pub fn task_count(&self) -> usize {
        self.tasks.len()
    }

    /// Runs every entrant over every task. `solved` is called after each task, from any thread.
    ///
    /// # Errors
    /// [`StudyError`] names the method and the task it refused.
    pub fn run(
        &self,
        entrants: &[Entrant],
        solved: &(dyn Fn(&Entrant) + Sync),
    ) -> Result<Vec<Score>, StudyError> {
        let solved = self.solve_range(entrants, 0..self.tasks.len(), solved)?;
        Ok(scores(&solved, self.reference))
    }

    /// Runs every entrant over a range of the tasks, which keep their numbers: the parts of a study that was spread over
    /// several processes make the same scores as one. `solved` is called after each task, from any thread.
    ///
    /// # Errors
    /// [`StudyError`] names the method and the task it refused.
    pub fn solve_range(
        &self,
        entrants: &[Entrant],
        range: Range<usize>,
        solved: &(dyn Fn(&Entrant) + Sync),
    ) -> Result<Vec<Solved>, StudyError> {
        if let Some(embedder) = self.table.embedder() {
            let mut methods = entrants.iter().map(|entrant| &entrant.method);
            methods.try_for_each(|method| method.check_embedder(embedder)).map_err(StudyError::Features)?;
        }
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads)
            .build()
            .map_err(|error| StudyError::Threads { threads: self.threads, reason: error.to_string() })?;
        let mut all: Vec<Solved> = Vec::with_capacity(entrants.len());
        for entrant in entrants {
            let results: Result<Vec<(Outcome, Duration)>, StudyError> = pool.install(|| {
                range
                    .clone()
                    .into_par_iter()
                    .map(|index| {
                        let result = self.solve(entrant, index);
                        solved(entrant);
                        result
                    })
                    .collect()
            });
            let (outcomes, times): (Vec<Outcome>, Vec<Duration>) = results?.into_iter().unzip();
            all.push(Solved {
                name: entrant.method.name().to_owned(),
                preset: entrant.preset.clone(),
                params: entrant.method.params(),
                prior: entrant.method.prior(),
                seconds: times.iter().sum::<Duration>().as_secs_f64() / pool.current_num_threads() as f64,
                outcomes,
            });
        }
        Ok(all)
    }

    fn task(&self, episode: &Episode, id: u64) -> Result<Task<f32>, TaskError> {
        let (mut task, _) = assemble(self.table, episode, id)?;
        if let Some(prototypes) = self.prototypes {
            let (support, labels) =
                prototypes.join(episode, task.support().clone(), task.support_labels().to_vec());
            task =
                Task::new(id, task.ways(), support, labels, task.unlabeled().clone(), task.query().clone())?;
        }
        match self.base_mean {
            Some(mean) => task.with_base_mean(mean.to_vec()),
            None => Ok(task),
        }
    }

    fn solve(&self, entrant: &Entrant, index: usize) -> Result<(Outcome, Duration), StudyError> {
        let failed = |source| StudyError::Task { method: entrant.method.name(), task: index, source };
        let episode = self.tasks.episode(index);
        let task = self.task(&episode, index as u64).map_err(failed)?;
        let start = Instant::now();
        let solution = entrant.method.solve(&task).map_err(failed)?;
        let time = start.elapsed();
        Ok((Outcome::of(&solution, &episode), time))
    }
}

/// The score of every method, compared with that of the reference.
pub fn scores(solved: &[Solved], reference: usize) -> Vec<Score> {
    let mut scores: Vec<Score> = solved.iter().map(score).collect();
    compare(&mut scores, reference);
    scores
}

fn score(solved: &Solved) -> Score {
    let (outcomes, seconds) = (&solved.outcomes, solved.seconds);
    let per_task: Vec<f64> = outcomes.iter().map(|outcome| outcome.accuracy).collect();
    let accuracy = Estimate::of(&per_task);
    // A measure is reported if any task has it, over the tasks that do.
    let estimate = |measure: &dyn Fn(&Outcome) -> Option<f64>| {
        let values: Vec<f64> = outcomes.iter().filter_map(measure).collect();
        (!values.is_empty()).then(|| Estimate::of(&values))
    };
    let uneven = outcomes.iter().any(|outcome| outcome.macro_accuracy.is_some());
    let macro_accuracy = |outcome: &Outcome| outcome.macro_accuracy.or(Some(outcome.accuracy));
    Score {
        name: solved.name.clone(),
        preset: solved.preset.clone(),
        params: solved.params.clone(),
        prior: solved.prior,
        accuracy: accuracy.mean,
        ci95: accuracy.ci95,
        seconds,
        tasks_per_second: if seconds > 0.0 { outcomes.len() as f64 / seconds } else { 0.0 },
        macro_accuracy: if uneven { estimate(&macro_accuracy) } else { None },
        open_set_auroc: estimate(&|outcome| outcome.open_set_auroc),
        distractor_auroc: estimate(&|outcome| outcome.distractor_auroc),
        difference: None,
        significance: None,
        per_task: Some(per_task),
    }
}

/// Compares every score with that of the reference, task by task; the reference itself has no difference.
pub fn compare(scores: &mut [Score], reference: usize) {
    let Some(base) = scores.get(reference).and_then(|score| score.per_task.clone()) else { return };
    for (at, score) in scores.iter_mut().enumerate() {
        let values = score.per_task.as_ref().filter(|_| at != reference);
        score.difference = values.map(|values| Estimate::of_difference(values, &base));
        score.significance = values.map(|values| Significance::of(values, &base));
    }
}

/// Gathers the rows of an episode: the task a method sees, and the classes of its query rows, which it does not.
///
/// Distractors join the pool, and rows of unknown classes the query, where accuracy is over the known ones.
pub fn assemble(
    table: &FeatureTable,
    episode: &Episode,
    id: u64,
) -> Result<(Task<f32>, Vec<usize>), TaskError> {
    let classes = |part: &[Vec<usize>]| -> Vec<usize> {
        part.iter().enumerate().flat_map(|(class, rows)| std::iter::repeat_n(class, rows.len())).collect()
    };
    let pool = [episode.unlabeled.concat(), episode.distractors.clone()].concat();
    let unlabeled = if episode.unlabeled.is_empty() && episode.distractors.is_empty() {
        Unlabeled::Query
    } else {
        Unlabeled::Pool(table.gather(&pool))
    };
    // Rows of none of the classes come last: they are labelled with the others, and have no truth to be scored by.
    let query = [episode.query.concat(), episode.open_query.clone()].concat();
    let support = episode.support.concat();
    let mut task = Task::new(
        id,
        episode.classes.len(),
        table.gather(&support),
        classes(&episode.support),
        unlabeled,
        table.gather(&query),
    )?;
    if let Some(parts) = table.parts() {
        let gather = |rows: &[usize]| parts.gather(rows);
        let parts =
            TaskParts::new(parts.kind(), parts.count(), gather(&support), gather(&pool), gather(&query));
        task = task.with_parts(parts)?;
    }
    Ok((task, classes(&episode.query)))
}

#[cfg(test)]
mod tests {
    use handful_data::EpisodeSpec;
    use handful_data::synthetic::SyntheticSpec;

    use super::*;

    fn study(threads: usize, names: &[&str], unlabeled: usize) -> Vec<Score> {
        let table = SyntheticSpec::default().table().expect("a valid specification");
        let spec = EpisodeSpec { unlabeled, ..EpisodeSpec::default() };
        let sampler = EpisodeSampler::new(&table, spec, 1).expect("enough rows");
        let entrants: Vec<Entrant> = names
            .iter()
            .map(|name| Entrant {
                preset: "default".into(),
                method: handful::methods::build(name, None, &[]).expect("a known method"),
            })
            .collect();
        let tasks = Tasks::Sampled { sampler, count: 12 };
        Study::new(&table, &tasks).threads(threads).run(&entrants, &|_| {}).expect("solvable tasks")
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        for unlabeled in [0, 10] {
            let one = study(1, &["protonet", "dm-ida"], unlabeled);
            let three = study(3, &["protonet", "dm-ida"], unlabeled);
            for (one, three) in one.iter().zip(&three) {
                assert_eq!(one.per_task, three.per_task);
                assert_eq!(one.accuracy.to_bits(), three.accuracy.to_bits());
            }
        }
    }

    #[test]
    fn differences_are_to_the_first_method() {
        let scores = study(1, &["protonet", "protonet"], 0);
        assert_eq!(scores[0].difference, None);
        assert_eq!(scores[1].difference, Some(Estimate { mean: 0.0, ci95: 0.0 }));
        assert_eq!(scores[1].significance.map(|found| (found.ties, found.p_sign_flip)), Some((12, 1.0)));
    }

    #[test]
    fn centring_on_the_base_classes_needs_their_mean_and_uses_it() {
        let table = SyntheticSpec::default().table().expect("a valid specification");
        let sampler = EpisodeSampler::new(&table, EpisodeSpec::default(), 1).expect("enough rows");
        let tasks = Tasks::Sampled { sampler, count: 3 };
        let entrant = Entrant {
            preset: "cl2n".into(),
            method: handful::methods::build("simpleshot", Some("cl2n"), &[]).expect("a preset"),
        };
        let run = |mean: Option<&[f32]>| {
            Study::new(&table, &tasks).threads(1).base_mean(mean).run(std::slice::from_ref(&entrant), &|_| {})
        };
        assert!(matches!(run(None), Err(StudyError::Task { source: TaskError::NoBaseMean, .. })));
        assert!(matches!(
            run(Some(&[0.0])),
            Err(StudyError::Task { source: TaskError::MeanDimensions { .. }, .. })
        ));
        let mean = table.mean_row().expect("in memory");
        assert!(run(Some(&mean)).expect("a mean of the right length")[0].accuracy > 0.2);
    }

    #[test]
    fn a_method_sees_rows_class_by_class_and_no_truth() {
        let table = SyntheticSpec::default().table().expect("a valid specification");
        let episode = Episode {
            classes: vec![4, 2],
            support: vec![vec![400], vec![200, 201]],
            unlabeled: Vec::new(),
            query: vec![vec![402], vec![203, 204]],
            ..Episode::default()
        };
        let (task, truth) = assemble(&table, &episode, 7).expect("valid");
        assert_eq!((task.support_labels(), truth.as_slice()), (&[0, 1, 1][..], &[0, 1, 1][..]));
        assert_eq!(task.query().row(2), table.gather(&[204]).row(0));
        assert!(task.is_transductive());
    }

    #[test]
    fn vectors_of_classes_count_as_labelled_rows_of_theirs() {
        let table = SyntheticSpec::default().table().expect("a valid specification");
        let sampler = EpisodeSampler::new(&table, EpisodeSpec::default(), 1).expect("enough rows");
        // A vector of every second class: the mean of its rows, which no single row is as good as.
        let names = table.class_names();
        let (mut labels, mut values) = (Vec::new(), Vec::new());
        for (class, rows) in table.rows_of_class().iter().enumerate().step_by(2) {
            let rows = table.gather(rows);
            labels.push(Some(names[class].as_str()));
            values.extend((0..table.dim()).map(|column| {
                (0..rows.rows()).map(|row| rows.row(row)[column]).sum::<f32>() / rows.rows() as f32
            }));
        }
        let features = handful::Matrix::from_vec(labels.len(), table.dim(), values);
        let classes = handful_data::ClassIndex::from_names(&labels);
        let means = FeatureTable::from_memory("means", features, None, classes).expect("a table");
        let vectors = handful_data::ClassVectors::of_table(&means).expect("vectors");
        let prototypes = ClassPrototypes::new(&vectors, &table, 3).expect("of these classes");
        let tasks = Tasks::Sampled { sampler, count: 40 };
        let study = |prototypes| Study::new(&table, &tasks).prototypes(prototypes).threads(1);
        let with = study(Some(&prototypes));
        let episode = tasks.episode(0);
        let task = with.task(&episode, 0).expect("a task");
        let even = episode.classes.iter().filter(|&&class| class % 2 == 0).count();
        assert_eq!(task.support().rows(), 5 + 3 * even);
        let method = || Entrant {
            preset: "default".into(),
            method: handful::methods::build("protonet", None, &[]).expect("a known method"),
        };
        let accuracy = |study: Study<'_>| study.run(&[method()], &|_| {}).expect("solvable")[0].accuracy;
        assert!(accuracy(with) > accuracy(study(None)));
    }

    #[test]
    fn distractors_join_the_pool_and_unknown_rows_the_end_of_the_query() {
        let table = SyntheticSpec::default().table().expect("a valid specification");
        let episode = Episode {
            classes: vec![4, 2],
            support: vec![vec![400], vec![200]],
            unlabeled: vec![vec![401], vec![201]],
            query: vec![vec![402], vec![203]],
            distractors: vec![700, 701],
            open_query: vec![702],
        };
        let (task, truth) = assemble(&table, &episode, 7).expect("valid");
        assert_eq!((task.pool().rows(), task.query().rows(), truth.len()), (4, 3, 2));
        assert_eq!(task.query().row(2), table.gather(&[702]).row(0));
    }
}
