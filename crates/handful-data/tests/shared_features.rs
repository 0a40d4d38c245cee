//! The feature files that the project is measured on, where they are present.

mod common;

use handful_data::{EpisodeSampler, EpisodeSpec, read_table};

#[test]
fn cifar_fs_features_open_with_their_names() {
    for (part, classes, first) in [("novel", 20, "baby"), ("val", 16, "beaver")] {
        let Some(path) = common::shared_data(&format!("features/cifar-fs-{part}.efficientnet-lite0.npz"))
        else {
            return;
        };
        let table = read_table(&path).unwrap();
        assert_eq!((table.rows(), table.dim(), table.class_count()), (classes * 600, 1280, classes));
        assert_eq!(table.class_names()[0], first);
        assert!(table.rows_of_class().iter().all(|rows| rows.len() == 600));
        assert_eq!(table.sha256().len(), 64);
        let episode = EpisodeSampler::new(&table, EpisodeSpec::default(), 1).unwrap().episode(0);
        assert_eq!(table.gather(&episode.support.concat()).rows(), 5);
    }
}
