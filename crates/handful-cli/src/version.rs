//! What `--version` prints: enough to tell two programs apart in a report of a bug.

/// Parts that a build may leave out.
const PARTS: [(&str, bool); 6] = [
    ("vision", cfg!(feature = "vision")),
    ("studio", cfg!(feature = "studio")),
    ("tables", cfg!(feature = "tables")),
    ("png", cfg!(feature = "png")),
    ("cuda", cfg!(feature = "cuda")),
    ("wgpu", cfg!(feature = "wgpu")),
];

/// Version, commit, target, kernels and parts.
pub fn long() -> String {
    let commit = option_env!("HANDFUL_COMMIT").map_or_else(String::new, |commit| format!("{commit}, "));
    let parts: Vec<&str> = PARTS.iter().filter(|(_, built)| *built).map(|(name, _)| *name).collect();
    let kernels = match handful::forced_path() {
        Ok(Some(_)) => format!("{}, by HANDFUL_SIMD", handful::instruction_set()),
        Ok(None) => handful::instruction_set(),
        Err(error) => error.to_string(),
    };
    format!(
        "{} ({commit}{})\nkernels: {kernels}\nfeatures: {}",
        env!("CARGO_PKG_VERSION"),
        env!("HANDFUL_TARGET"),
        if parts.is_empty() { "none".to_owned() } else { parts.join(", ") }
    )
}
