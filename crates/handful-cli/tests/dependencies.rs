//! The licences and bans of `deny.toml`, held against what cargo resolves for this machine, without a network.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The quoted words of a list in `deny.toml`, from a line that ends in `[` to one that begins with `]`.
fn quoted(text: &str, key: &str) -> Vec<String> {
    let lines = text.lines().skip_while(|line| *line != format!("{key} = [")).skip(1);
    lines
        .take_while(|line| *line != "]")
        .filter_map(|line| Some(line.split('"').nth(1)?.to_owned()))
        .collect()
}

/// Whether one of the alternatives of a licence is allowed in all its parts.
fn is_allowed(licence: &str, allowed: &[String]) -> bool {
    let plain = licence.replace(['(', ')'], "").replace('/', " OR ");
    let known = |name: &str| allowed.iter().any(|one| one == name.trim());
    let alternatives: Vec<&str> = plain.split(" OR ").collect();
    // `(A OR B) AND C`: the part behind AND belongs to every alternative.
    let always = alternatives.last().and_then(|last| last.split_once(" AND ")).map(|(_, always)| always);
    let by_one = alternatives.iter().any(|one| one.split(" AND ").all(known));
    by_one && always.is_none_or(|always| always.split(" AND ").all(known))
}

#[test]
fn licences_and_bans_are_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let deny = std::fs::read_to_string(root.join("deny.toml")).expect("deny.toml");
    let (allowed, banned) = (quoted(&deny, "allow"), quoted(&deny, "deny"));
    let excepted = quoted(&deny, "exceptions");
    assert!(allowed.len() > 5 && banned.contains(&"openssl".to_owned()), "{allowed:?} {banned:?}");
    let rustc = Command::new("rustc").arg("-vV").output().expect("rustc").stdout;
    let rustc = String::from_utf8(rustc).expect("text");
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked", "--filter-platform", host])
        .current_dir(&root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    assert!(packages.len() > 100);
    for package in packages.iter().filter(|package| !package["source"].is_null()) {
        let (name, source) =
            (package["name"].as_str().expect("a name"), package["source"].as_str().expect("a source"));
        assert!(source.starts_with("registry+"), "{name} comes from {source}");
        assert!(!banned.iter().any(|one| one == name), "{name} is banned");
        if let Some(licence) = package["license"].as_str().filter(|_| !excepted.iter().any(|one| one == name))
        {
            assert!(is_allowed(licence, &allowed), "{name}: {licence}");
        }
    }
}

#[test]
fn alternatives_and_conjunctions_are_read() {
    let allowed = ["MIT".to_owned(), "Unicode-3.0".to_owned()];
    assert!(is_allowed("MIT/Apache-2.0", &allowed) && is_allowed("Apache-2.0 OR MIT", &allowed));
    assert!(is_allowed("(MIT OR Apache-2.0) AND Unicode-3.0", &allowed));
    assert!(!is_allowed("GPL-3.0", &allowed) && !is_allowed("MIT AND GPL-3.0", &allowed));
    assert!(!is_allowed("(MIT OR Apache-2.0) AND GPL-3.0", &allowed));
}
