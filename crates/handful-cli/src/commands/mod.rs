//! One file per command.

pub mod bench;
pub mod data;
pub mod demo;
pub mod entrants;
pub mod params;
pub mod reproduce;
pub mod tasks;
