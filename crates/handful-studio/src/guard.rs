//! Who may ask: a browser on this machine that was given the token, from our own page.
//!
//! A web page somewhere else can make a browser send requests to 127.0.0.1, and a name that is re-bound to 127.0.0.1 makes
//! them look like requests to that page's own server. So the Host must be ours, the Origin, where there is one, must be
//! ours, and every request needs a token that only the person at the terminal has seen.

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::StudioError;

/// What a request must have.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The port we listen on.
    pub port: u16,
    /// The token; without one only Host and Origin count.
    pub token: Option<String>,
    /// The largest body; one that says it is larger is refused before it is read.
    pub most_bytes: usize,
}

impl Guard {
    /// Why a request is refused, if it is.
    pub fn refuses(&self, headers: &HeaderMap, uri: &Uri) -> Option<(StatusCode, &'static str)> {
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        if !host.is_some_and(|host| self.is_ours(host)) {
            return Some((StatusCode::MISDIRECTED_REQUEST, "this is not the host it was sent to"));
        }
        if let Some(origin) = headers.get(header::ORIGIN) {
            let ours = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
            if self.token.is_none() || !ours.is_some_and(|host| self.is_ours(host)) {
                return Some((StatusCode::FORBIDDEN, "it was sent from another page"));
            }
        }
        if let Some(token) = self.token.as_deref()
            && !sent_token(headers, uri).is_some_and(|sent| same(sent, token))
        {
            return Some((
                StatusCode::UNAUTHORIZED,
                "open the address that was printed when the studio started",
            ));
        }
        let length =
            headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
        if length.is_some_and(|length: usize| length > self.most_bytes) {
            return Some((StatusCode::PAYLOAD_TOO_LARGE, "it is too large"));
        }
        None
    }

    fn is_ours(&self, host: &str) -> bool {
        ["127.0.0.1", "localhost", "[::1]"].iter().any(|name| {
            host.strip_prefix(name).is_some_and(|port| port.strip_prefix(':') == Some(&self.port.to_string()))
        })
    }
}

fn sent_token<'a>(headers: &'a HeaderMap, uri: &'a Uri) -> Option<&'a str> {
    let bearer =
        headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
    bearer.or_else(|| uri.query()?.split('&').find_map(|pair| pair.strip_prefix("token=")))
}

/// Compares without telling by its time how much was right.
fn same(sent: &str, token: &str) -> bool {
    sent.len() == token.len() && sent.bytes().zip(token.bytes()).fold(0, |all, (a, b)| all | (a ^ b)) == 0
}

/// A new token.
///
/// # Errors
/// [`StudioError::Machine`] where the operating system has no random numbers.
pub fn new_token() -> Result<String, StudioError> {
    let mut bytes = [0u8; 24];
    getrandom::fill(&mut bytes)
        .map_err(|error| StudioError::Machine(format!("no random numbers: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Refuses what the guard refuses, and tells the browser to load nothing from elsewhere.
pub async fn watch(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.refuses(request.headers(), request.uri()) {
        Some(refusal) => refusal.into_response(),
        None => next.run(request).await,
    };
    for (name, value) in [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(host: &str, origin: Option<&str>, uri: &str) -> Option<u16> {
        let guard = Guard { port: 4000, token: Some("secret".to_owned()), most_bytes: 1000 };
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().expect("a host"));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, origin.parse().expect("an origin"));
        }
        guard.refuses(&headers, &uri.parse().expect("an address")).map(|(status, _)| status.as_u16())
    }

    #[test]
    fn only_our_page_with_the_token_is_let_in() {
        assert_eq!(refused("127.0.0.1:4000", None, "/?token=secret"), None);
        assert_eq!(refused("localhost:4000", Some("http://localhost:4000"), "/?a=1&token=secret"), None);
        assert_eq!(refused("127.0.0.1:4000", None, "/"), Some(401));
        assert_eq!(refused("127.0.0.1:4000", None, "/?token=secre"), Some(401));
        assert_eq!(refused("127.0.0.1:4000", None, "/?token=secrex"), Some(401));
        assert_eq!(refused("127.0.0.1:4000", Some("http://evil.example"), "/?token=secret"), Some(403));
        assert_eq!(refused("127.0.0.1:4000", Some("null"), "/?token=secret"), Some(403));
        assert_eq!(refused("127.0.0.1:4000", Some("http://127.0.0.1:4001"), "/?token=secret"), Some(403));
        assert_eq!(refused("evil.example:4000", None, "/?token=secret"), Some(421));
        assert_eq!(refused("127.0.0.1.evil.example:4000", None, "/?token=secret"), Some(421));
        assert_eq!(refused("127.0.0.1", None, "/?token=secret"), Some(421));
    }
}
