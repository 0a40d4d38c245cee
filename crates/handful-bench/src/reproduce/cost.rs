//! How many of the tasks a cell gets: slow methods get fewer, by a fixed rule, so that a run ends the same day.
//!
//! The rule knows only constants (measured once on a quiet core, on the 256-dimensional features that come with
//! handful), never the clock: the same command gives the same numbers of tasks on every machine. A cell gets the share
//! `budget / cost` of the tasks, rounded down to 1, 2 or 5 times a power of ten, and at least 100. Every table prints how
//! many it was.

use handful_data::EpisodeSpec;

use super::cell::Recipe;

/// Milliseconds of one core per task of 5 ways and 75 unlabelled rows.
const MILLISECONDS: &[(&str, f64)] = &[
    ("protonet", 0.05),
    ("simpleshot", 0.05),
    ("matching", 0.1),
    ("soft-kmeans", 0.1),
    ("bd-cspn", 0.1),
    ("baseline", 0.5),
    ("baseline-pp", 1.6),
    ("logistic", 1.2),
    ("ridge", 0.3),
    ("svm", 1.0),
    ("dsn", 1.0),
    ("feat", 1.0),
    ("relationnet", 1.0),
    ("metaoptnet", 2.0),
    ("leo", 8.0),
    ("sib", 1.0),
    ("entropy-min", 0.5),
    ("label-spreading", 0.9),
    ("laplacianshot", 0.5),
    ("oslo", 0.2),
    ("epnet", 1.8),
    ("tim-gd", 2.0),
    ("tim-adm", 4.0),
    ("alpha-tim", 2.0),
    ("paddle", 1.5),
    ("pt-map", 1.5),
    ("self-training", 3.0),
    ("ease", 4.5),
    ("protolp", 6.0),
    ("tafssl", 4.0),
    ("ilpc", 25.0),
    ("ici", 170.0),
    ("dm", 2.0),
];

/// Milliseconds one core takes for a task of this method in this setting, roughly.
pub fn milliseconds(recipe: &Recipe, spec: &EpisodeSpec) -> f64 {
    let rows = (spec.unlabeled + spec.queries) * spec.ways;
    let size = (rows as f64 / 75.0).max(0.2);
    let base = if recipe.method == "dm-ida" {
        dm_ida(recipe)
    } else if recipe.method == "deepemd" {
        // Structured prototypes see every labelled row a hundred times.
        if spec.shots > 1 { 450.0 } else { 13.0 }
    } else {
        MILLISECONDS.iter().find(|(name, _)| *name == recipe.method).map_or(2.0, |(_, cost)| *cost)
    };
    // Between linear (products with the rows) and quadratic (kernels between them).
    base * size.powf(1.7)
}

fn dm_ida(recipe: &Recipe) -> f64 {
    let base = match recipe.preset_name() {
        "fast" | "plain" => 2.5,
        "authors" | "paper" => 150.0,
        _ => 3.5,
    };
    let changed = |key: &str, value: &str| recipe.changes.iter().any(|(k, v)| k == key && v == value);
    if changed("selector", "ici") {
        base + 45.0
    } else if changed("max_rounds", "0") {
        base / 2.0
    } else {
        base
    }
}

/// The budget of a preset, in milliseconds per task asked for.
pub fn budget(preset: &str) -> f64 {
    if preset == "fast" { 0.4 } else { 3.5 }
}

/// Cells whose tasks take longer than this are left out unless all tasks are asked for, in milliseconds.
pub const TOO_SLOW: f64 = 500.0;

/// The least number of tasks of a cell, unless fewer were asked for.
const LEAST: usize = 100;

/// The number of tasks of a cell when `tasks` were asked for.
pub fn share(tasks: usize, budget: f64, milliseconds: f64) -> usize {
    if milliseconds <= budget {
        return tasks;
    }
    let wanted = (tasks as f64 * budget / milliseconds) as usize;
    let mut round = 1;
    while round * 10 <= wanted {
        round *= 10;
    }
    let round = [5, 2, 1].into_iter().map(|step| step * round).find(|&step| step <= wanted).unwrap_or(0);
    round.max(LEAST).min(tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_round_and_never_above_what_was_asked_for() {
        assert_eq!(share(10_000, 2.0, 1.0), 10_000);
        assert_eq!(share(10_000, 2.0, 3.0), 5_000);
        assert_eq!(share(10_000, 2.0, 9.0), 2_000);
        assert_eq!(share(10_000, 2.0, 1e6), 100);
        assert_eq!(share(30, 2.0, 1e6), 30);
    }

    #[test]
    fn larger_pools_cost_more() {
        let recipe = Recipe::at("tim-gd", "default");
        let small = milliseconds(&recipe, &EpisodeSpec::default());
        let large = milliseconds(&recipe, &EpisodeSpec { unlabeled: 50, ..EpisodeSpec::default() });
        assert!(large > 3.0 * small);
    }
}
