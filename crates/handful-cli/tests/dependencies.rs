//! Licences and bans (`deny.toml`) and the oldest compiler, held against what cargo resolves for this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

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

/// What cargo prints at the root of the repository.
fn cargo(args: &[&str]) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO")).args(args).current_dir(root).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// What is compiled on this machine, without a network: `cargo metadata` also lists optional crates that nothing turns on.
fn tree(more: &[&str]) -> String {
    let fixed = ["tree", "--offline", "--locked", "--edges", "normal,build", "--prefix", "none"];
    cargo(&[&fixed, more].concat())
}

#[test]
fn licences_and_bans_are_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let deny = std::fs::read_to_string(root.join("deny.toml")).expect("deny.toml");
    let (allowed, banned) = (quoted(&deny, "allow"), quoted(&deny, "deny"));
    let excepted = quoted(&deny, "exceptions");
    assert!(allowed.len() > 5 && banned.contains(&"openssl".to_owned()), "{allowed:?} {banned:?}");
    let listed = tree(&["--workspace", "--format", "{p}|{l}"]);
    let packages: BTreeSet<&str> = listed.lines().filter(|line| !line.is_empty()).collect();
    assert!(packages.len() > 100);
    for package in packages {
        let (package, licence) = package.split_once('|').expect("a licence column");
        let (name, origin) = package.split_once(' ').expect("a name and a version");
        // Of a registry: `v1.2.3`; of elsewhere: `v1.2.3 (where)`; a second time: followed by ` (*)`.
        let is_ours = name.starts_with("handful") || name == "xtask";
        assert!(is_ours || !origin.contains("://"), "{name} comes from {origin}");
        assert!(!banned.iter().any(|one| one == name), "{name} is banned");
        let licence = licence.trim_end_matches(" (*)");
        if !is_ours && !excepted.iter().any(|one| one == name) {
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

/// `1.95` and `1.95.0` as numbers to compare.
fn version(text: &str) -> [u32; 2] {
    let mut parts = text.split('.').map(|part| part.parse().expect("a number"));
    [parts.next().expect("a major version"), parts.next().unwrap_or(0)]
}

#[test]
fn no_dependency_needs_a_newer_compiler_than_the_crate_says() {
    let printed = cargo(&["metadata", "--format-version=1", "--locked"]);
    let metadata: serde_json::Value = serde_json::from_str(&printed).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let oldest = |package: &serde_json::Value| Some(version(package["rust_version"].as_str()?));
    let needs: BTreeMap<String, [u32; 2]> = packages
        .iter()
        .filter_map(|package| {
            let (name, version) = (package["name"].as_str()?, package["version"].as_str()?);
            Some((format!("{name} v{version}"), oldest(package)?))
        })
        .collect();
    let ours: Vec<_> = packages.iter().filter(|package| package["source"].is_null()).collect();
    assert!(ours.len() > 7 && needs.len() > 100, "{} of ours, {} in all", ours.len(), needs.len());
    for package in ours {
        let name = package["name"].as_str().expect("a name");
        let says = oldest(package).unwrap_or_else(|| panic!("{name} says no rust-version"));
        let listed = tree(&["--package", name, "--format", "{p}"]);
        for line in listed.lines() {
            let dependency = line.split(' ').take(2).collect::<Vec<_>>().join(" ");
            let needed = needs.get(&dependency).copied().unwrap_or_default();
            assert!(needed <= says, "{name} says Rust {says:?}, {dependency} needs {needed:?}");
        }
    }
}
