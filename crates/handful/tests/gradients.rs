//! The analytic gradient of every objective against central differences, in double precision.
//!
//! The loss is recomputed here from its definition, with none of the engine's code: an error in both the value and
//! the gradient would have to be made twice.

use handful::Matrix;
use handful::fit::classifier::LinearClassifier;
use handful::fit::{FitParams, Fitter, Head, PseudoLabel};
use handful::methods::presets;
use handful::paper::hsic::{Bandwidth, KernelFeatures};
use handful::paper::objective::{DependenceScale, Objective, ObjectiveKind};
use handful::solution::FitTrace;
use nalgebra::DMatrix;

const WAYS: usize = 3;

fn rows(count: usize, columns: usize, seed: usize) -> Matrix<f64> {
    let value = |at: usize| (((at + 1) * 7919 + seed * 104_729) % 997) as f64 / 500.0 - 1.0;
    Matrix::from_vec(count, columns, (0..count * columns).map(value).collect())
}

fn params(kind: ObjectiveKind, head: Head) -> FitParams {
    FitParams {
        head,
        temperature: 0.7,
        objective: Objective {
            kind,
            cross_entropy_weight: 0.8,
            conditional_weight: 0.3,
            marginal_weight: 0.6,
            dependence_weight: 5.0,
            dependence_scale: DependenceScale::Normalised,
            prediction_bandwidth: 0.5,
            fisher_weight: 0.7,
            fisher_directions: 0,
        },
        feature_bandwidth: Bandwidth::Fixed(0.9),
        kernel_features: KernelFeatures::AsGiven,
        pseudo_label_weight: 0.4,
        ..presets::default().fit
    }
}

/// The loss by its definition.
fn loss(
    params: &FitParams,
    classifier: &LinearClassifier<f64>,
    anchors: &Matrix<f64>,
    labels: &[usize],
    pool: &Matrix<f64>,
    pseudo: &[PseudoLabel],
) -> f64 {
    let softmax = |z: &[f64]| -> Vec<f64> {
        let logit = |class: usize| -> f64 {
            let dot: f64 = classifier.weights.row(class).iter().zip(z).map(|(w, z)| w * z).sum();
            dot + classifier.bias[class]
        };
        let total: f64 = (0..WAYS).map(|class| logit(class).exp()).sum();
        (0..WAYS).map(|class| logit(class).exp() / total).collect()
    };
    let weights = &params.objective;
    let total = labels.len() as f64 + params.pseudo_label_weight * pseudo.len() as f64;
    let given: f64 = labels.iter().enumerate().map(|(row, &y)| -softmax(anchors.row(row))[y].ln()).sum();
    let joined: f64 = pseudo.iter().map(|label| -softmax(pool.row(label.row))[label.class].ln()).sum();
    let mut value = weights.cross_entropy_weight * (given + params.pseudo_label_weight * joined) / total;

    let u = pool.rows();
    let p: Vec<Vec<f64>> = pool.iter_rows().map(softmax).collect();
    if weights.kind.has_conditional_entropy() {
        let entropy: f64 = p.iter().flatten().map(|p| -p * p.ln()).sum::<f64>() / u as f64;
        value += weights.conditional_weight * entropy;
    }
    if weights.kind.has_marginal_entropy() {
        let mean = |class: usize| p.iter().map(|p| p[class]).sum::<f64>() / u as f64;
        let entropy: f64 = (0..WAYS).map(|class| -mean(class) * mean(class).ln()).sum();
        value -= weights.marginal_weight * entropy;
    }
    if weights.kind.has_dependence() {
        let gaussian = |a: &[f64], b: &[f64], s: f64| -> f64 {
            let d: f64 = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum();
            (-d / (2.0 * s * s)).exp()
        };
        let h = |i: usize, j: usize| f64::from(u8::from(i == j)) - 1.0 / u as f64;
        let mut trace = 0.0;
        for i in 0..u {
            for j in 0..u {
                let centred: f64 = (0..u)
                    .flat_map(|a| (0..u).map(move |b| (a, b)))
                    .map(|(a, b)| h(i, a) * gaussian(pool.row(a), pool.row(b), 0.9) * h(b, j))
                    .sum();
                trace += centred * gaussian(&p[j], &p[i], 0.5);
            }
        }
        value -= weights.dependence_weight * trace / ((u - 1) as f64).powi(2);
    }
    if weights.kind.has_fisher_dependence() {
        value -= weights.fisher_weight * fisher(pool, &p);
    }
    value
}

/// tr((S + rho I)^-1 S_B) / (C-1) with soft labels, from the scatter matrices themselves.
fn fisher(pool: &Matrix<f64>, p: &[Vec<f64>]) -> f64 {
    let (u, d) = (pool.rows(), pool.columns());
    let rows = DMatrix::from_row_slice(u, d, pool.as_slice());
    let mean = rows.row_mean();
    let centred = DMatrix::from_fn(u, d, |row, column| rows[(row, column)] - mean[column]);
    let scatter = centred.transpose() * &centred;
    let ridge = 0.1 * scatter.trace() / d as f64;
    let inverse = (scatter + DMatrix::identity(d, d) * ridge).try_inverse().expect("a ridge");
    let between = |class: usize| -> f64 {
        let weights = DMatrix::from_fn(1, u, |_, row| p[row][class]);
        let sum = &weights * &centred;
        (&sum * &inverse * sum.transpose())[(0, 0)] / weights.sum()
    };
    (0..WAYS).map(between).sum::<f64>() / (WAYS - 1) as f64
}

