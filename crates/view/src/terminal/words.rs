//! Texts that fit their place.

use ratatui::{
    style::Style,
    text::{Line, Span},
};

/// Columns a text takes. Names of Kubernetes objects are ASCII and everything else that is drawn is
/// one column wide per character.
pub(super) fn width(text: &str) -> usize {
    text.chars().count()
}

/// The text in exactly so many columns: filled up with blanks, or cut with an ellipsis.
pub(super) fn fitted(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return format!("{text:columns$}");
    }
    let kept: String = text.chars().take(columns.saturating_sub(1)).collect();
    if columns == 0 { String::new() } else { format!("{kept}…") }
}

/// The same for sentences: a number is never cut, since a part of it is another number.
pub(super) fn fitted_words(text: &str, columns: usize) -> String {
    let kept = columns.saturating_sub(1);
    if width(text) <= columns || columns == 0 {
        return fitted(text, columns);
    }
    let is_blank = |at: usize| text.chars().nth(at).is_none_or(char::is_whitespace);
    let cut: String = text.chars().take(kept).collect();
    let whole = is_blank(kept) || cut.ends_with(char::is_whitespace);
    let (before, last) = cut.rsplit_once(char::is_whitespace).unwrap_or(("", &cut));
    let rest: String = text.chars().skip(kept).take_while(|sign| !sign.is_whitespace()).collect();
    let has_digits = [last, &rest].iter().any(|part| part.contains(|c: char| c.is_ascii_digit()));
    let cut = if !whole && has_digits { before } else { &cut };
    format!("{:columns$}", format!("{}…", cut.trim_end()))
}

/// A bar and its percentage: `█████░░░  63%`.
pub(super) fn bar(share: f64, columns: usize, style: Style, empty: Style) -> [Span<'static>; 2] {
    let filled = (share * columns as f64).round().clamp(0.0, columns as f64) as usize;
    let percent = (share * 100.0).round() as usize;
    [
        Span::styled("█".repeat(filled), style),
        Span::styled(format!("{} {percent:>3}%", "░".repeat(columns - filled)), empty),
    ]
}

/// Lines of at most so many columns, broken between words.
pub(super) fn wrapped(text: &str, columns: usize) -> Vec<Line<'static>> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line) + 1 + width(word) <= columns => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.into_iter().map(Line::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_fit_exactly() {
        assert_eq!(fitted("web", 5), "web  ");
        assert_eq!(fitted("checkout", 5), "chec…");
        assert_eq!(fitted("web", 0), "");
    }

    #[test]
    fn sentences_are_cut_before_a_number_and_never_in_it() {
        assert_eq!(fitted_words("cpu 12 of 24", 12), "cpu 12 of 24");
        assert_eq!(fitted_words("cpu 12 of 24, memory", 12), "cpu 12 of…  ");
        assert_eq!(fitted_words("cpu 12 of 24, memory", 16), "cpu 12 of 24, m…");
        assert_eq!(fitted_words("no pod needs it", 8), "no pod… ");
        assert_eq!(fitted_words("0.304/h", 5), "…    ");
        assert_eq!(fitted_words("web", 0), "");
    }

    #[test]
    fn lines_break_between_words() {
        let lines = wrapped("no instance type is large enough", 12);
        let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
        assert_eq!(lines, ["no instance", "type is", "large enough"]);
    }
}
