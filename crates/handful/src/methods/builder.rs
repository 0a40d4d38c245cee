//! Typed builders: every parameter of every method as a setter, checked by [`Builder::build`].
//!
//! ```
//! use handful::methods::{DmIda, Ridge};
//!
//! let method = DmIda::builder().steps(200).learning_rate(0.05).build()?;
//! let plain = DmIda::builder().preset("plain")?.build()?;
//! assert!(Ridge::builder().penalty(-1.0).build().is_err());
//! # Ok::<(), handful::error::ParamError>(())
//! ```
//!
//! The setters carry the names that `--set` and preset files know; [`Builder::set`] takes those as text.

use super::alpha_tim::AlphaTimParams;
use super::am::AmParams;
use super::baseline::BaselineParams;
use super::baseline_pp::{BaselinePpParams, Optimiser, Start};
use super::bavardage::BavardageParams;
use super::bd_cspn::{BdCspnParams, Classified};
use super::bms::BmsParams;
use super::bpa::BpaParams;
use super::common::rectification::{Averaging, SupportRows, Weighting};
use super::deepemd::{DeepemdParams, Solver};
use super::dm::DmParams;
use super::dm_ida::DmIdaParams;
use super::dsn::{DsnParams, Origin};
use super::ease::EaseParams;
use super::entropy_min::EntropyMinParams;
use super::epnet::EpnetParams;
use super::ici::IciParams;
use super::ilpc::IlpcParams;
use super::label_spreading::{Graph, LabelSpreadingParams};
use super::laplace::LaplaceParams;
use super::laplacianshot::LaplacianshotParams;
use super::logistic::LogisticParams;
use super::matching::MatchingParams;
use super::nohub::NohubParams;
use super::oslo::OsloParams;
use super::paddle::{PaddleParams, Scaling};
use super::poisson::PoissonParams;
use super::protolp::ProtolpParams;
use super::protonet::ProtonetParams;
use super::pt_map::PtMapParams;
use super::ridge::RidgeParams;
use super::self_training_confidence::ConfidenceParams;
use super::simpleshot::{Metric, SimpleshotParams};
use super::soft_kmeans::SoftKmeansParams;
use super::stata::StataParams;
use super::svm::SvmParams;
use super::tafssl::{Labeller, Projection, TafsslParams};
use super::tim_adm::TimAdmParams;
use super::tim_gd::TimGdParams;
use super::unem::UnemParams;
use super::{MethodParams, as_map, changed, check_counts, named_preset};
use crate::error::ParamError;
use crate::fit::Head;
use crate::fit::adam::StepScale;
use crate::fit::basis::Basis;
use crate::fit::class_shares::WantedShares;
use crate::paper::hsic::{Bandwidth, KernelFeatures};
use crate::paper::ida::RidgeScale;
use crate::paper::objective::{DependenceScale, ObjectiveKind};
use crate::self_training::class_sizes::ClassSizes;
use crate::self_training::select::SelectorKind;
use crate::self_training::{Keep, UnlabeledRows};
use crate::transform::Transform;

/// Parameters on their way to a method; starts from the default preset.
#[derive(Clone, Debug, PartialEq)]
pub struct Builder<P> {
    params: P,
}

impl<P: MethodParams> From<P> for Builder<P> {
    fn from(params: P) -> Self {
        Self { params }
    }
}

impl<P: MethodParams> Builder<P> {
    pub(super) fn new() -> Self {
        Self::from(P::default_preset())
    }

    /// Starts over from a preset.
    ///
    /// # Errors
    /// [`ParamError::UnknownPreset`] names the presets there are.
    pub fn preset(self, name: &str) -> Result<Self, ParamError> {
        Ok(Self { params: named_preset(name)? })
    }

    /// Sets a parameter by name, from text, as `--set key=value` does.
    ///
    /// # Errors
    /// [`ParamError::UnknownKey`], or [`ParamError::BadValue`] for text of another kind than the parameter.
    pub fn set(self, key: &str, value: &str) -> Result<Self, ParamError> {
        Ok(Self { params: changed(self.params, &[(key.to_owned(), value.to_owned())])? })
    }

    /// Returns the parameters so far, unchecked.
    pub fn params(&self) -> &P {
        &self.params
    }

    /// Checks every parameter and makes the method.
    ///
    /// # Errors
    /// [`ParamError::OutOfRange`] names the first parameter that no task could be solved with.
    pub fn build(self) -> Result<P::Method, ParamError> {
        check_counts(&as_map(&self.params))?;
        self.params.check()
    }
}

