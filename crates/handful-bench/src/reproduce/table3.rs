//! Table 3: tasks from the novel classes of another dataset than the one the backbone was trained on.

use super::Plan;
use super::cell::{Cell, Recipe, Skipped, Source};
use super::layout::{Claim, Layout, Row, one_and_five_shot, paper_columns};
use super::paper;

const ROWS: &[(&str, &str, &str)] = &[
    ("protonet", "ProtoNet", "Inductive"),
    ("baseline", "Baseline (fine-tuned head)", "Inductive"),
    ("laplacianshot", "LaplacianShot", "Transductive"),
    ("tim-gd", "TIM-GD", "Transductive"),
    ("bd-cspn", "BD-CSPN", "Transductive"),
    ("dm-ida", "DM + IDA (the paper's)", "Transductive"),
];

/// The table.
pub fn layout(plan: &Plan) -> Layout {
    let printed_only = ["maml", "relationnet"].into_iter().map(|key| Row {
        key,
        label: paper::find(paper::TABLE3, key).map_or(key, |printed| printed.label).to_owned(),
        group: "Inductive",
        recipe: None,
    });
    let ours = ROWS.iter().map(|&(key, label, group)| Row {
        key,
        label: label.to_owned(),
        group,
        recipe: Some(Recipe::at(key, &plan.preset)),
    });
    Layout {
        table: "table3",
        title: "Table 3. Cross-domain",
        about: "Features of the novel classes of one dataset from a backbone that was trained on the base classes of \
                another (--cross-features). The paper goes from mini-ImageNet to CUB with ResNet-18."
            .to_owned(),
        columns: one_and_five_shot(),
        paper_columns: paper_columns(&[("paper, mini→CUB, 1-shot", 0), ("paper, mini→CUB, 5-shot", 1)]),
        rows: printed_only.chain(ours).collect(),
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
                      with --cross-features";
        return (
            Vec::new(),
            vec![Skipped { table: "table3", what: "everything".into(), reason: reason.into() }],
        );
    };
    let (mut cells, skipped) = layout(plan).cells(plan, classes);
    cells.iter_mut().for_each(|cell| cell.source = Source::Cross);
    (cells, skipped)
}
