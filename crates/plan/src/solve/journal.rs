//! Changes that can be taken back.

/// How much of what was tried is taken back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// What was done in the last step.
    Step,
    All,
}

/// What has changed since something was tried, latest last. Nothing is written down unless something is being tried, so
/// that a pass which nobody takes back pays nothing for it.
#[derive(Debug, Clone)]
pub(crate) struct Journal<C> {
    on: bool,
    changes: Vec<C>,
    /// How many changes came before the last step.
    before_step: usize,
}

impl<C> Default for Journal<C> {
    fn default() -> Self {
        Self { on: false, changes: Vec::new(), before_step: 0 }
    }
}

impl<C> Journal<C> {
    /// From now on changes are written down.
    pub(crate) fn begin(&mut self) {
        debug_assert!(self.changes.is_empty(), "what was tried before has been taken back or kept");
        self.on = true;
    }

    /// What changes from now on can be taken back by itself.
    pub(crate) fn step(&mut self) {
        self.before_step = self.changes.len();
    }

    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.on
    }

    /// Writes a change down.
    #[inline]
    pub(crate) fn note(&mut self, change: impl FnOnce() -> C) {
        if self.on {
            self.changes.push(change());
        }
    }

    /// The latest change that has not been taken back yet; taking it back is not written down.
    pub(crate) fn take_back(&mut self, extent: Extent) -> Option<C> {
        if extent == Extent::All {
            self.before_step = 0;
        }
        let is_left = self.changes.len() > self.before_step;
        self.on = !is_left && extent == Extent::Step;
        if is_left { self.changes.pop() } else { None }
    }

    /// What has changed stays so.
    pub(crate) fn keep(&mut self) {
        self.on = false;
        self.changes.clear();
        self.before_step = 0;
    }
}
