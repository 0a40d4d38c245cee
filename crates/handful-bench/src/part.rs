//! A study in parts: each process solves a range of the tasks and writes what they said, and the parts together make the
//! scores of one process, bit for bit.
//!
//! A part carries what every task said rather than sums of it: a sum of sums is another number than the sum. Parts of other
//! features, settings, methods or instruction sets are refused, and so are tasks that are missing or there twice.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::study::{Score, Solved, scores};

/// The format this program writes, and the only one it reads.
const FORMAT: u32 = 1;

/// What one process found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    handful_part: u32,
    /// Version of the program.
    pub version: String,
    /// The instruction set it computed with.
    pub instruction_set: String,
    /// What must be the same in every part: digests of the features and of other files, the setting.
    pub identity: Value,
    /// What is only told, such as paths; the first part's is kept.
    pub about: Value,
    /// Tasks of the whole study.
    pub tasks: usize,
    /// The first task that was solved.
    pub from: usize,
    /// The one after the last.
    pub to: usize,
    /// The method that differences are taken to.
    pub reference: usize,
    /// What every method found.
    pub methods: Vec<Solved>,
}

/// Parts that do not make a study.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MergeError {
    /// There is none.
    #[error("there is no part to merge")]
    Nothing,
    /// Not a part, or not a whole one.
    #[error("{name}: not a part of a study: {reason}")]
    NotAPart {
        /// The part.
        name: String,
        /// What is wrong.
        reason: String,
    },
    /// Parts of different studies.
    #[error("{name}: {what} is {found}, but {expected} in {other}")]
    Mixed {
        /// The part.
        name: String,
        /// What differs.
        what: String,
        /// What it is there.
        found: String,
        /// What it is in the first part.
        expected: String,
        /// The first part.
        other: String,
    },
    /// No part has these tasks.
    #[error("tasks {from}..{to} of {tasks} are in no part")]
    Gap {
        /// The first of them.
        from: usize,
        /// The one after the last.
        to: usize,
        /// Tasks of the study.
        tasks: usize,
    },
    /// Two parts have the same tasks.
    #[error("{name} and {other}: both have tasks {from}..{to}")]
    Overlap {
        /// One part.
        name: String,
        /// The other one.
        other: String,
        /// The first of them.
        from: usize,
        /// The one after the last.
        to: usize,
    },
}

/// A merged study.
#[derive(Clone, Debug)]
pub struct Merged {
    /// What was told of the first part.
    pub about: Value,
    /// The method that differences are taken to.
    pub reference: usize,
    /// The scores, as one process finds them.
    pub scores: Vec<Score>,
}

impl Part {
    /// Puts together what a range of tasks said; `identity` is compared, `about` is not.
    pub fn new(
        identity: Value,
        about: Value,
        tasks: usize,
        from: usize,
        reference: usize,
        methods: Vec<Solved>,
    ) -> Self {
        let solved = methods.first().map_or(0, |method| method.outcomes.len());
        Self {
            handful_part: FORMAT,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            instruction_set: handful::instruction_set(),
            identity,
            about,
            tasks,
            from,
            to: from + solved,
            reference,
            methods,
        }
    }

    /// Reads a part; `name` is only used in messages.
    ///
    /// # Errors
    /// [`MergeError::NotAPart`] for anything else.
    pub fn read(name: &str, text: &[u8]) -> Result<Self, MergeError> {
        let wrong = |reason: String| MergeError::NotAPart { name: name.to_owned(), reason };
        let document: Value = serde_json::from_slice(text).map_err(|error| wrong(error.to_string()))?;
        match document.get("handful_part").and_then(Value::as_u64) {
            Some(format) if format == u64::from(FORMAT) => {}
            Some(format) => return Err(wrong(format!("format {format}, and this program reads {FORMAT}"))),
            None => return Err(wrong("it was not written by `bench --task-range`".to_owned())),
        }
        let part: Self = serde_json::from_value(document).map_err(|error| wrong(error.to_string()))?;
        let rows = part.to.checked_sub(part.from);
        if part.to > part.tasks || part.methods.iter().any(|method| Some(method.outcomes.len()) != rows) {
            return Err(wrong(format!("it does not hold the tasks {}..{} it names", part.from, part.to)));
        }
        if part.reference >= part.methods.len() {
            return Err(wrong("it has no reference method".to_owned()));
        }
        Ok(part)
    }

