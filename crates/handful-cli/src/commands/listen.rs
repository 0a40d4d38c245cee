//! Where `studio` and `serve` listen, and what a request to them needs.

use std::net::{IpAddr, Ipv4Addr};

use clap::Args;
use handful_studio::{Listen, Token};

use crate::error::CliError;

/// The fewest characters of a token that somebody chose.
const SHORTEST_TOKEN: usize = 16;

/// Address, names and token.
#[derive(Args, Clone, Debug)]
pub struct ListenArgs {
    /// Address to listen on. Any but 127.0.0.1 and ::1 lets others in your network in who have the token
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    bind: IpAddr,
    /// A further name that browsers or Label Studio ask for this machine under, as host.docker.internal. May be repeated
    #[arg(long, value_name = "NAME")]
    host: Vec<String>,
    /// The token, where it must stay the same from start to start: letters, digits and -._~, 16 or more [default: HANDFUL_TOKEN, or a new one]
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
}

impl ListenArgs {
    /// Where to listen, with the port of the command.
    pub fn listen(&self, port: u16) -> Result<Listen, CliError> {
        // Other users of a machine see arguments, but not the environment.
        let token = self.token.clone().or_else(|| std::env::var("HANDFUL_TOKEN").ok());
        let token = match token {
            None => Token::New,
            Some(token) => {
                let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
                if token.len() < SHORTEST_TOKEN || !token.bytes().all(plain) {
                    return Err(CliError::Usage(format!(
                        "--token: give {SHORTEST_TOKEN} or more letters, digits and -._~"
                    )));
                }
                Token::Given(token)
            }
        };
        Ok(Listen { address: self.bind, port, names: self.host.clone(), token })
    }
}
