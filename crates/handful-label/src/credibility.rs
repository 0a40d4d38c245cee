//! How credible a label is among those of its class.

/// The place of each value among those of its class: 1 for the largest, above 0 for the smallest.
pub(crate) fn percentiles_within_class(values: &[f64], labels: &[usize], ways: usize) -> Vec<f32> {
    let mut of_class: Vec<Vec<usize>> = vec![Vec::new(); ways];
    labels.iter().enumerate().for_each(|(row, &label)| of_class[label].push(row));
    let mut out = vec![0.0; values.len()];
    for mut rows in of_class {
        rows.sort_by(|&a, &b| values[a].total_cmp(&values[b]).then(b.cmp(&a)));
        let count = rows.len() as f32;
        rows.into_iter().enumerate().for_each(|(place, row)| out[row] = (place + 1) as f32 / count);
    }
    out
}
