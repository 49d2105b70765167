//! Writes YAML: blocks, indented, without folding.

use super::scalar::{Scalar, Style, is_break, is_printable};
use crate::budget::{LimitReached, Writer};

/// What a node stands in.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    Root,
    Sequence,
    Mapping,
}

/// Keys that are longer stand behind a question mark.
const SIMPLE_KEY_MAX: usize = 128;

pub(super) struct Emitter {
    out: Writer,
    step: usize,
    /// The columns of the indentation; there is none before the first block.
    indent: Option<usize>,
    column: usize,
    /// What was written last is white space.
    after_space: bool,
    /// Nothing but indentation and indicators of it is on the line.
    in_indentation: bool,
}

impl Emitter {
    pub(super) fn new(out: Writer, step: usize) -> Self {
        Self { out, step, indent: None, column: 0, after_space: true, in_indentation: true }
    }

    pub(super) fn finish(self) -> Result<Vec<u8>, LimitReached> {
        self.out.finish()
    }

    pub(super) fn end_document(&mut self) {
        self.indent = None;
        self.write_indent();
    }

    fn put(&mut self, text: &str) {
        self.out.push(text);
        self.column += text.chars().count();
    }

    fn line_break(&mut self) {
        self.out.push("\n");
        self.column = 0;
        self.in_indentation = true;
    }

    /// A character that breaks lines, as it is.
    fn write_break(&mut self, c: char) {
        self.out.push(c.encode_utf8(&mut [0; 4]));
        self.column = 0;
        self.in_indentation = true;
    }

    fn write_indent(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.in_indentation
            || self.column > indent
            || self.column == indent && !self.after_space
        {
            self.line_break();
        }
        let missing = indent.saturating_sub(self.column);
        self.out.repeat(b' ', missing);
        self.column += missing;
        self.after_space = true;
    }

    fn indicator(&mut self, text: &str, needs_space: bool, is_indentation: bool) {
        if needs_space && !self.after_space {
            self.put(" ");
        }
        self.put(text);
        self.after_space = false;
        self.in_indentation &= is_indentation;
    }

    /// The indentation of what is inside of a node at that place.
    fn inner(&self, place: Place, without: usize) -> usize {
        match (self.indent, place) {
            (None, _) => without,
            // The indicator of an item is as wide as this.
            (Some(indent), Place::Sequence) => indent + 2,
            (Some(indent), _) => self.step * ((indent + self.step) / self.step),
        }
    }

    /// Begins a block; what is returned ends it.
    pub(super) fn deeper(&mut self, place: Place) -> Option<usize> {
        let outer = self.indent;
        self.indent = Some(self.inner(place, 0));
        outer
    }

    pub(super) fn back_to(&mut self, outer: Option<usize>) {
        self.indent = outer;
    }

    /// Begins an item of a sequence.
    pub(super) fn item(&mut self) {
        self.write_indent();
        self.indicator("-", true, true);
    }

    /// A key, up to its value.
    pub(super) fn key(&mut self, key: &Scalar) {
        self.write_indent();
        let tag = if key.is_binary { "!!binary".len() } else { 0 };
        if !key.has_breaks && tag + key.text.len() <= SIMPLE_KEY_MAX {
            self.write_scalar(key, Place::Mapping, true);
            self.indicator(":", false, false);
        } else {
            self.indicator("?", true, true);
            self.write_scalar(key, Place::Mapping, false);
            self.write_indent();
            self.indicator(":", true, true);
        }
    }

    /// A collection without anything in it.
    pub(super) fn empty(&mut self, brackets: &str) {
        self.indicator(brackets, true, false);
    }

    pub(super) fn plain(&mut self, word: &str, place: Place) {
        self.scalar(&Scalar::of_word(word), place);
    }

    pub(super) fn scalar(&mut self, scalar: &Scalar, place: Place) {
        self.write_scalar(scalar, place, false);
    }

    fn write_scalar(&mut self, scalar: &Scalar, place: Place, is_simple_key: bool) {
        if scalar.is_binary {
            self.indicator("!!binary", true, false);
        }
        let outer = self.indent;
        self.indent = Some(self.inner(place, self.step));
        match scalar.style(is_simple_key) {
            Style::Plain => {
                if !scalar.text.is_empty() && !self.after_space {
                    self.put(" ");
                }
                self.put(&scalar.text);
                self.after_space = false;
                self.in_indentation = false;
            }
            Style::SingleQuoted => self.single_quoted(&scalar.text),
            Style::DoubleQuoted => self.double_quoted(&scalar.text),
            Style::Literal => self.literal(&scalar.text),
        }
        self.indent = outer;
    }

    /// Characters as they are, with indentation behind breaks.
    fn lines(&mut self, text: &str, mut after_break: bool, quote: Option<char>) {
        for c in text.chars() {
            if is_break(c) {
                self.write_break(c);
                after_break = true;
                continue;
            }
            if after_break {
                self.write_indent();
            }
            let mut buffer = [0; 4];
            let c_text = c.encode_utf8(&mut buffer);
            if quote == Some(c) {
                self.put(c_text);
            }
            self.put(c_text);
            self.in_indentation = false;
            after_break = false;
        }
    }

    fn single_quoted(&mut self, text: &str) {
        self.indicator("'", true, false);
        self.lines(text, false, Some('\''));
        self.indicator("'", false, false);
    }

    fn literal(&mut self, text: &str) {
        self.indicator("|", true, false);
        if text.starts_with(|first| first == ' ' || is_break(first)) {
            let hint = self.step.to_string();
            self.indicator(&hint, false, false);
        }
        let mut from_end = text.chars().rev();
        match (from_end.next().is_some_and(is_break), from_end.next()) {
            (false, _) => self.indicator("-", false, false),
            (true, Some(before)) if !is_break(before) => {}
            (true, _) => self.indicator("+", false, false),
        }
        self.line_break();
        self.after_space = true;
        self.lines(text, true, None);
    }

    fn double_quoted(&mut self, text: &str) {
        self.indicator("\"", true, false);
        // As in Go's library: behind a byte order mark, everything is escaped.
        let escape_all = text.starts_with('\u{feff}');
        for c in text.chars() {
            if escape_all || !is_printable(c) || is_break(c) || matches!(c, '"' | '\\') {
                self.put(&escaped(c));
            } else {
                self.put(c.encode_utf8(&mut [0; 4]));
            }
        }
        self.indicator("\"", false, false);
        self.in_indentation = false;
    }
}

fn escaped(c: char) -> String {
    let name = match c {
        '\0' => '0',
        '\u{7}' => 'a',
        '\u{8}' => 'b',
        '\t' => 't',
        '\n' => 'n',
        '\u{b}' => 'v',
        '\u{c}' => 'f',
        '\r' => 'r',
        '\u{1b}' => 'e',
        '"' | '\\' => c,
        '\u{85}' => 'N',
        '\u{a0}' => '_',
        '\u{2028}' => 'L',
        '\u{2029}' => 'P',
        _ => {
            return match c as u32 {
                code @ 0..=0xff => format!("\\x{code:02X}"),
                code @ 0..=0xffff => format!("\\u{code:04X}"),
                code => format!("\\U{code:08X}"),
            };
        }
    };
    format!("\\{name}")
}
