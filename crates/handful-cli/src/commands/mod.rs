//! One file per command.

pub mod bench;
pub mod choose;
pub mod data;
pub mod demo;
#[cfg(feature = "vision")]
pub mod embed;
#[cfg(feature = "vision")]
pub mod embedding;
pub mod entrants;
pub mod label;
pub mod network;
pub mod params;
pub mod predict;
pub mod reproduce;
pub mod setting;
pub mod table;
pub mod tasks;
pub mod text;
#[cfg(feature = "vision")]
pub mod train;
pub mod tune;
#[cfg(feature = "vision")]
pub mod weights;
