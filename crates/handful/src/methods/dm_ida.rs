//! `dm-ida`: the paper's method. Dependency maximisation (Eq. 4) in the self-training loop of Algorithm 1, pseudo-labels
//! ranked by Instance Discriminant Analysis (Eq. 6).
//!
//! ```text
//! repeat   (W, b) <- argmin  CE(labelled) - lambda (U-1)^-2 tr(KHLH)  [+ the terms of the objective]
//!          label the pool; rank each label by dpsi_u; the best of each class join the labelled set
//! until    labels are stable, the pool is exhausted, or max_rounds
//! then     one more fit on what has joined
//! ```
//!
//! Presets: `default` (ours, tuned on validation classes; adapts to class sizes, `fit/class_shares.rs`), `fast` (about the same
//! in less time), `plain` (the paper's ingredients only), `balanced` (told that all classes have as many unlabelled rows),
//! `unbalanced` (expects them to differ much), `authors` (the constants and order of the published code), `paper` (the text
//! read literally). What the text and the code disagree on is listed at each constant in `presets.rs`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::check_range;
use crate::error::{ParamError, TaskError};
use crate::fit::basis::Basis;
use crate::fit::class_shares::{Blend, SharesParams};
use crate::fit::{FitParams, Fitter, has_five_shots};
use crate::methods::presets;
use crate::methods::single_fit::{TraceWanted, unlabelled_rows};
use crate::methods::{Builder, Method, MethodParams, PriorKnowledge, Setting, as_map};
use crate::paper::algorithm1::{algorithm1, predictions};
use crate::paper::ida::FisherParams;
use crate::paper::objective::ObjectiveKind;
use crate::scalar::Scalar;
use crate::self_training::{SelfTrainingParams, UnlabeledRows};
use crate::solution::{FitTrace, Solution, Trace, argmax};
use crate::task::Task;
use crate::transform::Transform;

/// Parameters of `dm-ida`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DmIdaParams {
    /// What is done to the features first.
    pub transform: Transform,
    /// The same where classes have five labelled rows or more: their means are steady already.
    pub transform_five_shot: Transform,
    /// In which basis the classifier is fitted.
    pub basis: Basis,
    /// Every fit.
    #[serde(flatten)]
    pub fit: FitParams,
    /// In pools of more rows than this the fits of the loop use `mutual-information` whatever the objective is, as the
    /// authors' code does above 75 rows; the last fit does not. 0 never switches.
    pub selection_rows_limit: usize,
    /// Which class sizes the marginal term wants.
    #[serde(flatten)]
    pub shares: SharesParams,
    /// IDA.
    #[serde(flatten)]
    pub fisher: FisherParams,
    /// The loop.
    #[serde(flatten)]
    pub self_training: SelfTrainingParams,
    /// Which unlabelled rows of a semi-supervised task the last fit looks at.
    pub last_fit: UnlabeledRows,
}

impl MethodParams for DmIdaParams {
    type Method = DmIda;
    const NAME: &'static str = "dm-ida";
    const PRESETS: &'static [&'static str] =
        &["default", "equal-sizes", "fast", "plain", "balanced", "unbalanced", "authors", "paper"];

    fn default_preset() -> Self {
        presets::default()
    }

    fn preset(name: &str) -> Option<Self> {
        match name {
            "default" => Some(presets::default()),
            "equal-sizes" => Some(presets::equal_sizes()),
            "fast" => Some(presets::fast()),
            "plain" => Some(presets::plain()),
            "balanced" => Some(presets::balanced()),
            "unbalanced" => Some(presets::unbalanced()),
            "authors" => Some(presets::authors()),
            "paper" => Some(presets::paper()),
            _ => None,
        }
    }

    fn check(self) -> Result<DmIda, ParamError> {
        DmIda::new(self)
    }
}

/// The method with checked parameters.
#[derive(Clone, Debug)]
pub struct DmIda {
    params: DmIdaParams,
}

impl DmIda {
    /// Starts a builder at the default preset.
    pub fn builder() -> Builder<DmIdaParams> {
        Builder::new()
    }

    /// Checks every parameter.
    ///
    /// # Errors
    /// [`ParamError::OutOfRange`] names the first value that is wrong.
    pub fn new(params: DmIdaParams) -> Result<Self, ParamError> {
        params.fit.check()?;
        params.fisher.check()?;
        params.shares.check()?;
        let share = params.self_training.per_class_share;
        check_range("per_class_share", share, (0.0..=1.0).contains(&share), "a number from 0 to 1")?;
        if params.self_training.per_class == 0 && share == 0.0 {
            return Err(ParamError::OutOfRange {
                key: "per_class",
                value: "0".into(),
                expected: "at least 1 when per_class_share is 0",
            });
        }
        Ok(Self { params })
    }

