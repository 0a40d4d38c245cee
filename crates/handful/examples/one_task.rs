//! Solve one task: two labelled rows, a few without labels.
//!
//!     cargo run -p handful --example one_task

use handful::methods::{DmIda, Method};
use handful::{Matrix, Task, Unlabeled};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Features come from a frozen network; here they are three numbers a row. One labelled row of each class.
    let support = Matrix::from_vec(2, 3, vec![1.0, 0.2, 0.1, 0.2, 1.0, 0.1]);
    // The rows to label. `Unlabeled::Query` lets the method learn from them too: the transductive setting. With
    // `Unlabeled::Pool(rows)` it would learn from other rows instead: the semi-supervised one.
    let query = Matrix::from_vec(
        5,
        3,
        vec![0.9, 0.3, 0.0, 1.1, 0.1, 0.2, 0.8, 0.4, 0.1, 0.1, 0.9, 0.3, 0.3, 1.2, 0.0],
    );
    let task = Task::new(0, 2, support, vec![0, 1], Unlabeled::Query, query)?;

    // A builder starts at the default preset and checks what was set when it builds.
    let method = DmIda::builder().steps(200).build()?;
    let solution = method.solve(&task)?;

    for (row, class) in solution.query_labels().into_iter().enumerate() {
        println!("row {row}: class {class}, probability {:.2}", solution.query.row(row)[class]);
    }
    assert_eq!(solution.query_labels(), [0, 0, 0, 1, 1]);
    Ok(())
}
