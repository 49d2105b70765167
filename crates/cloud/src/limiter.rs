//! Limits on how much work a cloud is given at the same time.
//!
//! A cloud works on a few things at a time. More work queues inside the cloud, where the time in the
//! queue counts against deadlines. So work queues here, first come, first served. [`Gate`] decides,
//! [`Gates`] waits.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// How many pieces of work may run at the same time, and which ones wait. The limit adapts: a
/// complaint of the cloud halves it, and as many successes as the limit raise it by one.
#[derive(Debug)]
pub struct Gate {
    limit: usize,
    limit_max: usize,
    running: usize,
    successes: usize,
    waiting: VecDeque<u64>,
    next: u64,
}

/// How a piece of work ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It succeeded.
    Fine,
    /// It failed for a reason of its own.
    Failed,
    /// The cloud complained of too much work at the same time.
    TooMuch,
}

impl Gate {
    /// A gate that admits at most `limit_max` pieces of work at the same time.
    pub fn new(limit_max: usize) -> Self {
        let limit_max = limit_max.max(1);
        Self {
            limit: limit_max,
            limit_max,
            running: 0,
            successes: 0,
            waiting: VecDeque::new(),
            next: 0,
        }
    }

    /// Adds a piece of work to the queue and returns its number.
    pub fn queue(&mut self) -> u64 {
        let number = self.next;
        self.next += 1;
        self.waiting.push_back(number);
        number
    }

    /// The numbers of the work that may begin now, in the order of the queue.
    pub fn admit(&mut self) -> Vec<u64> {
        let free = self.limit.saturating_sub(self.running).min(self.waiting.len());
        self.running += free;
        self.waiting.drain(..free).collect()
    }

    /// Admitted work has ended.
    pub fn done(&mut self, ending: Ending) {
        self.running = self.running.saturating_sub(1);
        match ending {
            Ending::Fine => {
                self.successes += 1;
                if self.successes >= self.limit {
                    self.successes = 0;
                    self.limit = (self.limit + 1).min(self.limit_max);
                }
            }
            Ending::Failed => {}
            Ending::TooMuch => {
                self.successes = 0;
                self.limit = (self.limit / 2).max(1);
            }
        }
    }

    /// How many pieces of work wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

/// Gates by name. Clones share the gates.
#[derive(Debug, Clone, Default)]
pub struct Gates(Arc<Mutex<BTreeMap<String, Kept>>>);

#[derive(Debug)]
struct Kept {
    gate: Gate,
    waiters: BTreeMap<u64, oneshot::Sender<()>>,
}

/// The permission to work. Dropping it gives it back.
#[derive(Debug)]
pub struct Pass {
    gates: Gates,
    name: String,
    ending: Ending,
}

impl Pass {
    /// Gives the permission back and says how the work ended.
    pub fn end(mut self, ending: Ending) {
        self.ending = ending;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.gates.done(&self.name, self.ending);
    }
}

impl Gates {
    /// Waits for the permission of a gate, which admits at most `limit` pieces of work.
    pub async fn pass(&self, name: &str, limit: usize) -> Pass {
        let (sender, permission) = oneshot::channel();
        {
            let mut gates = self.lock();
            let kept = gates
                .entry(name.to_owned())
                .or_insert_with(|| Kept { gate: Gate::new(limit), waiters: BTreeMap::new() });
            let number = kept.gate.queue();
            kept.waiters.insert(number, sender);
            kept.admit();
        }
        // The gate keeps the sender until it has admitted the work.
        let _ = permission.await;
        Pass { gates: self.clone(), name: name.to_owned(), ending: Ending::Failed }
    }

    /// How many pieces of work wait at each gate.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> BTreeMap<String, usize> {
        let gates = self.lock();
        gates.iter().map(|(name, kept)| (name.clone(), kept.gate.waiting())).collect()
    }

    fn done(&self, name: &str, ending: Ending) {
        if let Some(kept) = self.lock().get_mut(name) {
            kept.gate.done(ending);
            kept.admit();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Wakes the work that the gate admits. Work whose future was dropped makes room for the next.
    fn admit(&mut self) {
        loop {
            let admitted = self.gate.admit();
            if admitted.is_empty() {
                return;
            }
            for number in admitted {
                let waits = self.waiters.remove(&number).map(|sender| sender.send(()));
                if !matches!(waits, Some(Ok(()))) {
                    self.gate.done(Ending::Failed);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_admitted_up_to_the_limit_in_the_order_of_the_queue() {
        let mut gate = Gate::new(2);
        let numbers: Vec<u64> = (0..4).map(|_| gate.queue()).collect();
        assert_eq!(gate.admit(), numbers[..2]);
        assert_eq!(gate.admit(), Vec::<u64>::new());
        gate.done(Ending::Fine);
        assert_eq!(gate.admit(), numbers[2..3]);
        assert_eq!(gate.waiting(), 1);
    }

    #[test]
    fn a_complaint_halves_the_limit_and_successes_raise_it_by_one() {
        let mut gate = Gate::new(8);
        let limits = |gate: &mut Gate| {
            (0..20).for_each(|_| {
                gate.queue();
            });
            let admitted = gate.admit().len();
            gate.waiting.clear();
            (0..admitted).for_each(|_| gate.done(Ending::Failed));
            admitted
        };
        assert_eq!(limits(&mut gate), 8);
        gate.done(Ending::TooMuch);
        assert_eq!(limits(&mut gate), 4);
        gate.done(Ending::TooMuch);
        gate.done(Ending::TooMuch);
        gate.done(Ending::TooMuch);
        assert_eq!(limits(&mut gate), 1, "the limit is at least one");
        gate.done(Ending::Fine);
        assert_eq!(limits(&mut gate), 2);
        (0..2 + 3 + 4 + 5 + 6 + 7 + 8).for_each(|_| gate.done(Ending::Fine));
        assert_eq!(limits(&mut gate), 8, "the limit is at most the highest");
    }

    #[tokio::test]
    async fn work_that_stops_waiting_makes_room() {
        let gates = Gates::default();
        let first = gates.pass("host", 1).await;
        let mut second = Box::pin(gates.pass("host", 1));
        let mut third = Box::pin(gates.pass("host", 1));
        assert!(futures_now(&mut second).is_none());
        assert!(futures_now(&mut third).is_none());
        assert_eq!(gates.waiting()["host"], 2);
        drop(second);
        first.end(Ending::Fine);
        assert!(futures_now(&mut third).is_some());
    }

    /// The output of a future that is ready.
    fn futures_now<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::Pin::new(future).poll(&mut context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        }
    }
}
