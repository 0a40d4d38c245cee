//! Claims of the paper held against paired differences.

use super::{Check, Verdict};
use crate::reproduce::layout::{Claim, Layout};
use crate::reproduce::results::Record;
use crate::statistics::Estimate;

/// What an interval says about a claimed lead.
pub fn verdict(difference: Estimate) -> Verdict {
    if difference.mean - difference.ci95 > 0.0 {
        Verdict::Holds
    } else if difference.mean + difference.ci95 < 0.0 {
        Verdict::Fails
    } else {
        Verdict::Undecided
    }
}

/// One check per claim and column that both rows have.
pub fn checks(layout: &Layout, records: &[&Record]) -> Vec<Check> {
    let find = |row: &str, column: &str| records.iter().find(|r| r.row == row && r.column == column);
    let label = |key: &str| {
        layout.rows.iter().find(|row| row.key == key).map_or_else(|| key.to_owned(), |row| row.label.clone())
    };
    let check = |claim: &Claim, column: &str| {
        let difference = find(claim.better, column)?.minus(find(claim.worse, column)?)?;
        let semi = if claim.better.starts_with("semi/") { "semi-supervised, " } else { "" };
        Some(Check {
            claim: format!("{semi}{column}: {} beats {}", label(claim.better), label(claim.worse)),
            verdict: verdict(difference),
            detail: format!("{:+.2} ± {:.2} points", 100.0 * difference.mean, 100.0 * difference.ci95),
        })
    };
    let pairs =
        layout.claims.iter().flat_map(|claim| layout.columns.iter().map(move |column| (claim, column)));
    pairs.filter_map(|(claim, column)| check(claim, column.key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lead_needs_an_interval_that_excludes_zero() {
        let of = |mean, ci95| verdict(Estimate { mean, ci95 });
        assert_eq!(of(0.02, 0.01), Verdict::Holds);
        assert_eq!(of(0.02, 0.03), Verdict::Undecided);
        assert_eq!(of(-0.02, 0.01), Verdict::Fails);
    }
}
