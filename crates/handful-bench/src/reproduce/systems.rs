//! Systems that were learnt from tasks: which rows stand for them, and what they run with.
//!
//! A head comes with the program for its own features, or is given for others. A system that needs a network of its own runs
//! on features of that network, with the classifier it ends in, or was measured elsewhere and brings its result.

use std::path::Path;

use handful::error::TaskError;
use handful::methods::{Method, PriorKnowledge, Setting};
use handful::{Solution, Task};
use handful_data::heads::HeadSource;
use handful_data::{FeatureTable, shipped};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ReproduceError;
use crate::statistics::Estimate;

/// How a system is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// By its head, on the features of the run.
    Head,
    /// By this method on features of a network that the system trained.
    Network(&'static str),
    /// Its network is adapted to every task: only its result can be given.
    Images,
}

/// The systems of the paper's tables.
pub const SYSTEMS: &[(&str, Use)] = &[
    ("feat", Use::Head),
    ("sib", Use::Head),
    ("dsn", Use::Head),
    ("relationnet", Use::Head),
    ("leo", Use::Head),
    ("metaoptnet", Use::Head),
    ("maml", Use::Images),
    ("s2m2", Use::Network("baseline-pp")),
    ("epnet", Use::Network("epnet")),
];

/// How a system is used, if there is one of that name.
pub fn usage(system: &str) -> Option<(&'static str, Use)> {
    SYSTEMS.iter().find(|(name, _)| *name == system).copied()
}

/// What was given for a system.
#[derive(Clone, Debug)]
pub enum Given {
    /// A head, for tasks of so many labelled rows per class.
    Head {
        /// Labelled rows per class.
        shots: usize,
        /// Where it is.
        source: HeadSource,
    },
    /// Novel-class features of its own network: the place among those of the run.
    Features(usize),
    /// What it reached elsewhere.
    Result(Elsewhere),
}

/// A result that was not computed here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Elsewhere {
    /// The system.
    pub system: String,
    /// Classes of a task.
    pub ways: usize,
    /// Labelled rows per class.
    pub shots: usize,
    /// Mean accuracy, a fraction.
    pub accuracy: f64,
    /// Half the width of its 95% interval.
    pub ci95: f64,
    /// Number of tasks.
    pub tasks: usize,
    /// What the system was trained on, and how.
    pub trained_on: String,
}

impl Elsewhere {
    /// Reads a JSON list of results, or one.
    ///
    /// # Errors
    /// [`ReproduceError::NoResult`] for a file that cannot be read, or holds something else.
    pub fn read(path: &Path) -> Result<Vec<Self>, ReproduceError> {
        let refuse = |reason: String| ReproduceError::NoResult { path: path.to_owned(), reason };
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum OneOrMore {
            One(Elsewhere),
            More(Vec<Elsewhere>),
        }
        let text = std::fs::read_to_string(path).map_err(|error| refuse(error.to_string()))?;
        let results = match serde_json::from_str(&text) {
            Ok(OneOrMore::One(one)) => vec![one],
            Ok(OneOrMore::More(all)) => all,
            Err(_) => {
                let needed = "system, ways, shots, accuracy, ci95, tasks and trained_on";
                return Err(refuse(format!("it is no result: a result has {needed}")));
            }
        };
        let fraction = |value: f64| (0.0..=1.0).contains(&value);
        match results.iter().find(|one| !fraction(one.accuracy) || !fraction(one.ci95)) {
            Some(one) => {
                let reason =
                    format!("accuracy {} and ci95 {} must be fractions of 1", one.accuracy, one.ci95);
                Err(refuse(reason))
            }
            None => Ok(results),
        }
    }

    /// Mean and interval.
    pub fn estimate(&self) -> Estimate {
        Estimate { mean: self.accuracy, ci95: self.ci95 }
    }
}

impl Method for Elsewhere {
    fn name(&self) -> &'static str {
        usage(&self.system).map_or("elsewhere", |(name, _)| name)
    }

    fn prior(&self) -> PriorKnowledge {
        PriorKnowledge { setting: Setting::Inductive, knows_class_sizes: false }
    }

    fn params(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn solve(&self, _: &Task<f32>) -> Result<Solution<f32>, TaskError> {
        let reason = "it was measured elsewhere".to_owned();
        Err(TaskError::Unsupported { method: self.name(), reason })
    }
}

/// What a cell of a system runs with.
#[derive(Clone, Debug, PartialEq)]
pub enum Learnt {
    /// A head.
    Head(HeadSource),
    /// Nothing: there is a result.
    Elsewhere(Elsewhere),
}

/// What was given for the systems of a run.
#[derive(Clone, Debug, Default)]
pub struct Systems {
    /// By name.
    pub given: Vec<(String, Given)>,
    /// Whether the features are those that heads come with the program for.
    pub has_shipped: bool,
}

impl Systems {
    /// Only what comes with the program, if that fits the features.
    pub fn shipped_for(table: &FeatureTable) -> Self {
        Self { given: Vec::new(), has_shipped: shipped::is_shipped(table) }
    }

