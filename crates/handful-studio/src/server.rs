//! The server: binds to the loopback interface unless it is told otherwise, serves until it is told to stop.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
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

/// Where the server listens and who may ask.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The address of an interface; 127.0.0.1 is reached from this machine alone.
    pub address: IpAddr,
    /// The port; 0 takes a free one.
    pub port: u16,
    /// Further names that this machine is asked for under.
    pub names: Vec<String>,
    /// What every request needs.
    pub token: Token,
}

impl Default for Listen {
    fn default() -> Self {
        Self { address: Ipv4Addr::LOCALHOST.into(), port: 0, names: Vec::new(), token: Token::New }
    }
}

/// What every request needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Token {
    /// One that nobody can guess.
    New,
    /// This one.
    Given(String),
    /// Nothing: only for programs on this machine that can send none.
    None,
}

/// A server that listens.
pub struct Server {
    runtime: Runtime,
    listener: TcpListener,
    router: Router,
    studio: Arc<Studio>,
    guard: Guard,
    host: SocketAddr,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// [`StudioError::Listen`], [`StudioError::Machine`].
    pub fn bind(studio: Arc<Studio>, listen: &Listen, serving: Serving) -> Result<Self, StudioError> {
        let wanted = SocketAddr::new(listen.address, listen.port);
        let failed = |source| StudioError::Listen { address: wanted, source };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(failed)?;
        let listener = runtime.block_on(TcpListener::bind(wanted)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let token = match &listen.token {
            Token::New => Some(new_token()?),
            Token::Given(token) => Some(token.clone()),
            Token::None => None,
        };
        let page = serving == Serving::Page;
        let guard = Guard {
            port: address.port(),
            names: listen.names.clone(),
            open: !address.ip().is_loopback(),
            token,
            page,
            most_bytes: if page { crate::routes::MOST_BYTES } else { label_studio::MOST_BYTES },
        };
        let router = match serving {
            Serving::Page => routes(Arc::clone(&studio), guard.clone()),
            Serving::LabelStudio => label_studio::routes(Arc::clone(&studio), guard.clone()),
        };
        Ok(Self { runtime, listener, router, studio, guard, host: shown(address) })
    }

    /// The address without the token.
    pub fn origin(&self) -> String {
        format!("http://{}", self.host)
    }

    /// What every request needs.
    pub fn token(&self) -> Option<&str> {
        self.guard.token.as_deref()
    }

    /// The address to open.
    pub fn address(&self) -> String {
        let token = self.token().map_or(String::new(), |token| format!("/?token={token}"));
        format!("{}{token}", self.origin())
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

/// An address that a browser on this machine can open: one that stands for every interface is no such.
fn shown(address: SocketAddr) -> SocketAddr {
    match address.ip() {
        ip if ip.is_unspecified() => SocketAddr::new(Ipv4Addr::LOCALHOST.into(), address.port()),
        _ => address,
    }
}
