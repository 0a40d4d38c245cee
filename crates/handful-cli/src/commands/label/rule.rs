//! How labels are inferred: `--method` and `--set`, for every command that labels a pool.

use std::sync::Arc;

use clap::Args;
use handful_label::{LabelError, LabelParams, POOL, PoolRows, PreparedPool};

use crate::commands::entrants::changes;
use crate::error::CliError;

/// Which rule, with which parameters.
#[derive(Args, Clone, Debug)]
pub struct RuleArgs {
    /// How to infer labels: `pool` (presets adaptive, fast, smoothing) or any method of `handful params`, as NAME or
    /// NAME:PRESET
    #[arg(long, value_name = "NAME[:PRESET]", default_value = POOL)]
    method: String,
    /// Change a parameter of the rule, as key=value
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
}

impl RuleArgs {
    /// Prepares a pool for the rule. The outer error is the command line's, the inner one the pool's.
    pub fn prepare(
        &self,
        pool: Arc<dyn PoolRows>,
        look_for_strangers: bool,
    ) -> Result<Result<PreparedPool, LabelError>, CliError> {
        let (name, preset) = match self.method.split_once(':') {
            Some((name, preset)) => (name, Some(preset)),
            None => (self.method.as_str(), None),
        };
        if name != POOL {
            let method = handful::methods::build(name, preset, &changes(&self.set)?)?;
            let params = LabelParams { look_for_strangers, ..LabelParams::default() };
            return Ok(PreparedPool::for_method(pool, method, &params));
        }
        Ok(PreparedPool::new(pool, &self.params(preset, look_for_strangers)?))
    }

    fn params(&self, preset: Option<&str>, look_for_strangers: bool) -> Result<LabelParams, CliError> {
        let params = LabelParams::changed(preset, &changes(&self.set)?)?;
        Ok(LabelParams { look_for_strangers: look_for_strangers || params.look_for_strangers, ..params })
    }
}
