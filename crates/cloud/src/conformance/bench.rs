//! How the checks get hold of a provider and its cloud.

use std::{collections::BTreeMap, fmt, pin::Pin, sync::Arc};

use async_trait::async_trait;

use super::Notebooks;
use crate::{CloudProvider, class::NodeClass, inputs::OrderInputs, order::Order};

/// Something that goes wrong with one call of a provider to its cloud.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mishap {
    /// The process is killed before the cloud sees the call.
    KilledBefore,
    /// The process is killed after the call took effect, before it hears the answer.
    KilledAfter,
    /// The call times out and has no effect.
    NoAnswer,
    /// The call takes effect, and the connection breaks before the answer.
    AnswerLost,
    /// The cloud says that it failed, and the call has no effect.
    Failed,
}

/// A cloud with a provider, made by a provider's tests.
#[async_trait(?Send)]
pub trait Bench {
    /// The provider in a new process without any state.
    fn start(&self) -> Process;

    /// The provider in a process of another cluster with the same name. None where clusters never
    /// share a cloud.
    fn start_elsewhere(&self) -> Option<Process> {
        None
    }

    /// Annotations of claims. Every process of the bench writes to the same ones.
    fn notebooks(&self) -> &Notebooks;

    /// A class that is ready.
    fn class(&self) -> Arc<NodeClass>;

    /// What every order comes with.
    fn inputs(&self) -> OrderInputs {
        OrderInputs::default()
    }

    /// Lets a call of whichever process go wrong, once so many calls have got through.
    fn arm(&self, mishap: Mishap, after: u32);

    /// Lets every call get through from now on. Says whether one had gone wrong.
    fn disarm(&self) -> bool;

    /// Every instance in the cloud, of any owner, by the provider's name, with all its mutable state.
    /// Mishaps of the provider's calls do not affect this call.
    async fn instances(&self) -> BTreeMap<String, String>;

    /// Adds foreign instances and returns their names. They are one without a mark, one with another
    /// cluster's mark, and one with the name of this order's instance, where the cloud allows these.
    async fn add_foreign(&self, order: &Order) -> Vec<String>;

    /// Copies an instance as people do past the provider, with everything that the cloud lets a copy
    /// keep: its mark at least. Answers the provider's name of the copy, which is not the instance's.
    async fn add_copy(&self, provider_id: &str) -> String;

    /// The order changed, or the cloud filled, so that there is no room for it.
    async fn without_room(&self, order: Order) -> Order;

    /// How many instances are more than a list answers at once.
    fn more_than_a_page(&self) -> u32;

    /// Texts that no process may print, such as tokens of the orders and passwords of the cloud.
    fn secrets(&self) -> Vec<String> {
        Vec::new()
    }

    /// Makes the instance of an order under a provider id that a removed instance had. False where
    /// the cloud gives no id twice.
    async fn give_id_again(&self, _provider_id: &str, _order: &Order) -> bool {
        false
    }

    /// The order changed so that its instance goes to this place, of two. None where the cloud is one
    /// place.
    fn in_place(&self, _order: Order, _place: usize) -> Option<Order> {
        None
    }

    /// Has a place answer nothing from now on.
    fn take_away(&self, _place: usize) {}

    /// Makes a listed instance fail permanently. False where the cloud has no such failure.
    async fn lose(&self, _provider_id: &str) -> bool {
        false
    }

    /// The class, changed so that its instances are to be updated in place. None where no instance
    /// ever is.
    fn changed_class(&self) -> Option<Arc<NodeClass>> {
        None
    }

    /// Whether an instance is as this class wants it.
    async fn is_up_to_date(&self, _provider_id: &str, _class: &NodeClass) -> bool {
        true
    }

    /// How many calls to its cloud a provider may have under way at once, and how many there were at
    /// most until now. None where that is not limited.
    fn calls_at_once(&self) -> Option<AtOnce> {
        None
    }

    /// How many calls were made to the cloud until now. None where the bench does not count.
    fn calls(&self) -> Option<u64> {
        None
    }

    /// Puts the instances of orders into the cloud, past all providers.
    async fn add_instances(&self, _orders: &[Order]) {}
}

/// Calls to a cloud that are under way at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AtOnce {
    /// How many there may be.
    pub limit: usize,
    /// How many there were at most.
    pub most: usize,
}

/// A provider in a process of its own.
pub struct Process {
    /// The provider.
    pub provider: Arc<dyn CloudProvider>,
    /// Ends when a mishap kills the process.
    pub killed: Pin<Box<dyn Future<Output = ()> + Send>>,
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("provider", &self.provider).finish_non_exhaustive()
    }
}
