//! Planning, running and resuming on made-up features.

use handful::embedder::Embedder;
use handful_data::synthetic::SyntheticSpec;

use super::*;

struct Silent;

impl Observer for Silent {
    fn planned(&self, _: usize, _: &[&Cell]) {}
    fn started(&self, _: &Cell) {}
    fn task_done(&self) {}
    fn finished(&self, _: &Cell) {}
}

fn plan() -> Plan {
    Plan {
        preset: "fast".into(),
        tasks: 4,
        seed: 1,
        full: false,
        threads: 1,
        benchmark: "cifar-fs".into(),
        cross_classes: None,
        systems: Systems::default(),
    }
}

fn table() -> FeatureTable {
    SyntheticSpec { rows_per_class: 80, dim: 16, ..SyntheticSpec::default() }.table().expect("valid")
}

/// A record without what differs from run to run.
fn timeless(record: &Record) -> Record {
    let mut extra = record.extra.clone();
    for key in ["microseconds_ida", "microseconds_bound"] {
        if let Some(value) = extra.get_mut(key) {
            *value = 0.into();
        }
    }
    Record { seconds: 0.0, extra, ..record.clone() }
}

#[test]
fn all_has_every_cell_once_and_says_what_it_leaves_out() {
    let table = table();
    let inputs = Inputs { table: &table, cross: None, own: &[] };
    let (cells, skipped) = cells(Target::All, &plan(), &inputs).expect("a plan");
    for (at, cell) in cells.iter().enumerate() {
        let same =
            |other: &Cell| (other.table, &other.row, other.column) == (cell.table, &cell.row, cell.column);
        assert!(!cells[..at].iter().any(same), "{} twice", cell.name());
        cell.recipe.build().expect("every recipe can be built");
    }
    for table in ["table1", "table2", "table4", "table5", "table6", "figure1", "theorem3", "picture"] {
        assert!(cells.iter().any(|cell| cell.table == table), "{table}");
    }
    assert!(skipped.iter().any(|part| part.table == "table3" && part.reason.contains("--cross-features")));
}

#[test]
fn table3_alone_needs_its_features_and_takes_its_tasks_from_them() {
    let (table, other) =
        (table(), SyntheticSpec { seed: 9, ..SyntheticSpec::default() }.table().expect("valid"));
    let alone = cells(Target::Table3, &plan(), &Inputs { table: &table, cross: None, own: &[] });
    assert!(alone.expect_err("nothing to do").to_string().contains("--cross-features"));
    let plan = Plan { cross_classes: Some(other.class_count()), ..plan() };
    let inputs = Inputs { table: &table, cross: Some(&other), own: &[] };
    let (cells, skipped) = cells(Target::Table3, &plan, &inputs).expect("a plan");
    assert!(skipped.iter().all(|part| part.reason.contains("--system")), "{skipped:?}");
    assert!(!cells.is_empty() && cells.iter().all(|cell| cell.source == Source::Cross));
}

#[test]
fn settings_the_features_cannot_serve_are_left_out_with_the_reason() {
    let table =
        SyntheticSpec { classes: 12, rows_per_class: 30, ..SyntheticSpec::default() }.table().expect("valid");
    let inputs = Inputs { table: &table, cross: None, own: &[] };
    let (cells, skipped) = cells(Target::All, &plan(), &inputs).expect("a plan");
    assert!(cells.iter().all(|cell| cell.spec.ways <= 12 && cell.spec.unlabeled < 50));
    assert!(skipped.iter().any(|part| part.what == "20-way 1-shot" && part.reason.contains("12")));
    assert!(skipped.iter().any(|part| part.table == "table2" && part.reason.contains("30 rows")));
    // Small classes leave fewer unlabelled rows, not none.
    let pools = cells.iter().filter(|cell| cell.row == "semi/dm-ida");
    let pools: Vec<(usize, usize)> = pools.map(|cell| (cell.spec.shots, cell.spec.unlabeled)).collect();
    assert_eq!(pools, [(1, 14), (5, 10)]);
}

