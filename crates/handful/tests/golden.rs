//! The authors' procedure, value by value: five tasks with every intermediate result in double precision.

use std::fs::File;
use std::path::{Path, PathBuf};

use handful::Matrix;
use handful::fit::Fitter;
use handful::fit::classifier::{LinearClassifier, prototypes};
use handful::methods::dm_ida::{DmIda, DmIdaParams};
use handful::methods::presets;
use handful::methods::single_fit::TraceWanted;
use handful::paper::ida::WhitenedPool;
use handful::paper::objective::ObjectiveKind;
use handful::solution::{FitTrace, Solution};
use handful::task::{Task, Unlabeled};

const CASES: [&str; 5] = [
    "semi-1shot-hybrid",
    "transductive-1shot-hybrid",
    "transductive-1shot-mi",
    "transductive-3way-2shot-ce",
    "transductive-5shot-dm",
];

struct Golden {
    path: PathBuf,
    settings: serde_json::Value,
}

impl Golden {
    fn open(name: &str) -> Self {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
        let settings = File::open(path.with_extension("json")).expect("settings are committed");
        Self {
            settings: serde_json::from_reader(settings).expect("valid json"),
            path: path.with_extension("npz"),
        }
    }

    fn number(&self, key: &str) -> f64 {
        self.settings[key].as_f64().unwrap_or_else(|| panic!("{key} is a number"))
    }

    fn array<N: npyz::Deserialize>(&self, name: &str) -> (Vec<u64>, Vec<N>) {
        let file = File::open(&self.path).expect("arrays are committed");
        let mut archive = zip::ZipArchive::new(file).expect("a zip");
        let entry = archive.by_name(&format!("{name}.npy")).unwrap_or_else(|_| panic!("{name} is there"));
        let npy = npyz::NpyFile::new(entry).expect("an npy");
        let shape = npy.shape().to_vec();
        (shape, npy.into_vec().expect("of the right type"))
    }

    fn matrix(&self, name: &str) -> Matrix<f64> {
        let (shape, values) = self.array(name);
        Matrix::from_vec(shape[0] as usize, shape[1] as usize, values)
    }

    fn vector(&self, name: &str) -> Vec<f64> {
        self.array(name).1
    }

    fn labels(&self, name: &str) -> Vec<usize> {
        self.array::<i64>(name).1.into_iter().map(|label| usize::try_from(label).expect("a label")).collect()
    }

    fn ways(&self) -> usize {
        self.number("ways") as usize
    }

    fn task(&self) -> Task<f64> {
        let unlabeled = match self.settings["mode"].as_str() {
            Some("semi") => Unlabeled::Pool(self.matrix("pool")),
            _ => Unlabeled::Query,
        };
        let (support, labels) = (self.matrix("support"), self.labels("support_labels"));
        Task::new(0, self.ways(), support, labels, unlabeled, self.matrix("query")).expect("a valid task")
    }

    /// Preset `authors` with what the case's settings change.
    fn params(&self) -> DmIdaParams {
        let mut params = presets::authors();
        params.fit.steps = self.number("steps") as usize;
        params.fit.objective.kind = match self.settings["objective"].as_str() {
            Some("none") => ObjectiveKind::CrossEntropy,
            Some("MI") => ObjectiveKind::MutualInformation,
            Some("DM") => ObjectiveKind::Dependence,
            _ => ObjectiveKind::Hybrid,
        };
        // Preset and case agree on everything else; asserted so that neither can drift.
        assert_eq!(params.fit.for_shots(self.number("shots")).temperature, self.number("temperature"));
        assert_eq!(params.fit.learning_rate, self.number("learning_rate"));
        assert_eq!(params.fit.objective.dependence_weight, self.number("dm_weight_unnormalised"));
        assert_eq!(params.fit.objective.marginal_weight, self.number("mi_weight"));
        assert_eq!(params.fit.objective.conditional_weight, self.number("conditional_entropy_weight"));
        assert_eq!(params.fit.objective.prediction_bandwidth, self.number("sigma"));
        assert_eq!(params.fisher.pca as f64, self.number("pca"));
        assert_eq!(params.fisher.ridge, self.number("rho"));
        params
    }

