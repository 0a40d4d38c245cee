//! What the page can ask.

use std::convert::Infallible;
use std::sync::Arc;

use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{StatusCode, header};
use axum::response::sse::{Event as Message, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use handful_label::LeftOut;
use handful_label::session::{Event, Mark};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt};

use crate::error::StudioError;
use crate::export;
use crate::fitting::Learnt;
use crate::forecast::Forecast;
use crate::guard::{self, Guard};
use crate::map;
use crate::page;
use crate::studio::Studio;
use crate::thumbnails;

/// The largest request: a label for a million rows at once.
pub const MOST_BYTES: usize = 8 << 20;
/// Neighbours and probabilities that a row's detail shows.
const SHOWN: usize = 6;

/// Every route, behind the guard.
pub fn routes(studio: Arc<Studio>, guard: Guard) -> Router {
    let token = guard.token.clone().unwrap_or_default();
    let index = move || async move { page::index(&token) };
    Router::new()
        .route("/", get(index))
        .route("/page/{name}", get(asset))
        .route("/api/pool", get(pool))
        .route("/api/state", get(state))
        .route("/api/fit", get(fit))
        .route("/api/act", post(act))
        .route("/api/events", get(events))
        .route("/api/map", get(places))
        .route("/api/links", post(links))
        .route("/api/row/{row}", get(detail))
        .route("/api/thumbnail/{row}", get(thumbnail))
        .route("/api/image/{row}", get(image))
        .route("/api/export/{name}", get(download))
        .layer(DefaultBodyLimit::max(guard.most_bytes))
        .layer(middleware::from_fn_with_state(guard, guard::watch))
        .with_state(studio)
}

type Shared = State<Arc<Studio>>;

async fn asset(Path(name): Path<String>) -> Response {
    page::asset(&name).unwrap_or_else(|| StatusCode::NOT_FOUND.into_response())
}

async fn pool(State(studio): Shared) -> Json<Value> {
    let pool = &studio.pool;
    let pictures = pool.pictures.as_ref();
    let count = pictures.map_or(0, |pictures| pictures.count());
    let without: Vec<usize> = pictures.map_or(Vec::new(), |pictures| {
        (0..pool.rows()).filter(|&row| pictures.image(row).is_none()).collect()
    });
    let files = pictures.is_some_and(|pictures| (0..pool.rows()).any(|row| pictures.file(row).is_some()));
    Json(json!({
        "name": pool.name, "rows": pool.rows(), "ids": pool.ids, "texts": pool.texts,
        "images": count, "without_image": without, "links": files, "max_error": studio.max_error,
    }))
}

/// The map, its axes in ten-thousandths.
async fn places(State(studio): Shared) -> Response {
    let seen = blocking(move || map::look(&studio)).await;
    answer(seen.map(|places| {
        let axis = |axis: usize| -> Vec<u32> {
            places.of_rows.iter().map(|point| (point[axis] * 10_000.0).round() as u32).collect()
        };
        Json(json!({
            "version": places.version, "finished": places.finished, "x": axis(0), "y": axis(1),
        }))
    }))
}

/// Sorts the images into folders of links beside the session's log, and says where.
async fn links(State(studio): Shared) -> Response {
    let made = blocking(move || export::links(&studio)).await;
    answer(made.map(|folder| Json(json!({"folder": folder}))))
}

async fn state(State(studio): Shared) -> Json<Value> {
    Json(studio.state())
}

/// A fit as the page reads it.
#[derive(Serialize)]
struct FitView<'a> {
    number: u64,
    events: usize,
    full: bool,
    error: Option<&'a str>,
    queue: &'a [usize],
    forecast: Option<Forecast>,
    learnt: Option<LearntView>,
}

/// What is known of every row, as columns: class, probability in percent, and marks (see [`flags`]).
#[derive(Serialize)]
struct LearntView {
    class: Vec<usize>,
    probability: Vec<u32>,
    flags: Vec<u8>,
    doubtful: Vec<Value>,
    accepted: usize,
    smallest_promise: Option<f64>,
    calibrated: bool,
    left_out: usize,
    left_out_right: usize,
}

