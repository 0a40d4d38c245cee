//! A report of made-up results.

use super::*;
use crate::reproduce::results::{FeatureStamp, Machine, RunStamp, SettingStamp};
use crate::table::Look;

fn record(table: &str, row: &str, column: &str, right: Vec<u32>) -> Record {
    let run = RunStamp {
        features_sha256: "ab".repeat(32),
        preset: "default".into(),
        tasks: right.len(),
        seed: 1,
        full: false,
        benchmark: "cifar-fs".into(),
        version: "0".into(),
    };
    let per_task: Vec<f64> = right.iter().map(|&right| f64::from(right) / 75.0).collect();
    let estimate = crate::statistics::Estimate::of(&per_task);
    Record {
        table: table.into(),
        row: row.into(),
        column: column.into(),
        method: "dm-ida".into(),
        preset: "default".into(),
        params: serde_json::json!({"steps": 100, "transform": "power+l2"}),
        uses_unlabelled: true,
        knows_class_sizes: row.contains("pt-map"),
        setting: SettingStamp { ways: 5, shots: 1, queries: 15, unlabeled: 0 },
        features: FeatureStamp {
            name: "a<b>.npz".into(),
            rows: 9,
            dim: 3,
            classes: 3,
            sha256: "ab".repeat(32),
        },
        seed: 1,
        tasks: right.len(),
        run,
        machine: Machine::here(),
        accuracy: estimate.mean,
        ci95: estimate.ci95,
        seconds: 0.5,
        right,
        of: 75,
        extra: serde_json::Value::Null,
    }
}

fn report() -> Report {
    let records = [
        record("table5", "cross-entropy", "1-shot", vec![40, 41, 42, 43]),
        record("table5", "dependence", "1-shot", vec![60, 61, 62, 63]),
        record("table5", "mutual-information", "1-shot", vec![65, 66, 67, 67]),
        record("table2", "tran/dm-ida", "1-shot", vec![60, 61, 62, 63]),
        record("table2", "tran/tim-gd", "1-shot", vec![50, 51, 52, 53]),
        record("table2", "tran/pt-map", "1-shot", vec![70, 70, 70, 71]),
    ];
    let skipped = [Skipped { table: "table3", what: "everything".into(), reason: "no features".into() }];
    Report::from_results(&records, &skipped)
}

#[test]
fn claims_are_decided_by_paired_differences() {
    let report = report();
    let table5 = report.sections.iter().find(|section| section.id == "table5").expect("there");
    let verdict = |words: &str| {
        table5.checks.iter().find(|check| check.claim.contains(words)).expect("a check").verdict
    };
    assert_eq!(verdict("(DM) beats Cross-entropy"), Verdict::Holds);
    assert_eq!(verdict("(DM) beats + mutual"), Verdict::Fails);
}

#[test]
fn bold_goes_to_the_best_of_those_with_equal_knowledge() {
    let report = report();
    let table =
        report.sections.iter().find(|s| s.id == "table2").and_then(|s| s.table.as_ref()).expect("there");
    let best = |label: &str| {
        let row = table.rows.iter().find(|row| row.label.starts_with(label) && row.group == "Transductive");
        row.expect("a row").cells[0].best
    };
    assert!(best("DM + IDA") && best("PT-MAP") && !best("TIM-GD"));
    let printed = table.rows.iter().find(|row| row.label == "SIB† (learnt)").expect("the paper's row");
    assert_eq!((printed.cells[0].value.as_str(), printed.cells[2].value.as_str()), ("", "80.00"));
}

#[test]
fn every_format_has_the_numbers_and_the_page_needs_nothing_else() {
    let (folder, report) = (tempfile::tempdir().expect("a folder"), report());
    report.write(folder.path()).expect("written");
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("there");
    let html = read("report.html");
    assert!(html.contains("<b>82.00</b>") && html.contains("no features") && html.contains("a&lt;b&gt;.npz"));
    for outside in ["http://", "https://", "src=", "@import"] {
        let found = html.replace("http://www.w3.org/2000/svg", "").contains(outside);
        assert!(!found, "the page asks for {outside}");
    }
    assert!(read("report.md").contains("**82.00** ± "));
    assert!(read("table5.csv").lines().any(|line| line.contains("+ dependence (DM),false,82.00,")));
    assert!(text::render(&report, &Look::plain()).contains("TIM-GD"));
    let leftovers = std::fs::read_dir(folder.path()).expect("a folder").flatten();
    assert!(leftovers.into_iter().all(|entry| !entry.file_name().to_string_lossy().contains("partial")));
}

