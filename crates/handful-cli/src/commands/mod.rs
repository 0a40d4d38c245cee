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
#[cfg(feature = "studio")]
pub mod serve;
pub mod setting;
#[cfg(feature = "studio")]
pub mod studio;
pub mod table;
pub mod tasks;
#[cfg(feature = "vision")]
pub mod train;
pub mod tune;
#[cfg(feature = "vision")]
pub mod weights;
