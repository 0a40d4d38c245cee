//! The server as others meet it: over a socket, well-meaning and not.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

use handful::Matrix;
use handful_data::FeatureTable;
use handful_label::Session;
use serde_json::{Value, json};

use crate::{Listen, Server, Serving, Studio, StudioPool};

const ROWS: usize = 60;

struct Running {
    port: u16,
    token: String,
    _folder: tempfile::TempDir,
}

/// Three groups of rows: row 0 is of group 0, row 1 of group 1, and so on.
fn table() -> FeatureTable {
    let value = |row: usize, column: usize| {
        let noise = ((row * 37 + column * 101) % 97) as f32 / 97.0 - 0.5;
        f32::from(u8::from(column % 3 == row % 3)) + 0.3 * noise
    };
    let values = (0..ROWS).flat_map(|row| (0..12).map(move |column| value(row, column))).collect();
    let ids = (0..ROWS).map(|row| format!("photos/{row} é.png")).collect();
    FeatureTable::from_features(Path::new("pool"), Matrix::from_vec(ROWS, 12, values), ids).expect("a table")
}

fn start(serving: Serving) -> Running {
    let folder = tempfile::tempdir().expect("a folder");
    let session = Session::open(&folder.path().join("log.jsonl")).expect("a session");
    let pool = StudioPool::new("pool".to_owned(), table()).expect("a pool");
    let studio = Studio::new(pool, session, 0.05).expect("a studio");
    let server = Server::bind(studio, &Listen::default(), serving).expect("a port");
    let port = server.origin().rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
    let token = server.token().unwrap_or_default().to_owned();
    std::thread::spawn(move || server.run());
    Running { port, token, _folder: folder }
}

impl Running {
    /// Sends a request as it is and returns status and body.
    fn raw(&self, request: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("connected");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("set");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = Vec::new();
        // A server that refuses a body may close before all of it is sent.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned());
        (status, body)
    }

    fn get(&self, path: &str) -> (u16, String) {
        let (port, token) = (self.port, &self.token);
        self.raw(&format!(
            "GET {path}?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
        ))
    }

