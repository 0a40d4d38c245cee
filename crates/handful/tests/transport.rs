//! Least costs beside those that HiGHS found: fifty problems of `benches/peers/transport_lp.py`, among them equal weights,
//! places without weight and sides of different size.

use handful::linalg::transport::least_cost_flow;
use serde::Deserialize;

#[derive(Deserialize)]
struct Problem {
    costs: Vec<f64>,
    supply: Vec<f64>,
    demand: Vec<f64>,
    least: f64,
}

#[test]
fn costs_are_those_of_a_linear_programming_solver() {
    let problems: Vec<Problem> =
        serde_json::from_str(include_str!("golden/transport.json")).expect("committed problems");
    assert_eq!(problems.len(), 50);
    for (at, Problem { costs, supply, demand, least }) in problems.iter().enumerate() {
        let flow = least_cost_flow(costs, supply, demand);
        let cost: f64 = costs.iter().zip(&flow).map(|(cost, flow)| cost * flow).sum();
        assert!((cost - least).abs() < 1e-8 * least.max(1.0), "problem {at}: {cost}, not {least}");
        for (row, supply) in flow.chunks(demand.len()).zip(supply) {
            assert!((row.iter().sum::<f64>() - supply).abs() < 1e-9, "problem {at}");
        }
    }
}
