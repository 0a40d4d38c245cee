//! The studio under attack: killed while it takes answers, given damaged logs and damaged requests.
//!
//! ```sh
//! HANDFUL_KILLS=50 HANDFUL_MUTATIONS=700 cargo test -p handful-cli --test studio -- --nocapture
//! ```
#![cfg(all(unix, feature = "studio"))]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use support::damage::{Chance, mutated};
use support::pool::{Pool, text};

/// Longer than any honest answer takes, on a machine that is busy.
const HANG: Duration = Duration::from_secs(10);

fn asked(variable: &str, otherwise: usize) -> usize {
    let asked = std::env::var(variable).ok();
    asked.map_or(otherwise, |count| count.parse().expect("a number"))
}

struct Studio {
    child: Child,
    port: u16,
    token: String,
}

impl Studio {
    /// Starts the studio on a log, or returns its exit code and what it said.
    fn start(pool: &Pool, log: &Path) -> Result<Self, (Option<i32>, String)> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_handful"))
            .args(["studio", text(&pool.pool), "--session", text(log), "--no-open"])
            .env("RUST_BACKTRACE", "0")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut line = String::new();
        let out = child.stdout.take().expect("piped");
        BufReader::new(out).read_line(&mut line).expect("read");
        let Some((host, token)) = line.trim_end().split_once("/?token=") else {
            let output = child.wait_with_output().expect("ended");
            return Err((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()));
        };
        let port = host.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        Ok(Self { port, token: token.to_owned(), child })
    }

    /// Sends bytes as they are; the status of the answer, or 0 where there is none for that long, and its body.
    fn send(&self, request: &[u8], patience: Duration) -> (u16, String) {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port)) else { return (0, String::new()) };
        stream.set_read_timeout(Some(patience)).expect("set");
        let mut answer = Vec::new();
        // The server may close before all is sent, and be killed while it answers.
        let _ = stream.write_all(request);
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
    }

    fn request(&self, method: &str, path: &str, body: &str) -> Vec<u8> {
        let (port, token, length) = (self.port, &self.token, body.len());
        format!(
            "{method} {path}?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .into_bytes()
    }

    fn act(&self, body: &str) -> u16 {
        self.send(&self.request("POST", "/api/act", body), HANG).0
    }

    fn stop(mut self) -> String {
        self.child.kill().expect("killed, or over");
        self.child.wait().expect("ended");
        let mut said = String::new();
        self.child.stderr.take().expect("piped").read_to_string(&mut said).expect("text");
        said
    }
}

#[test]
fn a_killed_studio_keeps_every_answer_that_it_confirmed() {
    let kills = asked("HANDFUL_KILLS", 3);
    let pool = Pool::new();
    let mut confirmed = 0;
    for number in 0..kills {
        let log = pool.path(&format!("{number}.jsonl"));
        let studio = Studio::start(&pool, &log).unwrap_or_else(|said| panic!("{said:?}"));
        assert_eq!(studio.act(r#"{"new-class": {"name": "a", "rows": [0]}}"#), 200);
        let pid = studio.child.id().to_string();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_micros(300 + number as u64 * 7919 % 60_000));
            Command::new("sh").args(["-c", "kill -9 \"$0\"", &pid]).status().expect("a shell");
        });
        let mut answers = 1;
        for row in 1..180 {
            match studio.act(&format!(r#"{{"label": {{"rows": [{row}], "class": 0}}}}"#)) {
                200 => answers += 1,
                _ => break,
            }
        }
        killer.join().expect("killed");
        studio.stop();
        let again = Studio::start(&pool, &log).unwrap_or_else(|said| panic!("{said:?}"));
        let (status, state) = again.send(&again.request("GET", "/api/export/labels.csv", ""), HANG);
        assert_eq!(status, 200, "{state}");
        let kept = state.lines().filter(|line| line.contains(",a")).count();
        assert!(kept == answers || kept == answers + 1, "{answers} answers confirmed, {kept} kept: {state}");
        confirmed += answers;
        again.stop();
    }
    println!("studio                       {kills} kills, {confirmed} confirmed answers, 0 lost");
}