    fn of(&self, system: &str) -> impl Iterator<Item = &Given> {
        self.given.iter().filter(move |(name, _)| name == system).map(|(_, given)| given)
    }

    /// The features that were given for a system.
    pub fn features(&self, system: &str) -> Option<usize> {
        self.of(system).find_map(|given| if let Given::Features(at) = given { Some(*at) } else { None })
    }

    /// What a system's cell runs with.
    ///
    /// # Errors
    /// Says what is needed where nothing is there.
    pub fn learnt(&self, system: &str, ways: usize, shots: usize) -> Result<Learnt, String> {
        let result = |given: &Given| match given {
            Given::Result(one) if (one.ways, one.shots) == (ways, shots) => Some(one.clone()),
            _ => None,
        };
        if let Some(result) = self.of(system).find_map(result) {
            return Ok(Learnt::Elsewhere(result));
        }
        if usage(system).is_none_or(|(_, usage)| usage != Use::Head) {
            let training = if system == "s2m2" {
                "--rotations, then --mixup".into()
            } else {
                format!("--system {system}")
            };
            return Err(format!(
                "it needs a network trained by `handful train DATASET {training}`, and its {} with --system {system}=FILE",
                if usage(system).is_some_and(|(_, usage)| usage == Use::Images) {
                    "result (.json)"
                } else {
                    "novel-class features or its result (.json)"
                }
            ));
        }
        let head = |given: &Given| match given {
            Given::Head { shots: trained, source } => Some((*trained, source.clone())),
            _ => None,
        };
        // The head for as many labelled rows, or else for fewer, or else any.
        let given: Vec<(usize, HeadSource)> = self.of(system).filter_map(head).collect();
        let fewer = given.iter().filter(|(trained, _)| *trained <= shots).max_by_key(|(trained, _)| *trained);
        if let Some((_, source)) = fewer.or(given.first()) {
            return Ok(Learnt::Head(source.clone()));
        }
        let shipped: Vec<usize> =
            if self.has_shipped { shipped::heads(system).collect() } else { Vec::new() };
        let fewer = shipped.iter().filter(|trained| **trained <= shots).max();
        match fewer.or(shipped.first()) {
            Some(&shots) => Ok(Learnt::Head(HeadSource::Shipped { shots })),
            None => Err(format!(
                "it needs a head that `handful train FEATURES --system {system}` learnt on the base classes of these \
                 features: give it with --system {system}=FILE"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(ways: usize, shots: usize) -> Elsewhere {
        let (accuracy, ci95, tasks) = (0.5, 0.01, 1000);
        Elsewhere { system: "maml".into(), ways, shots, accuracy, ci95, tasks, trained_on: "base".into() }
    }

    #[test]
    fn what_is_given_goes_before_what_comes_along_and_what_is_missing_is_said() {
        let file = |shots: usize| Given::Head { shots, source: HeadSource::File(format!("{shots}").into()) };
        let given = vec![
            ("sib".to_owned(), file(2)),
            ("sib".to_owned(), file(4)),
            ("maml".to_owned(), Given::Result(result(5, 1))),
            ("epnet".to_owned(), Given::Features(7)),
        ];
        let systems = Systems { given, has_shipped: true };
        let shots = |system: &str, shots: usize| match systems.learnt(system, 5, shots) {
            Ok(Learnt::Head(HeadSource::File(path))) => format!("file {}", path.display()),
            Ok(Learnt::Head(HeadSource::Shipped { shots })) => format!("shipped {shots}"),
            Ok(Learnt::Elsewhere(result)) => format!("result {}", result.shots),
            Err(reason) => reason,
        };
        assert_eq!(["file 2", "file 2", "file 4"], [1, 3, 5].map(|count| shots("sib", count)));
        assert_eq!(
            [shots("leo", 1), shots("leo", 5), shots("dsn", 1)],
            ["shipped 1", "shipped 5", "shipped 5"]
        );
        assert_eq!(shots("maml", 1), "result 1");
        assert!(shots("maml", 5).contains("train DATASET --system maml"));
        assert!(shots("s2m2", 5).contains("--system s2m2=FILE"));
        assert_eq!((systems.features("epnet"), systems.features("s2m2")), (Some(7), None));
        let without = Systems::default().learnt("leo", 5, 1).expect_err("nothing there");
        assert!(without.contains("train FEATURES --system leo"), "{without}");
    }

    #[test]
    fn results_are_read_one_or_many_and_checked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("maml.json");
        let write = |text: &str| std::fs::write(&path, text).expect("written");
        let one = serde_json::to_string(&result(5, 1)).expect("json");
        write(&one);
        assert_eq!(Elsewhere::read(&path).expect("one"), [result(5, 1)]);
        write(&format!("[{one},{one}]"));
        assert_eq!(Elsewhere::read(&path).expect("two").len(), 2);
        write("{}");
        assert!(Elsewhere::read(&path).expect_err("nothing").to_string().contains("trained_on"));
        write(&one.replace("0.5", "50.0"));
        assert!(Elsewhere::read(&path).expect_err("percent").to_string().contains("fractions"));
    }
}