impl LearntView {
    fn new(learnt: &Learnt) -> Self {
        let rows = &learnt.labelling.rows;
        let left_out = &learnt.labelling.left_out;
        let doubtful = |doubt: &LeftOut| {
            let class = learnt.classes[doubt.predicted];
            json!({"row": doubt.row, "class": class, "probability": doubt.probability})
        };
        Self {
            class: rows.iter().map(|row| learnt.classes[row.class]).collect(),
            probability: rows.iter().map(|row| (row.probability * 100.0).round() as u32).collect(),
            flags: (0..rows.len()).map(|row| flags(learnt, row)).collect(),
            doubtful: learnt.labelling.doubtful_labels().iter().map(doubtful).collect(),
            accepted: learnt.acceptance.count,
            smallest_promise: learnt.acceptance.smallest_promise,
            calibrated: learnt.labelling.calibration.fitted,
            left_out: left_out.len(),
            left_out_right: left_out.iter().filter(|out| out.predicted == out.class).count(),
        }
    }
}

async fn fit(State(studio): Shared) -> Response {
    let fit = studio.fit();
    let view = FitView {
        number: fit.number,
        events: fit.events,
        full: fit.full,
        error: fit.error.as_deref(),
        queue: &fit.queue,
        forecast: fit.forecast,
        learnt: fit.learnt.as_deref().map(LearntView::new),
    };
    Json(view).into_response()
}

/// Bit 0: accepted; bit 1: looks like nothing labelled; from bit 2: why its label is in doubt (0 it is not, 1 two classes
/// are close, 2 the opinions differ, 3 it lies at the edge of its class).
fn flags(learnt: &Learnt, row: usize) -> u8 {
    let label = &learnt.labelling.rows[row];
    let doubt = match label {
        label if label.given || label.probability >= 0.9 => 0,
        label if label.margin < 0.3 => 1,
        label if label.agreement < 0.7 => 2,
        label if label.credibility < 0.1 => 3,
        _ => 0,
    };
    u8::from(learnt.acceptance.accepted[row]) | u8::from(learnt.unknown[row]) << 1 | doubt << 2
}

/// What a person does, with rows by their numbers.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Act {
    NewClass {
        name: String,
        #[serde(default)]
        rows: Vec<usize>,
    },
    Rename {
        class: usize,
        name: String,
    },
    Merge {
        from: usize,
        into: usize,
    },
    Label {
        rows: Vec<usize>,
        class: usize,
    },
    Unlabel {
        rows: Vec<usize>,
    },
    Discard {
        rows: Vec<usize>,
    },
    Undo,
    Redo,
}

async fn act(State(studio): Shared, body: Result<Json<Act>, JsonRejection>) -> Response {
    let act = match body {
        Ok(Json(act)) => act,
        Err(rejection) => {
            return (rejection.status(), Json(json!({"error": rejection.body_text()}))).into_response();
        }
    };
    let taken = blocking(move || {
        let event = match act {
            Act::NewClass { name, rows } => {
                Event::NewClass { name: name.trim().to_owned(), rows: studio.ids(&rows)? }
            }
            Act::Rename { class, name } => Event::Rename { class, name: name.trim().to_owned() },
            Act::Merge { from, into } => Event::Merge { from, into },
            Act::Label { rows, class } => Event::Label { rows: studio.ids(&rows)?, class },
            Act::Unlabel { rows } => Event::Unlabel { rows: studio.ids(&rows)? },
            Act::Discard { rows } => Event::Discard { rows: studio.ids(&rows)? },
            Act::Undo => Event::Undo,
            Act::Redo => Event::Redo,
        };
        studio.record(event)?;
        Ok(studio.state())
    });
    answer(taken.await.map(Json))
}

