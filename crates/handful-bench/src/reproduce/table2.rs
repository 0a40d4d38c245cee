//! Table 2: every method that runs on frozen features, beside the published rows.

use handful_data::FeatureTable;

use super::Plan;
use super::cell::{Cell, Recipe, Skipped};
use super::layout::{
    ABOUT_SYSTEMS, By, Claim, Layout, PaperColumn, Row, SystemRow, one_and_five_shot, system_rows,
};
use super::paper::{self, BENCHMARKS};

/// Headings of the three kinds of prior knowledge.
pub const INDUCTIVE: &str = "Inductive";
/// Transductive rows.
pub const TRANSDUCTIVE: &str = "Transductive";
/// Semi-supervised rows.
pub const SEMI: &str = "Semi-supervised";

/// Unlabelled rows per class of the semi-supervised rows: section 4.2 of the paper.
pub const UNLABELLED: usize = 50;

/// Gives a semi-supervised cell the unlabelled rows that there are where the classes are too small for all of them, as
/// those of CUB are; says so. A cell that no row would be left for stays as it is.
pub fn fit_pool(cell: &mut Cell, table: &FeatureTable) -> Option<Skipped> {
    let smallest = table.classes().rows_of_class().iter().map(Vec::len).min()?;
    let left = smallest.checked_sub(cell.spec.shots + cell.spec.queries).filter(|&left| left > 0)?;
    if cell.table != "table2" || left >= cell.spec.unlabeled {
        return None;
    }
    let wanted = std::mem::replace(&mut cell.spec.unlabeled, left);
    Some(Skipped {
        table: cell.table,
        what: format!("{wanted} unlabelled examples per class, {}", cell.column),
        reason: format!("the smallest class has {smallest} rows: the semi-supervised rows have {left}"),
    })
}

/// Key, method, preset (none: the run's where the method has it), name for people.
type Entry = (&'static str, &'static str, Option<&'static str>, &'static str);

const ROWS: &[(&str, &[Entry])] = &[
    (
        INDUCTIVE,
        &[
            ("in/protonet", "protonet", None, "ProtoNet"),
            ("in/simpleshot", "simpleshot", None, "SimpleShot"),
            ("in/matching", "matching", None, "MatchingNet"),
            ("in/baseline", "baseline", None, "Baseline"),
            ("in/baseline-pp", "baseline-pp", None, "Baseline++"),
            ("in/logistic", "logistic", None, "Logistic regression"),
            ("in/ridge", "ridge", None, "Ridge regression"),
            ("in/svm", "svm", None, "SVM"),
            ("in/dsn", "dsn", None, "DSN"),
            ("in/deepemd", "deepemd", None, "DeepEMD (frozen maps)"),
        ],
    ),
    (
        TRANSDUCTIVE,
        &[
            ("tran/entropy-min", "entropy-min", None, "Entropy minimisation"),
            ("tran/laplacianshot", "laplacianshot", None, "LaplacianShot"),
            ("tran/tim-gd", "tim-gd", None, "TIM-GD"),
            ("tran/tim-adm", "tim-adm", None, "TIM-ADM"),
            ("tran/alpha-tim", "alpha-tim", None, "alpha-TIM"),
            ("tran/epnet", "epnet", None, "EPNet (head only)"),
            ("tran/ici", "ici", None, "ICI + LR"),
            ("tran/bd-cspn", "bd-cspn", None, "BD-CSPN"),
            ("tran/tafssl", "tafssl", None, "TAFSSL (ICA+MSP)"),
            ("tran/paddle", "paddle", None, "PADDLE"),
            ("tran/oslo", "oslo", None, "OSLO"),
            ("tran/label-spreading", "label-spreading", None, "Label spreading"),
            ("tran/soft-kmeans", "soft-kmeans", None, "Soft k-means"),
            ("tran/self-training", "self-training", None, "Self-training, confidence"),
            ("tran/pt-map", "pt-map", None, "PT-MAP"),
            ("tran/pt-map-unbalanced", "pt-map", Some("unbalanced"), "PT-MAP, sizes unknown"),
            ("tran/ilpc", "ilpc", None, "iLPC"),
            ("tran/ease", "ease", None, "EASE"),
            ("tran/protolp", "protolp", None, "protoLP"),
            ("tran/dm-ida", "dm-ida", None, "DM + IDA (the paper's)"),
        ],
    ),
    (
        SEMI,
        &[
            ("semi/self-training", "self-training", Some("lst"), "LST (head only)"),
            ("semi/tafssl", "tafssl", None, "TAFSSL (ICA+MSP)"),
            ("semi/epnet", "epnet", None, "EPNet (head only)"),
            ("semi/ici", "ici", None, "ICI + LR"),
            ("semi/tim-gd", "tim-gd", None, "TIM-GD"),
            ("semi/laplacianshot", "laplacianshot", None, "LaplacianShot"),
            ("semi/bd-cspn", "bd-cspn", None, "BD-CSPN"),
            ("semi/label-spreading", "label-spreading", None, "Label spreading"),
            ("semi/soft-kmeans", "soft-kmeans", None, "Soft k-means"),
            ("semi/pt-map", "pt-map", None, "PT-MAP"),
            ("semi/dm-ida", "dm-ida", None, "DM + IDA (the paper's)"),
        ],
    ),
];

