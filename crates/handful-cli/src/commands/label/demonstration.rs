//! The end of `handful demo`: the labelling job on features whose classes are known.

use std::io::Write;
use std::sync::Arc;

use handful_data::FeatureTable;
use handful_data::labels::{Duplicates, GivenLabels};
use handful_label::{LabelParams, PreparedPool, Promise};

use super::Job;
use super::review;
use crate::error::CliError;

/// Labelled rows of each class; from five the promise below would accept nothing.
const PER_CLASS: usize = 10;
/// What is promised: twice what a user would ask for, since the small network behind these features cannot keep less.
const MAX_ERROR: f64 = 0.1;
const REVIEW: &str = "handful-demo-review.csv";

/// Labels the table from ten rows of each class, prints how right that was by credibility, writes the review file
/// into the folder for temporary files.
pub fn demonstrate(table: &FeatureTable, out: &mut dyn Write) -> Result<(), CliError> {
    let first = |(class, rows): (usize, &Vec<usize>)| {
        let name = table.class_names()[class].clone();
        rows.iter().take(PER_CLASS).map(move |&row| (row, name.clone())).collect::<Vec<_>>()
    };
    let labels = table.rows_of_class().iter().enumerate().flat_map(first).collect();
    let given = GivenLabels::read(table, labels, &[], Duplicates::Error)?;
    let prepared =
        PreparedPool::new(Arc::new(table.clone()), &LabelParams::default()).map_err(CliError::usage)?;
    let fit = prepared.fit(&given.labels, given.classes.len()).map_err(CliError::usage)?;
    let (labelling, model) = (fit.labelling, fit.model);

    let truth = |row: usize| table.class_of_row(row).map(|class| table.class_names()[class].as_str());
    let right = |row: usize| truth(row) == Some(given.classes[labelling.rows[row].class].as_str());
    let mut order: Vec<usize> = (0..table.rows()).filter(|&row| !labelling.rows[row].given).collect();
    let credibility = |row: usize| labelling.rows[row].credibility;
    order.sort_by(|&a, &b| credibility(b).total_cmp(&credibility(a)).then(a.cmp(&b)));
    let share = |rows: &[usize]| {
        100.0 * rows.iter().filter(|&&row| right(row)).count() as f64 / rows.len().max(1) as f64
    };
    let tenth = |at: usize| &order[at * order.len() / 10..(at + 1) * order.len() / 10];
    let tenths = (0..10).map(|at| format!("{:.0}", share(tenth(at)))).collect::<Vec<_>>().join(" ");
    writeln!(
        out,
        "\nThe same features as one pool: {PER_CLASS} labels of each of {} classes, the other {} rows labelled.\n\
         {:.1} % of the labels are right; by tenths of credibility, the most credible first: {tenths}.",
        given.classes.len(),
        order.len(),
        share(&order)
    )?;
    let everything = vec![true; table.rows()];
    let accepted = labelling.accept(MAX_ERROR, Promise::HighProbability, &everything);
    let taken: Vec<usize> = order.iter().copied().filter(|&row| accepted.accepted[row]).collect();
    let wrong = if taken.is_empty() { 0.0 } else { 100.0 - share(&taken) };
    let job = Job {
        table: table.clone(),
        given,
        labelling,
        prepared,
        model,
        rejected: vec![false; table.rows()],
        accepted: accepted.accepted.clone(),
        acceptance: Some(accepted.clone()),
        pictures: None,
        texts: None,
    };
    let folder = std::env::temp_dir();
    let path = folder.join(REVIEW);
    let rows = review::write(&path, &job)?;
    writeln!(
        out,
        "With --max-error {MAX_ERROR} {} of them would be accepted ({wrong:.1} % wrong); the other {rows} are in {}.",
        accepted.count,
        path.display()
    )?;
    Ok(())
}
