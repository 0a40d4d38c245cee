use super::*;

/// Numbers above 0, up to 1, that do not repeat soon.
fn numbers(count: usize, seed: usize) -> Vec<f64> {
    (0..count).map(|at| ((at + 1) * (2 * seed + 7919) % 10_007 + 1) as f64 / 10_007.0).collect()
}

fn cost(costs: &[f64], flow: &[f64]) -> f64 {
    costs.iter().zip(flow).map(|(cost, flow)| cost * flow).sum()
}

fn assert_moves(flow: &[f64], supply: &[f64], demand: &[f64], tolerance: f64) {
    let columns = demand.len();
    assert!(flow.iter().all(|&flow| flow >= 0.0));
    for (row, supply) in supply.iter().enumerate() {
        let sum: f64 = flow[row * columns..(row + 1) * columns].iter().sum();
        assert!((sum - supply).abs() < tolerance, "row {row}: {sum}, not {supply}");
    }
    for (column, demand) in demand.iter().enumerate() {
        let sum: f64 = flow.iter().skip(column).step_by(columns).sum();
        assert!((sum - demand).abs() < tolerance, "column {column}: {sum}, not {demand}");
    }
}

/// The least cost of a 3 x 3 problem: every set of five pairs, solved by elimination, is a corner if nothing is negative.
fn least_of_all_corners(costs: &[f64], supply: &[f64], demand: &[f64]) -> f64 {
    let mut least = f64::INFINITY;
    for chosen in (0..1u32 << 9).filter(|chosen| chosen.count_ones() == 5) {
        let pairs: Vec<usize> = (0..9).filter(|pair| chosen >> pair & 1 == 1).collect();
        // The sixth equation follows from the others.
        let system = nalgebra::SMatrix::<f64, 5, 5>::from_fn(|equation, at| {
            let (row, column) = (pairs[at] / 3, pairs[at] % 3);
            f64::from(u8::from(if equation < 3 { row == equation } else { column == equation - 3 }))
        });
        let sums = nalgebra::SVector::<f64, 5>::from_fn(|equation, _| {
            if equation < 3 { supply[equation] } else { demand[equation - 3] }
        });
        let Some(flow) = system.lu().solve(&sums).filter(|flow| flow.iter().all(|&flow| flow > -1e-9)) else {
            continue;
        };
        least = least.min(pairs.iter().zip(flow.iter()).map(|(&pair, flow)| costs[pair] * flow).sum());
    }
    least
}

#[test]
fn small_problems_cost_as_little_as_their_cheapest_corner() {
    for seed in 0..200 {
        let costs = numbers(9, seed);
        let supply = numbers(3, seed + 500);
        let mut demand = numbers(3, seed + 900);
        let scale = supply.iter().sum::<f64>() / demand.iter().sum::<f64>();
        demand.iter_mut().for_each(|demand| *demand *= scale);
        let flow = least_cost_flow(&costs, &supply, &demand);
        assert_moves(&flow, &supply, &demand, 1e-12);
        let least = least_of_all_corners(&costs, &supply, &demand);
        assert!((cost(&costs, &flow) - least).abs() < 1e-10, "seed {seed}");
    }
}

#[test]
fn an_assignment_ends_although_every_step_may_move_nothing() {
    // All weights and many costs equal: the cheapest assignment is the diagonal.
    let count = 30;
    let mut costs = vec![1.0; count * count];
    (0..count).for_each(|at| costs[at * count + (at + 7) % count] = 0.0);
    let ones = vec![1.0; count];
    let flow = least_cost_flow(&costs, &ones, &ones);
    assert_moves(&flow, &ones, &ones, 1e-12);
    assert_eq!(cost(&costs, &flow), 0.0);
    // No cost at all, and nothing to move.
    let nothing = vec![0.0; count];
    assert_moves(&least_cost_flow(&vec![0.0; count * count], &ones, &ones), &ones, &ones, 1e-12);
    assert_moves(&least_cost_flow(&costs, &nothing, &nothing), &nothing, &nothing, 1e-12);
}

#[test]
fn a_side_of_one_place_and_places_without_weight_are_fine() {
    assert_eq!(least_cost_flow(&[3.0, 1.0], &[2.0], &[0.5, 1.5]), [0.5, 1.5]);
    assert_eq!(least_cost_flow(&[3.0, 1.0], &[0.5, 1.5], &[2.0]), [0.5, 1.5]);
    assert_eq!(least_cost_flow(&[], &[], &[]), [0.0; 0]);
    let flow = least_cost_flow(&[0.0, 1.0, 1.0, 0.0], &[0.0, 1.0], &[0.4, 0.6]);
    assert_eq!(flow, [0.0, 0.0, 0.4, 0.6]);
}

#[test]
fn smoothed_flows_move_the_same_and_come_to_cost_the_same() {
    let (costs, supply) = (numbers(36, 3), numbers(6, 4));
    let mut demand = numbers(6, 11);
    let scale = supply.iter().sum::<f64>() / demand.iter().sum::<f64>();
    demand.iter_mut().for_each(|demand| *demand *= scale);
    let least = cost(&costs, &least_cost_flow(&costs, &supply, &demand));
    let mut above = f64::INFINITY;
    for smoothness in [0.3, 0.1, 0.02] {
        let flow = smoothed_flow(&costs, &supply, &demand, smoothness, 1e-10, 20_000);
        assert_moves(&flow, &supply, &demand, 1e-8);
        let own = cost(&costs, &flow) - least;
        assert!(own >= -1e-9 && own < above, "{smoothness}: {own} above the least");
        above = own;
    }
    assert!(above < 1e-3 * least.max(1.0), "{above}");
}

#[test]
fn smoothed_flows_are_scaled_kernels() {
    let flow = smoothed_flow(&[0.0, 1.0, 2.0, 0.5], &[1.0, 2.0], &[1.5, 1.5], 0.5, 1e-12, 10_000);
    // Cross ratios of a matrix do not change when rows and columns are scaled.
    let ratio = (flow[0] * flow[3] / (flow[1] * flow[2])).ln();
    assert!((ratio - (0.0 - 1.0 - 2.0 + 0.5) / -0.5).abs() < 1e-9, "{ratio}");
}
