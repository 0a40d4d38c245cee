//! Features of several networks side by side.

use handful::Matrix;

/// Rows that grow by the features of one network after the other.
pub(super) struct Joined {
    widths: Vec<usize>,
    added: usize,
    rows: Vec<Vec<f32>>,
}

impl Joined {
    /// Rows for networks with these numbers of features.
    pub(super) fn new(widths: Vec<usize>) -> Self {
        Self { widths, added: 0, rows: Vec::new() }
    }

    /// Adds the features of the next network. `before` are the images that all earlier ones could read, `images` those
    /// of them that this one could.
    pub(super) fn add(&mut self, before: &[usize], images: &[usize], features: Vec<f32>) {
        let alone = self.widths.len() == 1;
        let width = self.widths.get(self.added).copied().unwrap_or(1).max(1);
        let earlier = std::mem::take(&mut self.rows);
        let mut earlier = if self.added == 0 { vec![Vec::new(); before.len()] } else { earlier }.into_iter();
        let mut readable = images.iter().zip(features.chunks_exact(width)).peekable();
        for image in before {
            let Some(mut row) = earlier.next() else { break };
            // Both lists are in the same order.
            let Some((_, features)) = readable.next_if(|(readable, _)| *readable == image) else { continue };
            // The features of a single network are left as they are: their lengths may mean something.
            let length = features.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
            let scale = if alone || length == 0.0 { 1.0 } else { (1.0 / length) as f32 };
            row.extend(features.iter().map(|value| value * scale));
            self.rows.push(row);
        }
        self.added += 1;
    }

    pub(super) fn into_matrix(self) -> Matrix<f32> {
        let columns = self.widths.iter().sum();
        Matrix::from_vec(self.rows.len(), columns, self.rows.into_iter().flatten().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_network_is_left_alone_and_several_have_length_one_each() {
        let mut one = Joined::new(vec![2]);
        one.add(&[0, 1], &[1], vec![3.0, 4.0]);
        assert_eq!(one.into_matrix().as_slice(), [3.0, 4.0]);
        let mut two = Joined::new(vec![2, 1]);
        two.add(&[0, 1, 2], &[0, 2], vec![3.0, 4.0, 0.0, 0.0]);
        two.add(&[0, 2], &[0, 2], vec![-7.0, 5.0]);
        assert_eq!(two.into_matrix().as_slice(), [0.6, 0.8, -1.0, 0.0, 0.0, 1.0]);
    }
}