    /// What must be the same in every part, by name.
    fn compared(&self) -> Vec<(String, Value)> {
        let mut all = vec![
            ("version".to_owned(), Value::from(self.version.as_str())),
            ("instruction set".to_owned(), Value::from(self.instruction_set.as_str())),
            ("number of tasks".to_owned(), Value::from(self.tasks)),
            ("reference".to_owned(), Value::from(self.reference)),
            ("number of methods".to_owned(), Value::from(self.methods.len())),
        ];
        flatten("", &self.identity, &mut all);
        for (at, method) in self.methods.iter().enumerate() {
            let label = crate::table::label(&method.name, &method.preset);
            all.push((format!("method {}", at + 1), Value::from(label)));
            flatten(&method.name, &method.params, &mut all);
        }
        all
    }
}

fn flatten(name: &str, value: &Value, into: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten(&name, value, into);
            }
        }
        other => into.push((name.to_owned(), other.clone())),
    }
}

/// Makes the scores of the whole study; parts come with a name for messages, in any order.
///
/// # Errors
/// [`MergeError`] names the parts that do not fit together and the tasks that are missing or there twice.
pub fn merge(parts: Vec<(String, Part)>) -> Result<Merged, MergeError> {
    let (other, first) = parts.first().ok_or(MergeError::Nothing)?;
    let expected = first.compared();
    for (name, part) in &parts[1..] {
        check_same(name, &part.compared(), other, &expected)?;
    }
    let (about, reference, tasks) = (first.about.clone(), first.reference, first.tasks);
    let mut parts = parts;
    parts.sort_by_key(|(_, part)| (part.from, part.to));
    let mut at = 0;
    let mut before: Option<&str> = None;
    for (name, part) in &parts {
        if part.from > at {
            return Err(MergeError::Gap { from: at, to: part.from, tasks });
        }
        if let Some(other) = before.filter(|_| part.from < at) {
            let (from, to) = (part.from, part.to.min(at));
            return Err(MergeError::Overlap { name: name.clone(), other: other.to_owned(), from, to });
        }
        (at, before) = (part.to, Some(name.as_str()));
    }
    if at < tasks {
        return Err(MergeError::Gap { from: at, to: tasks, tasks });
    }
    let mut parts = parts.into_iter().map(|(_, part)| part.methods);
    let mut whole = parts.next().unwrap_or_default();
    for methods in parts {
        for (all, more) in whole.iter_mut().zip(methods) {
            all.outcomes.extend(more.outcomes);
            all.seconds += more.seconds;
        }
    }
    Ok(Merged { about, reference, scores: scores(&whole, reference) })
}

