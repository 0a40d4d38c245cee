//! The server: binds to the loopback interface, serves until it is told to stop.

use std::net::Ipv4Addr;
use std::sync::Arc;

use axum::Router;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::error::StudioError;
use crate::guard::{Guard, new_token};
use crate::label_studio;
use crate::routes::routes;
use crate::studio::Studio;

/// What is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// The page.
    Page,
    /// Label Studio's machine-learning backend.
    LabelStudio,
}

/// A server that listens.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    router: Router,
    studio: Arc<Studio>,
    guard: Guard,
}

impl Server {
    /// Listens on a port of 127.0.0.1; 0 takes a free one.
    ///
    /// # Errors
    /// [`StudioError::Listen`], [`StudioError::Machine`].
    pub fn bind(studio: Arc<Studio>, port: u16, serving: Serving) -> Result<Self, StudioError> {
        let listen = |source| StudioError::Listen { port, source };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(listen)?;
        let listener = runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, port))).map_err(listen)?;
        let port = listener.local_addr().map_err(listen)?.port();
        let (guard, router) = match serving {
            Serving::Page => {
                let guard = Guard { port, token: Some(new_token()?), most_bytes: crate::routes::MOST_BYTES };
                (guard.clone(), routes(Arc::clone(&studio), guard))
            }
            Serving::LabelStudio => {
                let guard = Guard { port, token: None, most_bytes: label_studio::MOST_BYTES };
                (guard.clone(), label_studio::routes(Arc::clone(&studio), guard))
            }
        };
        Ok(Self { runtime, listener, router, studio, guard })
    }

    /// The address to open.
    pub fn address(&self) -> String {
        let Guard { port, token, .. } = &self.guard;
        match token {
            Some(token) => format!("http://127.0.0.1:{port}/?token={token}"),
            None => format!("http://127.0.0.1:{port}"),
        }
    }

    /// Serves until Ctrl-C. Whatever was answered is on the disk already; open connections are dropped.
    ///
    /// # Errors
    /// [`StudioError::Machine`] where the network failed.
    pub fn run(self) -> Result<(), StudioError> {
        let Self { runtime, listener, router, studio, .. } = self;
        let served = runtime.block_on(async {
            tokio::select! {
                served = async { axum::serve(listener, router).await } => served,
                interrupted = tokio::signal::ctrl_c() => interrupted,
            }
        });
        studio.close();
        runtime.shutdown_background();
        served.map_err(|error| StudioError::Machine(error.to_string()))
    }
}