    /// Solves a task in either precision, with diagnostics if wanted.
    ///
    /// # Errors
    /// [`TaskError`] where the transform or the kernel cannot take the task.
    pub fn solve_in<T: Scalar>(&self, task: &Task<T>, wanted: TraceWanted) -> Result<Solution<T>, TaskError> {
        let params = &self.params;
        let many = has_five_shots(task.mean_shots());
        let transform = if many { &params.transform_five_shot } else { &params.transform };
        let task = params.basis.applied(transform.applied(task)?);
        let fit = params.fit.for_shots(task.mean_shots());
        let mut selection_fit = fit;
        if params.selection_rows_limit > 0 && task.pool().rows() > params.selection_rows_limit {
            selection_fit.objective.kind = ObjectiveKind::MutualInformation;
        }
        let adapts = params.shares.adapts_to(&fit, task.pool().rows());
        if adapts {
            selection_fit.objective.marginal_weight = params.shares.estimate_weight;
        }
        let mut trace = (wanted == TraceWanted::Yes).then(Trace::default);

        let (support, labels) = (task.support(), task.support_labels());
        let mut fitter = Fitter::new(&selection_fit, task.ways(), support, labels, task.pool())?;
        let trained =
            algorithm1(&params.self_training, &params.fisher, &mut fitter, task.id(), trace.as_mut());

        // The loop's own last fit serves when it is the fit that is wanted: same objective, same unlabelled rows.
        let same_rows = task.is_transductive() || params.last_fit == UnlabeledRows::Pool;
        let same_fit = same_rows && selection_fit == fit;
        let mut fit_trace = trace.as_ref().map(|_| FitTrace::default());
        let classifier = match trained.model {
            Some(classifier) if same_fit => classifier,
            _ if same_fit => fitter.fit(&trained.joined, fit_trace.as_mut()),
            _ => {
                let (labelled, labels) = fitter.labelled_set(&trained.joined);
                let rows = unlabelled_rows(&task, params.last_fit);
                let (last_fit, shares) = match adapts.then(|| self.blend(&mut fitter, trained.labels, many)) {
                    Some(blend) => (params.shares.last_fit(fit, &blend), blend.shares),
                    None => (fit, Vec::new()),
                };
                let mut last = Fitter::new(&last_fit, task.ways(), &labelled, &labels, rows.as_ref())?
                    .with_given_labels(support.rows())
                    .with_class_shares(&shares);
                last.fit(&[], fit_trace.as_mut())
            }
        };
        if let (Some(trace), Some(fit)) = (&mut trace, fit_trace.filter(|fit| !fit.steps.is_empty())) {
            trace.fits.push(fit);
        }

        let mut solution = Solution::from_probabilities(
            predictions(&classifier, task.query(), params.self_training.class_sizes),
            predictions(&classifier, task.pool(), params.self_training.class_sizes),
        );
        if !trained.credibility.is_empty() {
            solution.credibility = trained.credibility;
        }
        solution.classifier = Some(classifier);
        solution.trace = trace;
        Ok(solution)
    }

    /// Which class sizes the last fit wants, from the labels of the loop; without a loop, from a fit of its own.
    fn blend<T: Scalar>(&self, fitter: &mut Fitter<'_, T>, labels: Vec<usize>, many_shots: bool) -> Blend {
        let pool = fitter.pool();
        let predicted = if labels.is_empty() {
            fitter.fit(&[], None).probabilities(pool).iter_rows().map(argmax).collect()
        } else {
            labels
        };
        self.params.shares.blend(&predicted, fitter.ways(), many_shots)
    }
}

impl Method for DmIda {
    fn name(&self) -> &'static str {
        DmIdaParams::NAME
    }

    fn prior(&self) -> PriorKnowledge {
        PriorKnowledge {
            setting: Setting::UsesUnlabeled,
            knows_class_sizes: self.params.self_training.cap_at_equal_share
                || self.params.self_training.class_sizes.known(),
        }
    }

    fn params(&self) -> Value {
        as_map(&self.params).into()
    }

    fn solve(&self, task: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        self.solve_in(task, TraceWanted::No)
    }
}
