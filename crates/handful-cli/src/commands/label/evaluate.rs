//! `handful label --evaluate`: the job on draws from a table whose classes are known.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use handful_bench::labelling::{Draw, DrawSpec, LabelScore, score};
use handful_data::FeatureTable;
use handful_label::Promise;
use serde_json::json;

use super::rule::RuleArgs;
use crate::commands::bench::Format;
use crate::error::CliError;

/// What is drawn and what is promised.
#[derive(Args)]
#[group(id = "evaluation")]
pub struct EvaluateArgs {
    /// Instead of labelling: draw this many pools from a table with classes and compare with the truth
    #[arg(long, value_name = "DRAWS", help_heading = "Evaluation")]
    pub evaluate: Option<u64>,
    /// Labelled rows of each class
    #[arg(long, value_name = "ROWS", default_value_t = 5, help_heading = "Evaluation")]
    labels_per_class: usize,
    /// Draw class sizes from a Dirichlet distribution of this concentration instead of keeping the table's
    #[arg(long, value_name = "A", help_heading = "Evaluation")]
    dirichlet: Option<f64>,
    /// Classes in the pool that are never labelled
    #[arg(long, value_name = "CLASSES", default_value_t = 0, help_heading = "Evaluation")]
    strangers: usize,
    /// Seed of the draws
    #[arg(long, default_value_t = 1, help_heading = "Evaluation")]
    draw_seed: u64,
    /// Write the draws as JSON lines, for other tools
    #[arg(long, value_name = "FILE", help_heading = "Evaluation")]
    draws_to: Option<PathBuf>,
}

const PROMISES: [f64; 2] = [0.05, 0.01];

/// Runs the study and prints it.
pub fn run(
    args: &EvaluateArgs,
    draws: u64,
    table: &FeatureTable,
    rule: &RuleArgs,
    format: Format,
) -> Result<(), CliError> {
    if args.dirichlet.is_some_and(|concentration| !(concentration > 0.0 && concentration.is_finite())) {
        return Err(CliError::Usage("--dirichlet: give a number above 0".into()));
    }
    let spec = DrawSpec {
        per_class: args.labels_per_class,
        dirichlet: args.dirichlet,
        strangers: args.strangers,
        seed: args.draw_seed,
    };
    let draw = |index: u64| {
        spec.draw(table, index).ok_or_else(|| {
            CliError::Usage(format!(
                "{}: cannot draw {} labelled rows of each class with {} classes as strangers",
                table.path().display(),
                args.labels_per_class,
                args.strangers
            ))
        })
    };
    let draws: Vec<Draw> = (0..draws).map(draw).collect::<Result<_, _>>()?;
    if draws.is_empty() || args.labels_per_class == 0 {
        return Err(CliError::Usage("--evaluate and --labels-per-class must be at least 1".into()));
    }
    if let Some(path) = &args.draws_to {
        handful_data::atomic::write(path, |out| {
            for draw in &draws {
                serde_json::to_writer(&mut *out, draw)?;
                out.write_all(b"\n")?;
            }
            Ok(())
        })?;
    }
    let bar = crate::progress::bar(draws.len(), "draws");
    let mut scores = Vec::new();
    for draw in &draws {
        let pool = Arc::new(table.gather(&draw.pool));
        let start = Instant::now();
        let prepared = rule.prepare(pool, args.strangers > 0)?.map_err(CliError::usage)?;
        scores.push(score(table, draw, &prepared, start, &PROMISES).map_err(CliError::usage)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    print(&scores, format)
}

fn print(scores: &[LabelScore], format: Format) -> Result<(), CliError> {
    let mut out = std::io::stdout().lock();
    if format == Format::Json {
        serde_json::to_writer(&mut out, &json!({ "draws": scores })).map_err(std::io::Error::from)?;
        writeln!(out)?;
        return Ok(out.flush()?);
    }
    let mean =
        |value: &dyn Fn(&LabelScore) -> f64| scores.iter().map(value).sum::<f64>() / scores.len() as f64;
    let accuracy = mean(&|score| score.accuracy);
    let spread = mean(&|score| (score.accuracy - accuracy).powi(2)).sqrt();
    writeln!(out, "{} draws", scores.len())?;
    writeln!(
        out,
        "accuracy            {:.2} +- {:.2} %",
        100.0 * accuracy,
        196.0 * spread / (scores.len() as f64).sqrt()
    )?;
    writeln!(out, "mean probability    {:.2} %", 100.0 * mean(&|score| score.mean_probability))?;
    writeln!(out, "temperature         {:.3}", mean(&|score| score.temperature))?;
    writeln!(out, "seconds per draw    {:.2}", mean(&|score| score.seconds))?;
    let tenths = |name: &str, of: &dyn Fn(&LabelScore) -> &Vec<f64>| {
        let at = |at: usize| format!("{:.1}", 100.0 * mean(&|score| of(score)[at]));
        format!("{name} {}", (0..10).map(at).collect::<Vec<_>>().join(" "))
    };
    writeln!(out, "{}", tenths("by credibility tenth", &|score| &score.by_credibility))?;
    writeln!(out, "{}", tenths("by probability tenth", &|score| &score.by_probability))?;
    for at in 0..scores.first().map_or(0, |score| score.promises.len()) {
        let promised = &scores[0].promises[at];
        let accepting = scores.iter().filter(|score| score.promises[at].accepted > 0.0).count();
        let broken = scores.iter().filter(|score| score.promises[at].realised > promised.max_error).count();
        let kind = match promised.kind {
            Promise::HighProbability => "at most",
            Promise::Expected => "expected",
        };
        writeln!(
            out,
            "{kind} {:.0} % errors   realised {:.2} % on average, kept in {} of {accepting} draws that accept, {:.1} % of \
             rows accepted",
            100.0 * promised.max_error,
            100.0 * mean(&|score| score.promises[at].realised),
            accepting - broken,
            100.0 * mean(&|score| score.promises[at].accepted)
        )?;
    }
    if scores.iter().all(|score| score.stranger_auroc.is_some()) {
        writeln!(out, "AUROC of rejection  {:.3}", mean(&|score| score.stranger_auroc.unwrap_or_default()))?;
    }
    Ok(out.flush()?)
}