const SYSTEMS: &[SystemRow] = &[
    ("in/feat", "feat", "FEAT (learnt)", INDUCTIVE),
    ("in/dsn-learnt", "dsn", "DSN (learnt)", INDUCTIVE),
    ("tran/sib", "sib", "SIB† (learnt)", TRANSDUCTIVE),
    ("tran/epnet-own", "epnet", "EPNet (own network)", TRANSDUCTIVE),
];

/// The table.
pub fn layout(plan: &Plan) -> Layout {
    let mut rows = Vec::new();
    for (group, entries) in ROWS {
        rows.extend(system_rows(SYSTEMS, group));
        for &(key, method, preset, label) in *entries {
            let recipe = match preset {
                Some(preset) => Recipe::at(method, preset),
                None => Recipe::at(method, &plan.preset),
            };
            rows.push(Row { key, label: label.to_owned(), group, by: By::Recipe(recipe) });
        }
    }
    let at = BENCHMARKS.iter().position(|(key, _)| *key == plan.benchmark).unwrap_or(2);
    let name = BENCHMARKS[at].1;
    let column = |shots: &str, index| PaperColumn { heading: format!("paper, {name}, {shots}"), index };
    let beats = |worse| Claim { better: "tran/dm-ida", worse };
    Layout {
        table: "table2",
        title: "Table 2. Benchmarks",
        about: format!(
            "5-way, 15 queries per class; semi-supervised rows have {UNLABELLED} more unlabelled examples per class. \
             Every method gets the same frozen features and the same tasks; the paper's rows each come from the \
             backbone of their own publication. EPNet, LST and entropy minimisation are their classifier heads alone. \
             Methods told the class sizes (balanced queries) are compared only with each other. {ABOUT_SYSTEMS}"
        ),
        columns: one_and_five_shot(),
        paper_columns: vec![column("1-shot", 2 * at), column("5-shot", 2 * at + 1)],
        rows,
        printed: paper::TABLE2,
        claims: vec![
            beats("tran/entropy-min"),
            beats("tran/laplacianshot"),
            beats("tran/tim-gd"),
            beats("tran/epnet"),
            beats("tran/ici"),
            beats("tran/bd-cspn"),
            Claim { better: "semi/dm-ida", worse: "semi/self-training" },
            Claim { better: "semi/dm-ida", worse: "semi/tafssl" },
            Claim { better: "semi/dm-ida", worse: "semi/epnet" },
            Claim { better: "semi/dm-ida", worse: "semi/ici" },
        ],
    }
}
