//! Compare two methods on the same tasks: one that looks at labelled rows only, and one that learns from the others too.
//!
//!     cargo run --release -p handful --example compare_methods

use handful::methods::{DmIda, Method, Simpleshot};
use handful::{Matrix, Task, Unlabeled};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

const WAYS: usize = 5;
const QUERIES: usize = 15;
const DIM: usize = 32;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `dyn Method` is what studies work with; parameters are typed until then.
    let methods: Vec<Box<dyn Method>> =
        vec![Box::new(Simpleshot::builder().build()?), Box::new(DmIda::builder().preset("fast")?.build()?)];
    let mut right = vec![0usize; methods.len()];
    let tasks = 100;
    for seed in 0..tasks {
        let (task, truth) = made_up_task(seed)?;
        for (method, right) in methods.iter().zip(&mut right) {
            let labels = method.solve(&task)?.query_labels();
            *right += labels.iter().zip(&truth).filter(|(label, truth)| label == truth).count();
        }
    }
    for (method, right) in methods.iter().zip(&right) {
        let accuracy = *right as f64 / (tasks as usize * WAYS * QUERIES) as f64;
        println!("{:12} {:.1}%   {:?}", method.name(), 100.0 * accuracy, method.prior().setting);
    }
    // One label a class says little about where the class lies; the unlabelled rows say more.
    assert!(right[1] > right[0]);
    Ok(())
}

/// One labelled row of each class and rows around the same centres, whose classes the methods never see.
fn made_up_task(seed: u64) -> Result<(Task<f32>, Vec<usize>), handful::error::TaskError> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let centres: Vec<f32> = (0..WAYS * DIM).map(|_| rng.random_range(-1.0..1.0)).collect();
    let mut rows = |classes: &[usize]| {
        let mut values = Vec::with_capacity(classes.len() * DIM);
        for &class in classes {
            let centre = &centres[class * DIM..(class + 1) * DIM];
            values.extend(centre.iter().map(|value| value + rng.random_range(-1.5..1.5)));
        }
        Matrix::from_vec(classes.len(), DIM, values)
    };
    let support: Vec<usize> = (0..WAYS).collect();
    let query: Vec<usize> = (0..WAYS * QUERIES).map(|row| row % WAYS).collect();
    let task = Task::new(seed, WAYS, rows(&support), support, Unlabeled::Query, rows(&query))?;
    Ok((task, query))
}
