//! Table 3: tasks from the novel classes of another dataset than the one the backbone was trained on.

use super::Plan;
use super::cell::{Cell, Skipped, Source};
use super::layout::{ABOUT_SYSTEMS, Claim, Layout, SystemRow, method_rows, one_and_five_shot, paper_columns};
use super::paper;

const ROWS: &[(&str, &str, &str)] = &[
    ("protonet", "ProtoNet", "Inductive"),
    ("baseline", "Baseline (fine-tuned head)", "Inductive"),
    ("laplacianshot", "LaplacianShot", "Transductive"),
    ("tim-gd", "TIM-GD", "Transductive"),
    ("bd-cspn", "BD-CSPN", "Transductive"),
    ("dm-ida", "DM + IDA (the paper's)", "Transductive"),
];

const SYSTEMS: &[SystemRow] = &[
    ("maml", "maml", "MAML (own network)", "Inductive"),
    ("relationnet", "relationnet", "RelationNet (learnt)", "Inductive"),
];

/// The table.
pub fn layout(plan: &Plan) -> Layout {
    Layout {
        table: "table3",
        title: "Table 3. Cross-domain",
        about: format!(
            "Features of the novel classes of one dataset from a backbone that was trained on the base classes of \
             another (--cross-features, or --cross-dataset). The paper goes from mini-ImageNet to CUB with ResNet-18. \
             {ABOUT_SYSTEMS}"
        ),
        columns: one_and_five_shot(),
        paper_columns: paper_columns(&[("paper, mini→CUB, 1-shot", 0), ("paper, mini→CUB, 5-shot", 1)]),
        rows: method_rows(plan, SYSTEMS, ROWS),
        printed: paper::TABLE3,
        claims: vec![
            Claim { better: "dm-ida", worse: "baseline" },
            Claim { better: "dm-ida", worse: "laplacianshot" },
        ],
    }
}

/// Its cells, if there are features for it.
pub fn cells(plan: &Plan) -> (Vec<Cell>, Vec<Skipped>) {
    let Some(classes) = plan.cross_classes else {
        let reason = "it needs the features of another dataset's novel classes through the same backbone: give them \
                      with --cross-features, or its images with --cross-dataset";
        return (
            Vec::new(),
            vec![Skipped { table: "table3", what: "everything".into(), reason: reason.into() }],
        );
    };
    let (mut cells, skipped) = layout(plan).cells(plan, classes);
    let of_the_run = cells.iter_mut().filter(|cell| cell.source == Source::Main);
    of_the_run.for_each(|cell| cell.source = Source::Cross);
    (cells, skipped)
}
