//! What the labelling job can be told.

use handful::error::{ParamError, check_range};
use handful::methods::Change;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::members::Member;

/// How labels are inferred: the presets of `pool`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Several members, weighed by cross-validation on the given labels.
    #[default]
    Adaptive,
    /// One robust member and labels left out only to calibrate it.
    Fast,
    /// Feature smoothing, a softmax head, label spreading and IDA, as in release 0.1.
    Smoothing,
    /// One member of the adaptive rule alone.
    Only(Member),
}

/// The name of the rule of pools beside the methods of tasks.
pub const POOL: &str = "pool";

impl Rule {
    /// The names of the presets, the default first.
    pub const NAMES: [&'static str; 3] = ["adaptive", "fast", "smoothing"];

    /// The rule of that name, or the member of that name alone; `default` is the adaptive one.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "adaptive" | "default" => Some(Self::Adaptive),
            "fast" => Some(Self::Fast),
            "smoothing" => Some(Self::Smoothing),
            _ => Member::ALL.into_iter().find(|member| member.name() == name).map(Self::Only),
        }
    }
}

/// Everything the job can be told.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LabelParams {
    /// How labels are inferred.
    pub rule: Rule,
    /// Principal coordinates in which rows are compared.
    pub components: usize,
    /// Neighbours of a row.
    pub neighbours: usize,
    /// The most rows that the rule itself sees. Of larger pools a sample of this size is fitted, and the others are
    /// predicted from it (`smoothing`: the most rows for which every row is compared with every other).
    pub exact_rows: usize,
    /// The most parts in which labels are left out; 0 leaves none out and calibrates nothing.
    pub left_out_parts: usize,
    /// How far labels of classes with many are made to count less: 0 counts every label the same, 1 every class.
    /// Halfway is the cautious choice (`docs/src/results/labelling.md`).
    pub class_balance: f64,
    /// Look for rows of no class.
    pub look_for_strangers: bool,
    /// Seed of the start of the principal directions.
    pub seed: u64,
    /// What only [`Rule::Smoothing`] reads.
    #[serde(flatten)]
    pub smoothing: SmoothingParams,
}

/// Parameters of [`Rule::Smoothing`]; the defaults were tuned on the CIFAR-FS validation classes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SmoothingParams {
    /// Share of the neighbourhood in smoothed features.
    pub feature_share: f64,
    /// Rounds of smoothing features.
    pub feature_rounds: usize,
    /// Share of the neighbourhood in smoothed predictions.
    pub prediction_share: f64,
    /// Rounds of smoothing predictions.
    pub prediction_rounds: usize,
    /// C of the softmax head.
    pub inverse_penalty: f64,
    /// Rounds of selection by IDA.
    pub selection_rounds: usize,
    /// Rows that join in a round, as a share of the rows labelled with each class: large classes give more.
    pub selected_share: f64,
    /// The most rows that join in a round; the share shrinks where it would come to more.
    pub selected_most: usize,
    /// What all joined rows together weigh, in given labels.
    pub pseudo_label_weight: f64,
    /// Leading coordinates in which IDA is computed.
    pub ida_components: usize,
    /// Landmarks of larger pools.
    pub landmarks: usize,
    /// Landmarks of a row.
    pub landmark_neighbours: usize,
    /// Rounds of smoothing features through landmarks, each of which reaches further than an exact one.
    pub landmark_feature_rounds: usize,
    /// T of probabilities where too few labels can be left out to fit one, and what a fitted T is pulled towards.
    pub prior_temperature: f64,
    /// How strongly it is pulled: the log-loss that a T off by a factor of e costs, in nats. At 0 the labels left out
    /// decide alone.
    pub prior_weight: f64,
    /// What estimated errors are multiplied by before rows are accepted.
    pub error_safety: f64,
}

impl LabelParams {
    /// The defaults with another rule.
    pub fn of_rule(rule: Rule) -> Self {
        Self { rule, ..Self::default() }
    }

