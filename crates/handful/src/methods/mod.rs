//! Every method, one file each, behind the [`Method`] trait.
//!
//! A method is a parameter type that can be checked ([`MethodParams`]) and the solver it turns into. In code, get one from
//! its typed [`Builder`], as `DmIda::builder().steps(200).build()?`; [`build`] makes one from a name, a preset and changed
//! keys, which is how the command line and the studies get theirs. To add one: write the file, and add its line to
//! [`METHODS`] and to the list of names below it. A method of your own needs none of this: implement [`Method`].

mod alpha_tim;
mod am;
mod baseline;
mod baseline_pp;
mod bavardage;
mod bd_cspn;
mod bms;
mod bpa;
mod builder;
pub(crate) mod common;
mod deepemd;
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
pub mod trained;
mod unem;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::embedder::Embedder;
use crate::error::{MOST_COUNT, ParamError, TaskError};
use crate::solution::Solution;
use crate::task::Task;
use crate::transform::Transform;

/// Which unlabelled rows a method learns from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Setting {
    /// None: each query row is labelled by itself.
    Inductive,
    /// The query rows of a transductive task; the pool, and perhaps the query, of a semi-supervised one.
    #[serde(rename = "uses-unlabelled")]
    UsesUnlabeled,
}

impl Setting {
    /// Refuses a transform that looks at rows without labels where a method says that it does not.
    pub(crate) fn check_transform(self, transform: &Transform) -> Result<(), ParamError> {
        if self == Self::Inductive && transform.smooths() {
            let expected = "a transform without smoothing, since this method looks at labelled rows only";
            return Err(ParamError::OutOfRange { key: "transform", value: transform.to_string(), expected });
        }
        Ok(())
    }
}

/// What a method knows besides the labelled rows; every table prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// Refuses features of another network than the one it was trained on; most methods were trained on none.
    ///
    /// # Errors
    /// [`TaskError::Unsupported`] names both networks.
    fn check_embedder(&self, _features: &Embedder) -> Result<(), TaskError> {
        Ok(())
    }
    /// Labels the query and the unlabelled rows of a task.
    ///
    /// # Errors
    /// [`TaskError`] for a task that this method cannot solve.
    fn solve(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError>;
}

/// Parameters that become a method once checked.
pub trait MethodParams: Serialize + DeserializeOwned {
    /// What they become.
    type Method: Method + 'static;
    /// The method's name.
    const NAME: &'static str;
    /// Its presets, the default first.
    const PRESETS: &'static [&'static str];

    /// Returns the first of the presets.
    fn default_preset() -> Self;
    /// Returns a complete parameter set by name.
    fn preset(name: &str) -> Option<Self>;
    /// Checks every value and turns into the method.
    ///
    /// # Errors
    /// [`ParamError::OutOfRange`] names the first value that is wrong.
    fn check(self) -> Result<Self::Method, ParamError>;
}

/// A method of this crate whose parameters have passed their check.
#[derive(Clone, Debug, PartialEq)]
pub struct Checked<P>(P);

impl<P: MethodParams> Checked<P> {
    /// Starts a builder at the default preset.
    pub fn builder() -> Builder<P> {
        Builder::new()
    }
}

/// Parameters that know how to solve a task once checked.
pub(crate) trait Solve: MethodParams {
    /// What the method knows besides the labelled rows.
    fn prior(&self) -> PriorKnowledge;
    /// Labels a task.
    fn solve(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError>;
}

impl<P: Solve + Send + Sync> Method for Checked<P> {
    fn name(&self) -> &'static str {
        P::NAME
    }

    fn prior(&self) -> PriorKnowledge {
        Solve::prior(&self.0)
    }

    fn params(&self) -> Value {
        as_map(&self.0).into()
    }

