//! What a task is made of: shared by every command that draws tasks.

use clap::Args;
use handful_bench::study::Tasks;
use handful_data::{EpisodeSampler, EpisodeSpec, FeatureTable};
use serde_json::{Map, Value, json};

use crate::error::CliError;

/// What a task is made of.
#[derive(Args, Clone)]
pub struct SettingArgs {
    /// Classes of a task
    #[arg(long, default_value_t = 5)]
    ways: usize,
    /// Labelled rows per class; `bench` takes several, as 1,5, and prints one table
    #[arg(long, value_delimiter = ',', default_value = "1")]
    shots: Vec<usize>,
    /// With this, each class has a random number of labelled rows from --shots to this
    #[arg(long, value_name = "SHOTS")]
    most_shots: Option<usize>,
    /// Rows per class to label and score
    #[arg(long, default_value_t = 15)]
    queries: usize,
    /// Rows of all classes together to label and score, instead of --queries for each
    #[arg(long, value_name = "ROWS")]
    total_queries: Option<usize>,
    /// Unlabelled rows per class besides the queries; 0 makes the queries the unlabelled rows (transductive)
    #[arg(long, default_value_t = 0)]
    unlabeled: usize,
    /// Draw the class shares of the queries from a Dirichlet distribution with this parameter (2 is usual)
    #[arg(long, value_name = "PARAMETER")]
    query_imbalance: Option<f64>,
    /// The same for the unlabelled rows
    #[arg(long, value_name = "PARAMETER")]
    pool_imbalance: Option<f64>,
    /// Only this many of the classes, at random, have queries and unlabelled rows
    #[arg(long, value_name = "CLASSES")]
    effective_ways: Option<usize>,
    /// Other classes whose rows are mixed into the unlabelled rows
    #[arg(long, default_value_t = 0, value_name = "CLASSES")]
    distractor_classes: usize,
    /// Rows of each such class
    #[arg(long, default_value_t = 0, value_name = "ROWS")]
    distractor_rows: usize,
    /// Other classes that add queries which belong to no class of the task
    #[arg(long, default_value_t = 0, value_name = "CLASSES")]
    open_classes: usize,
    /// Queries of each such class
    #[arg(long, default_value_t = 0, value_name = "ROWS")]
    open_rows: usize,
    /// Number of tasks
    #[arg(long, default_value_t = 1000)]
    tasks: usize,
    /// Seed of the tasks
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl SettingArgs {
    /// The settings with one number of labelled rows each.
    pub fn each(&self) -> Result<Vec<Self>, CliError> {
        let twice = self.shots.iter().enumerate().find(|(at, shots)| self.shots[..*at].contains(shots));
        match twice {
            Some((_, shots)) => Err(CliError::Usage(format!("--shots: {shots} is there twice"))),
            None => Ok(self.shots.iter().map(|&shots| Self { shots: vec![shots], ..self.clone() }).collect()),
        }
    }

    /// The first number of labelled rows; the only one, where [`Self::each`] has been there.
    pub fn first_shots(&self) -> usize {
        self.shots.first().copied().unwrap_or(1)
    }

    fn shots_in_words(&self) -> String {
        let shots: Vec<String> = self.shots.iter().map(usize::to_string).collect();
        match shots.split_last() {
            Some((last, others)) if !others.is_empty() => format!("{}- and {last}", others.join("-, ")),
            _ => shots.concat(),
        }
    }

    /// A sampler of such tasks, and how many of them are wanted.
    pub fn sampler(&self, features: &FeatureTable) -> Result<(EpisodeSampler, usize), CliError> {
        if self.shots.len() > 1 {
            let shots = self.shots.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
            return Err(CliError::Usage(format!("--shots {shots}: give one number here")));
        }
        if self.tasks == 0 {
            return Err(CliError::Usage("there is no task to solve: --tasks must be at least 1".into()));
        }
        Ok((EpisodeSampler::new(features, self.spec(), self.seed)?, self.tasks))
    }

    /// The tasks of a study.
    pub fn tasks(&self, features: &FeatureTable) -> Result<Tasks, CliError> {
        let (sampler, count) = self.sampler(features)?;
        Ok(Tasks::Sampled { sampler, count })
    }

    fn spec(&self) -> EpisodeSpec {
        EpisodeSpec {
            ways: self.ways,
            shots: self.first_shots(),
            queries: self.queries,
            unlabeled: self.unlabeled,
            most_shots: self.most_shots,
            total_queries: self.total_queries,
            query_imbalance: self.query_imbalance,
            pool_imbalance: self.pool_imbalance,
            effective_ways: self.effective_ways,
            distractor_classes: self.distractor_classes,
            distractor_rows: self.distractor_rows,
            open_classes: self.open_classes,
            open_rows: self.open_rows,
        }
    }

    fn mode(&self) -> &'static str {
        if self.spec().is_transductive() { "transductive" } else { "semi-supervised" }
    }

    /// In words, for the heading of a table.
    pub fn describe(&self) -> String {
        let shots = match self.most_shots {
            Some(most) => format!("{} to {most}-shot", self.shots_in_words()),
            None => format!("{}-shot", self.shots_in_words()),
        };
        let queries = match self.total_queries {
            Some(total) => format!("{total} queries in all"),
            None => format!("{} queries per class", self.queries),
        };
        let mut parts = vec![format!("{} tasks", self.tasks), format!("{}-way {shots}", self.ways), queries];
        if self.unlabeled > 0 {
            parts.push(format!("{} unlabelled per class", self.unlabeled));
        }
        let imbalance = [("queries", self.query_imbalance), ("unlabelled", self.pool_imbalance)];
        parts.extend(imbalance.into_iter().filter_map(|(what, a)| Some(format!("{what} Dirichlet({})", a?))));
        parts.extend(self.effective_ways.map(|ways| format!("rows of {ways} classes only")));
        if self.distractor_classes > 0 {
            parts.push(format!("{} x {} distractors", self.distractor_classes, self.distractor_rows));
        }
        if self.open_classes > 0 {
            parts.push(format!("{} x {} queries of unknown classes", self.open_classes, self.open_rows));
        }
        parts.push(self.mode().to_owned());
        parts.push(format!("seed {}", self.seed));
        parts.join(", ")
    }

    /// As JSON: the seven keys of the usual setting, and those of the others that are in use.
    pub fn document(&self) -> Value {
        let mut document = json!({
            "ways": self.ways,
            "shots": self.first_shots(),
            "queries": self.queries,
            "unlabeled": self.unlabeled,
            "tasks": self.tasks,
            "seed": self.seed,
            "mode": self.mode(),
        });
        let (usual, own) = (object(&EpisodeSpec::default()), object(&self.spec()));
        for (key, value) in own.into_iter().filter(|(key, value)| usual.get(key) != Some(value)) {
            document[key] = value;
        }
        if self.shots.len() > 1 {
            document["shots"] = json!(self.shots);
        }
        document
    }
}

fn object(spec: &EpisodeSpec) -> Map<String, Value> {
    match serde_json::to_value(spec) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}
