//! The way from the root of a value to a part of it, written only when something is wrong there.

use crate::text;

/// A step on the way, and the way before it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Path<'p> {
    before: Option<&'p Path<'p>>,
    step: Step<'p>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'p> {
    /// The root, which may lie within something else.
    Base(&'p str),
    Field(&'p str),
    /// A key of a map.
    Key(&'p str),
    Index(usize),
}

impl<'p> Path<'p> {
    /// The root; `base` is its own place, empty for an object.
    pub(crate) fn root(base: &'p str) -> Self {
        Self { before: None, step: Step::Base(base) }
    }

    pub(crate) fn field(&'p self, name: &'p str) -> Self {
        Self { before: Some(self), step: Step::Field(name) }
    }

    pub(crate) fn key(&'p self, key: &'p str) -> Self {
        Self { before: Some(self), step: Step::Key(key) }
    }

    pub(crate) fn index(&'p self, index: usize) -> Self {
        Self { before: Some(self), step: Step::Index(index) }
    }

    /// The path as most errors have it: keys of maps in brackets. The root of an object has no
    /// name, for which the API server prints `<nil>`.
    pub(crate) fn show(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, true, true);
        if out.is_empty() { "<nil>".to_owned() } else { out }
    }

    /// The path as OpenAPI errors have it, below the root: keys of maps behind a dot.
    pub(crate) fn show_relative(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, false, false);
        out
    }

    /// The path of an OpenAPI error's field: its relative path, below the place of the root.
    pub(crate) fn show_below_base(&self) -> String {
        let relative = self.show_relative();
        match (self.base(), relative.is_empty()) {
            ("", true) => "<nil>".to_owned(),
            ("", false) => relative,
            (base, true) => base.to_owned(),
            (base, false) => format!("{base}.{relative}"),
        }
    }

    /// Whether this is the root of an object.
    pub(crate) fn is_root(&self) -> bool {
        matches!(self.step, Step::Base(""))
    }

    /// The place of the root.
    pub(crate) fn base(&self) -> &'p str {
        match (self.before, self.step) {
            (_, Step::Base(base)) => base,
            (Some(before), _) => before.base(),
            (None, _) => "",
        }
    }

    fn write(&self, out: &mut String, with_base: bool, brackets: bool) {
        if let Some(before) = self.before {
            before.write(out, with_base, brackets);
        }
        match self.step {
            Step::Base(base) if with_base => out.push_str(base),
            Step::Base(_) => {}
            Step::Key(key) if brackets => {
                text::write_in(out, format_args!("[{key}]"));
            }
            Step::Field(name) | Step::Key(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Step::Index(index) => {
                text::write_in(out, format_args!("[{index}]"));
            }
        }
    }
}
