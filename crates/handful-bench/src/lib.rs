//! Studies: methods on identical tasks, and what the numbers mean.
//!
//! A [`study::Study`] is a table, a list of tasks and a list of methods. Every method solves every task; the truth
//! about the query stays here and never reaches a method.

pub mod grid;
pub mod labelling;
pub mod outcome;
pub mod preset_file;
pub mod prototypes;
pub mod report;
pub mod reproduce;
pub mod significance;
pub mod statistics;
pub mod study;
pub mod table;