/// One setter a parameter, under the name it has as text.
macro_rules! setters {
    ($params:ty { $($name:ident: $type:ty => $($field:tt).+,)+ }) => {
        impl Builder<$params> {
            $(
                #[doc = concat!("Sets `", stringify!($name), "`.")]
                #[must_use]
                pub fn $name(mut self, value: $type) -> Self {
                    self.params.$($field).+ = value;
                    self
                }
            )+
        }
    };
}

setters!(ProtonetParams {
    transform: Transform => transform,
    temperature: f64 => temperature,
});

setters!(SimpleshotParams {
    transform: Transform => transform,
    metric: Metric => metric,
    temperature: f64 => temperature,
});

setters!(MatchingParams {
    transform: Transform => transform,
    scale: f64 => scale,
});

setters!(BaselinePpParams {
    transform: Transform => transform,
    scale: f64 => scale,
    learn_class_norms: bool => learn_class_norms,
    start: Start => start,
    optimiser: Optimiser => optimiser,
    learning_rate: f64 => learning_rate,
    momentum: f64 => momentum,
    dampening: f64 => dampening,
    weight_decay: f64 => weight_decay,
    batch: usize => batch,
    epochs: usize => epochs,
    seed: u64 => seed,
});

setters!(LogisticParams {
    transform: Transform => transform,
    c: f64 => c,
    tolerance: f64 => tolerance,
    max_iterations: usize => max_iterations,
});

setters!(RidgeParams {
    transform: Transform => transform,
    penalty: f64 => penalty,
    scale: f64 => scale,
});

setters!(SvmParams {
    transform: Transform => transform,
    c: f64 => c,
    dual_ridge: f64 => dual_ridge,
    tolerance: f64 => tolerance,
    max_sweeps: usize => max_sweeps,
    scale: f64 => scale,
});

setters!(DsnParams {
    transform: Transform => transform,
    origin: Origin => origin,
    temperature: f64 => temperature,
});

setters!(DeepemdParams {
    temperature: f64 => temperature,
    solver: Solver => solver,
    smoothness: f64 => smoothness,
    prototype_epochs: usize => prototype_epochs,
    prototype_rate: f64 => prototype_rate,
    prototype_momentum: f64 => prototype_momentum,
    prototype_batch: usize => prototype_batch,
    seed: u64 => seed,
});

setters!(TimAdmParams {
    transform: Transform => transform,
    unlabelled: UnlabeledRows => unlabelled,
    inverse_temperature: f64 => inverse_temperature,
    cross_entropy_weight: f64 => cross_entropy_weight,
    marginal_weight: f64 => marginal_weight,
    conditional_weight: f64 => conditional_weight,
    rate: f64 => rate,
    steps: usize => steps,
});

setters!(AlphaTimParams {
    transform: Transform => transform,
    basis: Basis => basis,
    unlabelled: UnlabeledRows => unlabelled,
    inverse_temperature: f64 => inverse_temperature,
    alpha: f64 => alpha,
    alpha_five_shot: f64 => alpha_five_shot,
    cross_entropy_weight: f64 => cross_entropy_weight,
    marginal_weight: f64 => marginal_weight,
    conditional_weight: f64 => conditional_weight,
    steps: usize => steps,
    learning_rate: f64 => learning_rate,
});

setters!(BdCspnParams {
    transform: Transform => transform,
    unlabelled: UnlabeledRows => unlabelled,
    scale: f64 => rectification.scale,
    weighting: Weighting => rectification.weighting,
    support_rows: SupportRows => rectification.support_rows,
    averaging: Averaging => rectification.averaging,
    metric: Metric => metric,
    classified: Classified => classified,
});

setters!(LaplacianshotParams {
    transform: Transform => transform,
    unlabelled: UnlabeledRows => unlabelled,
    rectify: bool => rectify,
    scale: f64 => rectification.scale,
    weighting: Weighting => rectification.weighting,
    support_rows: SupportRows => rectification.support_rows,
    averaging: Averaging => rectification.averaging,
    classified: Classified => classified,
    lambda: f64 => lambda,
    neighbours: usize => neighbours,
    max_updates: usize => max_updates,
});

setters!(EpnetParams {
    transform: Transform => transform,
    embedding_alpha: f64 => embedding_alpha,
    label_alpha: f64 => label_alpha,
});

