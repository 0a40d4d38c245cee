//! Ten thousand random settings: whatever is asked for, a task holds exactly that, and nothing twice.

use std::{collections::BTreeSet, sync::Arc, thread};

use handful_data::{ClassIndex, Episode, EpisodeSampler, EpisodeSpec};
use proptest::prelude::*;

fn classes(sizes: &[usize]) -> Arc<ClassIndex> {
    let labels: Vec<Option<i64>> =
        (0i64..).zip(sizes).flat_map(|(class, &size)| vec![Some(class); size]).collect();
    Arc::new(ClassIndex::from_integers(&labels, |label| label.to_string()))
}

prop_compose! {
    fn settings()(
        ways in 2usize..9,
        shots in 1usize..6,
        extra_shots in prop::option::of(0usize..5),
        queries in 0usize..12,
        total in prop::option::of(1usize..40),
        unlabeled in 0usize..12,
        query_imbalance in prop::option::of(0.05f64..5.0),
        pool_imbalance in prop::option::of(0.05f64..5.0),
        effective in prop::option::of(0.0f64..1.0),
        distractors in prop::option::of((1usize..4, 1usize..6)),
        open in prop::option::of((1usize..4, 1usize..6)),
    ) -> EpisodeSpec {
        let (distractor_classes, distractor_rows) = distractors.filter(|_| unlabeled > 0).unwrap_or_default();
        let (open_classes, open_rows) = open.unwrap_or_default();
        EpisodeSpec {
            ways,
            shots,
            queries: if unlabeled == 0 { queries.max(1) } else { queries },
            unlabeled,
            most_shots: extra_shots.map(|extra| shots + extra),
            total_queries: total,
            query_imbalance,
            pool_imbalance: pool_imbalance.filter(|_| unlabeled > 0),
            effective_ways: effective.map(|part| 1 + (part * (ways - 1) as f64) as usize),
            distractor_classes,
            distractor_rows,
            open_classes,
            open_rows,
        }
    }
}

fn check(spec: &EpisodeSpec, classes: &ClassIndex, episode: &Episode) -> Result<(), TestCaseError> {
    let total = |lists: &[Vec<usize>]| lists.iter().map(Vec::len).sum::<usize>();
    prop_assert_eq!(episode.classes.len(), spec.ways);
    prop_assert_eq!(total(&episode.query), spec.query_count());
    prop_assert_eq!(total(&episode.unlabeled), spec.pool_count());
    prop_assert_eq!(episode.unlabeled.len(), if spec.unlabeled == 0 { 0 } else { spec.ways });
    prop_assert_eq!(episode.distractors.len(), spec.distractor_classes * spec.distractor_rows);
    prop_assert_eq!(episode.open_query.len(), spec.open_classes * spec.open_rows);
    for rows in &episode.support {
        prop_assert!((spec.shots..=spec.most_shots.unwrap_or(spec.shots)).contains(&rows.len()));
    }
    if spec.total_queries.is_none() && spec.query_imbalance.is_none() && spec.effective_ways.is_none() {
        prop_assert!(episode.query.iter().all(|rows| rows.len() == spec.queries));
    }
    if spec.pool_imbalance.is_none() && spec.effective_ways.is_none() {
        prop_assert!(episode.unlabeled.iter().all(|rows| rows.len() == spec.unlabeled));
    }
    if let Some(effective) = spec.effective_ways {
        prop_assert!(episode.query.iter().filter(|rows| !rows.is_empty()).count() <= effective);
    }

    let mut seen = BTreeSet::new();
    for lists in [&episode.support, &episode.unlabeled, &episode.query] {
        for (&class, rows) in episode.classes.iter().zip(lists) {
            for &row in rows {
                prop_assert_eq!(classes.class_of_row(row), Some(class));
                prop_assert!(seen.insert(row), "row {} twice", row);
            }
        }
    }
    let mut strangers = BTreeSet::new();
    for (rows, of_each) in
        [(&episode.distractors, spec.distractor_rows), (&episode.open_query, spec.open_rows)]
    {
        for rows in rows.chunks(of_each.max(1)) {
            let class = classes.class_of_row(rows[0]);
            prop_assert!(rows.iter().all(|&row| classes.class_of_row(row) == class && seen.insert(row)));
            prop_assert!(strangers.insert(class) && !episode.classes.contains(&class.unwrap()));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn tasks_hold_exactly_what_was_asked_for(
        spec in settings(),
        seed: u64,
        first: u64,
        sizes in prop::collection::vec(200usize..220, 15),
    ) {
        let classes = classes(&sizes);
        let sampler = EpisodeSampler::from_classes(Arc::clone(&classes), spec.clone(), seed).unwrap();
        for index in [first, first.wrapping_add(1)] {
            let episode = sampler.episode(index);
            check(&spec, &classes, &episode)?;
            prop_assert_eq!(&episode, &sampler.episode(index));
        }
    }
}

/// Tasks drawn by several threads, each taking every n-th, are the tasks drawn by one.
#[test]
fn tasks_do_not_depend_on_threads() {
    let classes = classes(&[200; 12]);
    let spec = EpisodeSpec {
        unlabeled: 10,
        query_imbalance: Some(2.0),
        most_shots: Some(4),
        distractor_classes: 2,
        distractor_rows: 5,
        ..EpisodeSpec::default()
    };
    let sampler = EpisodeSampler::from_classes(classes, spec, 11).unwrap();
    let alone: Vec<Episode> = (0..600).map(|index| sampler.episode(index)).collect();
    for threads in [2, 3, 8] {
        let mut together = vec![Episode::default(); 600];
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|worker| {
                    let sampler = &sampler;
                    scope.spawn(move || -> Vec<(u64, Episode)> {
                        // Backwards, so that the order of drawing differs too.
                        (0..600)
                            .rev()
                            .filter(|index| index % threads == worker)
                            .map(|index| (index, sampler.episode(index)))
                            .collect()
                    })
                })
                .collect();
            for worker in workers {
                for (index, episode) in worker.join().unwrap() {
                    together[index as usize] = episode;
                }
            }
        });
        assert_eq!(together, alone, "{threads} threads");
    }
}
