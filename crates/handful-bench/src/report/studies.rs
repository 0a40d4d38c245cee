//! Sections that are not tables of accuracies: Table 1, Figure 1, Theorem 3 and the picture of a task.

use serde::de::DeserializeOwned;

use super::plots::{self, Curve, Density, Scatter};
use super::{CellView, Check, Figure, Heading, RowView, Section, TableView, Verdict};
use crate::reproduce::figure1::{Band, Curves};
use crate::reproduce::paper;
use crate::reproduce::picture::Picture;
use crate::reproduce::results::Record;
use crate::reproduce::{table1 as labelling, theorem3 as bound};

fn extra<T: DeserializeOwned>(record: &Record) -> Option<T> {
    serde_json::from_value(record.extra.clone()).ok()
}

fn plain(value: String) -> CellView {
    CellView { value, ..CellView::default() }
}

fn heading(text: &str, printed: bool) -> Heading {
    Heading { text: text.to_owned(), printed }
}

/// Table 1 and its scatter plot.
pub fn table1(records: &[&Record]) -> Section {
    let mut section = Section {
        id: "table1",
        title: "Table 1. Fisher's criterion and accuracy".into(),
        about: "psi of four ways to label the same unlabelled examples, each divided by psi of the true labels, beside \
                their accuracy. The paper's hypothesis is that the first can stand for the second."
            .into(),
        ..Section::default()
    };
    let mut rows = Vec::new();
    let mut clouds = Vec::new();
    let mut psis: Vec<(&str, f64)> = Vec::new();
    for (key, label, _) in labelling::ROWS {
        let Some(record) = records.iter().find(|r| r.row == key) else { continue };
        let number = |key: &str| record.extra[key].as_f64().unwrap_or(0.0);
        psis.push((key, number("psi")));
        let tasks = (record.tasks != record.run.tasks).then_some(record.tasks);
        let mut cells = vec![
            CellView {
                value: format!("{:.2}", number("psi")),
                interval: Some(format!("{:.3}", number("psi_ci95"))),
                ..CellView::default()
            },
            CellView {
                value: format!("{:.2}", 100.0 * record.accuracy),
                interval: Some(format!("{:.2}", 100.0 * record.ci95)),
                tasks,
                best: false,
            },
        ];
        let printed = paper::find(paper::TABLE1, key).map_or(&[][..], |printed| printed.values);
        cells.extend(printed.iter().map(|value| plain(value.map(|v| format!("{v:.2}")).unwrap_or_default())));
        rows.push(RowView { group: "1-shot".into(), label: label.into(), knows_class_sizes: false, cells });
        let psi = record.extra["psi_per_task"].as_array().cloned().unwrap_or_default();
        let points = psi.iter().filter_map(serde_json::Value::as_f64).zip(record.per_task());
        if key != "truth" {
            clouds.push(Scatter { label: label.to_owned(), points: points.collect() });
        }
    }
    if rows.is_empty() {
        return section;
    }
    let words = [
        "psi",
        "accuracy",
        "paper, mini, psi",
        "paper, mini, accuracy",
        "paper, tiered, psi",
        "paper, tiered, accuracy",
    ];
    let headings = words.iter().enumerate().map(|(at, text)| heading(text, at > 1)).collect();
    section.table = Some(TableView { headings, rows });
    if psis.len() == 4 {
        let rising = psis.windows(2).all(|pair| pair[0].1 < pair[1].1);
        section.checks.push(Check {
            claim: "psi rises with accuracy: random, without DM, with DM, true labels".into(),
            verdict: if rising { Verdict::Holds } else { Verdict::Fails },
            detail: psis.iter().map(|(_, psi)| format!("{psi:.2}")).collect::<Vec<_>>().join(", "),
        });
    }
    section.figures.push(Figure {
        id: "table1-psi-accuracy".into(),
        caption: "psi of each labelling of a task, relative to that of its true labels, and the labelling's accuracy: \
                  one dot a task."
            .into(),
        svg: plots::scatter(&clouds, "psi relative to the true labels", "accuracy, %"),
    });
    section
}