#[test]
fn every_objective_matches_central_differences() {
    let (anchors, pool) = (rows(4, 5, 1), rows(7, 5, 2));
    let labels = [0, 1, 2, 1];
    let pseudo = [PseudoLabel { row: 2, class: 0 }, PseudoLabel { row: 5, class: 2 }];
    for kind in [
        ObjectiveKind::CrossEntropy,
        ObjectiveKind::ConditionalEntropy,
        ObjectiveKind::MutualInformation,
        ObjectiveKind::Dependence,
        ObjectiveKind::Hybrid,
        ObjectiveKind::FisherDependence,
        ObjectiveKind::FisherHybrid,
    ] {
        let params = params(kind, Head::Linear);
        let mut fitter = Fitter::new(&params, WAYS, &anchors, &labels, &pool).expect("small");
        let (classifier, gradient) = fitter.gradient_at_start(&pseudo);
        let value =
            |classifier: &LinearClassifier<f64>| loss(&params, classifier, &anchors, &labels, &pool, &pseudo);
        let mut trace = FitTrace::default();
        fitter.fit(&pseudo, Some(&mut trace));
        let (found, wanted) = (trace.steps[0].loss, value(&classifier));
        assert!((found - wanted).abs() <= 1e-9, "{kind:?}: {found} against {wanted}");
        let step = 1e-5;
        let scale = gradient.weights.as_slice().iter().fold(0.0f64, |a, b| a.max(b.abs()));
        for at in 0..classifier.weights.as_slice().len() {
            let moved = |by: f64| {
                let mut moved = classifier.clone();
                moved.weights.as_mut_slice()[at] += by;
                value(&moved)
            };
            let numeric = (moved(step) - moved(-step)) / (2.0 * step);
            let analytic = gradient.weights.as_slice()[at];
            assert!(
                (numeric - analytic).abs() <= 1e-6 * scale,
                "{kind:?} weight {at}: {analytic} against {numeric}"
            );
        }
        for class in 0..WAYS {
            let moved = |by: f64| {
                let mut moved = classifier.clone();
                moved.bias[class] += by;
                value(&moved)
            };
            let numeric = (moved(step) - moved(-step)) / (2.0 * step);
            assert!((numeric - gradient.bias[class]).abs() <= 1e-6 * scale, "{kind:?} bias {class}");
        }
    }
}

#[test]
fn prototype_head_matches_central_differences() {
    let (anchors, pool) = (rows(4, 5, 3), rows(7, 5, 4));
    let labels = [0, 1, 2, 1];
    let params = params(ObjectiveKind::Hybrid, Head::Prototype);
    let mut fitter = Fitter::new(&params, WAYS, &anchors, &labels, &pool).expect("small");
    let (start, gradient) = fitter.gradient_at_start(&[]);
    // The head's parameters are the prototypes: w = W T / 2.
    let mut prototypes = start.weights.clone();
    prototypes.as_mut_slice().iter_mut().for_each(|value| *value *= params.temperature / 2.0);
    let value = |prototypes: &Matrix<f64>| {
        let classifier = LinearClassifier::from_prototypes(prototypes, params.temperature);
        loss(&params, &classifier, &anchors, &labels, &pool, &[])
    };
    let scale = gradient.weights.as_slice().iter().fold(0.0f64, |a, b| a.max(b.abs()));
    for at in 0..prototypes.as_slice().len() {
        let moved = |by: f64| {
            let mut moved = prototypes.clone();
            moved.as_mut_slice()[at] += by;
            value(&moved)
        };
        let numeric = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        let analytic = gradient.weights.as_slice()[at];
        assert!((numeric - analytic).abs() <= 1e-6 * scale, "prototype {at}: {analytic} against {numeric}");
    }
}

#[test]
fn a_pull_towards_given_shares_matches_central_differences() {
    let (anchors, pool) = (rows(4, 5, 5), rows(7, 5, 6));
    let labels = [0, 1, 2, 1];
    let shares = [0.6, 0.3, 0.1];
    let params = params(ObjectiveKind::Hybrid, Head::Linear);
    let mut fitter =
        Fitter::new(&params, WAYS, &anchors, &labels, &pool).expect("small").with_class_shares(&shares);
    let (classifier, gradient) = fitter.gradient_at_start(&[]);
    let value = |classifier: &LinearClassifier<f64>| {
        let p = classifier.probabilities(&pool).mean_row();
        let pull: f64 = p.iter().zip(shares).map(|(p, share)| p * share.ln()).sum();
        loss(&params, classifier, &anchors, &labels, &pool, &[]) - params.objective.marginal_weight * pull
    };
    let scale = gradient.weights.as_slice().iter().fold(0.0f64, |a, b| a.max(b.abs()));
    for at in 0..classifier.weights.as_slice().len() {
        let moved = |by: f64| {
            let mut moved = classifier.clone();
            moved.weights.as_mut_slice()[at] += by;
            value(&moved)
        };
        let numeric = (moved(1e-5) - moved(-1e-5)) / 2e-5;
        let analytic = gradient.weights.as_slice()[at];
        assert!((numeric - analytic).abs() <= 1e-6 * scale, "weight {at}: {analytic} against {numeric}");
    }
}
