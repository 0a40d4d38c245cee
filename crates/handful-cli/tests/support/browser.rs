//! Pages in a real browser.

use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::tempdir;

/// Opens a page at desktop width in light and at phone width in dark colours; nothing may be written to its console.
pub fn open_in_chromium(page: &Path) {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let Some(browser) = names.iter().find(|name| {
        Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    }) else {
        eprintln!("skipped: chromium is not installed, so the page was not opened in it");
        return;
    };
    let profile = tempdir().expect("a folder");
    for (width, scheme) in [("1280,900", ""), ("390,844", "--blink-settings=preferredColorScheme=0")] {
        let shot = profile.path().join("page.png");
        let mut command = Command::new(browser);
        command
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--v=0"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg(format!("--window-size={width}"))
            .arg(format!("--screenshot={}", shot.display()))
            .args(Some(scheme).filter(|scheme| !scheme.is_empty()))
            .arg(format!("file://{}", page.canonicalize().expect("there").display()));
        let output = command.output().expect("the browser runs");
        let log = String::from_utf8_lossy(&output.stderr);
        assert!(!log.contains("CONSOLE"), "the page complains at {width}: {log}");
        let bytes = std::fs::read(&shot).expect("a screenshot");
        assert!(bytes.len() > 20_000, "the page is blank at {width}: {} bytes", bytes.len());
    }
}
