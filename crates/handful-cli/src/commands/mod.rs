//! One file per command.

pub mod bench;
pub mod data;
pub mod demo;
pub mod entrants;
pub mod label;
pub mod params;
pub mod setting;
pub mod tasks;
pub mod tune;