setters!(PtMapParams {
    transform: Transform => transform,
    unlabelled: UnlabeledRows => unlabelled,
    lambda: f64 => map.lambda,
    epochs: usize => map.epochs,
    rate: f64 => map.rate,
    class_sizes: ClassSizes => map.class_sizes,
    sinkhorn_tolerance: f64 => map.sinkhorn_tolerance,
    sinkhorn_sweeps: usize => map.sinkhorn_sweeps,
});

setters!(IlpcParams {
    transform: Transform => transform,
    neighbours: usize => neighbours,
    alpha: f64 => alpha,
    power: f64 => power,
    class_sizes: ClassSizes => class_sizes,
    sinkhorn_tolerance: f64 => sinkhorn_tolerance,
    sinkhorn_sweeps: usize => sinkhorn_sweeps,
    steps: usize => steps,
    learning_rate: f64 => learning_rate,
    per_class: usize => per_class,
});

setters!(EaseParams {
    transform: Transform => transform,
    clusters: usize => clusters,
    dimensions: usize => dimensions,
    spread_weight: f64 => spread_weight,
    unlabelled: UnlabeledRows => unlabelled,
    lambda: f64 => map.lambda,
    epochs: usize => map.epochs,
    rate: f64 => map.rate,
    class_sizes: ClassSizes => map.class_sizes,
    sinkhorn_tolerance: f64 => map.sinkhorn_tolerance,
    sinkhorn_sweeps: usize => map.sinkhorn_sweeps,
});

setters!(ProtolpParams {
    transform: Transform => transform,
    dimensions: usize => dimensions,
    reduced_transform: Transform => reduced_transform,
    unlabelled: UnlabeledRows => unlabelled,
    propagated_share: f64 => propagated_share,
    lambda: f64 => map.lambda,
    epochs: usize => map.epochs,
    rate: f64 => map.rate,
    class_sizes: ClassSizes => map.class_sizes,
    sinkhorn_tolerance: f64 => map.sinkhorn_tolerance,
    sinkhorn_sweeps: usize => map.sinkhorn_sweeps,
});

setters!(TafsslParams {
    transform: Transform => transform,
    projection: Projection => projection,
    dimensions: usize => dimensions,
    labeller: Labeller => labeller,
    rounds: usize => rounds,
    threshold: f64 => threshold,
    cluster_temperature: f64 => cluster_temperature,
});

setters!(PaddleParams {
    transform: Transform => transform,
    scaling: Scaling => scaling,
    unlabelled: UnlabeledRows => unlabelled,
    temperature: f64 => temperature,
    lambda_share: f64 => lambda_share,
    steps: usize => steps,
});

setters!(OsloParams {
    transform: Transform => transform,
    unlabelled: UnlabeledRows => unlabelled,
    inlier_temperature: f64 => inlier_temperature,
    class_temperature: f64 => class_temperature,
    steps: usize => steps,
});

setters!(UnemParams {
    transform: Transform => transform,
    unlabelled: UnlabeledRows => unlabelled,
    scale: f64 => scale,
    scale_five_shot: f64 => scale_five_shot,
    size_weights: Vec<f64> => size_weights,
    size_weights_five_shot: Vec<f64> => size_weights_five_shot,
    temperatures: Vec<f64> => temperatures,
    temperatures_five_shot: Vec<f64> => temperatures_five_shot,
});

setters!(BavardageParams {
    transform: Transform => transform,
    unlabelled: UnlabeledRows => unlabelled,
    means_temperature: f64 => means_temperature,
    means_steps: usize => means_steps,
    inverse_temperature: f64 => inverse_temperature,
    prior_rows: f64 => prior_rows,
    prior_precision: f64 => prior_precision,
    steps: usize => steps,
    class_sizes: ClassSizes => class_sizes,
});

setters!(BmsParams {
    transform: Transform => transform,
    unlabelled: UnlabeledRows => unlabelled,
    lambda: f64 => lambda,
    steps: usize => steps,
    sweeps: usize => sweeps,
    class_sizes: ClassSizes => class_sizes,
});

setters!(BpaParams {
    transform: Transform => transform,
    unlabelled: UnlabeledRows => unlabelled,
    regularisation: f64 => regularisation,
    affinity_sweeps: usize => affinity_sweeps,
    lambda: f64 => map.lambda,
    epochs: usize => map.epochs,
    rate: f64 => map.rate,
    class_sizes: ClassSizes => map.class_sizes,
    sinkhorn_tolerance: f64 => map.sinkhorn_tolerance,
    sinkhorn_sweeps: usize => map.sinkhorn_sweeps,
});

