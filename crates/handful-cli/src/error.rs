//! What the command says when it cannot go on: one sentence on stderr, and the exit code.
//!
//! 0 done, 1 the work failed, 2 the command line or the input was wrong.

use handful::error::ParamError;
use handful_bench::study::StudyError;
use handful_data::DataError;
use handful_data::atomic::WriteError;

use crate::terminal::complain;

/// Why a command ended early.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The command line or the input was wrong.
    #[error("{0}")]
    Usage(String),
    /// The output could not be written.
    #[error("cannot write the output: {0}")]
    Output(#[from] std::io::Error),
    /// The work failed for a reason that is not the input's.
    #[error("{0}")]
    Failed(String),
}

impl CliError {
    /// The input is wrong in the way the error says.
    pub fn usage(error: impl std::fmt::Display) -> Self {
        Self::Usage(error.to_string())
    }

    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Output(_) | Self::Failed(_) => 1,
        }
    }
}

impl From<DataError> for CliError {
    fn from(error: DataError) -> Self {
        match error {
            DataError::Write(error) => error.into(),
            other => Self::usage(other),
        }
    }
}

impl From<WriteError> for CliError {
    fn from(error: WriteError) -> Self {
        match error {
            WriteError::Destination { .. } => Self::usage(error),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// Whether the disk failed, not the user: it is full, over its quota or cannot be written to.
pub fn is_device_failure(error: &std::io::Error) -> bool {
    use std::io::ErrorKind;
    matches!(
        error.kind(),
        ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
            | ErrorKind::FileTooLarge
            | ErrorKind::ReadOnlyFilesystem
    )
}

impl From<ParamError> for CliError {
    fn from(error: ParamError) -> Self {
        let mut sentence = error.to_string();
        if let Some(nearest) = nearest_known(&error) {
            sentence.push_str(&format!("; did you mean {nearest}?"));
        }
        Self::Usage(sentence)
    }
}

impl From<StudyError> for CliError {
    fn from(error: StudyError) -> Self {
        match error {
            StudyError::Task { .. } | StudyError::Features(_) => Self::usage(error),
            other => Self::Failed(other.to_string()),
        }
    }
}

#[cfg(feature = "vision")]
impl From<handful_vision::error::VisionError> for CliError {
    fn from(error: handful_vision::error::VisionError) -> Self {
        match error {
            handful_vision::error::VisionError::Diverged { .. } => Self::Failed(error.to_string()),
            handful_vision::error::VisionError::Data(error) => error.into(),
            other => Self::usage(other),
        }
    }
}

/// The known name closest to an unknown one, if any is close.
fn nearest_known(error: &ParamError) -> Option<String> {
    let (given, known) = match error {
        ParamError::UnknownMethod { name, known } => (name, known),
        ParamError::UnknownKey { key, known, .. } => (key, known),
        ParamError::UnknownPreset { preset, known, .. } => (preset, known),
        _ => return None,
    };
    nearest(given, known.split(", ")).map(str::to_owned)
}

/// The name closest to one that was given, if any is close.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let similarity = |candidate: &str| strsim::jaro_winkler(given, candidate);
    let best = known.into_iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(best) > 0.7).then_some(best)
}

/// Whether an error says that the reader of our output is gone; the writer of CSV wraps it in an error of its own.
pub fn is_closed_pipe(error: &std::io::Error) -> bool {
    let wrapped = error.get_ref().and_then(|inner| inner.downcast_ref::<csv::Error>());
    let error = match wrapped.map(csv::Error::kind) {
        Some(csv::ErrorKind::Io(inner)) => inner,
        _ => error,
    };
    error.kind() == std::io::ErrorKind::BrokenPipe
}

/// Help and version are answers; everything else clap reports is one sentence and exit code 2.
pub fn report_usage(error: &clap::Error) -> u8 {
    use clap::error::ErrorKind;
    match error.kind() {
        // Clap knows about colours; that nobody reads to the end (`--help | head`) is not an error.
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => match error.print() {
            Err(error) if !is_closed_pipe(&error) => {
                eprintln!("handful: {}", CliError::Output(error));
                1
            }
            _ => 0,
        },
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            eprint!("{error}");
            2
        }
        _ => {
            complain(&sentence_of(error));
            2
        }
    }
}

/// What clap says in one sentence.
pub fn sentence_of(error: &clap::Error) -> String {
    let text = error.to_string();
    let paragraphs = text.split("\n\n").take_while(|part| !part.starts_with("Usage:"));
    let sentence = paragraphs.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ");
    sentence.trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_method_and_key_are_suggested() {
        let error = handful::methods::build("dm_ida", None, &[]).err().expect("unknown");
        assert!(CliError::from(error).to_string().ends_with("did you mean dm-ida?"));
        let change = [("learnin_rate".to_owned(), "1".to_owned())];
        let error = handful::methods::build("dm-ida", None, &change).err().expect("unknown");
        assert!(CliError::from(error).to_string().ends_with("did you mean learning_rate?"));
    }
}
