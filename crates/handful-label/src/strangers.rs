//! Rows that look like nothing anybody labelled, in groups: a class that was forgotten shows as one of them.

use handful::graph::kernel_graph::spherical_means;
use handful::graph::neighbours::Neighbours;
use handful::linalg::dot;

use crate::error::LabelError;
use crate::prepared::PreparedPool;

/// The most groups, and rows of a group on average.
const MOST_GROUPS: usize = 5;
const GROUP_ROWS: usize = 20;
/// Steps of k-means.
const STEPS: usize = 10;
/// Rows that are shown of each.
const EXAMPLES: usize = 3;

/// A group of rows that look alike and like no class.
#[derive(Clone, Debug, PartialEq)]
pub struct StrangerGroup {
    /// Its rows.
    pub rows: Vec<usize>,
    /// A few of them, the most typical first.
    pub examples: Vec<usize>,
}

impl PreparedPool {
    /// Groups the rows that were rejected, the largest group first.
    ///
    /// # Errors
    /// A value that is not finite.
    pub fn stranger_groups(&self, rejected: &[bool]) -> Result<Vec<StrangerGroup>, LabelError> {
        let rows: Vec<usize> = (0..self.rows()).filter(|&row| rejected.get(row) == Some(&true)).collect();
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let coordinates = self.coordinates_of(&rows)?;
        let centres = spherical_means(&coordinates, rows.len().div_ceil(GROUP_ROWS).min(MOST_GROUPS), STEPS);
        let nearest = Neighbours::find(&coordinates, &centres, 1);
        let mut groups: Vec<StrangerGroup> = Vec::new();
        for centre in 0..centres.rows() {
            let mut members: Vec<usize> =
                (0..rows.len()).filter(|&at| nearest.of_row(at) == [centre as u32]).collect();
            if members.is_empty() {
                continue;
            }
            let group: Vec<usize> = members.iter().map(|&at| rows[at]).collect();
            let typical = |at: usize| dot(coordinates.row(at), centres.row(centre));
            members.sort_by(|&a, &b| typical(b).total_cmp(&typical(a)).then(a.cmp(&b)));
            let examples = members.iter().take(EXAMPLES).map(|&at| rows[at]).collect();
            groups.push(StrangerGroup { rows: group, examples });
        }
        groups.sort_by_key(|group| (std::cmp::Reverse(group.rows.len()), group.rows[0]));
        Ok(groups)
    }
}
