//! What people expect of any command: completions, man pages, a version, colours that can be turned off, a configuration
//! file, tables within the terminal's width.

mod support;

use std::path::Path;
use std::process::Command;

use support::{Run, features, handful};
use tempfile::tempdir;

/// Runs in a folder with these variables, away from the configuration of whoever runs the tests.
fn run_in(folder: &Path, variables: &[(&str, &str)], args: &[&str]) -> Run {
    let output = Command::new(env!("CARGO_BIN_EXE_handful"))
        .args(args)
        .current_dir(folder)
        .env("XDG_CONFIG_HOME", folder.join("user"))
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .envs(variables.iter().copied())
        .output()
        .expect("the binary runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("output is UTF-8");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

#[test]
fn every_shell_gets_completions_of_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = handful(&["completions", shell]);
        for word in ["bench", "label", "max-error"] {
            assert!(run.succeeded().contains(word), "{shell} knows {word}");
        }
    }
    handful(&["completions", "tcsh"]).refused(&["tcsh"]);
}

#[test]
fn every_command_has_a_man_page() {
    let folder = tempdir().expect("a folder");
    let pages = folder.path().join("man1");
    handful(&["man", pages.to_str().expect("plain")]).succeeded();
    let page = |name: &str| std::fs::read_to_string(pages.join(name)).expect("a page");
    assert!(
        page("handful.1").contains("handful\\-bench(1)") || page("handful.1").contains("handful-bench(1)")
    );
    assert!(page("handful-bench-tune.1").contains("budget"));
    assert!(page("handful-label.1").contains(".TH"));
    std::fs::write(folder.path().join("file"), "x").expect("written");
    let occupied = folder.path().join("file");
    handful(&["man", occupied.to_str().expect("plain")]).refused(&["file"]);
}

