//! The licences and bans of `deny.toml`, held against what cargo resolves for this machine, without a network.

use std::collections::BTreeSet;
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

#[test]
fn licences_and_bans_are_kept() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let deny = std::fs::read_to_string(root.join("deny.toml")).expect("deny.toml");
    let (allowed, banned) = (quoted(&deny, "allow"), quoted(&deny, "deny"));
    let excepted = quoted(&deny, "exceptions");
    assert!(allowed.len() > 5 && banned.contains(&"openssl".to_owned()), "{allowed:?} {banned:?}");
    // `cargo metadata` lists optional crates that nothing turns on; `cargo tree` lists what is compiled.
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--workspace", "--offline", "--locked", "--edges", "normal,build", "--prefix", "none"])
        .args(["--format", "{p}|{l}"])
        .current_dir(&root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).expect("text");
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
