//! What is written about the epochs for people.

use super::checkpoint::EpochMetrics;

/// A table of the epochs.
pub fn csv(history: &[EpochMetrics]) -> String {
    let mut table = "epoch,learning_rate,loss,accuracy,validation_1shot,seconds\n".to_owned();
    for epoch in history {
        let validation = epoch.validation.map(|value| format!("{value:.4}")).unwrap_or_default();
        table.push_str(&format!(
            "{},{:.6},{:.4},{:.4},{validation},{:.1}\n",
            epoch.epoch, epoch.rate, epoch.loss, epoch.accuracy, epoch.seconds
        ));
    }
    table
}