#[test]
fn the_long_version_says_what_a_bug_report_needs() {
    let long = handful(&["--version"]);
    for word in [env!("CARGO_PKG_VERSION"), "kernels: ", "features: "] {
        assert!(long.succeeded().contains(word), "{}", long.stdout);
    }
    assert_eq!(handful(&["-V"]).succeeded().trim(), concat!("handful ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn colours_come_only_where_they_are_wanted() {
    let folder = tempdir().expect("a folder");
    features(folder.path());
    let bench = ["bench", "features.npz", "--tasks", "5", "--method", "protonet,ridge", "--queries", "5"];
    let coloured =
        |variables: &[(&str, &str)]| run_in(folder.path(), variables, &bench).succeeded().contains('\u{1b}');
    assert!(!coloured(&[]), "never on a pipe");
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    let error = run_in(folder.path(), &[("CLICOLOR_FORCE", "1")], &["bench", "none.npz"]);
    assert!(error.stderr.starts_with("\u{1b}[1;31mhandful:"), "{}", error.stderr);
}

#[test]
fn a_name_from_a_file_cannot_colour_the_table() {
    let folder = tempdir().expect("a folder");
    features(folder.path());
    let name = "a\u{1b}[31m.toml";
    if std::fs::write(folder.path().join(name), "[ridge]\npenalty = 2.0\n").is_err() {
        return;
    }
    let method = format!("ridge:{name}");
    let args = ["bench", "features.npz", "--tasks", "5", "--method", &method, "--queries", "5"];
    assert!(!run_in(folder.path(), &[], &args).succeeded().contains('\u{1b}'));
}

#[test]
fn tables_keep_to_the_width_of_the_terminal() {
    let folder = tempdir().expect("a folder");
    features(folder.path());
    let args = ["bench", "features.npz", "--tasks", "5", "--queries", "5", "--shots", "1,5"];
    for (columns, width) in [("80", 80), ("60", 60)] {
        let run = run_in(folder.path(), &[("COLUMNS", columns)], &args);
        let table = run.succeeded().lines().skip(2);
        let widest = table.map(|line| line.chars().count()).max().expect("lines");
        assert!(widest <= width, "{}", run.stdout);
        for word in ["1-shot %", "5-shot %", "knows"] {
            assert!(run.stdout.contains(word), "{word}: {}", run.stdout);
        }
    }
}

#[test]
fn a_file_sets_defaults_and_the_command_line_wins() {
    let folder = tempdir().expect("a folder");
    features(folder.path());
    let below = folder.path().join("a/b");
    std::fs::create_dir_all(&below).expect("folders");
    let text =
        "[bench]\nways = 3\ntasks = 4\nqueries = 5\nmethod = [\"ridge\", \"protonet\"]\nformat = \"json\"\n";
    std::fs::write(folder.path().join("handful.toml"), text).expect("written");
    let json = |run: &Run| -> serde_json::Value { serde_json::from_str(run.succeeded()).expect("JSON") };

    let found = json(&run_in(&below, &[], &["bench", "../../features.npz"]));
    assert_eq!((&found["setting"]["ways"], &found["setting"]["tasks"]), (&3.into(), &4.into()));
    assert_eq!(
        (&found["methods"][0]["name"], &found["methods"][1]["name"]),
        (&"ridge".into(), &"protonet".into())
    );
    let found = json(&run_in(&below, &[], &["bench", "../../features.npz", "--ways", "2", "--method", "dm"]));
    assert_eq!((&found["setting"]["ways"], &found["setting"]["tasks"]), (&2.into(), &4.into()));
    assert_eq!(found["methods"].as_array().map(Vec::len), Some(1));

    let shown = run_in(&below, &[], &["config"]);
    assert!(
        shown.succeeded().contains("bench.ways = 3") && shown.stdout.contains("# line 2"),
        "{}",
        shown.stdout
    );
    let shown = run_in(&below, &[], &["config", "bench"]);
    assert!(shown.succeeded().contains("ways = 3"), "{}", shown.stdout);
    assert!(shown.stdout.lines().any(|line| line.starts_with("seed = 1") && line.ends_with("# default")));
    let without = run_in(&below, &[], &["--no-config", "config"]);
    assert!(without.succeeded().contains("no handful.toml"), "{}", without.stdout);
}

#[test]
fn the_users_file_counts_where_no_folder_has_one_and_a_named_one_always() {
    let folder = tempdir().expect("a folder");
    let user = folder.path().join("user/handful");
    std::fs::create_dir_all(&user).expect("folders");
    std::fs::write(user.join("handful.toml"), "[tasks.sample]\nseed = 7\n").expect("written");
    std::fs::write(folder.path().join("other.toml"), "[label]\nreject = true\n").expect("written");
    let shown = run_in(folder.path(), &[], &["config"]);
    assert!(shown.succeeded().contains("tasks.sample.seed = 7"), "{}", shown.stdout);
    let shown = run_in(folder.path(), &[], &["config", "--config", "other.toml"]);
    assert!(shown.succeeded().contains("label.reject = true"), "{}", shown.stdout);
}

#[test]
fn what_is_wrong_in_the_file_is_told_with_file_line_and_key() {
    let folder = tempdir().expect("a folder");
    let cases: [(&str, &[&str]); 9] = [
        ("[bench]\n\nwayz = 3\n", &["bad.toml, line 3, wayz", "did you mean ways?"]),
        ("[bench]\nways = \"many\"\n", &["bad.toml, line 2, ways", "many"]),
        ("[bench]\nways = -1\n", &["line 2, ways"]),
        ("[bench]\nways = [1, 2]\n", &["line 2, ways", "not a list"]),
        ("[bench]\nformat = \"jsom\"\n", &["line 2, format", "jsom"]),
        ("[label]\nreject = \"yes\"\n", &["line 2, reject", "true or false"]),
        ("[benhc]\n", &["line 1, [benhc]", "did you mean bench?"]),
        ("ways = 3\n", &["line 1, ways", "[bench]"]),
        ("[bench\n", &["bad.toml, line 1"]),
    ];
    for (text, words) in cases {
        std::fs::write(folder.path().join("bad.toml"), text).expect("written");
        run_in(folder.path(), &[], &["--config", "bad.toml", "params"]).refused(words);
    }
    run_in(folder.path(), &[], &["--config", "none.toml", "params"]).refused(&["none.toml"]);
}

#[test]
fn methods_say_whom_to_cite() {
    let run = handful(&["params", "dm-ida"]);
    assert!(run.succeeded().contains("@inproceedings{hou2021fewshot"), "{}", run.stdout);
    assert!(run.stdout.contains("Journal of Signal Processing Systems"), "{}", run.stdout);
}
