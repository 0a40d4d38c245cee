//! Which instruction sets there are, which this machine has, and which one the user forces.

use std::fmt;
use std::str::FromStr;

/// An instruction set the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// Plain arrays; every machine.
    Portable,
    /// AVX2 with fused multiply-add, on x86-64.
    Avx2,
    /// AVX-512, on x86-64.
    Avx512,
    /// NEON, on AArch64.
    Neon,
}

/// `HANDFUL_SIMD` names an instruction set that does not exist or that this machine lacks.
#[derive(Debug, thiserror::Error)]
#[error("HANDFUL_SIMD={value}: this machine has {}", Path::available_names())]
pub struct UnknownPath {
    value: String,
}

impl Path {
    const ALL: [Path; 4] = [Path::Portable, Path::Avx2, Path::Avx512, Path::Neon];

    /// Every instruction set this machine has, worst first.
    pub fn available() -> Vec<Path> {
        Self::ALL.into_iter().filter(|path| path.is_available()).collect()
    }

    pub(super) fn is_available(self) -> bool {
        match self {
            Path::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "aarch64")]
            Path::Neon => true,
            #[allow(unreachable_patterns)]
            _ => false,
        }
    }

    pub(super) fn best() -> Path {
        Self::available().pop().unwrap_or(Path::Portable)
    }

    fn available_names() -> String {
        Self::available().iter().map(Path::to_string).collect::<Vec<_>>().join(", ")
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Path::Portable => "portable",
            Path::Avx2 => "avx2",
            Path::Avx512 => "avx512",
            Path::Neon => "neon",
        })
    }
}

impl FromStr for Path {
    type Err = UnknownPath;

    fn from_str(value: &str) -> Result<Self, UnknownPath> {
        Self::available()
            .into_iter()
            .find(|path| path.to_string() == value)
            .ok_or_else(|| UnknownPath { value: value.to_owned() })
    }
}

/// The path that the environment variable `HANDFUL_SIMD` forces, if it is set.
///
/// # Errors
/// [`UnknownPath`] for a name that is none, or one this machine does not have.
pub fn forced_path() -> Result<Option<Path>, UnknownPath> {
    match std::env::var("HANDFUL_SIMD") {
        Ok(value) if !value.is_empty() => value.parse().map(Some),
        _ => Ok(None),
    }
}
