//! The named parameter sets, with the source of every constant.

use crate::fit::adam::StepScale;
use crate::fit::basis::Basis;
use crate::fit::class_shares::{SharesParams, WantedShares};
use crate::fit::{FitParams, Head};
use crate::methods::dm_ida::DmIdaParams;
use crate::methods::single_fit::SingleFitParams;
use crate::paper::hsic::{Bandwidth, KernelFeatures};
use crate::paper::ida::{FisherParams, RidgeScale};
use crate::paper::objective::{DependenceScale, Objective, ObjectiveKind};
use crate::self_training::class_sizes::ClassSizes;
use crate::self_training::select::SelectorKind;
use crate::self_training::{Keep, SelfTrainingParams, UnlabeledRows};
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
        transform_five_shot: Transform::none(),
        basis: Basis::Original,
        fit: FitParams {
            head: Head::Linear,
            // Section 3.2: W0 = 2 mu, b0 = -|mu|^2, no temperature.
            temperature: 1.0,
            temperature_five_shot: 1.0,
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
                // Not in the paper.
                fisher_weight: 1.0,
                fisher_directions: 10,
            },
            feature_bandwidth: Bandwidth::Fixed(0.5),
            kernel_features: KernelFeatures::AsGiven,
            // Section 4.1: Adam, 1e-4, 1000 iterations.
            steps: 1000,
            learning_rate: 1e-4,
            step_scale: StepScale::Coordinate,
            tolerance: 0.0,
            pseudo_label_weight: 1.0,
            memory_limit_mb: MEMORY_LIMIT_MB,
        },
        selection_rows_limit: 0,
        shares: SharesParams { class_shares: WantedShares::Equal, ..SharesParams::ADAPTIVE },
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
            class_sizes: ClassSizes::Unknown,
            keep: Keep::Refresh,
            stop_when_stable: true,
            max_rounds: 60,
            seed: 0,
        },
        // Algorithm 1 fits on the unlabelled set throughout.
        last_fit: UnlabeledRows::Pool,
    }
}