    fn post(&self, path: &str, body: &str) -> (u16, Value) {
        let (port, token, length) = (self.port, &self.token, body.len());
        let (status, body) = self.raw(&format!(
            "POST {path}?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        ));
        (status, serde_json::from_str(&body).unwrap_or(Value::Null))
    }

    fn act(&self, what: &Value) -> (u16, Value) {
        self.post("/api/act", &what.to_string())
    }

    /// The fit that has seen every event.
    fn fit(&self, full: bool) -> Value {
        let start = Instant::now();
        loop {
            let events = self.json("/api/state")["events"].clone();
            let fit = self.json("/api/fit");
            if fit["events"] == events && (!full || fit["full"] == true) {
                return fit;
            }
            assert!(start.elapsed() < Duration::from_secs(60), "no fit: {fit}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn json(&self, path: &str) -> Value {
        let (status, body) = self.get(path);
        assert_eq!(status, 200, "{body}");
        serde_json::from_str(&body).expect("JSON")
    }
}

#[test]
fn labels_are_learnt_from_undone_and_exported() {
    let studio = start(Serving::Page);
    for (name, first) in [("b", 0), ("a", 1), ("c", 2)] {
        let rows = [first, first + 3, first + 6];
        assert_eq!(studio.act(&json!({"new-class": {"name": name, "rows": rows}})).0, 200);
    }
    let fit = studio.fit(false);
    let class = |row: usize| fit["learnt"]["class"][row].as_u64().expect("a class") as usize;
    assert!((0..ROWS).all(|row| class(row) == row % 3), "classes keep the numbers they were made with");
    let (status, labels) = studio.get("/api/export/labels.csv");
    assert_eq!((status, labels.lines().next(), labels.lines().count()), (200, Some("id,label"), 10));
    assert!(labels.contains("photos/0 é.png,b\n"));
    let (_, labelled) = studio.get("/api/export/labelled.csv");
    assert_eq!(labelled.lines().count(), ROWS + 1);
    assert!(
        labelled.lines().nth(1).is_some_and(|line| line.starts_with("photos/0 é.png,b,1.0000,1.0000,given"))
    );
    assert_eq!(studio.act(&json!({"discard": {"rows": [59]}})).0, 200);
    let (_, labelled) = studio.get("/api/export/labelled.csv");
    assert!(
        labelled
            .lines()
            .last()
            .is_some_and(|line| line.starts_with("photos/59 é.png,,") && line.contains("rejected"))
    );
    assert_eq!(studio.act(&json!("undo")).0, 200);
    let (_, state) = studio.act(&json!("undo"));
    assert_eq!(state["classes"].as_array().map(Vec::len), Some(2));
    assert_eq!(studio.act(&json!("redo")).1["classes"].as_array().map(Vec::len), Some(3));
    let map = studio.json("/api/map");
    assert_eq!(
        (map["x"].as_array().map(Vec::len), map["y"].as_array().map(Vec::len)),
        (Some(ROWS), Some(ROWS))
    );
    let start = Instant::now();
    while studio.json("/api/map")["finished"] != true {
        assert!(start.elapsed() < Duration::from_secs(60), "the map does not come to rest");
        std::thread::sleep(Duration::from_millis(20));
    }
    let detail = studio.json("/api/row/30");
    assert_eq!(detail["near"].as_array().map(Vec::len), Some(6));
    assert_eq!(detail["likely"][0]["class"], 0);
}

#[test]
fn nobody_gets_in_without_token_from_elsewhere_or_under_another_name() {
    let studio = start(Serving::Page);
    let (port, token) = (studio.port, &studio.token);
    let get = |path: &str, headers: &str| {
        studio.raw(&format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n")).0
    };
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    let right = format!("?token={token}");
    assert_eq!(get(&format!("/{right}"), &host), 200);
    for path in ["/", "/page/app.js", "/api/pool", "/api/state", "/api/thumbnail/0", "/api/export/labels.csv"]
    {
        assert_eq!(get(path, &host), 401, "{path} without a token");
        assert_eq!(get(&format!("{path}?token={}", "0".repeat(48)), &host), 401, "{path} with a wrong one");
        assert_eq!(get(&format!("{path}{right}"), "Host: evil.example\r\n"), 421, "{path} re-bound");
        let origin = format!("{host}Origin: http://evil.example\r\n");
        assert_eq!(get(&format!("{path}{right}"), &origin), 403, "{path} from elsewhere");
    }
    let before = studio.json("/api/state")["events"].clone();
    let body = r#"{"new-class":{"name":"x"}}"#;
    let form = format!(
        "POST /api/act{right} HTTP/1.1\r\n{host}Content-Type: text/plain\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(studio.raw(&form).0, 415, "what a form could send is not taken");
    assert_eq!(studio.json("/api/state")["events"], before);
}

#[test]
fn no_path_leads_out_of_the_pool() {
    let studio = start(Serving::Page);
    for path in [
        "/../Cargo.toml",
        "/page/../../Cargo.toml",
        "/page/..%2f..%2fCargo.toml",
        "/page//etc/passwd",
        "/api/image/..%2f..%2fetc%2fpasswd",
        "/api/image//etc/passwd",
        "/api/export/..%2f..%2fetc%2fpasswd",
        "/api/image/60",
        "/api/image/0",
        "/api/thumbnail/18446744073709551616",
        "/api/row/-1",
        "/etc/passwd",
    ] {
        let (status, body) = studio.get(path);
        assert!((400..500).contains(&status), "{path}: {status}");
        assert!(!body.contains("root:") && !body.contains("[package]"), "{path}: {body}");
    }
}

#[test]
fn large_bodies_and_ten_thousand_classes_are_refused() {
    let studio = start(Serving::Page);
    let (port, token) = (studio.port, &studio.token);
    let gigabyte = format!(
        "POST /api/act?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n{{",
        1u64 << 30
    );
    assert_eq!(studio.raw(&gigabyte).0, 413);
    // One that does not say how large it is, is read no further than the limit.
    let endless = format!(
        "POST /api/act?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
        crate::routes::MOST_BYTES + 1,
        " ".repeat(crate::routes::MOST_BYTES + 1)
    );
    assert_eq!(studio.raw(&endless).0, 413);
    let mut refused = 0;
    for class in 0..10_000 {
        let (status, said) = studio.act(&json!({"new-class": {"name": format!("class {class}")}}));
        if status != 200 {
            assert!(said["error"].as_str().is_some_and(|error| error.contains("1000 classes")), "{said}");
            refused += 1;
            break;
        }
    }
    assert_eq!(refused, 1);
    assert_eq!(studio.json("/api/state")["classes"].as_array().map(Vec::len), Some(1000));
}

#[test]
fn markup_in_names_stays_text_and_nonsense_is_refused() {
    let studio = start(Serving::Page);
    let (status, state) = studio.act(&json!({"new-class": {"name": "<script>alert(1)</script>"}}));
    assert_eq!((status, &state["classes"][0]["name"]), (200, &"<script>alert(1)</script>".into()));
    let (_, page) = studio.get("/");
    assert!(!page.contains("alert(1)"), "no name is ever put into the page's markup");
    for body in ["", "{", "[]", r#"{"label":{"rows":[0]}}"#, r#"{"label":{"rows":[-1],"class":0}}"#] {
        assert!((400..500).contains(&studio.post("/api/act", body).0), "{body}");
    }
    assert_eq!(studio.act(&json!({"label": {"rows": [60], "class": 0}})).0, 404);
    assert_eq!(studio.act(&json!({"label": {"rows": [0], "class": 7}})).0, 409);
    assert_eq!(studio.get("/api/export/labelled.csv").0, 409, "nothing is learnt yet");
}

#[test]
fn label_studio_is_told_more_after_each_annotation() {
    let backend = start(Serving::LabelStudio);
    let bare =
        format!("GET /health HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n", backend.port);
    assert_eq!(backend.raw(&bare).0, 401, "no token");
    assert_eq!(backend.json("/health")["status"], "UP");
    assert!(backend.post("/setup", r#"{"project":"1","schema":"<View/>"}"#).1["model_version"].is_string());
    let annotate = |row: usize, choice: &str| {
        let image = format!("/data/local-files/?d=all/photos/{row}%20%C3%A9.png");
        let told = json!({
            "action": "ANNOTATION_CREATED",
            "task": {"id": row, "data": {"image": image}},
            "annotation": {"result": [{"type": "choices", "value": {"choices": [choice]}}]},
        });
        let (status, said) = backend.post("/webhook", &told.to_string());
        assert_eq!((status, &said["taken"]), (200, &Value::Bool(true)), "{said}");
    };
    let config = r#"<View><Image name="i" value="$image"/><Choices name="kind" toName="i"><Choice value="x"/></Choices></View>"#;
    let tasks: Vec<Value> =
        (0..3).map(|row| json!({"id": row, "data": {"id": format!("photos/{} é.png", 30 + row)}})).collect();
    let ask = || backend.post("/predict", &json!({"tasks": tasks, "label_config": config}).to_string()).1;
    assert_eq!(ask()["results"][0]["result"], json!([]), "nothing is known yet");
    for row in 0..6 {
        annotate(row, ["x", "y", "z"][row % 3]);
    }
    let said = ask();
    for (at, choice) in ["x", "y", "z"].into_iter().enumerate() {
        let result = &said["results"][at]["result"][0];
        assert_eq!(result["value"]["choices"][0], choice, "{said}");
        assert_eq!((&result["from_name"], &result["to_name"]), (&"kind".into(), &"i".into()));
    }
    assert_eq!(backend.post("/webhook", r#"{"action":"START_TRAINING"}"#).1["taken"], false);
}
