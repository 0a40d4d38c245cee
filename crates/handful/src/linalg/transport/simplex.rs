//! Network simplex on a dense transportation problem.
//!
//! A basis is a spanning tree of the n rows and m columns, kept as the parent of each node and the flow between the two.
//! Every round prices all pairs with the potentials of the tree, `cost_ij - potential_i - potential_j`, lets the most
//! negative one enter and the pair leave whose flow is first to become zero. The start is the greedy row by row: each row
//! gives to the cheapest column that still wants something.
//!
//! Ties (equal weights, as in an assignment) make rounds that move nothing. After a run of those the first negative pair
//! enters instead of the most negative one and the lowest leaves, which is Bland's rule and cannot go round in circles.

/// A pair whose reduced cost is above this is not worth entering: rounding of the potentials, relative to the costs.
const TOLERANCE: f64 = 1e-12;

/// Rounds in a row that move nothing before Bland's rule takes over.
const PATIENCE: usize = 32;

/// The node without a parent, and the pair of a node that has none.
const NONE: usize = usize::MAX;

/// The tree of a basis; nodes are the rows, then the columns.
struct Tree<'a> {
    costs: &'a [f64],
    rows: usize,
    columns: usize,
    parent: Vec<usize>,
    /// Between a node and its parent.
    flow: Vec<f64>,
    depth: Vec<usize>,
    potential: Vec<f64>,
}

/// The flow of least cost, row by row.
///
/// Rows and columns without weight are allowed; weights below zero are not. The sums of both sides may differ by rounding:
/// the last row gives what the columns still want.
///
/// # Panics
/// If `costs` has another length than `supply.len() * demand.len()`.
pub fn least_cost_flow(costs: &[f64], supply: &[f64], demand: &[f64]) -> Vec<f64> {
    let (rows, columns) = (supply.len(), demand.len());
    assert_eq!(costs.len(), rows * columns, "one cost for each pair");
    let mut flows = vec![0.0; rows * columns];
    if rows == 0 || columns == 0 {
        return flows;
    }
    let mut tree = Tree::greedy(costs, supply, demand);
    let largest = costs.iter().fold(0.0f64, |largest, cost| largest.max(cost.abs()));
    let worth = -TOLERANCE * largest.max(f64::MIN_POSITIVE);
    let mut idle = 0;
    // Bland's rule ends by itself; the limit is for rounding, and leaves a flow that is right but for its cost.
    for _ in 0..100 * (rows + columns) * (rows + columns) {
        let Some(entering) = tree.entering(worth, idle > PATIENCE) else { break };
        idle = if tree.exchange(entering) > 0.0 { 0 } else { idle + 1 };
    }
    for node in 0..rows + columns {
        if tree.parent[node] != NONE {
            flows[tree.pair(node)] = tree.flow[node];
        }
    }
    flows
}

impl<'a> Tree<'a> {
    /// The basis of the greedy start.
    fn greedy(costs: &'a [f64], supply: &[f64], demand: &[f64]) -> Self {
        let (rows, columns) = (supply.len(), demand.len());
        let mut wanted = demand.to_vec();
        let mut open: Vec<usize> = (0..columns).collect();
        let mut neighbours: Vec<Vec<(usize, f64)>> = vec![Vec::new(); rows + columns];
        let mut join = |row: usize, column: usize, flow: f64| {
            neighbours[row].push((rows + column, flow));
            neighbours[rows + column].push((row, flow));
        };
        // Every pair but the last closes one row or one column, so that the pairs are a tree.
        for row in 0..rows - 1 {
            let mut left = supply[row];
            loop {
                let cost = |place: usize| costs[row * columns + open[place]];
                let cheapest =
                    (1..open.len()).fold(0, |best, at| if cost(at) < cost(best) { at } else { best });
                let column = open[cheapest];
                if open.len() == 1 || left <= wanted[column] {
                    let flow = left.min(wanted[column].max(0.0));
                    wanted[column] -= flow;
                    join(row, column, flow);
                    break;
                }
                left -= wanted[column];
                join(row, column, wanted[column]);
                open.remove(cheapest);
            }
        }
        open.iter().for_each(|&column| join(rows - 1, column, wanted[column]));

        let nodes = rows + columns;
        let (parent, flow) = (vec![NONE; nodes], vec![0.0; nodes]);
        let (depth, potential) = (vec![0; nodes], vec![0.0; nodes]);
        let mut tree = Self { costs, rows, columns, parent, flow, depth, potential };
        let mut reached = vec![rows - 1];
        while let Some(node) = reached.pop() {
            for &(next, flow) in &neighbours[node] {
                if next != tree.parent[node] {
                    (tree.parent[next], tree.flow[next]) = (node, flow);
                    tree.settle(next);
                    reached.push(next);
                }
            }
        }
        tree
    }