setters!(NohubParams {
    transform: Transform => transform,
    unlabelled: UnlabeledRows => unlabelled,
    use_labels: bool => use_labels,
    perplexity: f64 => perplexity,
    kappa: f64 => kappa,
    similarity_weight: f64 => similarity_weight,
    repulsion: f64 => repulsion,
    steps: usize => steps,
    learning_rate: f64 => learning_rate,
    dimensions: usize => dimensions,
    lambda: f64 => map.lambda,
    epochs: usize => map.epochs,
    rate: f64 => map.rate,
    class_sizes: ClassSizes => map.class_sizes,
    sinkhorn_tolerance: f64 => map.sinkhorn_tolerance,
    sinkhorn_sweeps: usize => map.sinkhorn_sweeps,
});

setters!(AmParams {
    transform: Transform => transform,
    neighbours: usize => neighbours,
    neighbours_five_shot: usize => neighbours_five_shot,
    alpha: f64 => alpha,
    alpha_five_shot: f64 => alpha_five_shot,
    entropy_exponent: f64 => entropy_exponent,
    entropy_exponent_five_shot: f64 => entropy_exponent_five_shot,
    cross_entropy_weight: f64 => cross_entropy_weight,
    marginal_weight: f64 => marginal_weight,
    conditional_weight: f64 => conditional_weight,
    inverse_temperature: f64 => inverse_temperature,
    steps: usize => steps,
    learning_rate: f64 => learning_rate,
});

setters!(StataParams {
    transform: Transform => transform,
    unlabelled: UnlabeledRows => unlabelled,
    inverse_temperature: f64 => inverse_temperature,
    density_scale: f64 => density_scale,
    neighbours: usize => neighbours,
    anchor: f64 => anchor,
    steps: usize => steps,
    inner_steps: usize => inner_steps,
});

setters!(PoissonParams {
    transform: Transform => transform,
    neighbours: usize => neighbours,
    sharpness: f64 => sharpness,
});

setters!(LaplaceParams {
    transform: Transform => transform,
    neighbours: usize => neighbours,
});

setters!(LabelSpreadingParams {
    transform: Transform => transform,
    graph: Graph => graph,
    gamma: f64 => gamma,
    neighbours: usize => neighbours,
    alpha: f64 => alpha,
});

setters!(IciParams {
    transform: Transform => transform,
    dimensions: usize => dimensions,
    c: f64 => c,
    per_class: usize => per_class,
    max_rounds: usize => max_rounds,
});

setters!(SoftKmeansParams {
    transform: Transform => transform,
    unlabelled: UnlabeledRows => unlabelled,
    temperature: f64 => temperature,
    steps: usize => steps,
});

setters!(ConfidenceParams {
    transform: Transform => transform,
    temperature: f64 => temperature,
    steps: usize => steps,
    learning_rate: f64 => learning_rate,
    per_class: usize => per_class,
    max_rounds: usize => max_rounds,
});

/// The methods that are one fit differ in their presets alone.
macro_rules! single_fit_setters {
    ($($params:ty),+) => {
        $(setters!($params {
            transform: Transform => 0.transform,
            basis: Basis => 0.basis,
            unlabelled: UnlabeledRows => 0.unlabelled,
            head: Head => 0.fit.head,
            temperature: f64 => 0.fit.temperature,
            temperature_five_shot: f64 => 0.fit.temperature_five_shot,
            feature_bandwidth: Bandwidth => 0.fit.feature_bandwidth,
            kernel_features: KernelFeatures => 0.fit.kernel_features,
            steps: usize => 0.fit.steps,
            learning_rate: f64 => 0.fit.learning_rate,
            step_scale: StepScale => 0.fit.step_scale,
            tolerance: f64 => 0.fit.tolerance,
            pseudo_label_weight: f64 => 0.fit.pseudo_label_weight,
            memory_limit_mb: u64 => 0.fit.memory_limit_mb,
            objective: ObjectiveKind => 0.fit.objective.kind,
            cross_entropy_weight: f64 => 0.fit.objective.cross_entropy_weight,
            conditional_weight: f64 => 0.fit.objective.conditional_weight,
            marginal_weight: f64 => 0.fit.objective.marginal_weight,
            dependence_weight: f64 => 0.fit.objective.dependence_weight,
            dependence_scale: DependenceScale => 0.fit.objective.dependence_scale,
            prediction_bandwidth: f64 => 0.fit.objective.prediction_bandwidth,
            fisher_weight: f64 => 0.fit.objective.fisher_weight,
            fisher_directions: usize => 0.fit.objective.fisher_directions,
        });)+
    };
}

