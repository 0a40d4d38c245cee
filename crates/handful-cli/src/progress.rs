//! A progress bar on a terminal, nothing on a pipe.

use std::ops::Range;

use handful_bench::reproduce::Observer;
use handful_bench::reproduce::cell::Cell;
use handful_bench::study::{Entrant, Score, Solved, Study, StudyError};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Runs a study under a bar that names the method at work.
pub fn run_with_bar(study: &Study<'_>, entrants: &[Entrant]) -> Result<Vec<Score>, StudyError> {
    let bar = bar(study.task_count() * entrants.len(), "tasks");
    let scores = study.run(entrants, &|entrant| {
        bar.set_message(entrant.method.name());
        bar.inc(1);
    });
    bar.finish_and_clear();
    scores
}

/// Runs a range of a study's tasks under such a bar.
pub fn solve_with_bar(
    study: &Study<'_>,
    entrants: &[Entrant],
    range: Range<usize>,
) -> Result<Vec<Solved>, StudyError> {
    let bar = bar(range.len() * entrants.len(), "tasks");
    let solved = study.solve_range(entrants, range, &|entrant| {
        bar.set_message(entrant.method.name());
        bar.inc(1);
    });
    bar.finish_and_clear();
    solved
}

/// A bar over `count` things, drawn on stderr only when that is a terminal.
pub fn bar(count: usize, things: &str) -> ProgressBar {
    let template = format!("{{msg:24}} {{wide_bar}} {{pos}}/{{len}} {things}  {{per_sec}}  {{eta}} left");
    bar_like(count, &template)
}

/// The same with another template.
pub fn bar_like(count: usize, template: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(count as u64), ProgressDrawTarget::stderr());
    bar.set_style(style(template));
    bar
}

/// What is being done, on stderr while it is, where that is a terminal.
#[cfg(feature = "studio")]
pub fn spinner(what: &'static str) -> ProgressBar {
    let spinner = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    spinner.set_style(style("{spinner} {msg}  {elapsed}"));
    spinner.set_message(what);
    spinner.enable_steady_tick(std::time::Duration::from_millis(120));
    spinner
}

/// The style of a template; the usual one if it does not parse, which is a matter of looks only.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Two bars for a reproduction: all cells, by what they are expected to cost, and the tasks of the one at work.
pub struct CellBars {
    bars: MultiProgress,
    all: ProgressBar,
    cell: ProgressBar,
}

impl CellBars {
    /// Bars that are drawn on stderr only when that is a terminal.
    pub fn new() -> Self {
        let bars = MultiProgress::with_draw_target(ProgressDrawTarget::stderr());
        let all = bars.add(ProgressBar::new(0));
        let cell = bars.add(ProgressBar::new(0));
        all.set_style(style("{msg:40} {wide_bar} {percent:>3}%  {eta} left"));
        cell.set_style(style("{msg:40} {wide_bar} {pos}/{len} tasks  {eta} left"));
        Self { bars, all, cell }
    }

    /// Takes the bars off the screen.
    pub fn clear(&self) {
        self.cell.finish_and_clear();
        self.all.finish_and_clear();
        // Nothing is lost if the terminal has gone away.
        let _ = self.bars.clear();
    }
}

impl Observer for CellBars {
    fn planned(&self, all: usize, missing: &[&Cell]) {
        self.all.set_length(missing.iter().map(|cell| cell.expected_cost() as u64).sum());
        self.all.set_message(format!("{} of {all} cells to do", missing.len()));
    }

    fn started(&self, cell: &Cell) {
        self.cell.reset();
        self.cell.set_length(cell.tasks as u64);
        self.cell.set_message(cell.name());
    }

    fn task_done(&self) {
        self.cell.inc(1);
    }

    fn finished(&self, cell: &Cell) {
        self.all.inc(cell.expected_cost() as u64);
    }
}
