//! Text for people: columns, bars, counts and lists.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use joiner_core::disruption::Paused;

/// Titles and what matters most.
pub(crate) const BOLD: Style = Style::new().bold();
/// What may be skipped.
pub(crate) const DIM: Style = Style::new().dimmed();
/// What went wrong.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// What waits, or deserves a look.
pub(crate) const WAITS: Style = AnsiColor::Yellow.on_default();
/// What is well.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();

/// `text` in `style`. Colours are taken out again where the output is no terminal.
pub(crate) fn styled(text: &str, style: Style) -> String {
    if text.is_empty() || style == Style::new() {
        return text.to_owned();
    }
    format!("{style}{text}{style:#}")
}

/// One field of a table.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A field in a style.
    pub(crate) fn new(text: impl Into<String>, style: Style) -> Self {
        Self { text: text.into(), style }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, Style::new())
    }
}

/// Where a column's fields line up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Rows under titles. A column that is empty in every row is not shown.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<(&'static str, Align)>,
    rows: Vec<Vec<Cell>>,
    /// Lines that follow a row, by the row's index.
    details: Vec<(usize, String)>,
}

impl Table {
    /// A table without rows.
    pub(crate) fn new(columns: impl IntoIterator<Item = (&'static str, Align)>) -> Self {
        Self { columns: columns.into_iter().collect(), rows: Vec::new(), details: Vec::new() }
    }

    /// Adds a row with one field per column.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Adds a line below the last row.
    pub(crate) fn detail(&mut self, line: String) {
        self.details.push((self.rows.len().saturating_sub(1), line));
    }

    /// The whole table, each line ended.
    pub(crate) fn render(&self) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let titles: Vec<Cell> =
            self.columns.iter().map(|(title, _)| Cell::new(*title, BOLD)).collect();
        let mut out = self.line(&titles, &widths);
        let mut details = self.details.iter().peekable();
        for (index, row) in self.rows.iter().enumerate() {
            out.push_str(&self.line(row, &widths));
            while let Some((_, line)) = details.next_if(|(row, _)| *row == index) {
                out.push_str(line);
                out.push('\n');
            }
        }
        out
    }

    /// How wide a column must be; 0 if none of its rows says anything.
    fn width(&self, column: usize) -> usize {
        let widest = self.rows.iter().map(|row| width(&row[column].text)).max().unwrap_or(0);
        if widest == 0 { 0 } else { widest.max(width(self.columns[column].0)) }
    }

    fn line(&self, cells: &[Cell], widths: &[usize]) -> String {
        let mut out = String::new();
        let mut blanks = 0;
        for ((cell, (_, align)), &wide) in cells.iter().zip(&self.columns).zip(widths) {
            if wide == 0 {
                continue;
            }
            let missing = wide - width(&cell.text);
            let before = if *align == Align::Right { missing } else { 0 };
            // Blanks are held back until there is something after them, so that no line ends in one.
            blanks += before;
            if !cell.text.is_empty() {
                let _ = write!(out, "{:blanks$}{}", "", styled(&cell.text, cell.style));
                blanks = 0;
            }
            blanks += missing - before + 2;
        }
        out.push('\n');
        out
    }
}

/// Columns a text takes on a screen. Names of Kubernetes objects are ASCII and everything else we
/// print is one column wide per character.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// Columns of a bar.
const BAR: usize = 10;

/// A bar and a percentage: `████████░░  84%`.
pub(crate) fn bar(share: f64) -> String {
    let percent = percent(share);
    let filled = (percent * BAR / 100).min(BAR);
    format!("{}{} {percent:>3}%", "█".repeat(filled), "░".repeat(BAR - filled))
}

/// A share in whole percents. What is not quite full never reads as 100.
pub(crate) fn percent(share: f64) -> usize {
    let rounded = (share * 100.0).round().max(0.0);
    if share < 1.0 { rounded.min(99.0) as usize } else { rounded as usize }
}

/// `1 pod`, `2 pods`.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{}{noun}{plural}", thousands(number) + " ")
}

/// `10,000`.
pub(crate) fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A price with as many decimals as make a difference: four below 100, two above.
pub(crate) fn price(price: f64) -> String {
    if price < 100.0 { format!("{price:.4}") } else { format!("{price:.2}") }
}

/// `a, b, c and 4 more`.
pub(crate) fn some_of<T: AsRef<str>>(items: &[T], shown: usize) -> String {
    let listed: Vec<&str> = items.iter().take(shown).map(AsRef::as_ref).collect();
    let rest = items.len() - listed.len();
    match rest {
        0 => listed.join(", "),
        _ => format!("{} and {} more", listed.join(", "), thousands(rest)),
    }
}

/// Who has paused the removal of instances for the whole cluster, as a sentence.
pub(crate) fn paused(paused: &Paused) -> String {
    let Paused { by, on } = paused;
    format!("Disruption is paused for the whole cluster by {on}: {by}")
}

/// `items` separated by commas, in lines of at most `line_width` columns after `indent` blanks; the
/// first line starts with `title` instead of as many blanks.
pub(crate) fn wrapped<T: AsRef<str>>(
    title: &str,
    items: &[T],
    indent: usize,
    line_width: usize,
) -> String {
    let mut lines = vec![String::new()];
    for (index, item) in items.iter().enumerate() {
        let comma = if index + 1 < items.len() { "," } else { "" };
        let piece = format!("{}{comma}", item.as_ref());
        let line = lines.last_mut().expect("there is always a line");
        if line.is_empty() {
            line.push_str(&piece);
        } else if indent + width(line) + 1 + width(&piece) <= line_width {
            line.push(' ');
            line.push_str(&piece);
        } else {
            lines.push(piece);
        }
    }
    let separator = format!("\n{:indent$}", "");
    format!("{title:indent$}{}", lines.join(&separator))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_lines_up_and_hides_empty_columns() {
        let mut table = Table::new([
            ("NAME", Align::Left),
            ("ZONE", Align::Left),
            ("PODS", Align::Right),
            ("NOTE", Align::Left),
        ]);
        table.row(["a".into(), "".into(), "5".into(), "".into()]);
        table.row(["longer".into(), "".into(), "1,000".into(), "x".into()]);
        table.detail("  below".to_owned());
        let plain = anstream::adapter::strip_str(&table.render()).to_string();
        expect_test::expect![[r"
            NAME     PODS  NOTE
            a           5
            longer  1,000  x
              below
        "]]
        .assert_eq(&plain);
    }

    #[test]
    fn bars_never_claim_to_be_full_too_early() {
        assert_eq!(bar(0.996), "█████████░  99%");
        assert_eq!(bar(1.0), "██████████ 100%");
        assert_eq!(bar(1.3), "██████████ 130%");
        assert_eq!(bar(0.0), "░░░░░░░░░░   0%");
    }

    #[test]
    fn numbers_and_lists_read_well() {
        assert_eq!(count(1, "pod"), "1 pod");
        assert_eq!(count(10_000, "pod"), "10,000 pods");
        assert_eq!(price(0.31), "0.3100");
        assert_eq!(price(1234.5), "1234.50");
        assert_eq!(some_of(&["a", "b", "c"], 2), "a, b and 1 more");
        assert_eq!(some_of(&["a", "b"], 2), "a, b");
        assert_eq!(
            wrapped("pods", &["aaaa", "bbbb", "cccc"], 6, 17),
            "pods  aaaa, bbbb,\n      cccc"
        );
    }
}
