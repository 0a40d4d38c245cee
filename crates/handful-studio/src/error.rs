//! Why the studio could not start, or did not do what was asked.

use std::io;
use std::net::SocketAddr;

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use handful_data::DataError;
use handful_label::{LabelError, SessionError};
use serde_json::json;

/// Why the studio could not start or go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StudioError {
    /// The session's log.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The pool or its labels.
    #[error(transparent)]
    Label(#[from] LabelError),
    /// A file.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The address is taken, or the network failed.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the operating system said.
        source: io::Error,
    },
    /// The machine refused a thread, random numbers or a temporary file.
    #[error("{0}")]
    Machine(String),
    /// A row that does not exist.
    #[error("there is no row {row}; the pool has {rows}")]
    NoRow {
        /// Its number.
        row: usize,
        /// Rows of the pool.
        rows: usize,
    },
    /// A row without an image.
    #[error("row {row} has no image")]
    NoImage {
        /// Its number.
        row: usize,
    },
    /// A format that is not written.
    #[error("there is no export `{name}`")]
    NoExport {
        /// Its name.
        name: String,
    },
    /// Nothing to fit yet.
    #[error("label rows of at least two classes first")]
    NothingLearnt,
}

impl StudioError {
    fn status(&self) -> StatusCode {
        match self {
            Self::NoRow { .. } | Self::NoImage { .. } | Self::NoExport { .. } => StatusCode::NOT_FOUND,
            Self::Session(SessionError::File { .. }) | Self::Listen { .. } | Self::Machine(_) => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Self::Data(DataError::Write(_)) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Session(_) | Self::NothingLearnt | Self::Label(_) => StatusCode::CONFLICT,
            Self::Data(_) => StatusCode::UNPROCESSABLE_ENTITY,
        }
    }
}

impl IntoResponse for StudioError {
    fn into_response(self) -> Response {
        (self.status(), Json(json!({"error": self.to_string()}))).into_response()
    }
}
