//! Scores as a table for a paper: booktabs, the best in bold, ± half of the 95% interval.

use std::fmt::Write;

use handful::methods::Setting;

use super::{Group, best_rows, label};
use crate::study::Score;

/// The table, ready for `\\input`; needs `\\usepackage{booktabs}`.
pub fn latex(groups: &[Group<'_>]) -> String {
    let Some(first) = groups.first() else { return String::new() };
    let several = groups.len() > 1;
    let differences = !several && first.scores.iter().any(|score| score.difference.is_some());
    let best = best_rows(groups);
    let is_best = |row: usize, group: usize| best.contains(&(row, group));
    let figures = groups.len() + usize::from(differences);
    let mut out = String::from("% \\usepackage{booktabs}\n");
    let _ = writeln!(out, "\\begin{{tabular}}{{l{}}}\n\\toprule", "c".repeat(figures));
    let headings = groups.iter().map(|group| match several {
        true => format!("{}-shot", group.shots),
        false => "Accuracy".to_owned(),
    });
    let headings: Vec<String> = headings.chain(differences.then(|| "Difference".to_owned())).collect();
    let _ = writeln!(out, "Method & {} \\\\\n\\midrule", headings.join(" & "));
    for (row, score) in first.scores.iter().enumerate() {
        let mut cells = vec![name(score)];
        for (at, group) in groups.iter().enumerate() {
            cells.push(group.scores.get(row).map_or_else(String::new, |score| {
                figure(format!("{:.2}", 100.0 * score.accuracy), score.ci95, is_best(row, at))
            }));
        }
        if differences {
            cells.push(score.difference.map_or_else(String::new, |difference| {
                figure(format!("${:+.2}$", 100.0 * difference.mean), difference.ci95, false)
            }));
        }
        let _ = writeln!(out, "{} \\\\", cells.join(" & "));
    }
    out.push_str("\\bottomrule\n\\end{tabular}\n");
    let any = |has: fn(&Score) -> bool| first.scores.iter().any(has);
    if any(|score| score.prior.setting == Setting::UsesUnlabeled) {
        out.push_str("% * uses unlabelled rows\n");
    }
    if any(|score| score.prior.knows_class_sizes) {
        out.push_str("% \\dagger is told the class sizes\n");
    }
    out.push_str("% bold: the highest mean of those with equal knowledge of class sizes\n");
    out
}

fn figure(mean: String, ci95: f64, best: bool) -> String {
    let mean = if best { format!("\\textbf{{{mean}}}") } else { mean };
    format!("{mean} {{\\scriptsize $\\pm$ {:.2}}}", 100.0 * ci95)
}

/// The method with marks for what it knows.
fn name(score: &Score) -> String {
    let mut marks = String::new();
    if score.prior.setting == Setting::UsesUnlabeled {
        marks.push('*');
    }
    if score.prior.knows_class_sizes {
        marks.push_str("\\dagger");
    }
    let marks = if marks.is_empty() { marks } else { format!("$^{{{marks}}}$") };
    format!("{}{marks}", escaped(&label(&score.name, &score.preset)))
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for letter in text.chars() {
        match letter {
            '\\' => out.push_str("\\textbackslash{}"),
            '~' => out.push_str("\\textasciitilde{}"),
            '^' => out.push_str("\\textasciicircum{}"),
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => out.extend(['\\', letter]),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_latex_takes_for_commands_is_text() {
        assert_eq!(escaped(r"a_b&c\d^e"), r"a\_b\&c\textbackslash{}d\textasciicircum{}e");
    }

    #[test]
    fn best_figures_are_bold_and_differences_have_signs() {
        let scores = super::super::tests::scores();
        let text = latex(&[Group { shots: 1, scores: &scores }]);
        assert!(text.contains(r"\textbf{62.50} {\scriptsize $\pm$ 17.32} & $+12.50$"), "{text}");
        assert!(text.contains(r"Method & Accuracy & Difference \\"), "{text}");
        let text = latex(&[Group { shots: 1, scores: &scores }, Group { shots: 5, scores: &scores }]);
        assert!(text.contains(r"Method & 1-shot & 5-shot \\"), "{text}");
        assert_eq!(text.matches(r"\textbf").count(), 2, "{text}");
    }
}
