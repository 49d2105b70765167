//! Places in expressions, and errors that point at them.

use cel::common::ast::SourceInfo;

use crate::text;

/// Something that is wrong with an expression.
#[derive(Debug)]
pub(super) struct Issue {
    /// The number of the part at fault.
    id: u64,
    words: String,
}

impl Issue {
    pub(super) fn new(id: u64, words: String) -> Self {
        Self { id, words }
    }
}

/// The text of an expression, and where its parts are.
#[derive(Debug)]
pub(super) struct Source {
    text: String,
    info: Option<SourceInfo>,
}

impl Source {
    pub(super) fn new(text: &str, info: Option<SourceInfo>) -> Self {
        Self { text: text.to_owned(), info }
    }

    /// All issues, by place, in cel-go's words.
    pub(super) fn show_issues(&self, issues: &[Issue]) -> String {
        let mut shown: Vec<(usize, usize, &str)> = issues
            .iter()
            .map(|issue| {
                let (line, column) = self.place(issue.id);
                (line, column, issue.words.as_str())
            })
            .collect();
        shown.sort_by_key(|&(line, column, _)| (line, column));
        let texts: Vec<String> =
            shown.into_iter().map(|(line, column, words)| self.show(line, column, words)).collect();
        texts.join("\n")
    }

    /// Line and column of a part, counted from one.
    fn place(&self, id: u64) -> (usize, usize) {
        let offset = self.info.as_ref().and_then(|info| info.offset_for(id));
        let offset = offset.map_or(0, |(start, _)| start as usize);
        let before: String = self.text.chars().take(offset).collect();
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
        (line, column)
    }

    /// One issue with the line it is in and a caret below the place.
    pub(super) fn show(&self, line: usize, column: usize, words: &str) -> String {
        let mut out = format!("ERROR: <input>:{line}:{column}: {words}");
        if let Some(snippet) = self.text.lines().nth(line - 1) {
            let dots = ".".repeat(column - 1);
            text::write_in(&mut out, format_args!("\n | {snippet}\n | {dots}^"));
        }
        out
    }
}
