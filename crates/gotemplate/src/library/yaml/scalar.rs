//! In which of YAML's styles a text can be written.

use base64::{Engine, engine::general_purpose::STANDARD};

use super::resolve;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Plain,
    SingleQuoted,
    DoubleQuoted,
    Literal,
}

/// A text, or bytes as base64.
pub(super) struct Scalar {
    pub(super) text: String,
    pub(super) is_binary: bool,
    wanted: Style,
    pub(super) has_breaks: bool,
    plain_allowed: bool,
    single_quotes_allowed: bool,
    literal_allowed: bool,
}

/// How long a line of base64 is.
const BASE64_LINE: usize = 70;

pub(super) fn is_break(c: char) -> bool {
    matches!(c, '\r' | '\n' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// What stands in quotes as it is.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\n' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}')
        && c != '\u{feff}'
}

impl Scalar {
    /// A text, in quotes where it would be something else without them.
    pub(super) fn of_text(bytes: &[u8]) -> Self {
        match std::str::from_utf8(bytes) {
            Ok(text) => {
                let wanted = match text {
                    text if text.contains('\n') => Style::Literal,
                    text if resolve::is_text(text) => Style::Plain,
                    _ => Style::DoubleQuoted,
                };
                Self::analysed(text.to_owned(), false, wanted)
            }
            Err(_) => {
                let text = in_lines(&STANDARD.encode(bytes));
                let wanted = if text.contains('\n') { Style::Literal } else { Style::Plain };
                Self::analysed(text, true, wanted)
            }
        }
    }

    /// A word that is no text: a number, `true`, `null`.
    pub(super) fn of_word(word: &str) -> Self {
        Self::analysed(word.to_owned(), false, Style::Plain)
    }

    fn analysed(text: String, is_binary: bool, wanted: Style) -> Self {
        let marks = Marks::of(&text);
        let at_edge = marks.space_at_start || marks.break_at_edge || marks.space_at_end;
        let mixed = marks.space_before_break || marks.special;
        let quoted = at_edge || marks.break_before_space || mixed || marks.tab;
        Self {
            is_binary,
            wanted,
            has_breaks: marks.breaks,
            plain_allowed: text.is_empty() || !quoted && !marks.breaks && !marks.indicator,
            single_quotes_allowed: !(marks.break_before_space || mixed || marks.tab),
            literal_allowed: !text.is_empty() && !marks.space_at_end && !mixed,
            text,
        }
    }

    pub(super) fn style(&self, is_simple_key: bool) -> Style {
        let mut style = self.wanted;
        if is_simple_key && self.has_breaks {
            style = Style::DoubleQuoted;
        }
        if style == Style::Plain && (!self.plain_allowed || self.text.is_empty() && is_simple_key) {
            style = Style::SingleQuoted;
        }
        if style == Style::SingleQuoted && !self.single_quotes_allowed {
            style = Style::DoubleQuoted;
        }
        if style == Style::Literal && (!self.literal_allowed || is_simple_key) {
            style = Style::DoubleQuoted;
        }
        style
    }
}

fn in_lines(base64: &str) -> String {
    if base64.len() < BASE64_LINE {
        return base64.to_owned();
    }
    let mut lines = String::new();
    for (index, c) in base64.chars().enumerate() {
        lines.push(c);
        if (index + 1) % BASE64_LINE == 0 {
            lines.push('\n');
        }
    }
    if !base64.len().is_multiple_of(BASE64_LINE) {
        lines.push('\n');
    }
    lines
}

/// What there is in a text that styles depend on.
#[derive(Default)]
struct Marks {
    indicator: bool,
    breaks: bool,
    special: bool,
    tab: bool,
    space_at_start: bool,
    space_at_end: bool,
    break_at_edge: bool,
    break_before_space: bool,
    space_before_break: bool,
}

impl Marks {
    fn of(text: &str) -> Self {
        let mut marks = Self {
            indicator: text.starts_with("---") || text.starts_with("..."),
            ..Self::default()
        };
        let mut previous = None;
        let mut characters = text.chars().peekable();
        while let Some(c) = characters.next() {
            let next = characters.peek().copied();
            marks.indicators(c, previous, next);
            marks.tab |= c == '\t';
            marks.special |= c != '\t' && !is_printable(c);
            if c == ' ' {
                marks.space_at_start |= previous.is_none();
                marks.space_at_end |= next.is_none();
                marks.break_before_space |= previous.is_some_and(is_break);
            } else if is_break(c) {
                marks.breaks = true;
                marks.break_at_edge |= previous.is_none() || next.is_none();
                marks.space_before_break |= previous == Some(' ');
            }
            previous = Some(c);
        }
        marks
    }

    fn indicators(&mut self, c: char, previous: Option<char>, next: Option<char>) {
        let before_space = next.is_none_or(|next| matches!(next, ' ' | '\t'));
        self.indicator |= match (c, previous) {
            (
                '#' | ',' | '[' | ']' | '{' | '}' | '&' | '*' | '!' | '|' | '>' | '\'' | '"' | '%'
                | '@' | '`',
                None,
            ) => true,
            ('?' | '-', None) | (':', _) => before_space,
            ('#', Some(previous)) => matches!(previous, ' ' | '\t' | '\0') || is_break(previous),
            _ => false,
        };
    }
}
