//! How much is asked of a vCenter at once.
//!
//! Hosts clone a few disks at a time; more only queue up inside vCenter, where their waiting counts
//! against deadlines. So they queue here, first come first served. [`Gate`] decides, [`Gates`]
//! waits.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::oneshot;

/// How many may pass a gate at once, and who waits. Learns from what came of those that passed:
/// half as many after a complaint, one more after as many successes as are let through.
#[derive(Debug)]
pub struct Gate {
    limit: usize,
    limit_max: usize,
    running: usize,
    successes: usize,
    waiting: VecDeque<u64>,
    next: u64,
}

/// What came of somebody who passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It went well.
    Fine,
    /// It went wrong for a reason of its own.
    Failed,
    /// It was too much at once.
    TooMuch,
}

impl Gate {
    /// A gate that lets so many through at most.
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

    /// Somebody comes and waits; the number is theirs.
    pub fn come(&mut self) -> u64 {
        let own = self.next;
        self.next += 1;
        self.waiting.push_back(own);
        own
    }

    /// Those who pass now, in the order in which they came.
    pub fn admit(&mut self) -> Vec<u64> {
        let free = self.limit.saturating_sub(self.running).min(self.waiting.len());
        self.running += free;
        self.waiting.drain(..free).collect()
    }

    /// Somebody who passed is done.
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

    /// How many wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

/// Gates by name, to be waited at.
#[derive(Debug, Clone, Default)]
pub struct Gates(Arc<Mutex<BTreeMap<String, Kept>>>);

#[derive(Debug)]
struct Kept {
    gate: Gate,
    waiters: BTreeMap<u64, oneshot::Sender<()>>,
}

/// Leave to go on, given back when it is dropped.
#[derive(Debug)]
pub struct Pass {
    gates: Gates,
    name: String,
    ending: Ending,
}

impl Pass {
    /// Says what came of it.
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
    /// Waits for leave at a gate, which lets so many through at most.
    pub async fn pass(&self, name: &str, limit: usize) -> Pass {
        let (leave, given) = oneshot::channel();
        {
            let mut gates = self.lock();
            let kept = gates
                .entry(name.to_owned())
                .or_insert_with(|| Kept { gate: Gate::new(limit), waiters: BTreeMap::new() });
            let number = kept.gate.come();
            kept.waiters.insert(number, leave);
            kept.let_through();
        }
        // The gate keeps the sender until it has said yes.
        let _ = given.await;
        Pass { gates: self.clone(), name: name.to_owned(), ending: Ending::Failed }
    }

    /// How many wait at each gate.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> BTreeMap<String, usize> {
        let gates = self.lock();
        gates.iter().map(|(name, kept)| (name.clone(), kept.gate.waiting())).collect()
    }

    fn done(&self, name: &str, ending: Ending) {
        if let Some(kept) = self.lock().get_mut(name) {
            kept.gate.done(ending);
            kept.let_through();
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Lets through whom the gate admits. Whoever has given up waiting makes room for the next.
    fn let_through(&mut self) {
        loop {
            let admitted = self.gate.admit();
            if admitted.is_empty() {
                return;
            }
            for number in admitted {
                let waits = self.waiters.remove(&number).map(|leave| leave.send(()));
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
    fn no_more_pass_than_may_and_in_the_order_in_which_they_came() {
        let mut gate = Gate::new(2);
        let numbers: Vec<u64> = (0..4).map(|_| gate.come()).collect();
        assert_eq!(gate.admit(), numbers[..2]);
        assert_eq!(gate.admit(), Vec::<u64>::new());
        gate.done(Ending::Fine);
        assert_eq!(gate.admit(), numbers[2..3]);
        assert_eq!(gate.waiting(), 1);
    }

    #[test]
    fn a_complaint_halves_and_successes_let_one_more_through() {
        let mut gate = Gate::new(8);
        let limits = |gate: &mut Gate| {
            (0..20).for_each(|_| {
                gate.come();
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
        assert_eq!(limits(&mut gate), 1, "never none");
        gate.done(Ending::Fine);
        assert_eq!(limits(&mut gate), 2);
        (0..2 + 3 + 4 + 5 + 6 + 7 + 8).for_each(|_| gate.done(Ending::Fine));
        assert_eq!(limits(&mut gate), 8, "never more than was allowed");
    }

    #[tokio::test]
    async fn who_gives_up_waiting_makes_room() {
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

    /// What a future answers without any waiting.
    fn futures_now<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        match std::pin::Pin::new(future).poll(&mut context) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        }
    }
}
