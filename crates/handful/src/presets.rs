//! The named parameter sets, with the source of every constant.

use crate::basis::Basis;
use crate::fisher::{FisherParams, RidgeScale};
use crate::fit::{FitParams, Head};
use crate::kernel::{Bandwidth, KernelFeatures};
use crate::methods::dm_ida::DmIdaParams;
use crate::methods::single_fit::SingleFitParams;
use crate::objective::{DependenceScale, Objective, ObjectiveKind};
use crate::select::SelectorKind;
use crate::self_training::{Keep, SelfTrainingParams, UnlabelledRows};
use crate::transform::{Step, Transform};

/// Room for the exact kernel of about 31,000 rows.
const MEMORY_LIMIT_MB: u64 = 4_000;

/// TIM's temperature 15 as the T of `W = 2 mu / T`.
const TIM_TEMPERATURE: f64 = 2.0 / 15.0;

/// `paper`: the text of Hou and Kung (IJCAI 2021), read literally.
pub fn paper() -> DmIdaParams {
    DmIdaParams {
        // "f(x)" is used as the backbone gives it.
        transform: Transform::none(),
        basis: Basis::Original,
        fit: FitParams {
            head: Head::Linear,
            // Section 3.2: W0 = 2 mu, b0 = -|mu|^2, no temperature.
            temperature: 1.0,
            objective: Objective {
                // Eq. 4.
                kind: ObjectiveKind::Dependence,
                cross_entropy_weight: 1.0,
                conditional_weight: 0.0,
                marginal_weight: 0.0,
                // Section 4.1: lambda = 0.01 on the estimator divided by (U-1)^2, sigma = 0.5 for both kernels.
                dependence_weight: 0.01,
                dependence_scale: DependenceScale::Normalised,
                prediction_bandwidth: 0.5,
            },
            feature_bandwidth: Bandwidth::Fixed(0.5),
            kernel_features: KernelFeatures::AsGiven,
            // Section 4.1: Adam, 1e-4, 1000 iterations.
            steps: 1000,
            learning_rate: 1e-4,
            tolerance: 0.0,
            pseudo_label_weight: 1.0,
            memory_limit_mb: MEMORY_LIMIT_MB,
        },
        temperature_five_shot: 1.0,
        selection_rows_limit: 0,
        fisher: FisherParams {
            // Eq. 5 and 6: all dimensions, psi not divided. The text names a ridge but no value; the code's.
            pca: 0,
            ridge: 1e-3,
            ridge_scale: RidgeScale::Absolute,
            psi_per_class: false,
        },
        self_training: SelfTrainingParams {
            selector: SelectorKind::Ida,
            // Section 4.1: at most 5 per class at each iteration, until the pseudo-labels are stable. The text has no
            // limit on rounds; the code's 60.
            per_class: 5,
            per_class_share: 0.0,
            cap_at_equal_share: false,
            keep: Keep::Refresh,
            stop_when_stable: true,
            max_rounds: 60,
            seed: 0,
        },
        // Algorithm 1 fits on the unlabelled set throughout.
        last_fit: UnlabelledRows::Pool,
    }
}

/// `authors`: the constants and order of the published code (zejiangh/Semi-FSL 3e19141).
pub fn authors() -> DmIdaParams {
    let paper = paper();
    DmIdaParams {
        fit: FitParams {
            // train.py: W = 2 mu / T, b = -|mu|^2 / T with T = 64 at 1-shot ...
            temperature: 64.0,
            objective: Objective {
                // train.py, pseudo_label_selection.py: loss_type hybrid = CE - 0.01 HSIC - (H(Y) - 0.1 H(Y|X)), and
                // HSICLoss does not divide by (U-1)^2.
                kind: ObjectiveKind::Hybrid,
                conditional_weight: 0.1,
                marginal_weight: 1.0,
                dependence_scale: DependenceScale::Unnormalised,
                ..paper.fit.objective
            },
            ..paper.fit
        },
        // ... and 32 at 5-shot.
        temperature_five_shot: 32.0,
        // pseudo_label_selection.py: above 75 rows the loop's fits use mutual information only.
        selection_rows_limit: 75,
        // IDA on 10 principal components, psi divided by the number of pseudo-labels present minus one.
        fisher: FisherParams { pca: 10, psi_per_class: true, ..paper.fisher },
        // No test for stable labels; a class takes at most the pool's rows per class.
        self_training: SelfTrainingParams {
            cap_at_equal_share: true,
            stop_when_stable: false,
            ..paper.self_training
        },
        // The last fit's unlabelled rows are the query rows, in semi-supervised tasks too.
        last_fit: UnlabelledRows::Query,
        ..paper
    }
}

/// `default`: ours, tuned on the CIFAR-FS validation classes only.
pub fn default() -> DmIdaParams {
    authors()
}

/// `fast`: `default` in fewer steps and in the span of the task's rows.
pub fn fast() -> DmIdaParams {
    default()
}

/// What the ablation's losses share: unit-length features, TIM's temperature, 100 steps of 1e-3.
pub fn single_fit(kind: ObjectiveKind) -> SingleFitParams {
    SingleFitParams {
        transform: Transform::new(vec![Step::L2]),
        basis: Basis::Original,
        unlabelled: UnlabelledRows::Pool,
        fit: FitParams {
            temperature: TIM_TEMPERATURE,
            objective: Objective {
                kind,
                conditional_weight: 1.0,
                marginal_weight: 1.0,
                ..authors().fit.objective
            },
            steps: 100,
            learning_rate: 1e-3,
            ..authors().fit
        },
    }
}

/// `dm`, preset `default`.
pub fn dm_default() -> SingleFitParams {
    single_fit(ObjectiveKind::Dependence)
}

/// `dm`, preset `paper`: Eq. 4 on the features as they come.
pub fn dm_paper() -> SingleFitParams {
    let paper = paper();
    SingleFitParams {
        transform: paper.transform,
        basis: paper.basis,
        unlabelled: paper.last_fit,
        fit: paper.fit,
    }
}

/// `tim-gd`, preset `authors`: mboudiaf/TIM.
pub fn tim_gd_authors() -> SingleFitParams {
    let base = single_fit(ObjectiveKind::MutualInformation);
    SingleFitParams {
        fit: FitParams {
            head: Head::Prototype,
            objective: Objective {
                cross_entropy_weight: 0.1,
                conditional_weight: 0.1,
                marginal_weight: 1.0,
                ..base.fit.objective
            },
            steps: 1000,
            learning_rate: 1e-4,
            ..base.fit
        },
        ..base
    }
}

/// `tim-gd`, preset `default`.
pub fn tim_gd_default() -> SingleFitParams {
    tim_gd_authors()
}
