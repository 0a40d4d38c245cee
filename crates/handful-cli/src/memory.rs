//! How much memory this process may still take.

use std::fs::read_to_string;

use crate::error::CliError;

/// Refuses work that needs more memory than there is. Where the system does not say, the work is begun.
pub fn check(needed: u64, what: &str) -> Result<(), CliError> {
    match available() {
        Some(free) if free < needed => Err(CliError::Failed(format!(
            "{what} needs about {} of memory, but only {} are free; label a part of the rows, or fewer classes at once",
            size(needed),
            size(free)
        ))),
        _ => Ok(()),
    }
}

fn size(bytes: u64) -> String {
    match bytes >> 20 {
        megabytes @ ..1024 => format!("{megabytes} MB"),
        _ => format!("{:.1} GB", bytes as f64 / f64::from(1 << 30)),
    }
}

/// The least of what the machine, the container and the limit of the process leave.
fn available() -> Option<u64> {
    let machine = kilobytes("/proc/meminfo", "MemAvailable:");
    let number = |path: &str| read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let container = number("/sys/fs/cgroup/memory.max")
        .zip(number("/sys/fs/cgroup/memory.current"))
        .map(|(most, used)| most.saturating_sub(used));
    [machine, container, address_space()].into_iter().flatten().min()
}

/// What `ulimit -v` leaves.
fn address_space() -> Option<u64> {
    let limits = read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let most: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(most.saturating_sub(kilobytes("/proc/self/status", "VmSize:")?))
}

fn kilobytes(path: &str, key: &str) -> Option<u64> {
    let text = read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    let kilobytes: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kilobytes << 10)
}
