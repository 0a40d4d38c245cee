//! How labels are inferred: `--method` and `--set`, for every command that labels a pool.

use std::sync::Arc;

use clap::Args;
use handful_label::{LabelError, LabelParams, PoolRows, PreparedPool, Rule};
use serde_json::Value;

use crate::commands::entrants::changes;
use crate::error::CliError;

/// The rule of pools, as opposed to the methods of tasks.
const POOL: &str = "pool";

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
        let rule = match preset {
            None => Rule::default(),
            Some(name) => Rule::by_name(name).ok_or_else(|| {
                CliError::Usage(format!(
                    "--method {POOL}:{name}: there is no such preset; there are {}",
                    Rule::NAMES.join(", ")
                ))
            })?,
        };
        let params = LabelParams { look_for_strangers, ..LabelParams::of_rule(rule) };
        let mut map = match serde_json::to_value(params) {
            Ok(Value::Object(map)) => map,
            _ => serde_json::Map::new(),
        };
        for (key, text) in changes(&self.set)? {
            if !map.contains_key(&key) || key == "rule" {
                let known = map.keys().filter(|key| *key != "rule").cloned().collect::<Vec<_>>().join(", ");
                return Err(CliError::Usage(format!(
                    "--set {key}: there is no such parameter; there are {known}"
                )));
            }
            let value = serde_json::from_str(&text).map_err(|_| {
                CliError::Usage(format!("--set {key}={text}: the value must be a number, true or false"))
            })?;
            map.insert(key, value);
        }
        serde_json::from_value(Value::Object(map)).map_err(|error| CliError::Usage(format!("--set: {error}")))
    }
}
