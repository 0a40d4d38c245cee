//! A cell: the smallest piece of a table that is computed, stored and resumed as a whole.

use handful::methods::{self, Change, METHODS, Method};
use handful_data::EpisodeSpec;

use super::ReproduceError;
use super::systems::Learnt;
use crate::reproduce::cost;
use crate::study::Entrant;

/// Which feature table a cell draws its tasks from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The features of the run.
    Main,
    /// Those of another dataset through the same backbone (Table 3).
    Cross,
    /// Those of a network that a system trained for itself, by their place among those given.
    Own(usize),
}

/// A method by name, with the preset it should have and changes to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// The method.
    pub method: &'static str,
    /// The preset; none for the method's default.
    pub preset: Option<String>,
    /// Changed parameters.
    pub changes: Vec<Change>,
    /// Of a system, what it learnt; its preset and changes are none.
    pub learnt: Option<Learnt>,
}

impl Recipe {
    /// A method at the run's preset where it has that, else at its default.
    pub fn at(method: &'static str, preset: &str) -> Self {
        let known = METHODS.iter().any(|entry| entry.name == method && entry.presets.contains(&preset));
        Self { method, preset: known.then(|| preset.to_owned()), changes: Vec::new(), learnt: None }
    }

    /// A system with what it learnt.
    pub fn learnt(system: &'static str, learnt: Learnt) -> Self {
        Self { method: system, preset: None, changes: Vec::new(), learnt: Some(learnt) }
    }

    /// The same with one parameter changed.
    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.changes.push((key.to_owned(), value.to_owned()));
        self
    }

    /// The preset's name.
    pub fn preset_name(&self) -> &str {
        self.preset.as_deref().unwrap_or("default")
    }

    /// The method itself.
    ///
    /// # Errors
    /// A parameter out of range, or a head that cannot be read.
    pub fn build(&self) -> Result<Box<dyn Method>, ReproduceError> {
        Ok(match &self.learnt {
            None => methods::build(self.method, self.preset.as_deref(), &self.changes)?,
            Some(Learnt::Head(source)) => Box::new(source.read(self.method)?),
            Some(Learnt::Elsewhere(result)) => Box::new(result.clone()),
        })
    }

    /// The method as a study takes it.
    ///
    /// # Errors
    /// As [`Recipe::build`].
    pub fn entrant(&self) -> Result<Entrant, ReproduceError> {
        Ok(Entrant { preset: self.preset_name().to_owned(), method: self.build()? })
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Accuracy on the query rows.
    Accuracy,
    /// Accuracy and Fisher's criterion of one way to label the pool (Table 1).
    Labelling(super::table1::Labelling),
    /// Loss parts and accuracy at every step of one fit (Figure 1).
    Convergence,
    /// Theorem 3's bound beside exact IDA.
    Bound,
    /// One task in two dimensions, before and after.
    Picture,
}

/// One cell of one table.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The table or figure.
    pub table: &'static str,
    /// The row's key.
    pub row: String,
    /// The column's key.
    pub column: &'static str,
    /// Where the tasks come from.
    pub source: Source,
    /// The setting of the tasks.
    pub spec: EpisodeSpec,
    /// How many tasks.
    pub tasks: usize,
    /// The method.
    pub recipe: Recipe,
    /// What is measured.
    pub measure: Measure,
}

impl Cell {
    /// An accuracy cell on the main features.
    pub fn accuracy(
        table: &'static str,
        row: impl Into<String>,
        column: &'static str,
        spec: EpisodeSpec,
        tasks: usize,
        recipe: Recipe,
    ) -> Self {
        let measure = Measure::Accuracy;
        Self { table, row: row.into(), column, source: Source::Main, spec, tasks, recipe, measure }
    }

    /// What the cell is expected to take, in milliseconds of one core: only for showing progress.
    pub fn expected_cost(&self) -> f64 {
        self.tasks as f64 * cost::milliseconds(&self.recipe, &self.spec)
    }

    /// The cell for people.
    pub fn name(&self) -> String {
        format!("{} {} {}", self.table, self.row, self.column)
    }
}

/// A part of a table that cannot be computed, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// The table.
    pub table: &'static str,
    /// Which part.
    pub what: String,
    /// Why, and what would be needed.
    pub reason: String,
}
