//! Every gradient against finite differences.

use super::*;

fn matrix(rows: usize, columns: usize, seed: usize) -> Matrix<f64> {
    let value = |at: usize| ((at * 7919 + seed * 104_729 + 13) % 1009) as f64 / 504.5 - 1.0;
    Matrix::from_vec(rows, columns, (0..rows * columns).map(value).collect())
}

/// Compares the gradient of a weighted sum of a formula's result with differences, for each of its inputs.
fn check(inputs: &[Matrix<f64>], formula: impl for<'g> Fn(&[Var<'g>]) -> Var<'g>) {
    let total = |inputs: &[Matrix<f64>]| -> f64 {
        let graph = Graph::new();
        let vars: Vec<Var<'_>> = inputs.iter().map(|input| graph.constant(input.clone())).collect();
        let result = formula(&vars);
        let weights = graph.constant(matrix(result.rows(), result.columns(), 99));
        result.times(weights).sum().value().as_slice()[0]
    };
    let graph = Graph::new();
    let vars: Vec<Var<'_>> = inputs.iter().map(|input| graph.constant(input.clone())).collect();
    let result = formula(&vars);
    let weights = graph.constant(matrix(result.rows(), result.columns(), 99));
    let gradients = graph.gradients(result.times(weights).sum());
    for (place, var) in vars.iter().enumerate() {
        let gradient = gradients.of(*var);
        for at in 0..inputs[place].as_slice().len() {
            let moved = |by: f64| {
                let mut inputs = inputs.to_vec();
                inputs[place].as_mut_slice()[at] += by;
                total(&inputs)
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            let exact = gradient.as_slice()[at];
            assert!(
                (difference - exact).abs() < 1e-6 * (1.0 + exact.abs()),
                "{place}, {at}: {difference} {exact}"
            );
        }
    }
}

#[test]
fn products_and_shapes() {
    let (a, b, c) = (matrix(3, 4, 1), matrix(4, 2, 2), matrix(2, 4, 3));
    check(&[a.clone(), b], |v| v[0].product(v[1]));
    check(&[a.clone(), c.clone()], |v| v[0].inner_products(v[1]));
    check(&[a.clone(), c], |v| v[0].stack(v[1]).gather(vec![4, 0, 0, 2]).transposed().reshaped(2, 8));
    check(&[a], |v| v[0].columns_from(1, 2).row_sums().plus(v[0].column_sums()));
}

#[test]
fn entries_are_stretched_along_sides_of_one() {
    let (a, row, column) = (matrix(3, 4, 1), matrix(1, 4, 2), each_above_one(matrix(3, 1, 3)));
    check(&[a.clone(), row.clone()], |v| v[0].plus(v[1]).times(v[1]));
    check(&[a.clone(), column.clone()], |v| v[0].minus(v[1]).over(v[1]));
    check(&[row, column], |v| v[0].times(v[1]).minus(v[0]));
}

fn each_above_one(matrix: Matrix<f64>) -> Matrix<f64> {
    operation::each(&matrix, |value| 2.1 + value)
}

#[test]
fn functions_of_entries_and_rows() {
    let a = matrix(3, 4, 5);
    check(std::slice::from_ref(&a), |v| v[0].relu().plus(v[0].sigmoid()).times(v[0].exp()));
    check(&[each_above_one(a.clone())], |v| v[0].ln().plus(v[0].sqrt().scaled(3.0)).shifted(1.0));
    check(std::slice::from_ref(&a), |v| v[0].softmax().plus(v[0].log_softmax()));
    check(&[a.clone(), matrix(2, 4, 6)], |v| v[0].unit_rows().squared_distances(v[1]));
    check(&[a], |v| v[0].cross_entropy(&[1, 3, 0]));
}

#[test]
fn linear_systems() {
    let rows = matrix(3, 5, 7);
    check(&[rows, matrix(3, 2, 8)], |v| {
        let mut ridge = Matrix::zeros(3, 3);
        (0..3).for_each(|at| ridge.row_mut(at)[at] = 0.5);
        v[0].inner_products(v[0]).plus(v[0].graph().constant(ridge)).solve(v[1])
    });
}

#[test]
fn support_vectors() {
    let rows = matrix(6, 4, 9);
    check(&[rows], |v| v[0].inner_products(v[0]).svm_dual(&[0, 1, 2, 0, 1, 2], 3, 0.3, 1.0));
}

#[test]
fn what_is_detached_does_not_count() {
    let graph = Graph::new();
    let x = graph.constant(matrix(1, 1, 1));
    let gradient = graph.gradients(x.times(x.detached())).of(x);
    assert_eq!(gradient.as_slice(), x.value().as_slice());
}