/// `authors`: the constants and order of the published code (zejiangh/Semi-FSL 3e19141).
pub fn authors() -> DmIdaParams {
    let paper = paper();
    DmIdaParams {
        fit: FitParams {
            // train.py: W = 2 mu / T, b = -|mu|^2 / T with T = 64 at 1-shot and 32 at 5-shot.
            temperature: 64.0,
            temperature_five_shot: 32.0,
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
        last_fit: UnlabeledRows::Query,
        ..paper
    }
}

/// `default`: ours. Tuned on the CIFAR-FS validation classes, balanced and with Dirichlet(2) class sizes together, at one
/// shot and at five: `equal_sizes` with the marginal term's class sizes learnt from the pool.
pub fn default() -> DmIdaParams {
    let equal = equal_sizes();
    DmIdaParams {
        transform_five_shot: Transform::new(vec![
            Step::Power,
            Step::L2,
            Step::Smooth { neighbours: 10, percent: 30 },
            Step::L2,
        ]),
        fit: FitParams { temperature: 0.4, temperature_five_shot: 0.4, learning_rate: 0.1, ..equal.fit },
        shares: SharesParams::ADAPTIVE,
        ..equal
    }
}

/// `equal-sizes`: the marginal term pulls towards classes of equal size, as in the paper, whose tasks have them; its tables
/// are computed with this, and the other presets of ours start from it. What differs from `authors` was tuned on the
/// CIFAR-FS validation classes only.
///
/// Features are smoothed over their ten nearest neighbours first, which is worth over a point with one label per class
/// and half a point with five and many unlabelled rows. On unit-length features the bandwidth 0.5 separates near from
/// far, and the temperature of the start and the step size are matched, so that a fit runs to its end in 100 steps. One
/// parameter vector per class, as TIM has it, wanders less than free weights and biases at five shots, and steps measured
/// by length, not by coordinate, are worth a tenth or two of a point, but nothing at five shots with many unlabelled rows.
/// One round of selection with lightly weighted pseudo-labels is best at one shot; each further round costs a little.
pub fn equal_sizes() -> DmIdaParams {
    let authors = authors();
    DmIdaParams {
        transform: Transform::new(vec![
            Step::Power,
            Step::L2,
            Step::CentreParts,
            Step::L2,
            Step::Smooth { neighbours: 10, percent: 60 },
            Step::L2,
        ]),
        transform_five_shot: Transform::new(vec![
            Step::Power,
            Step::L2,
            Step::Smooth { neighbours: 10, percent: 20 },
            Step::L2,
        ]),
        basis: Basis::Span,
        fit: FitParams {
            head: Head::Prototype,
            temperature: 0.3,
            temperature_five_shot: TIM_TEMPERATURE,
            objective: Objective {
                kind: ObjectiveKind::Hybrid,
                cross_entropy_weight: 0.3,
                conditional_weight: 0.1,
                marginal_weight: 1.0,
                dependence_weight: 2.0,
                dependence_scale: DependenceScale::Normalised,
                ..authors.fit.objective
            },
            steps: 100,
            learning_rate: 0.2,
            step_scale: StepScale::Length,
            pseudo_label_weight: 0.05,
            ..authors.fit
        },
        selection_rows_limit: 0,
        shares: authors.shares,
        fisher: FisherParams { ridge: 0.1, ridge_scale: RidgeScale::Relative, ..authors.fisher },
        self_training: SelfTrainingParams {
            cap_at_equal_share: false,
            stop_when_stable: true,
            max_rounds: 1,
            ..authors.self_training
        },
        last_fit: UnlabeledRows::Both,
    }
}

/// `fast`: `equal-sizes` in half the steps, each half as long again.
pub fn fast() -> DmIdaParams {
    let equal = equal_sizes();
    DmIdaParams { fit: FitParams { steps: 50, learning_rate: 0.3, ..equal.fit }, ..equal }
}

/// `plain`: nothing that the paper does not have, so neither smoothed features nor steps by length; its ablations are run
/// with this. Tuned on the CIFAR-FS validation classes as `default` is.
pub fn plain() -> DmIdaParams {
    let equal = equal_sizes();
    let plain = Transform::new(vec![Step::Power, Step::L2]);
    DmIdaParams {
        transform: plain.clone(),
        transform_five_shot: plain,
        fit: FitParams {
            objective: Objective { dependence_weight: 5.0, ..equal.fit.objective },
            steps: 50,
            learning_rate: 0.02,
            step_scale: StepScale::Coordinate,
            ..equal.fit
        },
        ..equal
    }
}

/// `balanced`: told that every class has as many unlabelled rows. Tuned on the CIFAR-FS validation classes with
/// `bench tune`; with predictions that cannot crowd into one class, more rounds and longer fits pay.
pub fn balanced() -> DmIdaParams {
    let equal = equal_sizes();
    DmIdaParams {
        fit: FitParams {
            steps: 200,
            learning_rate: 0.1,
            pseudo_label_weight: 0.2,
            objective: Objective { cross_entropy_weight: 0.1, dependence_weight: 1.0, ..equal.fit.objective },
            ..equal.fit
        },
        self_training: SelfTrainingParams {
            class_sizes: ClassSizes::Equal,
            max_rounds: 8,
            ..equal.self_training
        },
        ..equal
    }
}

/// `unbalanced`: for pools whose classes may be of very different sizes. Tuned on the CIFAR-FS validation classes with
/// Dirichlet(2) class sizes, both shots together: the pull towards equal classes is twenty times weaker, labelled and
/// unlabelled rows are not centred apart (their means differ because their classes do), and features are smoothed alike
/// at one shot and at five.
pub fn unbalanced() -> DmIdaParams {
    let equal = equal_sizes();
    let smoothed =
        Transform::new(vec![Step::Power, Step::L2, Step::Smooth { neighbours: 10, percent: 40 }, Step::L2]);
    DmIdaParams {
        transform: smoothed.clone(),
        transform_five_shot: smoothed,
        fit: FitParams {
            temperature: 0.2,
            temperature_five_shot: 0.3,
            objective: Objective { marginal_weight: 0.05, dependence_weight: 1.0, ..equal.fit.objective },
            ..equal.fit
        },
        ..equal
    }
}

/// What the ablation's losses share: the features, start and steps of `equal_sizes`, one fit, no selection.
pub fn single_fit(kind: ObjectiveKind) -> SingleFitParams {
    let equal = equal_sizes();
    SingleFitParams {
        transform: equal.transform,
        basis: equal.basis,
        unlabelled: equal.last_fit,
        fit: FitParams { objective: Objective { kind, ..equal.fit.objective }, ..equal.fit },
    }
}

/// `baseline`: the frozen-head baseline of Realistic_Transductive_Few_Shot, which is 100 Adam steps of 1e-3 on
/// prototypes of unit-length features at temperature 15.
pub fn baseline() -> SingleFitParams {
    let authors = tim_gd_authors();
    let objective = Objective {
        kind: ObjectiveKind::CrossEntropy,
        cross_entropy_weight: 1.0,
        conditional_weight: 1.0,
        ..authors.fit.objective
    };
    SingleFitParams {
        fit: FitParams { objective, steps: 100, learning_rate: 1e-3, ..authors.fit },
        ..authors
    }
}

/// `entropy-min`: the frozen-head version of the same repository (entropy_min.yaml), 25 steps of 5e-5.
pub fn entropy_min() -> SingleFitParams {
    let baseline = baseline();
    let objective = Objective { kind: ObjectiveKind::ConditionalEntropy, ..baseline.fit.objective };
    SingleFitParams {
        fit: FitParams { objective, steps: 25, learning_rate: 5e-5, ..baseline.fit },
        ..baseline
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

/// `tim-gd`, preset `authors`: mboudiaf/TIM src/tim.py and its scripts.
pub fn tim_gd_authors() -> SingleFitParams {
    let base = single_fit(ObjectiveKind::MutualInformation);
    SingleFitParams {
        transform: Transform::new(vec![Step::L2]),
        basis: Basis::Original,
        fit: FitParams {
            head: Head::Prototype,
            temperature: TIM_TEMPERATURE,
            temperature_five_shot: TIM_TEMPERATURE,
            objective: Objective {
                cross_entropy_weight: 0.1,
                conditional_weight: 0.1,
                marginal_weight: 1.0,
                ..base.fit.objective
            },
            steps: 1000,
            learning_rate: 1e-4,
            step_scale: StepScale::Coordinate,
            ..base.fit
        },
        ..base
    }
}

/// `tim-gd`, preset `default`: the best of a search on the CIFAR-FS validation classes over transform, temperature,
/// step, head and the weight of H(Y|X), from which its authors' weights came out unchanged.
pub fn tim_gd_default() -> SingleFitParams {
    let authors = tim_gd_authors();
    SingleFitParams {
        transform: Transform::new(vec![Step::Power, Step::L2]),
        basis: Basis::Span,
        fit: FitParams {
            temperature: 0.5,
            temperature_five_shot: 0.2,
            steps: 100,
            learning_rate: 0.01,
            ..authors.fit
        },
        ..authors
    }
}