#[test]
fn a_log_that_is_open_or_damaged_is_refused_in_one_sentence() {
    let count = asked("HANDFUL_MUTATIONS", 12);
    let pool = Pool::new();
    let log = pool.path("log.jsonl");
    let studio = Studio::start(&pool, &log).unwrap_or_else(|said| panic!("{said:?}"));
    for act in [
        r#"{"new-class": {"name": "a", "rows": [0, 1]}}"#,
        r#"{"new-class": {"name": "b"}}"#,
        r#"{"label": {"rows": [40, 50], "class": 1}}"#,
        r#"{"rename": {"class": 1, "name": "bee"}}"#,
        r#""undo""#,
        r#"{"discard": {"rows": [9]}}"#,
    ] {
        assert_eq!(studio.act(act), 200, "{act}");
    }
    let Err((code, said)) = Studio::start(&pool, &log) else { panic!("two studios share a log") };
    assert!(code == Some(2) && said.contains("another studio has this session open"), "{said}");
    studio.stop();
    let seed = std::fs::read(&log).expect("a log");
    let mut chance = Chance(77);
    let start = Instant::now();
    for number in 0..count {
        let bytes = mutated(&seed, &seed, &mut chance);
        let damaged = pool.path("damaged.jsonl");
        std::fs::write(&damaged, &bytes).expect("written");
        let began = Instant::now();
        match Studio::start(&pool, &damaged) {
            Ok(studio) => assert!(!studio.stop().contains("panicked"), "log {number}"),
            Err((code, said)) => {
                let known = matches!(code, Some(1 | 2)) && !said.contains("panicked");
                assert!(known, "log {number}: {code:?} {said}: {}", String::from_utf8_lossy(&bytes));
            }
        }
        assert!(began.elapsed() < HANG, "log {number}");
    }
    println!("{:20} {count:6} mutations  {:.0} s", "studio-log", start.elapsed().as_secs_f64());
}

#[test]
fn damaged_requests_are_answered_and_the_studio_goes_on() {
    let count = asked("HANDFUL_MUTATIONS", 200);
    let pool = Pool::new();
    let studio = Studio::start(&pool, &pool.path("log.jsonl")).unwrap_or_else(|said| panic!("{said:?}"));
    assert_eq!(studio.act(r#"{"new-class": {"name": "a", "rows": [0, 1]}}"#), 200);
    let posts = [
        r#"{"new-class": {"name": "b", "rows": [30, 31]}}"#,
        r#"{"label": {"rows": [3, 4], "class": 0}}"#,
        r#"{"merge": {"from": 1, "into": 0}}"#,
        r#"{"unlabel": {"rows": [0]}}"#,
        r#""redo""#,
    ];
    let mut seeds: Vec<Vec<u8>> = posts.iter().map(|body| studio.request("POST", "/api/act", body)).collect();
    for path in ["/", "/api/state", "/api/fit", "/api/row/3", "/api/export/labels.csv", "/api/image/7"] {
        seeds.push(studio.request("GET", path, ""));
    }
    let mut chance = Chance(78);
    let start = Instant::now();
    for number in 0..count {
        let (seed, other) = (&seeds[chance.below(seeds.len())], &seeds[chance.below(seeds.len())]);
        // Half of the damage is in the body alone, behind the guard and the parser of HTTP.
        let head = seed.windows(4).position(|window| window == b"\r\n\r\n").map_or(0, |at| at + 4);
        let only_body = chance.below(2) == 0 && head < seed.len();
        let request = if only_body {
            let body = mutated(&seed[head..], other, &mut chance);
            studio.request("POST", "/api/act", &String::from_utf8_lossy(&body))
        } else {
            mutated(seed, other, &mut chance)
        };
        // The server waits for the rest of a request that is cut off, and so would a test.
        let patience = if only_body { HANG } else { Duration::from_millis(500) };
        let (status, body) = studio.send(&request, patience);
        let said = String::from_utf8_lossy(&request).into_owned();
        assert!(status < 500 || status == 505, "request {number}: {status} {body}: {said}");
        assert!(status > 0 || !only_body, "request {number} has no answer: {said}");
    }
    assert_eq!(studio.send(&studio.request("GET", "/api/state", ""), HANG).0, 200);
    assert!(!studio.stop().contains("panicked"));
    println!("{:20} {count:6} mutations  {:.0} s", "studio-requests", start.elapsed().as_secs_f64());
}
