//! What the paper's text and its authors' code disagree on, and what each difference is worth: preset `authors` with
//! one thing at a time as the text has it. Not part of `all`: a task takes 150 ms.

use handful_data::EpisodeSpec;

use super::Plan;
use super::cell::{Cell, Recipe};
use super::layout::{By, Column, Layout, Row, transductive};

/// Most tasks of a cell.
const MOST_TASKS: usize = 1_000;

/// Key, label, changes.
type Variant = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

const VARIANTS: &[Variant] = &[
    ("authors", "The authors' code", &[]),
    ("lambda", "lambda on the normalised estimator", &[("dependence_scale", "normalised")]),
    ("temperature", "no temperature at the start", &[("temperature", "1"), ("temperature_five_shot", "1")]),
    ("loss", "DM alone instead of the hybrid loss", &[("objective", "dependence")]),
    ("pca", "IDA in all dimensions instead of 10", &[("pca", "0")]),
    ("psi", "psi not divided by the number of classes", &[("psi_per_class", "false")]),
    ("stable", "stop when the labels are stable", &[("stop_when_stable", "true")]),
    ("sizes", "no cap at the equal share of a class", &[("cap_at_equal_share", "false")]),
    ("query", "last fit on the pool, not the query", &[("last_fit", "pool")]),
];

/// The table.
pub fn layout(_plan: &Plan) -> Layout {
    let row = |&(key, label, changes): &Variant| Row {
        key,
        label: label.to_owned(),
        group: "Preset authors with one change",
        by: By::Recipe(
            changes.iter().fold(Recipe::at("dm-ida", "authors"), |recipe, (k, v)| recipe.with(k, v)),
        ),
    };
    Layout {
        table: "differences",
        title: "The text and its authors' code",
        about: "Preset authors, which has the constants and the order of the published code, and the same with one \
                thing at a time as the text has it. Transductive, and semi-supervised with 15 unlabelled examples per \
                class for the row that differs only there. At most 1,000 tasks."
            .to_owned(),
        columns: vec![
            Column { key: "tran. 1-shot", spec: transductive(5, 1) },
            Column { key: "semi 1-shot", spec: EpisodeSpec { unlabeled: 15, ..transductive(5, 1) } },
        ],
        paper_columns: Vec::new(),
        rows: VARIANTS.iter().map(row).collect(),
        printed: &[],
        claims: Vec::new(),
    }
}

/// Its cells: the last variant concerns the second column only, the others the first.
pub fn cells(plan: &Plan) -> Vec<Cell> {
    let layout = layout(plan);
    let tasks = plan.tasks.min(MOST_TASKS);
    let mut cells = Vec::new();
    for (at, column) in layout.columns.iter().enumerate() {
        for row in &layout.rows {
            let wanted = row.key == "authors" || (row.key == "query") == (at == 1);
            if let (true, By::Recipe(recipe)) = (wanted, &row.by) {
                let spec = column.spec.clone();
                cells.push(Cell::accuracy("differences", row.key, column.key, spec, tasks, recipe.clone()));
            }
        }
    }
    cells
}
