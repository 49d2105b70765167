//! Takes a template apart into texts and the words of its actions.

use crate::runes;

/// A word of an action, or a text between actions.
#[derive(Clone, Debug)]
pub(crate) struct Item<'s> {
    pub(crate) kind: Kind,
    /// Where it begins, in bytes.
    pub(crate) position: usize,
    pub(crate) text: &'s [u8],
    /// The line on which it begins, from 1.
    pub(crate) line: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// What is wrong with the text here; it is the last item.
    Error(String),
    Bool,
    /// A printable character of no further meaning.
    Character,
    CharacterConstant,
    Complex,
    Assign,
    Declare,
    End,
    Field,
    Identifier,
    LeftDelimiter,
    LeftParenthesis,
    Number,
    Pipe,
    RawString,
    RightDelimiter,
    RightParenthesis,
    Space,
    String,
    Text,
    Variable,
    Keyword(Keyword),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keyword {
    Block,
    Break,
    Continue,
    Dot,
    Define,
    Else,
    End,
    If,
    Nil,
    Range,
    Template,
    With,
}

fn keyword(word: &[u8]) -> Option<Keyword> {
    Some(match word {
        b"." => Keyword::Dot,
        b"block" => Keyword::Block,
        b"break" => Keyword::Break,
        b"continue" => Keyword::Continue,
        b"define" => Keyword::Define,
        b"else" => Keyword::Else,
        b"end" => Keyword::End,
        b"if" => Keyword::If,
        b"range" => Keyword::Range,
        b"nil" => Keyword::Nil,
        b"template" => Keyword::Template,
        b"with" => Keyword::With,
        _ => return None,
    })
}

const LEFT: &[u8] = b"{{";
const RIGHT: &[u8] = b"}}";
/// A trim marker: a minus, and the space that has to stand beside it.
const MARKER_LEN: usize = 2;

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

fn is_alphanumeric(rune: char) -> bool {
    rune == '_' || runes::is_letter(rune) || runes::is_digit(rune)
}

fn has_left_marker(text: &[u8]) -> bool {
    matches!(text, [b'-', space, ..] if is_space(*space))
}

fn has_right_marker(text: &[u8]) -> bool {
    matches!(text, [space, b'-', ..] if is_space(*space))
}

fn find(text: &[u8], needle: &[u8]) -> Option<usize> {
    text.windows(needle.len()).position(|window| window == needle)
}

fn newlines(text: &[u8]) -> usize {
    text.split(|byte| *byte == b'\n').count() - 1
}

/// `U+0023 '#'`, as Go shows characters that it did not expect.
fn code_point(rune: Option<char>) -> String {
    match rune {
        // The end of the text is -1 in Go, shown as a number without a sign.
        None => "U+FFFFFFFFFFFFFFFF".to_owned(),
        Some(rune) if runes::is_print(rune) => format!("U+{:04X} '{rune}'", rune as u32),
        Some(rune) => format!("U+{:04X}", rune as u32),
    }
}

pub(crate) struct Lexer<'s> {
    source: &'s [u8],
    position: usize,
    start: usize,
    line: usize,
    start_line: usize,
    parentheses: usize,
    inside_action: bool,
    /// `break` and `continue` are keywords unless functions have these names.
    break_is_keyword: bool,
    continue_is_keyword: bool,
}

impl<'s> Lexer<'s> {
    pub(crate) fn new(source: &'s [u8], break_is_keyword: bool, continue_is_keyword: bool) -> Self {
        Self {
            source,
            position: 0,
            start: 0,
            line: 1,
            start_line: 1,
            parentheses: 0,
            inside_action: false,
            break_is_keyword,
            continue_is_keyword,
        }
    }

