//! A progress bar on a terminal, nothing on a pipe.

use handful_bench::study::{Entrant, Score, Study, StudyError};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Runs a study under a bar that names the method at work.
pub fn run_with_bar(study: &Study<'_>, entrants: &[Entrant]) -> Result<Vec<Score>, StudyError> {
    let bar = task_bar(study.tasks.len() * entrants.len());
    let scores = study.run(entrants, &|entrant| {
        bar.set_message(entrant.method.name());
        bar.inc(1);
    });
    bar.finish_and_clear();
    scores
}

/// A bar over `tasks` tasks, drawn on stderr only when that is a terminal.
fn task_bar(tasks: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(tasks as u64), ProgressDrawTarget::stderr());
    let template = "{msg:24} {wide_bar} {pos}/{len} tasks  {per_sec}  {eta} left";
    // A template that does not parse would only cost the looks.
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
