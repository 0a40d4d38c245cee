//! A progress bar on a terminal, nothing on a pipe.

use handful_bench::study::{Entrant, Score, Study, StudyError};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Runs a study under a bar that names the method at work.
pub fn run_with_bar(study: &Study<'_>, entrants: &[Entrant]) -> Result<Vec<Score>, StudyError> {
    let bar = bar(study.tasks.len() * entrants.len(), "tasks");
    let scores = study.run(entrants, &|entrant| {
        bar.set_message(entrant.method.name());
        bar.inc(1);
    });
    bar.finish_and_clear();
    scores
}

/// A bar over `count` things, drawn on stderr only when that is a terminal.
pub fn bar(count: usize, things: &str) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(count as u64), ProgressDrawTarget::stderr());
    let template = &format!("{{msg:24}} {{wide_bar}} {{pos}}/{{len}} {things}  {{per_sec}}  {{eta}} left");
    // A template that does not parse would only cost the looks.
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