    /// A preset by name (the adaptive rule if none), with some of its values replaced.
    ///
    /// # Errors
    /// A preset or a key that there is not, a value that is no number, true or false.
    pub fn changed(preset: Option<&str>, changes: &[Change]) -> Result<Self, ParamError> {
        let rule = preset.map_or(Some(Rule::default()), Rule::by_name).ok_or_else(|| {
            let members = Member::ALL.map(Member::name).join(", ");
            let known = format!("{}, and each member alone: {members}", Rule::NAMES.join(", "));
            let preset = preset.unwrap_or_default().to_owned();
            ParamError::UnknownPreset { method: POOL, preset, known }
        })?;
        let mut params = Self::of_rule(rule);
        let mut map = match serde_json::to_value(params) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        };
        let own_rule = map.remove("rule").unwrap_or_default();
        for (key, text) in changes {
            if !map.contains_key(key) {
                let known = map.keys().cloned().collect::<Vec<_>>().join(", ");
                return Err(ParamError::UnknownKey { method: POOL, key: key.clone(), known });
            }
            let bad = |reason: String| ParamError::BadValue { key: key.clone(), value: text.clone(), reason };
            let value = serde_json::from_str(text)
                .map_err(|_| bad("the value must be a number, true or false".into()))?;
            map.insert(key.clone(), value);
            let mut whole = map.clone();
            whole.insert("rule".into(), own_rule.clone());
            // One after the other, so that a value that does not fit is named with its key.
            params = serde_json::from_value(Value::Object(whole)).map_err(|error| bad(error.to_string()))?;
        }
        Ok(params)
    }

    /// Checks every value's range.
    ///
    /// # Errors
    /// The first value outside its range.
    pub fn check(&self) -> Result<(), ParamError> {
        let smoothing = &self.smoothing;
        for (key, value) in [
            ("components", self.components),
            ("neighbours", self.neighbours),
            ("ida_components", smoothing.ida_components),
            ("landmarks", smoothing.landmarks),
            ("landmark_neighbours", smoothing.landmark_neighbours),
            ("selected_most", smoothing.selected_most),
        ] {
            check_range(key, value as f64, value > 0, "at least 1")?;
        }
        for (key, value) in [
            ("feature_rounds", smoothing.feature_rounds),
            ("prediction_rounds", smoothing.prediction_rounds),
            ("landmark_feature_rounds", smoothing.landmark_feature_rounds),
            ("selection_rounds", smoothing.selection_rounds),
        ] {
            check_range(key, value as f64, value <= MOST_ROUNDS, "at most 1000")?;
        }
        for (key, value) in [
            ("feature_share", smoothing.feature_share),
            ("prediction_share", smoothing.prediction_share),
            ("selected_share", smoothing.selected_share),
            ("class_balance", self.class_balance),
        ] {
            check_range(key, value, (0.0..=1.0).contains(&value), "a number from 0 to 1")?;
        }
        for (key, value) in [
            ("inverse_penalty", smoothing.inverse_penalty),
            ("pseudo_label_weight", smoothing.pseudo_label_weight),
            ("prior_temperature", smoothing.prior_temperature),
            ("error_safety", smoothing.error_safety),
        ] {
            check_range(key, value, value > 0.0, "a number above 0")?;
        }
        check_range("prior_weight", smoothing.prior_weight, smoothing.prior_weight >= 0.0, "a number from 0")
    }
}

/// Rounds of anything that repeats: beyond this it is a slip of the pen.
const MOST_ROUNDS: usize = 1000;

impl Default for LabelParams {
    fn default() -> Self {
        Self {
            rule: Rule::default(),
            components: 128,
            neighbours: 10,
            exact_rows: 20_000,
            left_out_parts: 5,
            class_balance: 0.5,
            look_for_strangers: false,
            seed: 1,
            smoothing: SmoothingParams::default(),
        }
    }
}

impl Default for SmoothingParams {
    fn default() -> Self {
        Self {
            feature_share: 0.8,
            feature_rounds: 3,
            prediction_share: 0.8,
            prediction_rounds: 5,
            inverse_penalty: 10.0,
            selection_rounds: 1,
            selected_share: 0.05,
            selected_most: 2000,
            pseudo_label_weight: 0.3,
            ida_components: 16,
            landmarks: 4096,
            landmark_neighbours: 6,
            landmark_feature_rounds: 2,
            prior_temperature: 0.8,
            prior_weight: 100.0,
            error_safety: 1.3,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn presets_and_changes_go_by_name_and_slips_are_told() {
        let change = |key: &str, value: &str| [(key.to_owned(), value.to_owned())];
        assert_eq!(LabelParams::changed(None, &[]), Ok(LabelParams::default()));
        let params = LabelParams::changed(Some("fast"), &change("neighbours", "7")).expect("known");
        assert_eq!((params.rule, params.neighbours), (Rule::Fast, 7));
        for name in Rule::NAMES {
            let params = LabelParams::changed(Some(name), &change("neighbours", "7")).expect("known");
            assert_eq!(Some(params.rule), Rule::by_name(name));
        }
        let refused = |preset, changes: &[Change]| LabelParams::changed(preset, changes).err();
        assert!(matches!(refused(Some("best"), &[]), Some(ParamError::UnknownPreset { .. })));
        assert!(matches!(refused(None, &change("neighbors", "3")), Some(ParamError::UnknownKey { .. })));
        assert!(matches!(refused(None, &change("rule", "fast")), Some(ParamError::UnknownKey { .. })));
        assert!(matches!(refused(None, &change("neighbours", "few")), Some(ParamError::BadValue { .. })));
        assert!(matches!(refused(None, &change("neighbours", "-1")), Some(ParamError::BadValue { .. })));
    }
}
