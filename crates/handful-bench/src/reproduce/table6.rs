//! Table 6: which selector. 15 unlabelled rows per class, 5 of each class join once, cross-entropy classifier.

use handful_data::EpisodeSpec;

use super::Plan;
use super::cell::Recipe;
use super::layout::{By, Claim, Column, Layout, Row, paper_columns, transductive};
use super::paper;

const ROWS: &[(&str, &str)] = &[
    ("none", "None"),
    ("random", "Random"),
    ("nearest", "Nearest prototype"),
    ("confidence", "Confidence"),
    ("ici", "ICI"),
    ("ida", "IDA (the paper's)"),
    ("ida-bound", "Theorem 3's bound"),
];

fn recipe(plan: &Plan, selector: &str) -> Recipe {
    let base = Recipe::at("dm-ida", &plan.preset)
        .with("objective", "cross-entropy")
        .with("pseudo_label_weight", "1");
    match selector {
        "none" => base.with("max_rounds", "0"),
        selector => base.with("max_rounds", "1").with("per_class", "5").with("selector", selector),
    }
}

/// The table.
pub fn layout(plan: &Plan) -> Layout {
    let rows = ROWS.iter().map(|&(key, label)| Row {
        key,
        label: label.to_owned(),
        group: "One round, 5 per class",
        by: By::Recipe(recipe(plan, key)),
    });
    let semi = |shots| EpisodeSpec { unlabeled: 15, ..transductive(5, shots) };
    let ahead = |better, worse| Claim { better, worse };
    Layout {
        table: "table6",
        title: "Table 6. Which selector",
        about: "A cross-entropy classifier labels 15 unlabelled examples per class, the 5 most credible of each class \
                by each measure join the labelled ones with full weight, and the classifier is fitted again. The \
                paper's are of mini-ImageNet with ResNet-12."
            .to_owned(),
        columns: vec![
            Column { key: "tran. 1-shot", spec: transductive(5, 1) },
            Column { key: "tran. 5-shot", spec: transductive(5, 5) },
            Column { key: "semi 1-shot", spec: semi(1) },
            Column { key: "semi 5-shot", spec: semi(5) },
        ],
        paper_columns: paper_columns(&[
            ("paper, tran. 1-shot", 0),
            ("paper, tran. 5-shot", 1),
            ("paper, semi 1-shot", 2),
            ("paper, semi 5-shot", 3),
        ]),
        rows: rows.collect(),
        printed: paper::TABLE6,
        claims: vec![
            ahead("random", "none"),
            ahead("nearest", "random"),
            ahead("confidence", "nearest"),
            ahead("ici", "confidence"),
            ahead("ida", "ici"),
            ahead("ida", "confidence"),
        ],
    }
}
