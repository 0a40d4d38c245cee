//! What may be shared between threads: servers and studies rely on it, and a field added in passing can take it away.

use handful::error::{ParamError, TaskError};
use handful::graph::kernel_graph::KernelGraph;
use handful::graph::neighbours::Neighbours;
use handful::graph::weighted::WeightedGraph;
use handful::methods::{Builder, DmIda, DmIdaParams, Method, Ridge, SelfTraining};
use handful::paper::ida::WhitenedPool;
use handful::transform::Transform;
use handful::{Matrix, Solution, Task};

fn is_shared<T: Send + Sync + 'static>() {}
fn is_error<T: std::error::Error + Send + Sync + 'static>() {}

#[test]
fn nouns_can_be_sent_and_shared() {
    is_shared::<Matrix<f32>>();
    is_shared::<Task<f32>>();
    is_shared::<Solution<f32>>();
    is_shared::<Transform>();
    is_shared::<Box<dyn Method>>();
    is_shared::<DmIda>();
    is_shared::<Ridge>();
    is_shared::<SelfTraining>();
    is_shared::<Builder<DmIdaParams>>();
    is_shared::<WhitenedPool>();
    is_shared::<Neighbours>();
    is_shared::<KernelGraph>();
    is_shared::<WeightedGraph>();
    is_error::<TaskError>();
    is_error::<ParamError>();
}
