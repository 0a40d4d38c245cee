//! The page, embedded in the program. It is built from `web/`, and CI compares the two.

use axum::http::header;
use axum::response::{IntoResponse, Response};

const INDEX: &str = include_str!("../page/index.html");
const SCRIPT: &str = include_str!("../page/app.js");
const STYLE: &str = include_str!("../page/app.css");
const ICON: &str = include_str!("../page/icon.svg");

/// Stands in the page for the token, which every address needs.
const TOKEN: &str = "__TOKEN__";

/// The page for somebody who knows the token.
pub fn index(token: &str) -> Response {
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], INDEX.replace(TOKEN, token)).into_response()
}

/// A file of the page.
pub fn asset(name: &str) -> Option<Response> {
    let (kind, text) = match name {
        "app.js" => ("text/javascript; charset=utf-8", SCRIPT),
        "app.css" => ("text/css; charset=utf-8", STYLE),
        "icon.svg" => ("image/svg+xml", ICON),
        _ => return None,
    };
    Some(([(header::CONTENT_TYPE, kind)], text).into_response())
}
