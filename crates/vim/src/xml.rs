//! XML as vCenters write it: read into small trees, written in the order of the schema.

mod element;
mod read;
mod write;

pub use element::Element;
pub(crate) use read::{Reader, Unreadable};
pub(crate) use write::Writer;

/// XML with a line for each element, for tests to read.
#[cfg(test)]
pub(crate) fn indented(xml: &str) -> String {
    let mut lines = String::new();
    let mut depth = 0_usize;
    let mut rest = xml;
    while !rest.is_empty() {
        let end = rest[1..].find('<').map_or(rest.len(), |at| at + 1);
        let mut line = &rest[..end];
        rest = &rest[end..];
        if line.starts_with("</") {
            depth -= 1;
        }
        lines.push_str(&"  ".repeat(depth));
        if !line.starts_with("</") && rest.starts_with("</") {
            let close = rest.find('>').map_or(rest.len(), |at| at + 1);
            line = &xml[xml.len() - rest.len() - line.len()..][..line.len() + close];
            rest = &rest[close..];
        } else if !line.starts_with("</") {
            depth += 1;
        }
        lines.push_str(line);
        lines.push('\n');
    }
    lines
}
