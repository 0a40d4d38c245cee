//! Label Studio's machine-learning backend: predictions that improve while people annotate there.
//!
//! It asks `/health` and `/setup` when it is connected, `/predict` for predictions, and tells `/webhook` of every
//! annotation, which becomes an event of the session like an answer on our own page. A task is found by `data.id`, or by
//! the end of the path of its image.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, State};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use handful_data::labels::row_of_address;
use handful_label::session::{Event, Mark};
use serde_json::{Value, json};

use crate::error::StudioError;
use crate::guard::{self, Guard};
use crate::routes::blocking;
use crate::studio::Studio;

/// A thousand tasks with embedded small images.
pub const MOST_BYTES: usize = 64 << 20;
/// How long predictions wait for the fit that has seen the latest annotation, in steps.
const STEPS: usize = 200;
const STEP: Duration = Duration::from_millis(25);

type Shared = State<Arc<Studio>>;

/// The backend's routes. Label Studio sends the token as the password of basic authentication, or in a header of its
/// webhooks; browsers, which say where they come from, are refused.
pub fn routes(studio: Arc<Studio>, guard: Guard) -> Router {
    Router::new()
        .route("/", get(health))
        .route("/health", get(health))
        .route("/setup", post(setup))
        .route("/predict", post(predict))
        .route("/webhook", post(webhook))
        .layer(DefaultBodyLimit::max(guard.most_bytes))
        .layer(middleware::from_fn_with_state(guard, guard::watch))
        .with_state(studio)
}

async fn health() -> Json<Value> {
    Json(json!({"status": "UP", "model_class": "handful"}))
}

async fn setup(State(studio): Shared) -> Json<Value> {
    Json(json!({"model_version": version(&studio)}))
}

fn version(studio: &Studio) -> String {
    format!("handful-{}", studio.fit().events)
}

async fn predict(State(studio): Shared, Json(request): Json<Value>) -> Json<Value> {
    for _ in 0..STEPS {
        if studio.fit().events == studio.events() {
            break;
        }
        tokio::time::sleep(STEP).await;
    }
    let config = request["label_config"].as_str().unwrap_or_default();
    let (from, to) = names(config).unwrap_or(("label", "image"));
    let tasks = request["tasks"].as_array().map_or(&[][..], Vec::as_slice);
    let results: Vec<Value> = tasks.iter().map(|task| prediction(&studio, &task["data"], from, to)).collect();
    Json(json!({"results": results, "model_version": version(&studio)}))
}

/// What we say about a task; nothing where its image is not in the pool or nothing is learnt yet.
fn prediction(studio: &Studio, data: &Value, from: &str, to: &str) -> Value {
    let fit = studio.fit();
    let known = row_of(studio, data).zip(fit.learnt.as_ref());
    let Some((row, learnt)) = known else {
        return json!({"model_version": version(studio), "score": 0.0, "result": []});
    };
    let label = &learnt.labelling.rows[row];
    let name = &learnt.names[label.class];
    json!({
        "model_version": version(studio),
        "score": label.probability,
        "result": [{
            "from_name": from, "to_name": to, "type": "choices", "score": label.probability,
            "value": {"choices": [name]},
        }],
    })
}

/// Names of the first `Choices` of a labelling configuration and of what it is about.
fn names(config: &str) -> Option<(&str, &str)> {
    let tag = config.split("<Choices").nth(1)?.split('>').next()?;
    let attribute = |name: &str| tag.split(&format!(" {name}=\"")).nth(1)?.split('"').next();
    Some((attribute("name")?, attribute("toName")?))
}

/// The row of a task: by its id, or by the longest id that its image's address ends with.
fn row_of(studio: &Studio, data: &Value) -> Option<usize> {
    if let Some(row) = data["id"].as_str().and_then(|id| studio.pool.row_of_id(id)) {
        return Some(row);
    }
    let texts = data.as_object()?.values().filter_map(Value::as_str);
    let find = |id: &str| studio.pool.row_of_id(id);
    texts.filter_map(|text| row_of_address(text, find)).next()
}

async fn webhook(State(studio): Shared, Json(told): Json<Value>) -> Result<Json<Value>, StudioError> {
    blocking(move || {
        let taken = annotated(&studio, &told)?;
        Ok(Json(json!({"status": "ok", "taken": taken})))
    })
    .await
}

/// Takes an annotation over into the session; says whether it said anything new.
fn annotated(studio: &Studio, told: &Value) -> Result<bool, StudioError> {
    let Some(row) = row_of(studio, &told["task"]["data"]) else { return Ok(false) };
    let id = studio.pool.ids[row].clone();
    let choice = match told["action"].as_str() {
        Some("ANNOTATION_CREATED" | "ANNOTATION_UPDATED") => {
            let result = told["annotation"]["result"].as_array().map_or(&[][..], Vec::as_slice);
            result.iter().find_map(|part| part["value"]["choices"][0].as_str())
        }
        Some("ANNOTATIONS_DELETED") => None,
        _ => return Ok(false),
    };
    let before = studio.mark(&id);
    let event = match (choice.map(str::trim), before) {
        (Some(name), _) => match studio.class_named(name) {
            Some(class) if before == Some(Mark::Class(class)) => return Ok(false),
            Some(class) => Event::Label { rows: vec![id], class },
            None => Event::NewClass { name: name.to_owned(), rows: vec![id] },
        },
        (None, Some(_)) => Event::Unlabel { rows: vec![id] },
        (None, None) => return Ok(false),
    };
    studio.record(event)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_of_a_labelling_configuration_are_found() {
        let config = r#"<View><Image name="photo" value="$image"/><Choices name="kind" toName="photo" choice="single"><Choice value="cat"/></Choices></View>"#;
        assert_eq!(names(config), Some(("kind", "photo")));
        assert_eq!(names("<View/>"), None);
    }
}
