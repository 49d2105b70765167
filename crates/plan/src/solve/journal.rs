//! Changes that can be undone.

/// How many changes are undone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The changes of the last step.
    Step,
    All,
}

/// The changes of the current trial, the latest last. Outside of a trial no change is recorded, so an ordinary pass
/// pays nothing.
#[derive(Debug, Clone)]
pub(crate) struct Journal<C> {
    on: bool,
    changes: Vec<C>,
    /// The number of changes before the last step.
    before_step: usize,
}

impl<C> Default for Journal<C> {
    fn default() -> Self {
        Self { on: false, changes: Vec::new(), before_step: 0 }
    }
}

impl<C> Journal<C> {
    /// Starts recording changes.
    pub(crate) fn begin(&mut self) {
        debug_assert!(self.changes.is_empty(), "what was tried before has been taken back or kept");
        self.on = true;
    }

    /// Starts a step that can be undone alone.
    pub(crate) fn step(&mut self) {
        self.before_step = self.changes.len();
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    /// Records a change.
    #[inline]
    pub(crate) fn note(&mut self, change: impl FnOnce() -> C) {
        if self.on {
            self.changes.push(change());
        }
    }

    /// Removes the latest recorded change. Undoing it must not be recorded.
    pub(crate) fn take_back(&mut self, extent: Extent) -> Option<C> {
        if extent == Extent::All {
            self.before_step = 0;
        }
        let is_left = self.changes.len() > self.before_step;
        self.on = !is_left && extent == Extent::Step;
        if is_left { self.changes.pop() } else { None }
    }

    /// Makes the recorded changes permanent.
    pub(crate) fn keep(&mut self) {
        self.on = false;
        self.changes.clear();
        self.before_step = 0;
    }
}
