//! Every method, one file each, behind the [`Method`] trait.
//!
//! A method is a parameter type that can be checked ([`MethodParams`]) and the solver it turns into. [`build`] makes
//! one from a name, a preset and changed keys, which is how the command line and the studies get theirs. To add one:
//! write the file, and add its line to [`METHODS`].

mod alpha_tim;
mod am;
mod baseline;
mod baseline_pp;
mod bavardage;
mod bd_cspn;
mod bms;
mod bpa;
pub(crate) mod common;
mod dm;
pub mod dm_ida;
mod dsn;
mod ease;
mod entropy_min;
mod epnet;
mod ici;
mod ilpc;
mod label_spreading;
mod laplace;
mod laplacianshot;
mod logistic;
mod matching;
mod nohub;
mod oslo;
mod paddle;
mod poisson;
pub mod presets;
mod protolp;
mod protonet;
mod pt_map;
mod ridge;
mod self_training_confidence;
mod simpleshot;
pub mod single_fit;
mod soft_kmeans;
mod stata;
mod svm;
mod tafssl;
mod tim_adm;
mod tim_gd;
mod unem;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{ParamError, TaskError};
use crate::solution::Solution;
use crate::task::Task;

/// Which unlabelled rows a method learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// None: each query row is labelled by itself.
    Inductive,
    /// The query rows of a transductive task; the pool, and perhaps the query, of a semi-supervised one.
    UsesUnlabelled,
}

/// What a method knows besides the labelled rows; every table prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PriorKnowledge {
    /// Which unlabelled rows it learns from.
    pub setting: Setting,
    /// Whether it is told, or assumes as given, how many rows of each class there are.
    pub knows_class_sizes: bool,
}

/// A few-shot classifier on frozen features.
pub trait Method: Send + Sync {
    /// Its name on the command line.
    fn name(&self) -> &'static str;
    /// What it knows besides the labelled rows.
    fn prior(&self) -> PriorKnowledge;
    /// Its complete parameters.
    fn params(&self) -> Value;
    /// Labels the query and the unlabelled rows of a task.
    fn solve(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError>;
}

/// Parameters that become a method once checked.
pub trait MethodParams: Serialize + DeserializeOwned {
    /// The method's name.
    const NAME: &'static str;
    /// Its presets, the default first.
    const PRESETS: &'static [&'static str];

    /// A complete parameter set by name.
    fn preset(name: &str) -> Option<Self>;
    /// Checks every value and turns into the method.
    fn check(self) -> Result<Box<dyn Method>, ParamError>;
}

/// A changed parameter: key and value as typed.
pub type Change = (String, String);

/// Makes a method from a preset and changes to it.
type Build = fn(Option<&str>, &[Change]) -> Result<Box<dyn Method>, ParamError>;

/// A method that can be built by name.
pub struct MethodEntry {
    /// Its name.
    pub name: &'static str,
    /// Its presets, the default first.
    pub presets: &'static [&'static str],
    build: Build,
}

/// One line per method.
pub const METHODS: &[MethodEntry] = &[
    entry::<protonet::ProtonetParams>(),
    entry::<simpleshot::SimpleshotParams>(),
    entry::<matching::MatchingParams>(),
    entry::<baseline::BaselineParams>(),
    entry::<baseline_pp::BaselinePpParams>(),
    entry::<logistic::LogisticParams>(),
    entry::<ridge::RidgeParams>(),
    entry::<svm::SvmParams>(),
    entry::<dsn::DsnParams>(),
    entry::<entropy_min::EntropyMinParams>(),
    entry::<tim_gd::TimGdParams>(),
    entry::<tim_adm::TimAdmParams>(),
    entry::<alpha_tim::AlphaTimParams>(),
    entry::<bd_cspn::BdCspnParams>(),
    entry::<laplacianshot::LaplacianshotParams>(),
    entry::<epnet::EpnetParams>(),
    entry::<pt_map::PtMapParams>(),
    entry::<ilpc::IlpcParams>(),
    entry::<ease::EaseParams>(),
    entry::<protolp::ProtolpParams>(),
    entry::<tafssl::TafsslParams>(),
    entry::<paddle::PaddleParams>(),
    entry::<unem::UnemParams>(),
    entry::<oslo::OsloParams>(),
    entry::<bavardage::BavardageParams>(),
    entry::<bms::BmsParams>(),
    entry::<bpa::BpaParams>(),
    entry::<nohub::NohubParams>(),
    entry::<am::AmParams>(),
    entry::<stata::StataParams>(),
    entry::<poisson::PoissonParams>(),
    entry::<laplace::LaplaceParams>(),
    entry::<label_spreading::LabelSpreadingParams>(),
    entry::<ici::IciParams>(),
    entry::<soft_kmeans::SoftKmeansParams>(),
    entry::<self_training_confidence::ConfidenceParams>(),
    entry::<dm::DmParams>(),
    entry::<dm_ida::DmIdaParams>(),
];

