//! What a table looks like: its rows and columns, what computes them, and what the paper prints there.

use handful_data::EpisodeSpec;

use super::Plan;
use super::cell::{Cell, Recipe, Skipped, Source};
use super::cost;
use super::paper::{self, Printed};
use super::systems::{Learnt, Use, usage};

/// A column of accuracies.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its key, which is also its heading.
    pub key: &'static str,
    /// The setting of its tasks.
    pub spec: EpisodeSpec,
}

/// A column of the paper.
#[derive(Clone, Debug)]
pub struct PaperColumn {
    /// Its heading.
    pub heading: String,
    /// Its place among the printed values.
    pub index: usize,
}

/// A row.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its key.
    pub key: &'static str,
    /// Its name for people.
    pub label: String,
    /// The heading it stands under; rows under one heading are compared.
    pub group: &'static str,
    /// What computes it.
    pub by: By,
}

/// What computes a row.
#[derive(Clone, Debug)]
pub enum By {
    /// A method of parameters alone.
    Recipe(Recipe),
    /// A system, with what it learnt.
    System(&'static str),
}

/// A row of a system: key, system, name for people, heading.
pub type SystemRow = (&'static str, &'static str, &'static str, &'static str);

/// The rows of a table of methods, each group with its systems first: ours (key, name, heading) are at the plan's preset.
pub fn method_rows(
    plan: &Plan,
    systems: &[SystemRow],
    ours: &[(&'static str, &str, &'static str)],
) -> Vec<Row> {
    let mut rows = Vec::new();
    for heading in ["Inductive", "Transductive"] {
        rows.extend(system_rows(systems, heading));
        rows.extend(ours.iter().filter(|(.., group)| *group == heading).map(|&(key, label, group)| Row {
            key,
            label: label.to_owned(),
            group,
            by: By::Recipe(Recipe::at(key, &plan.preset)),
        }));
    }
    rows
}

/// The rows of the systems under a heading.
pub fn system_rows(systems: &[SystemRow], heading: &str) -> impl Iterator<Item = Row> {
    let row = |&(key, system, label, group): &SystemRow| Row {
        key,
        label: label.to_owned(),
        group,
        by: By::System(system),
    };
    systems.iter().filter(move |(.., group)| *group == heading).map(row)
}

/// What every table with systems says of them.
pub const ABOUT_SYSTEMS: &str = "Rows marked (learnt) are systems whose head was learnt on tasks from base classes, on frozen \
                                 features; their published figures are of networks trained with them. A system that needs a \
                                 network of its own has a row where its features or result were given.";

/// A claim of the paper about two rows: the first beats the second in every column.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// The row that should be ahead.
    pub better: &'static str,
    /// The row that should be behind.
    pub worse: &'static str,
}

/// A table of accuracies.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Its key.
    pub table: &'static str,
    /// Its title.
    pub title: &'static str,
    /// What it is about, and how ours differs from the paper's.
    pub about: String,
    /// Our columns.
    pub columns: Vec<Column>,
    /// The paper's.
    pub paper_columns: Vec<PaperColumn>,
    /// The rows.
    pub rows: Vec<Row>,
    /// The paper's rows.
    pub printed: &'static [Printed],
    /// What the paper claims.
    pub claims: Vec<Claim>,
}

impl Layout {
    /// The printed value of a row in one of the paper's columns.
    pub fn printed(&self, row: &str, column: &PaperColumn) -> Option<f64> {
        paper::find(self.printed, row)?.values.get(column.index).copied().flatten()
    }

    /// The cells of the table, column by column, and what cannot be computed on these classes.
    pub fn cells(&self, plan: &Plan, classes: usize) -> (Vec<Cell>, Vec<Skipped>) {
        let (mut cells, mut skipped) = (Vec::new(), Vec::new());
        for column in &self.columns {
            if column.spec.ways > classes {
                let reason =
                    format!("a task needs {} classes, the features have {classes}", column.spec.ways);
                skipped.push(Skipped { table: self.table, what: column.key.to_owned(), reason });
                continue;
            }
            for row in &self.rows {
                let (recipe, source) = match &row.by {
                    By::Recipe(recipe) => (recipe.clone(), Source::Main),
                    By::System(system) => match system_recipe(plan, system, &column.spec) {
                        Ok(found) => found,
                        Err(reason) => {
                            skipped.push(Skipped { table: self.table, what: row.label.clone(), reason });
                            continue;
                        }
                    },
                };
                let spec = match (self.table, row.group) {
                    ("table2", super::table2::SEMI) => {
                        EpisodeSpec { unlabeled: super::table2::UNLABELLED, ..column.spec.clone() }
                    }
                    _ => column.spec.clone(),
                };
                let milliseconds = cost::milliseconds(&recipe, &spec);
                if milliseconds > cost::TOO_SLOW && !plan.full {
                    let what = format!("{}, {}", row.label, column.key);
                    let reason =
                        format!("a task takes about {:.1} s; --full computes it", milliseconds / 1000.0);
                    skipped.push(Skipped { table: self.table, what, reason });
                    continue;
                }
                // The paper's own method gets every task where that is affordable.
                let ours = self.table == "table2" && row.key == "tran/dm-ida";
                let tasks = if let Some(Learnt::Elsewhere(result)) = &recipe.learnt {
                    result.tasks
                } else if plan.full || ours {
                    plan.tasks
                } else {
                    cost::share(plan.tasks, cost::budget(&plan.preset), milliseconds)
                };
                let cell = Cell::accuracy(self.table, row.key, column.key, spec, tasks, recipe);
                cells.push(Cell { source, ..cell });
            }
        }
        (cells, skipped)
    }
}

/// What computes a system's cell, and on which features.
fn system_recipe(plan: &Plan, system: &'static str, spec: &EpisodeSpec) -> Result<(Recipe, Source), String> {
    if let (Some((_, Use::Network(method))), Some(at)) = (usage(system), plan.systems.features(system)) {
        return Ok((Recipe::at(method, &plan.preset), Source::Own(at)));
    }
    let learnt = plan.systems.learnt(system, spec.ways, spec.shots)?;
    Ok((Recipe::learnt(system, learnt), Source::Main))
}

/// A transductive setting of 15 queries per class.
pub fn transductive(ways: usize, shots: usize) -> EpisodeSpec {
    EpisodeSpec { ways, shots, ..EpisodeSpec::default() }
}

/// The usual two columns.
pub fn one_and_five_shot() -> Vec<Column> {
    vec![
        Column { key: "1-shot", spec: transductive(5, 1) },
        Column { key: "5-shot", spec: transductive(5, 5) },
    ]
}

/// Headings of the paper's columns.
pub fn paper_columns(headings: &[(&str, usize)]) -> Vec<PaperColumn> {
    headings.iter().map(|&(heading, index)| PaperColumn { heading: heading.to_owned(), index }).collect()
}
