//! What may be shared between threads: the studio fits in one and predicts in others.

use handful_label::{
    LabelError, LabelEvidence, LabelFit, LabelModel, LabelParams, Labelling, ModelError, PreparedPool,
};

fn is_shared<T: Send + Sync + 'static>() {}
fn is_error<T: std::error::Error + Send + Sync + 'static>() {}

#[test]
fn nouns_can_be_sent_and_shared() {
    is_shared::<PreparedPool>();
    is_shared::<LabelFit>();
    is_shared::<LabelEvidence>();
    is_shared::<LabelModel>();
    is_shared::<LabelParams>();
    is_shared::<Labelling>();
    is_error::<LabelError>();
    is_error::<ModelError>();
}
