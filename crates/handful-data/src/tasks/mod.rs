//! Few-shot tasks: what one looks like, how many are drawn from a table, and how they are kept in a file.

mod draw;
mod episode;
mod list;
mod sampler;
mod shares;
mod spec;

pub use episode::Episode;
pub use list::{TASK_LIST_VERSION, parse_task_list, read_task_list, write_task_list};
pub use sampler::EpisodeSampler;
pub use shares::log_gamma_variate;
pub use spec::EpisodeSpec;