#[test]
fn the_command_to_run_it_again_is_the_one_that_ran() {
    let mut records = report().records;
    let command = |records: &[Record]| super::rerun::commands(records);
    let options = "--features 'a<b>.npz' --preset default --tasks 4 --seed 1 --benchmark cifar-fs --out OUT";
    let expected: Vec<String> =
        ["table2", "table5"].map(|t| format!("handful reproduce {t} {options}")).into();
    assert_eq!(command(&records), expected);
    for table in ["table1", "table4", "table6", "figure1", "theorem3", "picture", "table3"] {
        records.push(record(table, "row", "1-shot", vec![1]));
    }
    let cross = records.last_mut().expect("there");
    cross.features =
        FeatureStamp { name: "cub.npz".into(), sha256: "cd".repeat(32), ..cross.features.clone() };
    let all = command(&records);
    assert!(all.len() == 1 && all[0].starts_with("handful reproduce all --features"), "{all:?}");
    assert!(all[0].contains(" --cross-features cub.npz "), "{all:?}");
    let page = html::render(&Report::from_results(&records, &[]));
    assert!(page.contains("handful reproduce all --features 'a&lt;b&gt;.npz' --cross-features cub.npz"));
}

#[test]
fn markup_in_names_is_text() {
    let mut records = vec![record("table5", "cross-entropy", "1-shot", vec![40, 41])];
    records[0].features.name = "`<img src=x>`.npz".into();
    let reason = "class `<b>|*x*` has 3 rows".to_owned();
    let skipped = [Skipped { table: "table3", what: "all".into(), reason }];
    let page = markdown::render(&Report::from_results(&records, &skipped));
    assert!(page.contains("Features `` `<img src=x>`.npz `` ("), "{page}");
    assert!(page.contains(r"Left out: all: class \`\<b\>\|\*x\*\` has 3 rows"), "{page}");
}

#[test]
fn figures_stay_in_their_folder() {
    let mut figure = record("figure1", "../../x", "1-shot", vec![1]);
    let band = serde_json::json!({"mean": [0.1, 0.2], "low": [0.1, 0.2], "high": [0.1, 0.2]});
    figure.extra = serde_json::json!({
        "steps": [0, 1], "cross_entropy": band, "dependence": band, "accuracy": band,
        "falling": 0, "largest_fall": 0.0, "ending_lower": 0, "unconverged": 0,
    });
    let report = Report::from_results(&[figure], &[]);
    let figures: Vec<&Figure> = report.sections.iter().flat_map(|section| &section.figures).collect();
    assert_eq!(figures.len(), 3);
    assert!(figures.iter().all(|figure| !figure.id.contains(['/', '.'])), "{figures:?}");
}

#[test]
fn a_dagger_has_its_footnote_everywhere() {
    let report = report();
    for page in [html::render(&report), markdown::render(&report), text::render(&report, &Look::plain())] {
        assert!(page.contains("SIB†") && page.contains("† printed in the paper for a WRN-28-10"), "{page}");
    }
}

#[test]
fn pages_of_somebody_else_are_not_replaced() {
    let folder = tempfile::tempdir().expect("a folder");
    check_folder(folder.path(), false).expect("an empty folder is free");
    std::fs::write(folder.path().join("report.md"), "mine").expect("written");
    let error = check_folder(folder.path(), false).expect_err("refused").to_string();
    assert!(error.contains("report.md") && error.contains("--force"), "{error}");
    check_folder(folder.path(), true).expect("forced");
}

#[test]
fn on_a_narrow_terminal_the_tables_go_on_below() {
    let report = report();
    let wide = text::render(&report, &Look::plain());
    let narrow = text::render(&report, &Look { width: Some(80), ..Look::plain() });
    assert!(wide.lines().any(|line| line.chars().count() > 80), "{wide}");
    assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
    assert!(narrow.contains("TIM-GD"));
}