    /// The next item; after the last one it is the end, again and again.
    pub(crate) fn next_item(&mut self) -> Item<'s> {
        if self.inside_action { self.in_action() } else { self.text() }
    }

    fn rest(&self) -> &'s [u8] {
        &self.source[self.position..]
    }

    fn peek(&self) -> Option<char> {
        let rest = self.rest();
        (!rest.is_empty()).then(|| runes::first(rest).0)
    }

    fn take(&mut self) -> Option<char> {
        let rest = self.rest();
        if rest.is_empty() {
            return None;
        }
        let (rune, width) = runes::first(rest);
        self.position += width;
        self.line += usize::from(rune == '\n');
        Some(rune)
    }

    /// Takes the next byte if it is one of these.
    fn accept(&mut self, valid: &[u8]) -> bool {
        let found = self.rest().first().is_some_and(|byte| valid.contains(byte));
        self.position += usize::from(found);
        found
    }

    fn accept_run(&mut self, valid: &[u8]) {
        while self.accept(valid) {}
    }

    fn emit(&mut self, kind: Kind) -> Item<'s> {
        let text = &self.source[self.start..self.position];
        let item = Item { kind, position: self.start, text, line: self.start_line };
        self.start = self.position;
        self.start_line = self.line;
        item
    }

    /// Leaves out what was passed over without looking at it.
    fn ignore(&mut self) {
        self.line += newlines(&self.source[self.start..self.position]);
        self.start = self.position;
        self.start_line = self.line;
    }

    fn error(&mut self, problem: String) -> Item<'s> {
        let item = Item {
            kind: Kind::Error(problem),
            position: self.start,
            text: &[],
            line: self.start_line,
        };
        (self.position, self.start) = (self.source.len(), self.source.len());
        item
    }

    fn text(&mut self) -> Item<'s> {
        // Comments are left out, so there may be many of them before an item.
        loop {
            let Some(length) = find(self.rest(), LEFT) else {
                self.position = self.source.len();
                if self.position > self.start {
                    self.line += newlines(&self.source[self.start..]);
                    return self.emit(Kind::Text);
                }
                return self.emit(Kind::End);
            };
            if length > 0 {
                self.position += length;
                let text = &self.source[self.start..self.position];
                let trimmed = if has_left_marker(&self.rest()[LEFT.len()..]) {
                    text.iter().rev().take_while(|byte| is_space(**byte)).count()
                } else {
                    0
                };
                self.position -= trimmed;
                self.line += newlines(&self.source[self.start..self.position]);
                let item = self.emit(Kind::Text);
                self.position += trimmed;
                self.ignore();
                if !item.text.is_empty() {
                    return item;
                }
            }
            if let Some(item) = self.left_delimiter() {
                return item;
            }
        }
    }

    /// Begins an action; a comment is passed over, and is nothing.
    fn left_delimiter(&mut self) -> Option<Item<'s>> {
        self.position += LEFT.len();
        let marker = if has_left_marker(self.rest()) { MARKER_LEN } else { 0 };
        if self.rest()[marker..].starts_with(b"/*") {
            self.position += marker;
            self.ignore();
            return self.comment();
        }
        let item = self.emit(Kind::LeftDelimiter);
        self.inside_action = true;
        self.position += marker;
        self.ignore();
        self.parentheses = 0;
        Some(item)
    }

    fn comment(&mut self) -> Option<Item<'s>> {
        self.position += 2;
        let Some(length) = find(self.rest(), b"*/") else {
            return Some(self.error("unclosed comment".to_owned()));
        };
        self.position += length + 2;
        let Some(trims) = self.right_delimiter_here() else {
            return Some(self.error("comment ends before closing delimiter".to_owned()));
        };
        self.pass_right_delimiter(trims);
        self.ignore();
        None
    }

    /// Whether the action ends here, and if so, whether with a trim marker.
    fn right_delimiter_here(&self) -> Option<bool> {
        let rest = self.rest();
        if has_right_marker(rest) && rest[MARKER_LEN..].starts_with(RIGHT) {
            return Some(true);
        }
        rest.starts_with(RIGHT).then_some(false)
    }

    fn pass_right_delimiter(&mut self, trims: bool) {
        self.position += RIGHT.len();
        if trims {
            self.position += MARKER_LEN;
            self.position += self.rest().iter().take_while(|byte| is_space(**byte)).count();
        }
    }

    fn right_delimiter(&mut self, trims: bool) -> Item<'s> {
        if trims {
            self.position += MARKER_LEN;
            self.ignore();
        }
        self.position += RIGHT.len();
        let item = self.emit(Kind::RightDelimiter);
        if trims {
            self.position += self.rest().iter().take_while(|byte| is_space(**byte)).count();
            self.ignore();
        }
        self.inside_action = false;
        item
    }

    fn in_action(&mut self) -> Item<'s> {
        if let Some(trims) = self.right_delimiter_here() {
            if self.parentheses == 0 {
                return self.right_delimiter(trims);
            }
            return self.error("unclosed left paren".to_owned());
        }
        let Some(rune) = self.take() else {
            return self.error("unclosed action".to_owned());
        };
        match rune {
            ' ' | '\t' | '\r' | '\n' => self.space(),
            '=' => self.emit(Kind::Assign),
            ':' => match self.take() {
                Some('=') => self.emit(Kind::Declare),
                _ => self.error("expected :=".to_owned()),
            },
            '|' => self.emit(Kind::Pipe),
            '"' => self.quoted(b'"', Kind::String, "unterminated quoted string"),
            '`' => self.raw(),
            '$' => self.field_or_variable(Kind::Variable),
            '\'' => self.quoted(b'\'', Kind::CharacterConstant, "unterminated character constant"),
            '.' if !self.rest().first().is_none_or(u8::is_ascii_digit) => {
                self.field_or_variable(Kind::Field)
            }
            '.' | '+' | '-' | '0'..='9' => {
                self.position -= 1;
                self.number()
            }
            '(' => {
                self.parentheses += 1;
                self.emit(Kind::LeftParenthesis)
            }
            ')' => match self.parentheses.checked_sub(1) {
                Some(left) => {
                    self.parentheses = left;
                    self.emit(Kind::RightParenthesis)
                }
                None => self.error("unexpected right paren".to_owned()),
            },
            rune if is_alphanumeric(rune) => self.identifier(),
            ' '..='~' => self.emit(Kind::Character),
            rune => {
                let shown = code_point(Some(rune));
                self.error(format!("unrecognized character in action: {shown}"))
            }
        }
    }

    /// A run of spaces, but for the one that belongs to a trim marker.
    fn space(&mut self) -> Item<'s> {
        while self.rest().first().is_some_and(|byte| is_space(*byte)) {
            self.take();
        }
        let last = self.position - 1;
        let marked = has_right_marker(&self.source[last..])
            && self.source[last + MARKER_LEN..].starts_with(RIGHT);
        if marked {
            if self.source[last] == b'\n' {
                self.line -= 1;
            }
            self.position = last;
            if self.position == self.start {
                return self.right_delimiter(true);
            }
        }
        self.emit(Kind::Space)
    }

    fn identifier(&mut self) -> Item<'s> {
        while self.peek().is_some_and(is_alphanumeric) {
            self.take();
        }
        if !self.at_terminator() {
            return self.bad_character();
        }
        let word = &self.source[self.start..self.position];
        let kind = match keyword(word) {
            Some(Keyword::Break) if !self.break_is_keyword => Kind::Identifier,
            Some(Keyword::Continue) if !self.continue_is_keyword => Kind::Identifier,
            Some(keyword) => Kind::Keyword(keyword),
            None if matches!(word, b"true" | b"false") => Kind::Bool,
            None => Kind::Identifier,
        };
        self.emit(kind)
    }

    fn bad_character(&mut self) -> Item<'s> {
        let shown = code_point(self.peek());
        self.error(format!("bad character {shown}"))
    }

    /// What follows a point or a dollar.
    fn field_or_variable(&mut self, kind: Kind) -> Item<'s> {
        if self.at_terminator() {
            return self.emit(match kind {
                Kind::Variable => Kind::Variable,
                _ => Kind::Keyword(Keyword::Dot),
            });
        }
        while self.peek().is_some_and(is_alphanumeric) {
            self.take();
        }
        if !self.at_terminator() {
            return self.bad_character();
        }
        self.emit(kind)
    }

    /// Whether a name may end here.
    fn at_terminator(&self) -> bool {
        match self.rest().first() {
            None | Some(b' ' | b'\t' | b'\r' | b'\n' | b'.' | b',' | b'|' | b':' | b')' | b'(') => {
                true
            }
            Some(_) => self.rest().starts_with(RIGHT),
        }
    }

    fn quoted(&mut self, quote: u8, kind: Kind, unclosed: &str) -> Item<'s> {
        loop {
            match self.take() {
                Some('\\') => {
                    if matches!(self.take(), None | Some('\n')) {
                        return self.error(unclosed.to_owned());
                    }
                }
                None | Some('\n') => return self.error(unclosed.to_owned()),
                Some(rune) if rune == char::from(quote) => return self.emit(kind),
                Some(_) => {}
            }
        }
    }

    fn raw(&mut self) -> Item<'s> {
        loop {
            match self.take() {
                None => return self.error("unterminated raw quoted string".to_owned()),
                Some('`') => return self.emit(Kind::RawString),
                Some(_) => {}
            }
        }
    }

    fn number(&mut self) -> Item<'s> {
        if !self.scan_number() {
            return self.bad_number();
        }
        if matches!(self.rest().first(), Some(b'+' | b'-')) {
            if !self.scan_number() || self.source[self.position - 1] != b'i' {
                return self.bad_number();
            }
            return self.emit(Kind::Complex);
        }
        self.emit(Kind::Number)
    }

    fn bad_number(&mut self) -> Item<'s> {
        let shown = crate::quote::shown(&self.source[self.start..self.position]);
        self.error(format!("bad number syntax: {shown}"))
    }

    /// Takes what may be a number. What it is exactly is found out when it is read.
    fn scan_number(&mut self) -> bool {
        const DECIMAL: &[u8] = b"0123456789_";
        const HEXADECIMAL: &[u8] = b"0123456789abcdefABCDEF_";
        self.accept(b"+-");
        let mut digits = DECIMAL;
        if self.accept(b"0") {
            if self.accept(b"xX") {
                digits = HEXADECIMAL;
            } else if self.accept(b"oO") {
                digits = b"01234567_";
            } else if self.accept(b"bB") {
                digits = b"01_";
            }
        }
        self.accept_run(digits);
        if self.accept(b".") {
            self.accept_run(digits);
        }
        let exponent: &[u8] = match digits.len() {
            11 => b"eE",
            23 => b"pP",
            _ => b"",
        };
        if self.accept(exponent) {
            self.accept(b"+-");
            self.accept_run(DECIMAL);
        }
        self.accept(b"i");
        if self.peek().is_some_and(is_alphanumeric) {
            self.take();
            return false;
        }
        true
    }
}
