//! The studio: a local web server and its page, on which people label a pool while the model learns.
//!
//! ```text
//! answer ── Session (on disk) ──▶ quick re-fit ──▶ page          what a person waits for
//!                                      └──▶ full fit ──▶ page     cross-validation and calibration, in the background
//! ```
//!
//! The engine is `handful-label`'s; nothing here learns. The server listens on the loopback interface, and every request
//! needs the token that was printed when it started ([`guard`]). Images are named by the numbers of their rows: no
//! request can name a file.

mod error;
mod export;
mod fitting;
mod forecast;
pub mod guard;
pub mod label_studio;
mod map;
mod page;
mod pool;
mod routes;
mod server;
mod studio;
mod thumbnails;

pub use error::StudioError;
pub use pool::StudioPool;
pub use server::{Listen, Server, Serving, Token};
pub use studio::Studio;

#[cfg(test)]
mod tests;
