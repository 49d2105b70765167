//! Why a pod has no place: for every reason the pool it is about, and by how much it was missed.

mod order;
mod pods;
mod pool;
mod shape;

use joiner_core::{selector::LabelSelector, testing::selector};

fn web() -> LabelSelector {
    selector([("app", "web")])
}
