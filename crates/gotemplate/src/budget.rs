//! What a template may cost. Templates are written by tenants, so that output, depth and work have
//! bounds.

/// The bounds of one template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long the text of a template may be.
    pub source_bytes: usize,
    /// How long the output may become.
    pub output_bytes: usize,
    /// How much may be done: a unit for each action, term, call and turn of a loop, and one for
    /// each [`BYTES_PER_UNIT`] bytes that a function reads or makes.
    pub work_units: u64,
}

impl Default for Limits {
    fn default() -> Self {
        // A Secret, which templates come from, holds 1 MiB. Some 4 MiB are more than any cloud
        // takes as data of a node. A million units are some tenths of a second.
        Self { source_bytes: 1 << 20, output_bytes: 4 << 20, work_units: 1_000_000 }
    }
}

/// How many bytes a function reads or makes for one unit of work: with the default units, an
/// execution makes 32 MiB of text in all.
pub const BYTES_PER_UNIT: usize = 32;

/// How deep actions, parentheses and calls of templates may be nested, all together. The stack of a
/// thread of 2 MiB holds that in builds without optimisation.
pub(crate) const DEPTH_MAX: usize = 100;

/// A bound that an execution came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say what they are")]
pub enum LimitReached {
    #[error("the output is longer than {0} bytes; make the template print less")]
    Output(usize),
    #[error("the template does more work than it may; shorten its loops and texts")]
    Work,
}

/// What an execution may still do.
#[derive(Debug)]
pub struct Budget {
    units: u64,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self { units: limits.work_units }
    }

    /// Takes one step.
    pub(crate) fn step(&mut self) -> Result<(), LimitReached> {
        self.take(1)
    }

    /// Takes work off.
    pub fn take(&mut self, units: u64) -> Result<(), LimitReached> {
        match self.units.checked_sub(units) {
            Some(left) => {
                self.units = left;
                Ok(())
            }
            None => {
                self.units = 0;
                Err(LimitReached::Work)
            }
        }
    }

    /// Takes the work off that reading or making so many bytes is.
    pub fn take_bytes(&mut self, bytes: usize) -> Result<(), LimitReached> {
        self.take((bytes / BYTES_PER_UNIT) as u64)
    }

    /// A text to write that may grow as long as there is work left.
    pub fn writer(&self) -> Writer {
        let units = usize::try_from(self.units).unwrap_or(usize::MAX);
        Writer { bytes: Vec::new(), room: units.saturating_mul(BYTES_PER_UNIT), full: false }
    }
}

/// A text under construction. Beyond its room it takes nothing more and is full.
#[derive(Debug)]
pub struct Writer {
    bytes: Vec<u8>,
    room: usize,
    full: bool,
}

impl Writer {
    /// Adds bytes.
    pub fn push(&mut self, bytes: impl AsRef<[u8]>) {
        let bytes = bytes.as_ref();
        if bytes.len() > self.room - self.bytes.len() {
            self.full = true;
        }
        if !self.full {
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Adds a byte many times.
    pub(crate) fn repeat(&mut self, byte: u8, times: usize) {
        if times > self.room - self.bytes.len() {
            self.full = true;
        }
        if !self.full {
            self.bytes.resize(self.bytes.len() + times, byte);
        }
    }

    /// Whether something did not fit, so that writing on is of no use.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// The text, if all of it fitted.
    pub fn finish(self) -> Result<Vec<u8>, LimitReached> {
        if self.full { Err(LimitReached::Work) } else { Ok(self.bytes) }
    }
}
