//! The paper's tables and figures as cells that are computed one by one, stored as they finish, and resumed.
//!
//! A [`Target`] becomes [`Cell`]s by way of a [`Plan`]; [`run`] computes those that the [`results::Store`] does not have
//! yet. Nothing here renders: reports are made from results alone (see [`crate::report`]).

pub mod cell;
pub mod cost;
pub mod differences;
pub mod figure1;
pub mod layout;
pub mod paper;
pub mod picture;
pub mod results;
pub mod systems;
pub mod table1;
pub mod table2;
pub mod table3;
pub mod table4;
pub mod table5;
pub mod table6;
pub mod theorem3;
mod work;

use std::path::PathBuf;

use handful::error::ParamError;
use handful::methods::{METHODS, Method};
use handful::parts::PartKind;
use handful_data::{DataError, EpisodeSampler, FeatureTable};

use crate::study::StudyError;
use cell::{Cell, Skipped, Source};
use layout::Layout;
use results::{FeatureStamp, Machine, Record, RunStamp, SettingStamp, Store, StoreError};
use systems::{Learnt, Systems};
pub use work::Observer;

/// What can be reproduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// psi and accuracy of four ways to label.
    Table1,
    /// Benchmarks.
    Table2,
    /// Cross-domain.
    Table3,
    /// 10 and 20 ways.
    Table4,
    /// Loss ablation.
    Table5,
    /// Selector ablation.
    Table6,
    /// Convergence.
    Figure1,
    /// The bound on IDA.
    Theorem3,
    /// One task in two dimensions.
    Picture,
    /// The text against the authors' code.
    Differences,
    /// Everything but the differences.
    All,
}

impl Target {
    /// Every target by name.
    pub const NAMES: [(&'static str, Target); 11] = [
        ("table1", Target::Table1),
        ("table2", Target::Table2),
        ("table3", Target::Table3),
        ("table4", Target::Table4),
        ("table5", Target::Table5),
        ("table6", Target::Table6),
        ("figure1", Target::Figure1),
        ("theorem3", Target::Theorem3),
        ("picture", Target::Picture),
        ("differences", Target::Differences),
        ("all", Target::All),
    ];

    /// The target of a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, target)| *target)
    }
}