    fn solve(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        Solve::solve(&self.0, task)
    }
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
    entry::<deepemd::DeepemdParams>(),
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

/// Names the checked methods and makes their parameters public.
macro_rules! named {
    ($($method:ident = $module:ident::$params:ident;)+) => {
        $(
            #[doc = concat!("The method of [`", stringify!($params), "`].")]
            pub type $method = Checked<$params>;
            pub use $module::$params;
        )+
    };
}

named! {
    Protonet = protonet::ProtonetParams;
    Simpleshot = simpleshot::SimpleshotParams;
    Matching = matching::MatchingParams;
    Baseline = baseline::BaselineParams;
    BaselinePp = baseline_pp::BaselinePpParams;
    Logistic = logistic::LogisticParams;
    Ridge = ridge::RidgeParams;
    Svm = svm::SvmParams;
    Dsn = dsn::DsnParams;
    Deepemd = deepemd::DeepemdParams;
    EntropyMin = entropy_min::EntropyMinParams;
    TimGd = tim_gd::TimGdParams;
    TimAdm = tim_adm::TimAdmParams;
    AlphaTim = alpha_tim::AlphaTimParams;
    BdCspn = bd_cspn::BdCspnParams;
    Laplacianshot = laplacianshot::LaplacianshotParams;
    Epnet = epnet::EpnetParams;
    PtMap = pt_map::PtMapParams;
    Ilpc = ilpc::IlpcParams;
    Ease = ease::EaseParams;
    Protolp = protolp::ProtolpParams;
    Tafssl = tafssl::TafsslParams;
    Paddle = paddle::PaddleParams;
    Oslo = oslo::OsloParams;
    LabelSpreading = label_spreading::LabelSpreadingParams;
    Ici = ici::IciParams;
    SoftKmeans = soft_kmeans::SoftKmeansParams;
    SelfTraining = self_training_confidence::ConfidenceParams;
    Dm = dm::DmParams;
    Unem = unem::UnemParams;
    Bavardage = bavardage::BavardageParams;
    Bms = bms::BmsParams;
    Bpa = bpa::BpaParams;
    Nohub = nohub::NohubParams;
    Am = am::AmParams;
    Stata = stata::StataParams;
    Poisson = poisson::PoissonParams;
    Laplace = laplace::LaplaceParams;
}

pub use baseline_pp::{Optimiser, Start};
pub use bd_cspn::Classified;
pub use builder::Builder;
pub use common::rectification::{Averaging, Rectification, SupportRows, Weighting};
pub use common::transport_map::TransportMap;
pub use deepemd::Solver;
pub use dm_ida::{DmIda, DmIdaParams};
pub use dsn::Origin;
pub use label_spreading::Graph;
pub use paddle::Scaling;
pub use simpleshot::Metric;
pub use tafssl::{Labeller, Projection};

const fn entry<P: MethodParams>() -> MethodEntry {
    MethodEntry { name: P::NAME, presets: P::PRESETS, build: build_from::<P> }
}

/// Builds a method from its name, a preset (its default one if none) and changes to single parameters.
///
/// # Errors
/// [`ParamError`] names what there is instead of an unknown method, preset or key, and what a value must be.
pub fn build(name: &str, preset: Option<&str>, changes: &[Change]) -> Result<Box<dyn Method>, ParamError> {
    let entry = METHODS.iter().find(|entry| entry.name == name).ok_or_else(|| ParamError::UnknownMethod {
        name: name.to_owned(),
        known: METHODS.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", "),
    })?;
    (entry.build)(preset, changes)
}

fn build_from<P: MethodParams>(
    preset: Option<&str>,
    changes: &[Change],
) -> Result<Box<dyn Method>, ParamError> {
    Ok(Box::new(Builder::from(changed_preset::<P>(preset, changes)?).build()?))
}

/// Refuses counts (steps, rounds, neighbours) beyond every use, which would never come to an end.
fn check_counts(params: &Map<String, Value>) -> Result<(), ParamError> {
    let too_large = |value: &Value| value.as_u64().is_some_and(|count| count > MOST_COUNT);
    match params.iter().find(|(key, value)| key.as_str() != "seed" && too_large(value)) {
        Some((key, value)) => Err(ParamError::BadValue {
            key: key.clone(),
            value: value.to_string(),
            reason: format!("expected at most {MOST_COUNT}"),
        }),
        None => Ok(()),
    }
}

/// Returns a preset with some of its values replaced, not yet checked.
///
/// # Errors
/// [`ParamError`] for a preset or key there is none of, or a value of another kind.
pub fn changed_preset<P: MethodParams>(preset: Option<&str>, changes: &[Change]) -> Result<P, ParamError> {
    changed(preset.map_or_else(|| Ok(P::default_preset()), named_preset)?, changes)
}

fn named_preset<P: MethodParams>(name: &str) -> Result<P, ParamError> {
    P::preset(name).ok_or_else(|| ParamError::UnknownPreset {
        method: P::NAME,
        preset: name.to_owned(),
        known: P::PRESETS.join(", "),
    })
}

/// Parameters with some of their values replaced, not yet checked.
fn changed<P: MethodParams>(params: P, changes: &[Change]) -> Result<P, ParamError> {
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
                assert_eq!(allowed, plain.prior().setting == Setting::UsesUnlabeled, "{}", entry.name);
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

    #[test]
    fn counts_have_an_end_in_every_method() {
        for entry in METHODS {
            let Ok(method) = build(entry.name, None, &[]) else { continue };
            let params = as_map(&method.params());
            for (key, _) in params.iter().filter(|(key, value)| *key != "seed" && value.is_u64()) {
                let endless = [(key.clone(), u64::MAX.to_string())];
                let error = build(entry.name, None, &endless).err().expect("refused").to_string();
                assert!(error.contains(key) && error.contains("at most"), "{}: {error}", entry.name);
            }
        }
    }
}