single_fit_setters!(BaselineParams, EntropyMinParams, TimGdParams, DmParams);

setters!(DmIdaParams {
    transform: Transform => transform,
    transform_five_shot: Transform => transform_five_shot,
    basis: Basis => basis,
    head: Head => fit.head,
    temperature: f64 => fit.temperature,
    temperature_five_shot: f64 => fit.temperature_five_shot,
    feature_bandwidth: Bandwidth => fit.feature_bandwidth,
    kernel_features: KernelFeatures => fit.kernel_features,
    steps: usize => fit.steps,
    learning_rate: f64 => fit.learning_rate,
    step_scale: StepScale => fit.step_scale,
    tolerance: f64 => fit.tolerance,
    pseudo_label_weight: f64 => fit.pseudo_label_weight,
    memory_limit_mb: u64 => fit.memory_limit_mb,
    objective: ObjectiveKind => fit.objective.kind,
    cross_entropy_weight: f64 => fit.objective.cross_entropy_weight,
    conditional_weight: f64 => fit.objective.conditional_weight,
    marginal_weight: f64 => fit.objective.marginal_weight,
    dependence_weight: f64 => fit.objective.dependence_weight,
    dependence_scale: DependenceScale => fit.objective.dependence_scale,
    prediction_bandwidth: f64 => fit.objective.prediction_bandwidth,
    fisher_weight: f64 => fit.objective.fisher_weight,
    fisher_directions: usize => fit.objective.fisher_directions,
    selection_rows_limit: usize => selection_rows_limit,
    class_shares: WantedShares => shares.class_shares,
    estimate_weight: f64 => shares.estimate_weight,
    balance_threshold: f64 => shares.balance_threshold,
    balance_threshold_five_shot: f64 => shares.balance_threshold_five_shot,
    balance_width: f64 => shares.balance_width,
    balance_width_five_shot: f64 => shares.balance_width_five_shot,
    pca: usize => fisher.pca,
    ridge: f64 => fisher.ridge,
    ridge_scale: RidgeScale => fisher.ridge_scale,
    psi_per_class: bool => fisher.psi_per_class,
    selector: SelectorKind => self_training.selector,
    per_class: usize => self_training.per_class,
    per_class_share: f64 => self_training.per_class_share,
    cap_at_equal_share: bool => self_training.cap_at_equal_share,
    class_sizes: ClassSizes => self_training.class_sizes,
    keep: Keep => self_training.keep,
    stop_when_stable: bool => self_training.stop_when_stable,
    max_rounds: usize => self_training.max_rounds,
    seed: u64 => self_training.seed,
    last_fit: UnlabeledRows => last_fit,
});

#[cfg(test)]
mod tests {
    use crate::methods::{BaselinePp, DmIda, Method, PtMap, Ridge, TimGd, build};

    #[test]
    fn a_setter_and_its_text_do_the_same() {
        let typed = DmIda::builder().steps(7).per_class(2).ridge(0.5).build().expect("valid");
        let text =
            ["steps=7", "per_class=2", "ridge=0.5"].map(|change| change.split_once('=').expect("a pair"));
        let text = text.map(|(key, value)| (key.to_owned(), value.to_owned()));
        assert_eq!(typed.params(), build("dm-ida", None, &text).expect("valid").params());
        let map = PtMap::builder().lambda(3.0).build().expect("valid");
        assert_eq!(map.params()["lambda"], 3.0);
        let by_text = PtMap::builder().set("lambda", "3").expect("a key").build().expect("valid");
        assert_eq!(by_text.params(), map.params());
        assert_eq!(
            TimGd::builder().marginal_weight(0.5).build().expect("valid").params()["marginal_weight"],
            0.5
        );
    }

    #[test]
    fn wrong_values_keys_and_presets_are_named() {
        let error = Ridge::builder().penalty(0.0).build().expect_err("refused").to_string();
        assert!(error.contains("penalty"), "{error}");
        let error = BaselinePp::builder().set("lr", "1").expect_err("no such key").to_string();
        assert!(error.contains("learning_rate"), "{error}");
        assert!(BaselinePp::builder().preset("best").is_err());
        assert!(DmIda::builder().steps(usize::MAX).build().is_err());
    }

    #[test]
    fn smoothing_is_refused_where_only_labelled_rows_are_looked_at() {
        let smooth = "l2+smooth:10:50".parse().expect("a transform");
        assert!(Ridge::builder().transform(smooth).build().is_err());
    }
}