fn check_same(
    name: &str,
    found: &[(String, Value)],
    other: &str,
    expected: &[(String, Value)],
) -> Result<(), MergeError> {
    let text = |value: Option<&Value>| value.map_or_else(|| "missing".to_owned(), Value::to_string);
    let of =
        |list: &[(String, Value)], key: &str| list.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone());
    for (key, _) in expected.iter().chain(found) {
        let (here, there) = (of(found, key), of(expected, key));
        if here != there {
            return Err(MergeError::Mixed {
                name: name.to_owned(),
                what: key.clone(),
                found: text(here.as_ref()),
                expected: text(there.as_ref()),
                other: other.to_owned(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use handful_data::synthetic::SyntheticSpec;
    use handful_data::{EpisodeSampler, EpisodeSpec};
    use serde_json::json;

    use super::*;
    use crate::study::{Entrant, Study, Tasks};

    fn entrants() -> Vec<Entrant> {
        let entrant = |name| Entrant {
            preset: "default".into(),
            method: handful::methods::build(name, None, &[]).expect("a known method"),
        };
        ["protonet", "tim-adm"].into_iter().map(entrant).collect()
    }

    fn whole_and_parts(ranges: &[(usize, usize)]) -> (Vec<Score>, Vec<(String, Part)>) {
        let table = SyntheticSpec::default().table().expect("a valid specification");
        let spec = EpisodeSpec { query_imbalance: Some(2.0), ..EpisodeSpec::default() };
        let sampler = EpisodeSampler::new(&table, spec, 1).expect("enough rows");
        let tasks = Tasks::Sampled { sampler, count: 12 };
        let study = Study::new(&table, &tasks).threads(1);
        let whole = study.run(&entrants(), &|_| {}).expect("solvable tasks");
        let part = |&(from, to): &(usize, usize)| {
            let solved = study.solve_range(&entrants(), from..to, &|_| {}).expect("solvable tasks");
            let part = Part::new(json!({"seed": 1}), Value::Null, 12, from, 0, solved);
            // What another process reads is text.
            let text = serde_json::to_vec(&part).expect("JSON");
            (format!("{from}.json"), Part::read("a part", &text).expect("a part"))
        };
        (whole, ranges.iter().map(part).collect())
    }

    fn without_time(scores: &[Score]) -> Vec<Value> {
        let value = |score: &Score| {
            serde_json::to_value(Score { seconds: 0.0, tasks_per_second: 0.0, ..score.clone() })
                .expect("JSON")
        };
        scores.iter().map(value).collect()
    }

    #[test]
    fn parts_in_any_order_make_the_scores_of_one_process() {
        let (whole, parts) = whole_and_parts(&[(7, 12), (0, 3), (3, 7)]);
        assert_eq!(without_time(&merge(parts).expect("complete").scores), without_time(&whole));
    }

    #[test]
    fn missing_and_doubled_tasks_are_named() {
        let refused = |ranges: &[(usize, usize)]| {
            merge(whole_and_parts(ranges).1).expect_err("not a study").to_string()
        };
        assert_eq!(refused(&[(0, 3), (5, 12)]), "tasks 3..5 of 12 are in no part");
        assert_eq!(refused(&[(2, 12)]), "tasks 0..2 of 12 are in no part");
        assert_eq!(refused(&[(0, 9)]), "tasks 9..12 of 12 are in no part");
        assert_eq!(refused(&[(0, 6), (4, 12)]), "4.json and 0.json: both have tasks 4..6");
        assert_eq!(refused(&[(0, 12), (4, 8)]), "4.json and 0.json: both have tasks 4..8");
        assert_eq!(refused(&[]), "there is no part to merge");
    }

    #[test]
    fn parts_of_different_studies_are_refused() {
        let (_, parts) = whole_and_parts(&[(0, 6), (6, 12)]);
        let mixed = |change: &dyn Fn(&mut Part)| {
            let mut parts = parts.clone();
            change(&mut parts[1].1);
            merge(parts).expect_err("mixed").to_string()
        };
        assert_eq!(mixed(&|part| part.identity = json!({"seed": 2})), "6.json: seed is 2, but 1 in 0.json");
        let path = |part: &mut Part| part.instruction_set = "abacus".into();
        assert!(mixed(&path).starts_with("6.json: instruction set is \"abacus\", but "));
        assert!(mixed(&|part| part.methods[1].params["steps"] = json!(7)).contains("tim-adm.steps is 7"));
        assert!(mixed(&|part| part.methods.truncate(1)).contains("number of methods is 1, but 2"));
    }

    #[test]
    fn what_is_no_part_is_told_apart() {
        let read = |text: &str| Part::read("x.json", text.as_bytes()).expect_err("no part").to_string();
        assert!(read("nonsense").starts_with("x.json: not a part of a study: "));
        assert!(read("{\"methods\":[]}").contains("not written by `bench --task-range`"));
        assert!(read("{\"handful_part\":9}").contains("format 9"));
        let (_, parts) = whole_and_parts(&[(0, 6)]);
        let mut short = parts[0].1.clone();
        short.methods[1].outcomes.pop();
        let text = serde_json::to_string(&short).expect("JSON");
        assert!(read(&text).contains("does not hold the tasks 0..6"));
    }
}