    fn is_row(&self, node: usize) -> bool {
        node < self.rows
    }

    /// The place among the costs of a node and its parent.
    fn pair(&self, node: usize) -> usize {
        let parent = self.parent[node];
        let (row, column) = if self.is_row(node) { (node, parent) } else { (parent, node) };
        row * self.columns + column - self.rows
    }

    /// Depth and potential of a node from those of its parent.
    fn settle(&mut self, node: usize) {
        let parent = self.parent[node];
        self.depth[node] = self.depth[parent] + 1;
        self.potential[node] = self.costs[self.pair(node)] - self.potential[parent];
    }

    /// A pair that lowers the cost: the best of all, or the first.
    fn entering(&self, worth: f64, first: bool) -> Option<(usize, usize)> {
        let (of_rows, of_columns) = self.potential.split_at(self.rows);
        let (mut least, mut found) = (worth, None);
        for (row, (costs, own)) in self.costs.chunks_exact(self.columns).zip(of_rows).enumerate() {
            for (column, (cost, other)) in costs.iter().zip(of_columns).enumerate() {
                let reduced = cost - own - other;
                if reduced < least {
                    (least, found) = (reduced, Some((row, self.rows + column)));
                    if first {
                        return found;
                    }
                }
            }
        }
        found
    }

    /// Sends as much as possible round the cycle of a new pair and puts it in the place of one that ran dry. Gives how
    /// much was sent.
    fn exchange(&mut self, (row, column): (usize, usize)) -> f64 {
        // Along both ways to where they meet, every other pair loses what the new one gets: those below a row on the way
        // from the row, those below a column on the way from the column.
        let (mut ends, mut sent, mut leaving) = ([row, column], f64::INFINITY, NONE);
        let mut leaves_row_side = true;
        let mut on_the_way = Vec::with_capacity(16);
        while ends[0] != ends[1] {
            let side = usize::from(self.depth[ends[1]] > self.depth[ends[0]]);
            let node = ends[side];
            let loses = self.is_row(node) == (side == 0);
            on_the_way.push((node, loses));
            let dry = |leaving: usize| {
                self.flow[node] < sent
                    || (self.flow[node] == sent && leaving != NONE && self.pair(node) < self.pair(leaving))
            };
            if loses && dry(leaving) {
                (sent, leaving, leaves_row_side) = (self.flow[node], node, side == 0);
            }
            ends[side] = self.parent[node];
        }
        for (node, loses) in on_the_way {
            self.flow[node] += if loses { -sent } else { sent };
        }
        // The part of the tree that hung on the pair that left now hangs on the new one: turn the way between them round.
        let (mut node, mut above) = if leaves_row_side { (row, column) } else { (column, row) };
        let mut carried = sent;
        loop {
            let (next, flow) = (self.parent[node], self.flow[node]);
            (self.parent[node], self.flow[node]) = (above, carried);
            if node == leaving {
                break;
            }
            (above, node, carried) = (node, next, flow);
        }
        self.settle_all();
        sent
    }

    /// Depths and potentials of all nodes, each after its parent's.
    fn settle_all(&mut self) {
        let nodes = self.parent.len();
        let mut settled = vec![false; nodes];
        let mut waiting = Vec::with_capacity(nodes);
        for node in 0..nodes {
            let mut node = node;
            while !settled[node] && self.parent[node] != NONE {
                waiting.push(node);
                node = self.parent[node];
            }
            settled[node] = true;
            while let Some(node) = waiting.pop() {
                self.settle(node);
                settled[node] = true;
            }
        }
    }
}