async fn events(State(studio): Shared) -> Sse<impl Stream<Item = Result<Message, Infallible>>> {
    let message = |notice: crate::studio::Notice| {
        Ok(Message::default().json_data(notice).unwrap_or_else(|_| Message::default()))
    };
    Sse::new(WatchStream::new(studio.notices()).map(message)).keep_alive(KeepAlive::default())
}

async fn detail(State(studio): Shared, Path(row): Path<usize>) -> Response {
    answer(blocking(move || row_detail(&studio, row)).await.map(Json))
}

/// Why a row has its label: the likeliest classes, the nearest labelled rows, what was said about it.
fn row_detail(studio: &Studio, row: usize) -> Result<Value, StudioError> {
    let id = studio.ids(&[row])?.remove(0);
    let labels = studio.labels();
    let labelled: Vec<usize> = labels.of_rows.iter().map(|&(row, _)| row).collect();
    let near = studio.pool.prepared.nearest(row, SHOWN, &labelled)?;
    let near: Vec<Value> =
        near.iter().map(|near| json!({"row": near.row, "similarity": near.similarity})).collect();
    let mut likely = Vec::new();
    let mut about = Value::Null;
    if let Some(learnt) = &studio.fit().learnt {
        let probabilities = learnt.model.probabilities(&studio.pool.prepared.source().gather(&[row]))?;
        let mut order: Vec<(usize, f32)> = probabilities.row(0).iter().copied().enumerate().collect();
        order.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        order.truncate(SHOWN);
        likely =
            order.iter().map(|&(at, p)| json!({"class": learnt.classes[at], "probability": p})).collect();
        let label = &learnt.labelling.rows[row];
        about = json!({
            "class": learnt.classes[label.class], "given": label.given, "probability": label.probability,
            "margin": label.margin, "credibility": label.credibility, "agreement": label.agreement,
        });
    }
    let said = |said: &handful_label::session::Said| {
        let mark = said.mark.map(|mark| match mark {
            Mark::Class(class) => {
                json!(studio.class_name(class).unwrap_or_else(|| "a class that is gone".to_owned()))
            }
            Mark::Discarded => json!(false),
        });
        json!({"at": said.at, "mark": mark})
    };
    let history: Vec<Value> = studio.history(&id).iter().map(said).collect();
    Ok(json!({"row": row, "id": id, "near": near, "likely": likely, "label": about, "history": history}))
}

async fn thumbnail(State(studio): Shared, Path(row): Path<usize>) -> Response {
    let made = blocking(move || thumbnails::thumbnail(&studio, row)).await;
    answer(made.map(|bytes| (cached("image/jpeg"), bytes)))
}

async fn image(State(studio): Shared, Path(row): Path<usize>) -> Response {
    let read = blocking(move || thumbnails::picture(&studio, row)).await;
    answer(read.map(|(bytes, kind)| (cached(kind), bytes)))
}

fn cached(kind: &'static str) -> [(header::HeaderName, &'static str); 2] {
    [(header::CONTENT_TYPE, kind), (header::CACHE_CONTROL, "private, max-age=86400, immutable")]
}

async fn download(State(studio): Shared, Path(name): Path<String>) -> Response {
    let made = blocking(move || export::export(&studio, &name)).await;
    answer(made.map(|export| {
        let disposition = format!("attachment; filename=\"{}\"", export.name);
        let headers = [
            (header::CONTENT_TYPE, export.media_type.to_owned()),
            (header::CONTENT_DISPOSITION, disposition),
        ];
        (headers, export.bytes)
    }))
}

fn answer(result: Result<impl IntoResponse, StudioError>) -> Response {
    result.map_or_else(IntoResponse::into_response, IntoResponse::into_response)
}

/// Runs what computes, reads or syncs on a thread that may wait.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StudioError> + Send + 'static,
) -> Result<T, StudioError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|error| Err(StudioError::Machine(format!("a request failed: {error}"))))
}
