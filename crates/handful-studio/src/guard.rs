//! Who may ask: a browser on this machine that was given the token, from our own page.
//!
//! A web page somewhere else can make a browser send requests to 127.0.0.1, and a name that is re-bound to 127.0.0.1 makes
//! them look like requests to that page's own server. So the Host must be ours, the Origin, where there is one, must be
//! ours, and every request needs a token that only the person at the terminal has seen.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::StudioError;

/// What a request must have.
#[derive(Clone, Debug)]
pub struct Guard {
    /// The port we listen on.
    pub port: u16,
    /// Names other than this machine's own that we are asked for under.
    pub names: Vec<String>,
    /// Whether others than this machine can reach us. A name that was re-bound is still none of ours, but every address in
    /// figures is: no page can be served from a figure it does not have.
    pub open: bool,
    /// The token; without one only Host and Origin count.
    pub token: Option<String>,
    /// Whether a page of our own asks. Otherwise no browser has any business here.
    pub page: bool,
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
            if !self.page || !ours.is_some_and(|host| self.is_ours(host)) {
                return Some((StatusCode::FORBIDDEN, "it was sent from another page"));
            }
        }
        if let Some(token) = self.token.as_deref()
            && !sent_tokens(headers, uri).any(|sent| same(&sent, token))
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
        let Some((name, port)) = host.rsplit_once(':') else { return false };
        let figures = || name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
        let known = ["127.0.0.1", "localhost", "[::1]"].contains(&name)
            || self.names.iter().any(|own| own.eq_ignore_ascii_case(name))
            || (self.open && figures());
        known && port.parse() == Ok(self.port)
    }
}

/// What was sent as the token: in the address, as a bearer's, or as the password of basic authentication.
fn sent_tokens(headers: &HeaderMap, uri: &Uri) -> impl Iterator<Item = String> {
    let header = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let bearer = header.and_then(|value| value.strip_prefix("Bearer ")).map(str::to_owned);
    let basic = header.and_then(|value| {
        let decoded = STANDARD.decode(value.strip_prefix("Basic ")?).ok()?;
        Some(String::from_utf8(decoded).ok()?.split_once(':')?.1.to_owned())
    });
    let address = uri
        .query()
        .and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix("token=")))
        .map(str::to_owned);
    bearer.into_iter().chain(basic).chain(address)
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

    fn guard() -> Guard {
        let token = Some("secret".to_owned());
        Guard { port: 4000, names: Vec::new(), open: false, token, page: true, most_bytes: 1000 }
    }

    fn refused_by(
        guard: &Guard,
        host: &str,
        headers: &[(header::HeaderName, &str)],
        uri: &str,
    ) -> Option<u16> {
        let mut all = HeaderMap::new();
        all.insert(header::HOST, host.parse().expect("a host"));
        for (name, value) in headers {
            all.insert(name, value.parse().expect("a header"));
        }
        guard.refuses(&all, &uri.parse().expect("an address")).map(|(status, _)| status.as_u16())
    }

    fn refused(host: &str, origin: Option<&str>, uri: &str) -> Option<u16> {
        let origin: Vec<_> = origin.map(|origin| (header::ORIGIN, origin)).into_iter().collect();
        refused_by(&guard(), host, &origin, uri)
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

    #[test]
    fn an_open_door_knows_its_names_and_addresses_in_figures() {
        let open = Guard { open: true, names: vec!["studio.local".to_owned()], ..guard() };
        for (host, status) in [
            ("192.168.1.20:4000", None),
            ("[fe80::1]:4000", None),
            ("Studio.local:4000", None),
            ("127.0.0.1:4000", None),
            ("evil.example:4000", Some(421)),
            ("192.168.1.20:80", Some(421)),
            ("192.168.1.20.evil.example:4000", Some(421)),
        ] {
            assert_eq!(refused_by(&open, host, &[], "/?token=secret"), status, "{host}");
        }
        assert_eq!(refused_by(&guard(), "192.168.1.20:4000", &[], "/?token=secret"), Some(421));
        assert_eq!(refused_by(&open, "192.168.1.20:4000", &[], "/"), Some(401));
    }

    #[test]
    fn programs_send_the_token_in_a_header() {
        let backend = Guard { page: false, ..guard() };
        let ask = |value: &str| {
            refused_by(&backend, "localhost:4000", &[(header::AUTHORIZATION, value)], "/predict")
        };
        assert_eq!(ask("Bearer secret"), None);
        assert_eq!(ask(&format!("Basic {}", STANDARD.encode("handful:secret"))), None);
        assert_eq!(ask(&format!("Basic {}", STANDARD.encode("secret:handful"))), Some(401));
        assert_eq!(ask("Basic !!"), Some(401));
        assert_eq!(ask("secret"), Some(401));
        let own = [(header::ORIGIN, "http://localhost:4000"), (header::AUTHORIZATION, "Bearer secret")];
        assert_eq!(refused_by(&backend, "localhost:4000", &own, "/predict"), Some(403), "no browser");
    }
}
