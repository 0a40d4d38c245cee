//! The paper's equations, by name.
//!
//! | paper | here |
//! |---|---|
//! | Eq. 1 to 3, dependence (HSIC) between features and predictions | [`hsic`] |
//! | Eq. 4, the loss of a fit | [`objective`] |
//! | Eq. 5 and 6, Fisher's criterion and a label's contribution to it | [`ida`] |
//! | Eq. 5 with soft labels, as a term of Eq. 4 | `fisher_dependence` |
//! | Theorem 3, a bound on that contribution | [`ida_bound`] |
//! | Algorithm 1, fit, rank, let the best join, again | [`algorithm1`] |

pub mod algorithm1;
pub(crate) mod fisher_dependence;
pub mod hsic;
pub mod ida;
pub mod ida_bound;
pub mod objective;
