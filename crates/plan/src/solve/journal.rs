//! Changes that can be taken back.

/// What has changed since something was tried, latest last. Nothing is written down unless something is being tried, so
/// that a pass which nobody takes back pays nothing for it.
#[derive(Debug, Clone)]
pub(crate) struct Journal<C> {
    on: bool,
    changes: Vec<C>,
}

impl<C> Default for Journal<C> {
    fn default() -> Self {
        Self { on: false, changes: Vec::new() }
    }
}

impl<C> Journal<C> {
    /// From now on changes are written down.
    pub(crate) fn begin(&mut self) {
        debug_assert!(self.changes.is_empty(), "what was tried before has been taken back or kept");
        self.on = true;
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
    pub(crate) fn take_back(&mut self) -> Option<C> {
        self.on = false;
        self.changes.pop()
    }

    /// What has changed stays so.
    pub(crate) fn keep(&mut self) {
        self.on = false;
        self.changes.clear();
    }
}
