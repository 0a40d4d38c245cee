//! Which methods take part, with which presets and parameters: shared by every command that names methods.

use std::path::Path;

use clap::Args;
use handful::Method;
use handful::methods::trained::SYSTEMS;
use handful::methods::{self, Change, METHODS};
use handful_bench::grid::{Axis, combinations};
use handful_bench::preset_file::PresetFile;
use handful_bench::study::Entrant;
use handful_data::heads::HeadSource;
use handful_data::shipped;

use crate::error::CliError;

/// Methods and their parameters.
#[derive(Args, Default)]
pub struct EntrantArgs {
    /// Methods to compare, each `name`, `name:preset`, `name:file.toml` (written by `bench tune`) or `name:file.safetensors` (by `train --system`)
    #[arg(long, value_delimiter = ',', default_values_t = ["protonet".to_owned(), "tim-gd".to_owned(), "dm-ida".to_owned()])]
    pub method: Vec<String>,
    /// Preset, or preset file (*.toml), of every method that has it (those that do not keep their default)
    #[arg(long)]
    pub preset: Option<String>,
    /// Change a parameter of every method that has it, or of one as `method.key=value`; `handful params` lists keys
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Try several values of a parameter; with more than one --grid, every combination
    #[arg(long, value_name = "KEY=VALUE,VALUE,…")]
    pub grid: Vec<String>,
    /// Loss: cross-entropy, conditional-entropy, mutual-information, dependence, hybrid, fisher-dependence or fisher-hybrid
    #[arg(long)]
    pub objective: Option<String>,
    /// How dm-ida ranks pseudo-labels: ida, ida-bound, ida-confidence, confidence, nearest, random or ici
    #[arg(long)]
    pub selector: Option<String>,
}

/// One listed method before its grid is spread out.
pub struct Contender {
    /// The method's name.
    pub name: &'static str,
    /// Its preset's name or file, as typed.
    pub preset: String,
    /// Changes to the default preset, or to the named one.
    changes: Vec<Change>,
    base: Option<String>,
    head: Option<HeadSource>,
    /// The grid, as far as it concerns this method.
    pub axes: Vec<Axis>,
}

impl Contender {
    fn build(&self, changes: &[Change]) -> Result<Box<dyn Method>, CliError> {
        let Some(source) = &self.head else {
            return Ok(methods::build(self.name, self.base.as_deref(), changes)?);
        };
        match changes.first() {
            Some((key, _)) => Err(CliError::Usage(format!(
                "{key}: {} was trained with its constants, which cannot be changed any more",
                self.name
            ))),
            None => Ok(Box::new(source.read(self.name)?)),
        }
    }

    /// The method at one point of its grid.
    pub fn entrant(&self, point: &[Change]) -> Result<Entrant, CliError> {
        let changes = [self.changes.clone(), point.to_vec()].concat();
        let method = self.build(&changes)?;
        let variant = point.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ");
        let preset =
            if variant.is_empty() { self.preset.clone() } else { format!("{}[{variant}]", self.preset) };
        Ok(Entrant { preset, method })
    }
}

impl EntrantArgs {
    /// Builds every method at every point of its grid, refusing presets and keys that none of them has.
    pub fn build(&self) -> Result<Vec<Entrant>, CliError> {
        let mut entrants = Vec::new();
        for contender in self.contenders()? {
            for point in combinations(&contender.axes).map_err(CliError::usage)? {
                entrants.push(contender.entrant(&point)?);
            }
        }
        Ok(entrants)
    }

