//! Moving weights from some places to others at the least cost: exactly, by network simplex, or smoothed, by Sinkhorn.
//!
//! ```text
//! min  sum_ij cost_ij flow_ij     with rows of flow summing to `supply`, columns to `demand`, flow >= 0
//! ```
//!
//! Both sides must hold the same weight in all. Problems are small (tens of places on either side, thousands of them in a
//! task), so everything is dense. Its least-cost twin in `linalg/sinkhorn.rs` has rows that are probabilities and
//! an end that is worth Newton steps.

mod simplex;
mod smoothed;

pub use simplex::least_cost_flow;
pub use smoothed::smoothed_flow;

#[cfg(test)]
mod tests;