    fn solve<T: handful::scalar::Scalar>(&self, task: &Task<T>) -> Solution<T> {
        let method = DmIda::new(self.params()).expect("valid parameters");
        method.solve_in(task, TraceWanted::Yes).expect("a solvable task")
    }
}

fn assert_close(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    for (at, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= tolerance * (1.0 + want.abs()), "{what} {at}: {got} against {want}");
    }
}

#[test]
fn prototype_start() {
    for case in CASES {
        let golden = Golden::open(case);
        let task = golden.task();
        let means = prototypes(task.support(), task.support_labels(), task.ways());
        let start = LinearClassifier::from_prototypes(&means, golden.number("temperature"));
        assert_close(start.weights.as_slice(), golden.matrix("init_weights").as_slice(), 1e-9, "weight");
        assert_close(&start.bias, &golden.vector("init_bias"), 1e-9, "bias");
    }
}

#[test]
fn dependence_at_the_start() {
    for case in CASES {
        let golden = Golden::open(case);
        let task = golden.task();
        let pool = golden.matrix("pool");
        let mut fit = golden.params().fit;
        fit = fit.for_shots(golden.number("shots"));
        fit.objective.kind = ObjectiveKind::Dependence;
        fit.steps = 1;
        let mut trace = FitTrace::default();
        Fitter::new(&fit, task.ways(), task.support(), task.support_labels(), &pool)
            .expect("small enough")
            .fit(&[], Some(&mut trace));
        let pairs = (pool.rows() - 1) as f64;
        let got = trace.steps[0].dependence * pairs * pairs;
        let want = golden.vector("trace_khlh_at_init")[0];
        assert!((got / want - 1.0).abs() < 1e-9, "{case}: {got} against {want}");
    }
}

#[test]
fn first_fit_and_its_pseudo_labels() {
    for case in CASES {
        let golden = Golden::open(case);
        let task = golden.task();
        let pool = golden.matrix("pool");
        let params = golden.params();
        let mut fit = params.fit;
        fit = fit.for_shots(golden.number("shots"));
        if pool.rows() > params.selection_rows_limit {
            fit.objective.kind = ObjectiveKind::MutualInformation;
        }
        let classifier = Fitter::new(&fit, task.ways(), task.support(), task.support_labels(), &pool)
            .expect("small enough")
            .fit(&[], None);
        let logits = classifier.logits(&pool);
        assert_close(logits.as_slice(), golden.matrix("first_fit_pool_logits").as_slice(), 1e-6, case);
        let labels = Solution::from_probabilities(logits.clone(), logits).query_labels();
        assert_eq!(labels, golden.labels("first_pseudo_labels"), "{case}");
    }
}

#[test]
fn ida_scores_and_psi() {
    for case in CASES {
        let golden = Golden::open(case);
        let labels = golden.labels("first_pseudo_labels");
        let pool = WhitenedPool::new(&golden.matrix("pool"), &golden.params().fisher);
        assert_close(&pool.ida(&labels, golden.ways()), &golden.vector("ida_scores"), 1e-8, case);
        let psi = pool.fisher(&labels, golden.ways());
        assert_close(&[psi], &golden.vector("psi"), 1e-8, case);
    }
}

#[test]
fn selected_rows_and_final_labels() {
    for case in CASES {
        let golden = Golden::open(case);
        let task = golden.task();
        let solution = golden.solve(&task);
        let logits = solution.classifier.as_ref().expect("linear").logits(task.query());
        assert_close(logits.as_slice(), golden.matrix("final_query_logits").as_slice(), 1e-6, case);
        assert_eq!(solution.query_labels(), golden.labels("final_query_labels"), "{case}");

        let trace = solution.trace.expect("asked for");
        let last = trace.rounds.last().expect("at least one round");
        let mut want: Vec<(usize, usize)> =
            golden.labels("final_selected").into_iter().zip(golden.labels("final_selected_labels")).collect();
        want.sort_unstable();
        let got: Vec<(usize, usize)> = last.selected.iter().map(|&row| (row, last.labels[row])).collect();
        assert_eq!(got, want, "{case}");
    }
}

#[test]
fn single_precision_reaches_the_same_labels() {
    for case in CASES {
        let golden = Golden::open(case);
        let solution = golden.solve(&golden.task().cast::<f32>());
        assert_eq!(solution.query_labels(), golden.labels("final_query_labels"), "{case}");
    }
}
