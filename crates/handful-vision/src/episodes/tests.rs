//! A training that stops and goes on, on any number of threads.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use handful::methods::trained::find_system;
use handful_data::FeatureTable;
use handful_data::synthetic::SyntheticSpec;

use super::*;

fn table() -> FeatureTable {
    SyntheticSpec::default().table().expect("a table")
}

/// Trains a system for six steps, or until `stop_after`.
fn train(system: &str, folder: &Path, resume: bool, stop_after: Option<usize>) -> EpisodicOutcome {
    let (base, stop) = (table(), AtomicBool::new(false));
    let settings = EpisodicSettings {
        shots: 2,
        queries: 3,
        batch: 3,
        steps: 6,
        validate_every: 2,
        validation_tasks: 4,
        ..EpisodicSettings::of(system, 2, 5)
    };
    let system = find_system(system).and_then(|entry| entry.system(2, &[])).expect("a system");
    let job = EpisodicJob {
        base: &base,
        validation: &base,
        system: system.as_ref(),
        settings,
        folder,
        command: "test".to_owned(),
        resume,
        save_every: Duration::from_secs(3600),
        stop: &stop,
    };
    let mut watch = |event: EpisodicEvent| {
        if let EpisodicEvent::Step(done, _) = event {
            stop.store(stop_after == Some(done), Ordering::Relaxed);
        }
    };
    train_system(&job, &mut watch).expect("it trains")
}

fn files(folder: &Path) -> [Vec<u8>; 2] {
    [best_head(folder), last_state(folder)].map(|path| std::fs::read(path).expect("a file"))
}

#[test]
fn a_training_that_stopped_ends_with_the_same_bits() {
    for system in ["sib", "feat", "leo", "metaoptnet", "dsn", "r2d2", "relationnet"] {
        let [whole, parts] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let outcome = train(system, whole.path(), false, None);
        assert!(outcome.finished && outcome.best > 0.0, "{system}");
        assert!(!train(system, parts.path(), false, Some(3)).finished);
        train(system, parts.path(), true, None);
        assert!(files(whole.path()) == files(parts.path()), "{system}");
    }
}

#[test]
fn threads_change_nothing() {
    let folders = [1, 3].map(|threads| {
        let folder = tempfile::tempdir().expect("a folder");
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        pool.install(|| train("leo", folder.path(), false, None));
        folder
    });
    assert!(files(folders[0].path()) == files(folders[1].path()));
}

#[test]
fn a_checkpoint_of_another_system_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    train("sib", folder.path(), false, None);
    let (base, stop) = (table(), AtomicBool::new(false));
    let system = find_system("r2d2").and_then(|entry| entry.system(2, &[])).expect("a system");
    let job = EpisodicJob {
        base: &base,
        validation: &base,
        system: system.as_ref(),
        settings: EpisodicSettings::of("r2d2", 2, 5),
        folder: folder.path(),
        command: String::new(),
        resume: true,
        save_every: Duration::from_secs(3600),
        stop: &stop,
    };
    let error = train_system(&job, &mut |_| {}).expect_err("another system").to_string();
    assert!(error.contains("a training of sib") && error.contains("not of r2d2"), "{error}");
}