const fn entry<P: MethodParams>() -> MethodEntry {
    MethodEntry { name: P::NAME, presets: P::PRESETS, build: build_from::<P> }
}

/// Builds a method from its name, a preset (its default one if none) and changes to single parameters.
pub fn build(name: &str, preset: Option<&str>, changes: &[Change]) -> Result<Box<dyn Method>, ParamError> {
    let entry = METHODS.iter().find(|entry| entry.name == name).ok_or_else(|| ParamError::UnknownMethod {
        name: name.to_owned(),
        known: METHODS.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
    })?;
    let method = (entry.build)(preset, changes)?;
    let transform = method.params().get("transform").and_then(Value::as_str).unwrap_or_default().to_owned();
    // Smoothing looks at rows without labels, which such a method says it does not.
    if method.prior().setting == Setting::Inductive && transform.contains("smooth:") {
        let expected = "a transform without smoothing, since this method looks at labelled rows only";
        return Err(ParamError::OutOfRange { key: "transform", value: transform, expected });
    }
    Ok(method)
}

fn build_from<P: MethodParams>(
    preset: Option<&str>,
    changes: &[Change],
) -> Result<Box<dyn Method>, ParamError> {
    changed_preset::<P>(preset, changes)?.check()
}

/// A preset with some of its values replaced, not yet checked.
pub fn changed_preset<P: MethodParams>(preset: Option<&str>, changes: &[Change]) -> Result<P, ParamError> {
    let preset = preset.unwrap_or(P::PRESETS[0]);
    let params = P::preset(preset).ok_or_else(|| ParamError::UnknownPreset {
        method: P::NAME,
        preset: preset.to_owned(),
        known: P::PRESETS.join(", "),
    })?;
    if changes.is_empty() {
        return Ok(params);
    }
    // One after the other, so that a value that does not fit is named with its key.
    let mut map = as_map(&params);
    let mut changed = params;
    for (key, text) in changes {
        change(&mut map, P::NAME, key, text)?;
        changed = P::deserialize(&Value::Object(map.clone())).map_err(|error| ParamError::BadValue {
            key: key.clone(),
            value: text.clone(),
            reason: error.to_string(),
        })?;
    }
    Ok(changed)
}

/// Replaces one value. A value is read as JSON where it is JSON (numbers, true, false), else as text.
fn change(
    map: &mut Map<String, Value>,
    method: &'static str,
    key: &str,
    text: &str,
) -> Result<(), ParamError> {
    if !map.contains_key(key) {
        let known = map.keys().cloned().collect::<Vec<_>>().join(", ");
        return Err(ParamError::UnknownKey { method, key: key.to_owned(), known });
    }
    let value = serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()));
    map.insert(key.to_owned(), value);
    Ok(())
}

/// Parameters as key and value; a parameter type is a flat struct, so it always is a map.
fn as_map<P: Serialize>(params: &P) -> Map<String, Value> {
    match serde_json::to_value(params) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_of_every_method_passes_its_own_check_and_is_complete() {
        for entry in METHODS {
            for preset in entry.presets {
                let method = build(entry.name, Some(preset), &[]).expect("presets are valid");
                assert_eq!(method.name(), entry.name);
                assert!(method.params().is_object(), "{} prints its parameters", entry.name);
            }
        }
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let error = build("tim", None, &[]).err().expect("no such method").to_string();
        assert!(error.contains("tim-gd"), "{error}");
        let error = build("tim-gd", Some("best"), &[]).err().expect("no such preset").to_string();
        assert!(error.contains("authors"), "{error}");
        let change = [("lr".to_owned(), "1".to_owned())];
        let error = build("tim-gd", None, &change).err().expect("no such key").to_string();
        assert!(error.contains("learning_rate"), "{error}");
    }

    #[test]
    fn a_method_that_looks_at_labelled_rows_only_cannot_smooth() {
        let smooth = [("transform".to_owned(), "l2+smooth:10:50".to_owned())];
        for entry in METHODS.iter().filter(|entry| entry.name != "dm-ida") {
            let Ok(plain) = build(entry.name, None, &[]) else { continue };
            if plain.params().get("transform").is_some() {
                let allowed = build(entry.name, None, &smooth).is_ok();
                assert_eq!(allowed, plain.prior().setting == Setting::UsesUnlabelled, "{}", entry.name);
            }
        }
    }

    #[test]
    fn changes_are_typed_and_checked() {
        let set = |key: &str, value: &str| build("dm-ida", None, &[(key.to_owned(), value.to_owned())]);
        assert_eq!(set("steps", "7").expect("a number").params()["steps"], 7);
        assert_eq!(set("objective", "dependence").expect("a kind").params()["objective"], "dependence");
        assert_eq!(
            set("feature_bandwidth", "0.5median").expect("text").params()["feature_bandwidth"],
            "0.5median"
        );
        for (key, value) in [("steps", "many"), ("objective", "dm"), ("learning_rate", "-1"), ("ridge", "0")]
        {
            let error = set(key, value).err().expect("refused").to_string();
            assert!(error.contains(key), "{error}");
        }
    }
}
