//! Panics of a decoder turned into errors.
//!
//! The libraries for Parquet and Arrow check most of what a file says, and panic over some of the rest: mutated files
//! trip assertions about the alignment of buffers and the lengths of offsets. Unwinding from there is safe, nothing of
//! a half-read table is kept, and whoever reads the file is told that it is broken.

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    path::Path,
    sync::Once,
};

use crate::error::DataError;

thread_local! {
    static IS_DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Runs a decoder; a panic in it is an error of the file and prints nothing.
pub(crate) fn decode<T>(
    path: &Path,
    format: &'static str,
    run: impl FnOnce() -> Result<T, DataError>,
) -> Result<T, DataError> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let earlier = take_hook();
        set_hook(Box::new(move |panic| {
            // A thread that is ending has no flag any more.
            if !IS_DECODING.try_with(Cell::get).unwrap_or(false) {
                earlier(panic);
            }
        }));
    });
    let outer = IS_DECODING.replace(true);
    let result = catch_unwind(AssertUnwindSafe(run));
    IS_DECODING.set(outer);
    result.unwrap_or_else(|_| {
        Err(DataError::malformed(path, format, "what it says about its columns is contradictory"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_of_the_file() {
        let error = decode::<()>(Path::new("t.arrow"), "Arrow", || panic!("misaligned")).unwrap_err();
        assert!(error.to_string().starts_with("t.arrow: not a valid Arrow file"), "{error}");
        assert_eq!(decode(Path::new("t.arrow"), "Arrow", || Ok(7)).unwrap(), 7);
    }
}
