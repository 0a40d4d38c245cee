//! A progress bar on a terminal, nothing on a pipe.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar over `tasks` tasks, drawn on stderr only when that is a terminal.
pub fn task_bar(tasks: usize) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(tasks as u64), ProgressDrawTarget::stderr());
    let template = "{msg:24} {wide_bar} {pos}/{len} tasks  {per_sec}  {eta} left";
    // A template that does not parse would only cost the looks.
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
