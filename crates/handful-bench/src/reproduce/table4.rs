//! Table 4: tasks of ten and twenty classes.

use super::Plan;
use super::layout::{
    ABOUT_SYSTEMS, Claim, Column, Layout, SystemRow, method_rows, paper_columns, transductive,
};
use super::paper;

const ROWS: &[(&str, &str, &str)] = &[
    ("protonet", "ProtoNet", "Inductive"),
    ("baseline-pp", "Baseline++", "Inductive"),
    ("epnet", "EPNet (head only)", "Transductive"),
    ("bd-cspn", "BD-CSPN", "Transductive"),
    ("laplacianshot", "LaplacianShot", "Transductive"),
    ("tim-gd", "TIM-GD", "Transductive"),
    ("pt-map", "PT-MAP", "Transductive"),
    ("dm-ida", "DM + IDA (the paper's)", "Transductive"),
];

const SYSTEMS: &[SystemRow] = &[
    ("leo", "leo", "LEO (learnt)", "Inductive"),
    ("metaopt", "metaoptnet", "MetaOptNet (learnt)", "Inductive"),
    ("s2m2", "s2m2", "S2M2_R (own network)", "Inductive"),
    ("epnet-own", "epnet", "EPNet (own network)", "Transductive"),
];

/// The table.
pub fn layout(plan: &Plan) -> Layout {
    let beats = |worse| Claim { better: "dm-ida", worse };
    Layout {
        table: "table4",
        title: "Table 4. More classes",
        about: format!(
            "Transductive tasks of 10 and 20 classes, 15 queries per class. The paper's are of mini-ImageNet with \
             WRN-28-10. {ABOUT_SYSTEMS}"
        ),
        columns: vec![
            Column { key: "10-way 1-shot", spec: transductive(10, 1) },
            Column { key: "10-way 5-shot", spec: transductive(10, 5) },
            Column { key: "20-way 1-shot", spec: transductive(20, 1) },
            Column { key: "20-way 5-shot", spec: transductive(20, 5) },
        ],
        paper_columns: paper_columns(&[
            ("paper, 10-way 1-shot", 0),
            ("paper, 10-way 5-shot", 1),
            ("paper, 20-way 1-shot", 2),
            ("paper, 20-way 5-shot", 3),
        ]),
        rows: method_rows(plan, SYSTEMS, ROWS),
        printed: paper::TABLE4,
        claims: vec![beats("baseline-pp"), beats("epnet"), beats("bd-cspn")],
    }
}
