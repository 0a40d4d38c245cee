//! Which methods take part, with which presets and parameters: shared by every command that names methods.

use clap::Args;
use handful::methods::{self, Change, METHODS};
use handful_bench::study::Entrant;

use crate::error::CliError;

/// Methods and their parameters.
#[derive(Args)]
pub struct EntrantArgs {
    /// Methods to compare, each `name` or `name:preset`
    #[arg(long, value_delimiter = ',', default_values_t = ["protonet".to_owned(), "tim-gd".to_owned(), "dm-ida".to_owned()])]
    pub method: Vec<String>,
    /// Preset of every method that has it (those that do not keep their default)
    #[arg(long)]
    pub preset: Option<String>,
    /// Change a parameter of every method that has it, or of one as `method.key=value`; `handful params` lists keys
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Loss: cross-entropy, conditional-entropy, mutual-information, dependence or hybrid
    #[arg(long)]
    pub objective: Option<String>,
    /// How dm-ida ranks pseudo-labels: ida, ida-bound, confidence, nearest, random or ici
    #[arg(long)]
    pub selector: Option<String>,
}

impl EntrantArgs {
    /// Builds every method, refusing presets and keys that none of them has.
    pub fn build(&self) -> Result<Vec<Entrant>, CliError> {
        let mut changes: Vec<Change> =
            self.set.iter().map(|text| split_change(text)).collect::<Result<_, _>>()?;
        let short = [("objective", &self.objective), ("selector", &self.selector)];
        changes.extend(short.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.clone()?))));

        let mut used = vec![false; changes.len()];
        let mut preset_used = self.preset.is_none();
        let mut entrants = Vec::new();
        for text in &self.method {
            let (name, own_preset) = match text.split_once(':') {
                Some((name, preset)) => (name, Some(preset)),
                None => (text.as_str(), None),
            };
            let presets =
                METHODS.iter().find(|entry| entry.name == name).map_or(&[][..], |entry| entry.presets);
            let shared = self.preset.as_deref().filter(|preset| presets.contains(preset));
            preset_used |= shared.is_some();
            let preset = own_preset.or(shared);
            let plain = methods::build(name, preset, &[])?;
            let mut own = Vec::new();
            for ((key, value), used) in changes.iter().zip(&mut used) {
                let (scope, key) = key.split_once('.').map_or((None, key.as_str()), |(m, k)| (Some(m), k));
                // `dm-ida.key` means every preset of dm-ida, unless plain dm-ida itself takes part.
                let exact = scope.is_some_and(|scope| self.method.iter().any(|listed| listed == scope));
                let meant = scope.is_none_or(|scope| scope == text || (!exact && scope == name));
                let known = plain.params().get(key).is_some();
                // A key of one method alone is an error there; a shared key concerns those that have it.
                if meant && (known || scope.is_some() || self.method.len() == 1) {
                    *used = true;
                    own.push((key.to_owned(), value.clone()));
                }
            }
            let method = methods::build(name, preset, &own)?;
            entrants.push(Entrant { preset: preset.unwrap_or("default").to_owned(), method });
        }
        if let Some((key, _)) = changes.iter().zip(used).find_map(|(change, used)| (!used).then_some(change))
        {
            return Err(CliError::Usage(format!(
                "--set {key}: none of the methods given has that parameter"
            )));
        }
        match &self.preset {
            Some(preset) if !preset_used => Err(unknown_preset(preset, &self.method)),
            _ => Ok(entrants),
        }
    }
}

fn unknown_preset(preset: &str, methods: &[String]) -> CliError {
    let presets = |name: &String| {
        let entry = METHODS.iter().find(|entry| entry.name == name)?;
        Some(format!("{name} has {}", entry.presets.join(", ")))
    };
    let known = methods.iter().filter_map(presets).collect::<Vec<_>>().join("; ");
    CliError::Usage(format!("--preset {preset}: none of the methods given has that preset ({known})"))
}

fn split_change(text: &str) -> Result<Change, CliError> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| CliError::Usage(format!("--set {text}: write it as key=value")))?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