    /// The listed methods, checked, with their own part of the changes and of the grid.
    pub fn contenders(&self) -> Result<Vec<Contender>, CliError> {
        let mut changes = changes(&self.set)?;
        let short = [("objective", &self.objective), ("selector", &self.selector)];
        changes.extend(short.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value.clone()?))));
        let axes: Vec<(String, Vec<String>)> = self
            .grid
            .iter()
            .map(|text| Axis::parse(text).map(|axis| (axis.key, axis.values)))
            .collect::<Result<_, _>>()
            .map_err(|error| CliError::Usage(format!("--grid {error}")))?;

        let mut used = Used { set: vec![false; changes.len()], grid: vec![false; axes.len()] };
        let mut preset_used = self.preset.is_none();
        let mut contenders = Vec::new();
        for text in &self.method {
            let mut contender = self.listed(text, &mut preset_used)?;
            let plain = contender.build(&contender.changes)?;
            let known = |key: &str| contender.head.is_none() && plain.params().get(key).is_some();
            contender.changes.extend(self.concerned(text, &changes, &mut used.set, known));
            let own = self.concerned(text, &axes, &mut used.grid, known);
            contender.axes = own.into_iter().map(|(key, values)| Axis { key, values }).collect();
            contender.entrant(&[])?;
            contenders.push(contender);
        }
        used.check(&changes, &axes)?;
        match &self.preset {
            Some(preset) if !preset_used => Err(unknown_preset(preset, &self.method)),
            _ => Ok(contenders),
        }
    }

    /// One `name`, `name:preset` or `name:file.toml`.
    fn listed(&self, text: &str, preset_used: &mut bool) -> Result<Contender, CliError> {
        let (name, own) = match text.split_once(':') {
            Some((name, preset)) => (name, Some(preset)),
            None => (text, None),
        };
        if let Some(contender) = trained(name, own)? {
            return Ok(contender);
        }
        let entry = METHODS.iter().find(|entry| entry.name == name);
        let Some(entry) = entry else {
            return Err(methods::build(name, None, &[])
                .err()
                .map_or_else(|| CliError::usage(name), CliError::from));
        };
        let mut contender = Contender {
            name: entry.name,
            preset: "default".to_owned(),
            changes: Vec::new(),
            base: None,
            head: None,
            axes: Vec::new(),
        };
        let shared = self.preset.as_deref().filter(|_| own.is_none());
        if let Some(path) = own.or(shared).filter(|preset| is_file_name(preset)) {
            let file = PresetFile::read(Path::new(path)).map_err(CliError::usage)?;
            match file.changes(name) {
                Some(changes) => {
                    *preset_used |= own.is_none();
                    contender.preset = path.to_owned();
                    contender.changes = changes.to_vec();
                }
                None if own.is_some() => {
                    let known = file.method_names().collect::<Vec<_>>().join(", ");
                    return Err(CliError::Usage(format!("{path} has no [{name}]; it has {known}")));
                }
                None => {}
            }
        } else if let Some(preset) = own.or(shared.filter(|preset| entry.presets.contains(preset))) {
            *preset_used |= own.is_none();
            contender.preset = preset.to_owned();
            contender.base = Some(preset.to_owned());
        }
        Ok(contender)
    }

    /// Which of the keyed items are meant for the method listed as `text`; marks them as used.
    fn concerned<T: Clone>(
        &self,
        text: &str,
        items: &[(String, T)],
        used: &mut [bool],
        known: impl Fn(&str) -> bool,
    ) -> Vec<(String, T)> {
        let name = text.split_once(':').map_or(text, |(name, _)| name);
        let mut own = Vec::new();
        for ((key, value), used) in items.iter().zip(used) {
            let (scope, key) = key.split_once('.').map_or((None, key.as_str()), |(m, k)| (Some(m), k));
            // `dm-ida.key` means every preset of dm-ida, unless plain dm-ida itself takes part.
            let exact = scope.is_some_and(|scope| self.method.iter().any(|listed| listed == scope));
            let meant = scope.is_none_or(|scope| scope == text || (!exact && scope == name));
            // A key of one method alone is an error there; a shared key concerns those that have it.
            if meant && (known(key) || scope.is_some() || self.method.len() == 1) {
                *used = true;
                own.push((key.to_owned(), value.clone()));
            }
        }
        own
    }
}

/// A system with its head: a file, or one that comes with the program, as `1-shot` or `5-shot`.
fn trained(name: &str, own: Option<&str>) -> Result<Option<Contender>, CliError> {
    let Some(entry) = SYSTEMS.iter().find(|entry| entry.name == name) else { return Ok(None) };
    let is_head = |text: &&str| Path::new(text).extension().is_some_and(|end| end == "safetensors");
    let shots: Vec<usize> = shipped::heads(name).collect();
    let preset = |shots: &usize| format!("{shots}-shot");
    let (head, preset) = match own {
        Some(path) if is_head(&path) => (HeadSource::File(path.into()), path.to_owned()),
        // A name that is both: without a head it is the method of parameters alone.
        own if METHODS.iter().any(|entry| entry.name == name)
            && !own.is_some_and(|own| shots.iter().any(|shots| preset(shots) == own)) =>
        {
            return Ok(None);
        }
        own => {
            let chosen = shots.iter().find(|shots| own.is_none_or(|own| preset(shots) == own));
            let Some(&shots) = chosen else {
                let known = shots.iter().map(preset).collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { String::new() } else { format!(", or {name}:{known}") };
                return Err(CliError::Usage(format!(
                    "{name} is learnt from tasks: give its head as {name}:file.safetensors, which \
                     `handful train --system {name}` writes{known}"
                )));
            };
            (HeadSource::Shipped { shots }, preset(&shots))
        }
    };
    let (changes, axes) = (Vec::new(), Vec::new());
    Ok(Some(Contender { name: entry.name, preset, changes, base: None, head: Some(head), axes }))
}

/// Which items of `--set` and `--grid` concerned any method.
struct Used {
    set: Vec<bool>,
    grid: Vec<bool>,
}

impl Used {
    fn check<S, G>(&self, set: &[(String, S)], grid: &[(String, G)]) -> Result<(), CliError> {
        let set = set.iter().map(|(key, _)| ("--set", key)).zip(&self.set);
        let grid = grid.iter().map(|(key, _)| ("--grid", key)).zip(&self.grid);
        match set.chain(grid).find(|(_, used)| !**used) {
            Some(((option, key), _)) => {
                Err(CliError::Usage(format!("{option} {key}: none of the methods given has that parameter")))
            }
            None => Ok(()),
        }
    }
}

fn is_file_name(preset: &str) -> bool {
    Path::new(preset).extension().is_some_and(|extension| extension == "toml")
}

fn unknown_preset(preset: &str, methods: &[String]) -> CliError {
    let presets = |name: &String| {
        let entry = METHODS.iter().find(|entry| entry.name == name)?;
        Some(format!("{name} has {}", entry.presets.join(", ")))
    };
    let known = methods.iter().filter_map(presets).collect::<Vec<_>>().join("; ");
    CliError::Usage(format!("--preset {preset}: none of the methods given has that preset ({known})"))
}

/// The changes of `--set`, each written as key=value.
pub fn changes(set: &[String]) -> Result<Vec<Change>, CliError> {
    set.iter().map(|text| split_change(text)).collect()
}

fn split_change(text: &str) -> Result<Change, CliError> {
    let (key, value) = text
        .split_once('=')
        .ok_or_else(|| CliError::Usage(format!("--set {text}: write it as key=value")))?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
