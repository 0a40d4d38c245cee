//! Write a method of your own, outside this repository, and compare it with those that are in it.
//!
//!     cargo run --release -p handful-bench --example own_method
//!
//! A method is anything that implements [`Method`]: it is given a task, which has no room for the truth, and returns
//! probabilities. Nothing has to be registered.

use handful::error::TaskError;
use handful::methods::{DmIda, PriorKnowledge, Setting, Simpleshot};
use handful::{Matrix, Method, Solution, Task};
use handful_bench::study::{Entrant, Study, Tasks};
use handful_bench::table;
use handful_data::synthetic::SyntheticSpec;
use handful_data::{EpisodeSampler, EpisodeSpec};
use serde_json::{Value, json};

/// Every row takes the class of the labelled rows it is most similar to, by a softmax over all of them.
struct Attention {
    sharpness: f32,
}

impl Method for Attention {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn prior(&self) -> PriorKnowledge {
        PriorKnowledge { setting: Setting::Inductive, knows_class_sizes: false }
    }

    fn params(&self) -> Value {
        json!({"sharpness": self.sharpness})
    }

    fn solve(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let label = |rows: &Matrix<f32>| {
            let mut probabilities = Matrix::zeros(rows.rows(), task.ways());
            for (at, row) in rows.iter_rows().enumerate() {
                let to = probabilities.row_mut(at);
                for (example, &class) in task.support().iter_rows().zip(task.support_labels()) {
                    to[class] += (self.sharpness * cosine(row, example)).exp();
                }
                let total: f32 = to.iter().sum();
                to.iter_mut().for_each(|value| *value /= total);
            }
            probabilities
        };
        Ok(Solution::from_probabilities(label(task.query()), label(task.pool())))
    }
}

fn cosine(a: &[f32], b: &[f32]) -> f32 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt().max(f32::MIN_POSITIVE)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Any feature table will do (`handful_data::read_table`); this one is made up.
    let table = SyntheticSpec::default().table()?;
    let sampler = EpisodeSampler::new(&table, EpisodeSpec::default(), 1)?;
    let tasks = Tasks::Sampled { sampler, count: 50 };

    let entrant = |method: Box<dyn Method>| Entrant { preset: "default".into(), method };
    let entrants = [
        entrant(Box::new(Attention { sharpness: 10.0 })),
        entrant(Box::new(Simpleshot::builder().build()?)),
        entrant(Box::new(DmIda::builder().preset("fast")?.build()?)),
    ];
    let scores = Study::new(&table, &tasks).run(&entrants, &|_| {})?;
    print!("{}", table::render(&scores));
    Ok(())
}
