//! Least costs of transportation problems, for comparison with other solvers (`benches/peers/transport_lp.py`).
//!
//! Reads a problem a line, `{"costs": [...], "supply": [...], "demand": [...]}`, and prints its least cost and the
//! microseconds it took.

use std::io::{BufRead, Write};
use std::time::Instant;

use handful::linalg::transport::least_cost_flow;
use serde::Deserialize;

#[derive(Deserialize)]
struct Problem {
    costs: Vec<f64>,
    supply: Vec<f64>,
    demand: Vec<f64>,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let Problem { costs, supply, demand } = serde_json::from_str(&line?)?;
        let start = Instant::now();
        let flow = least_cost_flow(&costs, &supply, &demand);
        let microseconds = start.elapsed().as_secs_f64() * 1e6;
        let cost: f64 = costs.iter().zip(&flow).map(|(cost, flow)| cost * flow).sum();
        writeln!(out, "{cost} {microseconds}")?;
    }
    Ok(())
}
