//! How tasks for Label Studio show their images: what `label`, `choose` and `studio` share.

use std::path::PathBuf;

use clap::Args;
use handful_data::datasets::Pictures;
use handful_data::labelled::TaskContent;

use crate::error::CliError;

/// Where Label Studio finds the images of tasks.
#[derive(Args, Clone, Debug, Default)]
pub struct TaskContentArgs {
    /// The folder that Label Studio serves local files from (its LOCAL_FILES_DOCUMENT_ROOT): tasks name images below it so
    /// that they show
    #[arg(long, value_name = "FOLDER", conflicts_with = "embed_images")]
    pub image_root: Option<PathBuf>,
    /// Put small copies of the images into tasks for Label Studio: they show wherever it runs
    #[arg(long)]
    pub embed_images: bool,
}

impl TaskContentArgs {
    /// What tasks show of the rows of a pool.
    pub fn of<'a>(
        &self,
        pictures: Option<&'a Pictures>,
        texts: Option<&'a [String]>,
    ) -> Result<TaskContent<'a>, CliError> {
        if let Some(root) = &self.image_root {
            if !root.is_dir() {
                return Err(CliError::Usage(format!("--image-root {}: it is not a folder", root.display())));
            }
            return Ok(TaskContent::LocalFiles { root: root.clone(), pictures });
        }
        match (self.embed_images, pictures, texts) {
            (true, Some(pictures), _) => Ok(TaskContent::Embedded(pictures)),
            (true, None, _) => Err(CliError::Usage("--embed-images needs a pool with images".into())),
            (false, _, Some(texts)) => Ok(TaskContent::Texts(texts)),
            (false, ..) => Ok(TaskContent::Ids),
        }
    }
}
