//! Sinkhorn's scaling of `exp(-cost / smoothness)` to given row and column sums, in logarithms.

/// The flow of least cost minus `smoothness` times its entropy, row by row: rows and columns are scaled in turn until no row
/// sum is further than `tolerance` from its supply, or for `sweeps`.
///
/// # Panics
/// If `costs` has another length than `supply.len() * demand.len()`.
pub fn smoothed_flow(
    costs: &[f64],
    supply: &[f64],
    demand: &[f64],
    smoothness: f64,
    tolerance: f64,
    sweeps: usize,
) -> Vec<f64> {
    let columns = demand.len();
    assert_eq!(costs.len(), supply.len() * columns, "one cost for each pair");
    if costs.is_empty() {
        return Vec::new();
    }
    // Logarithms of the kernel: a cost far above the smoothness would be zero otherwise, and so would whole rows.
    let kernel: Vec<f64> = costs.iter().map(|cost| -cost / smoothness).collect();
    let (mut of_rows, mut of_columns) = (vec![0.0; supply.len()], vec![0.0; columns]);
    for _ in 0..sweeps {
        for (column, (factor, demand)) in of_columns.iter_mut().zip(demand).enumerate() {
            let terms = of_rows.iter().enumerate().map(|(row, own)| kernel[row * columns + column] + own);
            *factor = demand.ln() - log_sum(terms);
        }
        let mut worst: f64 = 0.0;
        for (row, (factor, supply)) in of_rows.iter_mut().zip(supply).enumerate() {
            let own = &kernel[row * columns..(row + 1) * columns];
            let sum = log_sum(own.iter().zip(&of_columns).map(|(value, other)| value + other));
            worst = worst.max(((*factor + sum).exp() - supply).abs());
            *factor = supply.ln() - sum;
        }
        if worst <= tolerance {
            break;
        }
    }
    let flow = |(at, value): (usize, &f64)| (value + of_rows[at / columns] + of_columns[at % columns]).exp();
    kernel.iter().enumerate().map(flow).collect()
}

/// The logarithm of a sum of exponentials.
fn log_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let top = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + terms.map(|term| (term - top).exp()).sum::<f64>().ln()
}