/// Figure 1: one row of panels per preset.
pub fn figure1(records: &[&Record]) -> Section {
    let mut section = Section {
        id: "figure1",
        title: "Figure 1. Convergence".into(),
        about: "One fit of Eq. 4 (cross-entropy and dependence) on 1-shot tasks: mean over tasks, and the band from \
                the tenth to the ninetieth percentile. The paper says that the DM value increases at each iteration \
                and converges well. A task counts against the first if its value falls from one iteration to the next \
                by more than 0.001% of its maximum, and against the second if its last tenth still moves it by more \
                than 1% of its range."
            .into(),
        ..Section::default()
    };
    for record in records {
        let Some(curves) = extra::<Curves>(record) else { continue };
        let preset = record.row.as_str();
        let of = record.tasks;
        let none = |count: usize| if count == 0 { Verdict::Holds } else { Verdict::Fails };
        section.checks.push(Check {
            claim: format!("preset {preset}: the DM value increases at every iteration of every task"),
            verdict: none(curves.falling),
            detail: format!(
                "{} of {of} tasks fall at some iteration, by at most {:.3}% of their maximum; {} end below their start",
                curves.falling,
                100.0 * curves.largest_fall,
                curves.ending_lower
            ),
        });
        section.checks.push(Check {
            claim: format!("preset {preset}: it converges on every task"),
            verdict: none(curves.unconverged),
            detail: format!("{} of {of} tasks still move in the last tenth", curves.unconverged),
        });
        let percent = |band: &Band| {
            let scaled = |values: &[f64]| values.iter().map(|value| 100.0 * value).collect();
            Band { mean: scaled(&band.mean), low: scaled(&band.low), high: scaled(&band.high) }
        };
        let panels = [
            ("cross-entropy", "cross-entropy of the labelled examples", 3, curves.cross_entropy.clone()),
            ("dependence", "DM value", 1, curves.dependence.clone()),
            ("accuracy", "accuracy, %", 0, percent(&curves.accuracy)),
        ];
        for (name, axis, colour, band) in panels {
            let curve = Curve { steps: &curves.steps, band: &band, colour };
            section.figures.push(Figure {
                id: format!("figure1-{preset}-{name}"),
                caption: format!("Preset {preset}: {axis} over iterations, {of} tasks."),
                svg: plots::curve(&curve, "iteration", axis),
            });
        }
    }
    section
}

/// Theorem 3: AUCs, correlation, times, and the histogram of IDA values.
pub fn theorem3(records: &[&Record]) -> Section {
    let mut section = Section {
        id: "theorem3",
        title: "Theorem 3. The bound instead of the exact value".into(),
        about: "Labels of a cross-entropy classifier, 1-shot. AUC: how well each measure tells right labels from wrong \
                ones within a task (0.5 is chance). Rank correlation: of the bound with the exact value. The paper \
                proposes the bound to save time. Times differ from run to run."
            .into(),
        ..Section::default()
    };
    let mut rows = Vec::new();
    for (key, label) in bound::ROWS {
        let Some(record) = records.iter().find(|r| r.row == key) else { continue };
        let Some(study) = extra::<bound::BoundStudy>(record) else { continue };
        let cells = vec![
            plain(format!("{:.3}", study.auc_ida)),
            plain(format!("{:.3}", study.auc_bound)),
            plain(format!("{:.3}", study.auc_confidence)),
            plain(format!("{:.2}", study.rank_correlation)),
            plain(format!("{:.0}", study.microseconds_ida)),
            plain(format!("{:.0}", study.microseconds_bound)),
        ];
        let group = format!("{} tasks, labels {:.1}% right", record.tasks, 100.0 * record.accuracy);
        rows.push(RowView { group, label: label.into(), knows_class_sizes: false, cells });
        section.checks.push(Check {
            claim: format!("{label}: the bound ranks labels as well as the exact value"),
            verdict: if study.auc_bound >= study.auc_ida { Verdict::Holds } else { Verdict::Fails },
            detail: format!("AUC {:.3} against {:.3}", study.auc_bound, study.auc_ida),
        });
        let (right, wrong) = (share(&study.right), share(&study.wrong));
        section.figures.push(Figure {
            id: format!("theorem3-ida-{key}"),
            caption: format!(
                "{label}: values of right and of wrong labels. The outermost bars take what lies beyond."
            ),
            svg: plots::densities(
                &study.edges,
                &[
                    Density { label: " right labels", shares: &right, colour: 0 },
                    Density { label: " wrong labels", shares: &wrong, colour: 3 },
                ],
                "IDA value",
                "% of the labels",
            ),
        });
    }
    if !rows.is_empty() {
        let words = [
            "AUC, exact IDA",
            "AUC, bound",
            "AUC, confidence",
            "rank correlation",
            "exact, µs a pool",
            "bound, µs a pool",
        ];
        let headings = words.iter().map(|text| heading(text, false)).collect();
        section.table = Some(TableView { headings, rows });
    }
    section
}

fn share(counts: &[u32]) -> Vec<f64> {
    let total: u32 = counts.iter().sum();
    counts.iter().map(|&count| 100.0 * f64::from(count) / f64::from(total.max(1))).collect()
}

/// One task before and after.
pub fn picture(records: &[&Record]) -> Section {
    let mut section = Section {
        id: "picture",
        title: "One task, before and after".into(),
        about: "The plane that separates the true classes best. Large outlined marks are the labelled examples; colour \
                and shape are the label given; a cross marks a wrong one; a ring marks an example that joined the \
                labelled set. Before: cross-entropy on the labelled examples. After: the whole method. The task is the \
                one among the first fifty whose gain is nearest to the mean gain."
            .into(),
        ..Section::default()
    };
    let Some(picture) = records.first().and_then(|record| extra::<Picture>(record)) else { return section };
    let right = |labels: &[usize]| labels.iter().zip(&picture.truth).filter(|(a, b)| a == b).count();
    let states = [("before", &picture.before, &[][..]), ("after", &picture.after, &picture.joined[..])];
    for (name, labels, joined) in states {
        section.figures.push(Figure {
            id: format!("picture-{name}"),
            caption: format!(
                "Task {}, {name}: {} of {} labels right.",
                picture.task,
                right(labels),
                picture.truth.len()
            ),
            svg: plots::task(&picture, labels, joined),
        });
    }
    section
}
