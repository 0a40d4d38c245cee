//! One file per command.

pub mod bench;
pub mod demo;
pub mod entrants;
pub mod params;