#[test]
fn systems_have_cells_for_what_is_there_and_a_reason_for_what_is_not() {
    let shipped = handful_data::shipped::features().expect("the shipped table");
    let result = systems::Elsewhere {
        system: "maml".into(),
        ways: 5,
        shots: 1,
        accuracy: 0.5,
        ci95: 0.01,
        tasks: 600,
        trained_on: "base classes".into(),
    };
    let mut systems = Systems::shipped_for(&shipped);
    systems.given.push(("maml".to_owned(), systems::Given::Result(result)));
    systems.given.push(("epnet".to_owned(), systems::Given::Features(0)));
    let plan = Plan { cross_classes: Some(shipped.class_count()), systems, ..plan() };
    let own = [SyntheticSpec { classes: 25, ..SyntheticSpec::default() }.table().expect("valid")];
    let inputs = Inputs { table: &shipped, cross: Some(&shipped), own: &own };
    let (mut cells, mut skipped) = (Vec::new(), Vec::new());
    for target in [Target::Table2, Target::Table3, Target::Table4] {
        let (more, without) = super::cells(target, &plan, &inputs).expect("a plan");
        cells.extend(more);
        skipped.extend(without);
    }
    let has = |row: &str, column: &str| cells.iter().any(|cell| cell.row == row && cell.column == column);
    for (row, column) in [
        ("in/feat", "5-shot"),
        ("tran/sib", "1-shot"),
        ("in/dsn-learnt", "5-shot"),
        ("tran/epnet-own", "1-shot"),
        ("relationnet", "1-shot"),
        ("maml", "1-shot"),
        ("leo", "20-way 5-shot"),
        ("metaopt", "10-way 1-shot"),
        ("epnet-own", "20-way 1-shot"),
    ] {
        assert!(has(row, column), "{row} {column}");
    }
    for (row, column) in
        [("maml", "5-shot"), ("s2m2", "10-way 1-shot"), ("in/dsn", "1-shot"), ("in/deepemd", "1-shot")]
    {
        assert!(!has(row, column), "{row} {column}");
    }
    let said = |what: &str| skipped.iter().any(|part| part.reason.contains(what));
    assert!(said("--system s2m2=FILE") && said("--system maml=FILE") && said("embed --maps"), "{skipped:?}");
    assert!(said("embed --views"), "{skipped:?}");

    // As many dimensions are not enough.
    let elsewhere = shipped.clone().with_embedder(Some(Embedder::new("conv4", "0123456789ab")));
    let inputs_elsewhere = Inputs { table: &elsewhere, cross: None, own: &own };
    let (more, without) = super::cells(Target::Table4, &plan, &inputs_elsewhere).expect("a plan");
    assert!(more.iter().all(|cell| cell.row != "leo"));
    assert!(without.iter().any(|part| part.reason.contains("these are of conv4")), "{without:?}");

    // What was measured elsewhere is stored as it is, and no rival of rows that have tasks.
    cells.retain(|cell| cell.table == "table3" && cell.column == "1-shot");
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Store::open(folder.path(), &stamp(&plan, &shipped), false).expect("a store");
    run(&cells, &plan, &inputs, &mut store, &Silent).expect("a run");
    let maml = store.find("table3", "maml", "1-shot").expect("stored");
    assert_eq!((maml.accuracy, maml.ci95, maml.tasks, maml.right.len()), (0.5, 0.01, 600, 0));
    assert_eq!(maml.params["trained_on"], "base classes");
    let report = crate::report::Report::from_results(store.records(), &skipped);
    let text = crate::report::text::render(&report, &crate::table::Look::plain());
    assert!(text.contains("MAML (own network)") && text.contains("50.00"), "{text}");
}

#[test]
fn a_stopped_run_goes_on_to_the_same_numbers() {
    let table = table();
    let (plan, inputs) = (plan(), Inputs { table: &table, cross: None, own: &[] });
    let mut cells = Vec::new();
    for target in [Target::Table1, Target::Figure1, Target::Theorem3, Target::Picture, Target::Table5] {
        cells.extend(super::cells(target, &plan, &inputs).expect("a plan").0);
    }
    let run_in = |folder: &std::path::Path, cells: &[Cell]| {
        let mut store = Store::open(folder, &stamp(&plan, &table), false).expect("a store");
        run(cells, &plan, &inputs, &mut store, &Silent).expect("a run");
        store.records().iter().map(timeless).collect::<Vec<_>>()
    };
    let (whole, parts) = (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
    let at_once = run_in(whole.path(), &cells);
    run_in(parts.path(), &cells[..5]);
    let path = parts.path().join(results::RESULTS);
    let bytes = std::fs::read(&path).expect("read");
    std::fs::write(&path, &bytes[..bytes.len() - 40]).expect("torn");
    assert_eq!(run_in(parts.path(), &cells), at_once);
    assert_eq!(at_once.len(), cells.len());
}

/// A number whose shortest text a hasty parser reads one bit too high.
#[test]
fn numbers_are_read_back_as_the_bits_that_were_written() {
    let written = 0.091_656_545_472_634_87_f64;
    let text = serde_json::to_string(&written).expect("written");
    let read: f64 = serde_json::from_str(&text).expect("read");
    assert_eq!(read.to_bits(), written.to_bits());
}

#[test]
fn the_numbers_mean_what_they_say() {
    let table = table();
    let plan = Plan { tasks: 12, ..plan() };
    let inputs = Inputs { table: &table, cross: None, own: &[] };
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Store::open(folder.path(), &stamp(&plan, &table), false).expect("a store");
    for target in [Target::Table1, Target::Figure1, Target::Theorem3] {
        let cells = super::cells(target, &plan, &inputs).expect("a plan").0;
        run(&cells, &plan, &inputs, &mut store, &Silent).expect("a run");
    }
    let find = |table: &str, row: &str| store.find(table, row, "1-shot").expect("there");
    let psi = |row: &str| find("table1", row).extra["psi"].as_f64().expect("a number");
    assert_eq!((find("table1", "truth").accuracy, psi("truth")), (1.0, 1.0));
    assert!((0.1..0.3).contains(&find("table1", "random").accuracy));
    assert!(psi("random") < psi("cross-entropy") && psi("cross-entropy") < 1.0);

    // Figure 1's claim, on a few tasks: Eq. 4 as the text has it raises the dependence at every iteration.
    let curves: figure1::Curves =
        serde_json::from_value(find("figure1", "paper").extra.clone()).expect("curves");
    assert_eq!(curves.ending_lower, 0);
    let mean = &curves.dependence.mean;
    assert!(mean.first() < mean.last() && curves.steps.last() == Some(&999));

    let bound: theorem3::BoundStudy =
        serde_json::from_value(find("theorem3", "preset").extra.clone()).expect("a study");
    assert!(bound.auc_ida > 0.5 && bound.mixed_tasks > 0);
    let labels: u32 = bound.right.iter().chain(&bound.wrong).sum();
    assert_eq!(labels, 12 * 75);
}

#[test]
fn an_unknown_preset_is_answered_with_the_known_ones() {
    let table = table();
    let plan = Plan { preset: "best".into(), ..plan() };
    let error =
        cells(Target::All, &plan, &Inputs { table: &table, cross: None, own: &[] }).expect_err("refused");
    assert!(error.to_string().contains("authors"), "{error}");
}
