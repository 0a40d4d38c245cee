//! Table 5: which term beside the cross-entropy. One fit, no selection.

use super::Plan;
use super::cell::Recipe;
use super::layout::{By, Claim, Layout, Row, one_and_five_shot, paper_columns};
use super::paper;

const SAME: &str = "One fit, same start and steps";
const OWN: &str = "At their own settings";

/// A single fit of dm-ida with another objective. Preset `paper` has no entropy terms; it gets TIM's weights for them.
pub fn single_fit(plan: &Plan, objective: &str) -> Recipe {
    let recipe = Recipe::at("dm-ida", &plan.preset).with("objective", objective).with("max_rounds", "0");
    let entropies = ["conditional-entropy", "mutual-information", "hybrid"].contains(&objective);
    if plan.preset == "paper" && entropies {
        return recipe.with("conditional_weight", "0.1").with("marginal_weight", "1");
    }
    recipe
}

/// The table.
pub fn layout(plan: &Plan) -> Layout {
    let same = |key: &'static str, label: &str| Row {
        key,
        label: label.to_owned(),
        group: SAME,
        by: By::Recipe(single_fit(plan, key)),
    };
    let own = |key: &'static str, label: &str| Row {
        key,
        label: label.to_owned(),
        group: OWN,
        by: By::Recipe(Recipe::at(key, &plan.preset)),
    };
    let ahead = |better, worse| Claim { better, worse };
    Layout {
        table: "table5",
        title: "Table 5. Which loss",
        about: "Cross-entropy of the labelled examples plus one term over the unlabelled ones, transductive, one fit, \
                no selection. The first rows share every parameter but the term; the last two are the methods that \
                the paper cites, at settings of their own. The paper's are of WRN-28-10."
            .to_owned(),
        columns: one_and_five_shot(),
        paper_columns: paper_columns(&[
            ("paper, mini, 1-shot", 0),
            ("paper, mini, 5-shot", 1),
            ("paper, tiered, 1-shot", 2),
            ("paper, tiered, 5-shot", 3),
        ]),
        rows: vec![
            same("cross-entropy", "Cross-entropy alone"),
            same("conditional-entropy", "+ conditional entropy"),
            same("mutual-information", "+ mutual information"),
            same("dependence", "+ dependence (DM)"),
            same("hybrid", "+ both (the authors' code)"),
            own("entropy-min", "Entropy minimisation"),
            own("tim-gd", "TIM-GD"),
        ],
        printed: paper::TABLE5,
        claims: vec![
            ahead("conditional-entropy", "cross-entropy"),
            ahead("mutual-information", "conditional-entropy"),
            ahead("dependence", "mutual-information"),
            ahead("dependence", "cross-entropy"),
        ],
    }
}