/// What a run was asked to do.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Preset of the paper's method, and of every other that has it.
    pub preset: String,
    /// Tasks per cell; slow cells get fewer unless `full`.
    pub tasks: usize,
    /// Seed of the tasks.
    pub seed: u64,
    /// All tasks for every cell.
    pub full: bool,
    /// Threads; 0 takes one per core.
    pub threads: usize,
    /// The benchmark whose printed figures stand beside ours in Table 2.
    pub benchmark: String,
    /// Classes of the other dataset's features, if there are any.
    pub cross_classes: Option<usize>,
    /// What there is of systems that are learnt from tasks.
    pub systems: Systems,
}

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReproduceError {
    /// The preset does not exist.
    #[error("--preset {preset}: dm-ida has {known}")]
    UnknownPreset {
        /// As given.
        preset: String,
        /// The presets there are.
        known: String,
    },
    /// None of what was asked for can be computed.
    #[error("{table} cannot be computed: {reason}")]
    Nothing {
        /// The table.
        table: &'static str,
        /// Why.
        reason: String,
    },
    /// A file that should hold what a system reached elsewhere.
    #[error("{}: {reason}", path.display())]
    NoResult {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The results folder.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A method's parameters.
    #[error(transparent)]
    Param(#[from] ParamError),
    /// A task or the threads.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// The features.
    #[error(transparent)]
    Data(#[from] DataError),
}

/// The feature tables of a run.
pub struct Inputs<'a> {
    /// The run's features.
    pub table: &'a FeatureTable,
    /// Another dataset's through the same backbone.
    pub cross: Option<&'a FeatureTable>,
    /// Those of networks that systems trained for themselves.
    pub own: &'a [FeatureTable],
}

impl Inputs<'_> {
    fn of(&self, source: Source) -> Option<&FeatureTable> {
        match source {
            Source::Main => Some(self.table),
            Source::Cross => self.cross,
            Source::Own(at) => self.own.get(at),
        }
    }
}

/// Layouts of all tables of accuracies, in the order of the report.
pub fn layouts(plan: &Plan) -> Vec<Layout> {
    vec![
        table2::layout(plan),
        table3::layout(plan),
        table4::layout(plan),
        table5::layout(plan),
        table6::layout(plan),
        differences::layout(plan),
    ]
}

/// The cells of a target, in the order they are computed, and what has to be left out.
pub fn cells(
    target: Target,
    plan: &Plan,
    inputs: &Inputs<'_>,
) -> Result<(Vec<Cell>, Vec<Skipped>), ReproduceError> {
    check_preset(&plan.preset)?;
    let classes = inputs.table.class_count();
    let (mut cells, mut skipped) = (Vec::new(), Vec::new());
    let wanted = match target {
        // Cheap and telling first, so that a report has something to show early.
        Target::All => vec![
            Target::Table1,
            Target::Figure1,
            Target::Theorem3,
            Target::Picture,
            Target::Table5,
            Target::Table6,
            Target::Table2,
            Target::Table4,
            Target::Table3,
        ],
        one => vec![one],
    };
    for target in wanted {
        let (more, without) = match target {
            Target::Table1 => (table1::cells(plan), Vec::new()),
            Target::Table2 => table2::layout(plan).cells(plan, classes),
            Target::Table3 => table3::cells(plan),
            Target::Table4 => table4::layout(plan).cells(plan, classes),
            Target::Table5 => table5::layout(plan).cells(plan, classes),
            Target::Table6 => table6::layout(plan).cells(plan, classes),
            Target::Figure1 => (figure1::cells(plan), Vec::new()),
            Target::Theorem3 => (theorem3::cells(plan), Vec::new()),
            Target::Picture => (picture::cells(plan), Vec::new()),
            Target::Differences => (differences::cells(plan), Vec::new()),
            Target::All => (Vec::new(), Vec::new()),
        };
        cells.extend(more);
        skipped.extend(without);
    }
    leave_out_impossible(&mut cells, &mut skipped, plan, inputs);
    match skipped.first() {
        Some(first) if cells.is_empty() => {
            Err(ReproduceError::Nothing { table: first.table, reason: first.reason.clone() })
        }
        _ => Ok((cells, skipped)),
    }
}

/// Cells whose tasks the features cannot serve are left out, with the reason once per column.
fn leave_out_impossible(cells: &mut Vec<Cell>, skipped: &mut Vec<Skipped>, plan: &Plan, inputs: &Inputs<'_>) {
    let mut leave_out = |missing: Skipped| {
        if !skipped.contains(&missing) {
            skipped.push(missing);
        }
    };
    cells.retain_mut(|cell| {
        let Some(table) = inputs.of(cell.source) else { return false };
        table2::fit_pool(cell, table).map(&mut leave_out);
        if let Some(reason) = unfit(cell, table) {
            let what = format!("{}, {}", cell.recipe.method, cell.column);
            leave_out(Skipped { table: cell.table, what, reason });
            return false;
        }
        let Err(error) = EpisodeSampler::new(table, cell.spec.clone(), plan.seed) else { return true };
        leave_out(Skipped { table: cell.table, what: cell.column.to_owned(), reason: error.to_string() });
        false
    });
}

/// Why a cell's method has no use for a table, if it has none.
fn unfit(cell: &Cell, table: &FeatureTable) -> Option<String> {
    let has = |kind: PartKind| table.parts().is_some_and(|parts| parts.kind() == kind);
    let one_shot = cell.spec.shots < 2 && !has(PartKind::Views);
    match (cell.recipe.method, &cell.recipe.learnt) {
        (_, Some(Learnt::Elsewhere(_))) => None,
        ("deepemd", _) if !has(PartKind::Maps) => {
            Some("it needs feature maps, which `handful embed --maps` keeps".to_owned())
        }
        ("dsn", _) if one_shot => Some(
            "a subspace needs two rows: features of `handful embed --views` have the mirror image as a second"
                .to_owned(),
        ),
        (system, Some(Learnt::Head(source))) => {
            // A head that cannot be read is an error where it is used.
            let head = source.read(system).ok()?;
            let trained = head.facts().dim;
            if trained != table.dim() {
                let dim = table.dim();
                return Some(format!("its head was learnt on features of {trained} dimensions, these have {dim}"));
            }
            table.embedder().and_then(|embedder| head.check_embedder(embedder).err()).map(|error| error.to_string())
        }
        _ => None,
    }
}

fn check_preset(preset: &str) -> Result<(), ReproduceError> {
    let presets = METHODS.iter().find(|entry| entry.name == "dm-ida").map_or(&[][..], |entry| entry.presets);
    if presets.contains(&preset) {
        return Ok(());
    }
    Err(ReproduceError::UnknownPreset { preset: preset.to_owned(), known: presets.join(", ") })
}

/// The stamp of a run of this version.
pub fn stamp(plan: &Plan, features: &FeatureTable) -> RunStamp {
    RunStamp {
        features_sha256: features.sha256(),
        preset: plan.preset.clone(),
        tasks: plan.tasks,
        seed: plan.seed,
        full: plan.full,
        benchmark: plan.benchmark.clone(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

/// The stamp of a feature table.
pub fn feature_stamp(table: &FeatureTable) -> FeatureStamp {
    let name = table.path().file_name().unwrap_or(table.path().as_os_str()).to_string_lossy().into_owned();
    FeatureStamp {
        name,
        rows: table.rows(),
        dim: table.dim(),
        classes: table.class_count(),
        sha256: table.sha256(),
    }
}

/// Computes every cell that the store does not have.
pub fn run(
    cells: &[Cell],
    plan: &Plan,
    inputs: &Inputs<'_>,
    store: &mut Store,
    observer: &dyn Observer,
) -> Result<(), ReproduceError> {
    if let Some(cross) = inputs.cross {
        store.check_source("table3", &cross.sha256())?;
    }
    let mut missing = Vec::new();
    for cell in cells {
        match store.find(cell.table, &cell.row, cell.column) {
            None => missing.push(cell),
            Some(record) => check_same(cell, record)?,
        }
    }
    observer.planned(cells.len(), &missing);
    let (run, machine) = (stamp(plan, inputs.table), Machine::here());
    for cell in missing {
        let Some(table) = inputs.of(cell.source) else { continue };
        observer.started(cell);
        let outcome = work::measure(cell, plan, table, &|| observer.task_done())?;
        let method = cell.recipe.build()?;
        let prior = method.prior();
        let record = Record {
            table: cell.table.to_owned(),
            row: cell.row.clone(),
            column: cell.column.to_owned(),
            method: cell.recipe.method.to_owned(),
            preset: cell.recipe.preset_name().to_owned(),
            params: method.params(),
            uses_unlabelled: prior.setting == handful::methods::Setting::UsesUnlabeled,
            knows_class_sizes: prior.knows_class_sizes,
            setting: SettingStamp {
                ways: cell.spec.ways,
                shots: cell.spec.shots,
                queries: cell.spec.queries,
                unlabeled: cell.spec.unlabeled,
            },
            features: feature_stamp(table),
            seed: plan.seed,
            tasks: cell.tasks,
            run: run.clone(),
            machine: machine.clone(),
            accuracy: outcome.accuracy.mean,
            ci95: outcome.accuracy.ci95,
            seconds: outcome.seconds,
            right: outcome.right,
            of: outcome.of,
            extra: outcome.extra,
        };
        store.append(record)?;
        observer.finished(cell);
    }
    Ok(())
}

/// A stored cell must be the one that would be computed now.
fn check_same(cell: &Cell, record: &Record) -> Result<(), ReproduceError> {
    let params = cell.recipe.build()?.params();
    if record.params == params && record.tasks == cell.tasks {
        return Ok(());
    }
    Err(StoreError::OtherRun {
        path: results::RESULTS.into(),
        what: "the parameters of a cell",
        there: format!("{} with {} tasks", cell.name(), record.tasks),
        here: format!("different, or with {} tasks", cell.tasks),
    }
    .into())
}

#[cfg(test)]
mod tests;
