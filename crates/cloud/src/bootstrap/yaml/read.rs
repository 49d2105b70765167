//! Text to trees.

use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, ScanError, Tag};

use super::{Map, Scalar, Yaml};

/// Nodes that a text may have once its aliases are written out. Far above any handwritten text, and
/// far below the expansion of nested aliases.
const NODES_MAX: usize = 100_000;

/// Why a text is not readable YAML.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadError {
    /// Counted from one.
    pub(crate) line: usize,
    pub(crate) problem: String,
}

impl From<ScanError> for ReadError {
    fn from(error: ScanError) -> Self {
        Self { line: error.marker().line(), problem: error.info() }
    }
}

/// The documents of a text. Aliases and merge keys are written out.
pub(crate) fn documents(text: &str) -> Result<Vec<Yaml>, ReadError> {
    let mut reader = Reader::default();
    for event in Parser::new_from_str(text) {
        let (event, span) = event?;
        reader.take(event, span.start.line())?;
    }
    Ok(reader.documents)
}

#[derive(Default)]
struct Reader {
    documents: Vec<Yaml>,
    open: Vec<Open>,
    anchors: HashMap<usize, Yaml>,
    nodes: usize,
}

/// A list or map that has not ended yet.
struct Open {
    anchor: usize,
    line: usize,
    kind: OpenKind,
}

enum OpenKind {
    List(Vec<Yaml>),
    Map { entries: Vec<(usize, Scalar, Yaml)>, key: Option<(usize, Scalar)> },
}

impl Reader {
    fn take(&mut self, event: Event<'_>, line: usize) -> Result<(), ReadError> {
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let text = text.into_owned();
                // Folded over empty lines, it can only be a string.
                let plain = style == ScalarStyle::Plain && !text.contains('\n');
                let tag = tag.as_deref().map(Tag::original);
                self.finish(Yaml::Scalar(Scalar { text, plain, tag }), anchor, line)
            }
            Event::SequenceStart(_, anchor, tag) => {
                refuse_tag(tag.as_deref(), "seq", line)?;
                self.open.push(Open { anchor, line, kind: OpenKind::List(Vec::new()) });
                Ok(())
            }
            Event::MappingStart(_, anchor, tag) => {
                refuse_tag(tag.as_deref(), "map", line)?;
                let kind = OpenKind::Map { entries: Vec::new(), key: None };
                self.open.push(Open { anchor, line, kind });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let open = self.open.pop().expect("the parser closes what it opened");
                let value = match open.kind {
                    OpenKind::List(list) => Yaml::List(list),
                    OpenKind::Map { entries, .. } => Yaml::Map(written_out(entries)?),
                };
                self.finish(value, open.anchor, open.line)
            }
            Event::Alias(anchor) => {
                let value = self.anchors.get(&anchor).cloned().ok_or_else(|| ReadError {
                    line,
                    problem: "an alias stands inside of what it stands for".to_owned(),
                })?;
                self.finish(value, 0, line)
            }
            _ => Ok(()),
        }
    }

    /// Puts a complete node where it belongs.
    fn finish(&mut self, value: Yaml, anchor: usize, line: usize) -> Result<(), ReadError> {
        self.nodes += size(&value);
        if self.nodes > NODES_MAX {
            let problem =
                format!("with its aliases written out, the text has over {NODES_MAX} values");
            return Err(ReadError { line, problem });
        }
        if anchor != 0 {
            self.anchors.insert(anchor, value.clone());
        }
        match self.open.last_mut().map(|open| &mut open.kind) {
            None => self.documents.push(value),
            Some(OpenKind::List(list)) => list.push(value),
            Some(OpenKind::Map { entries, key }) => match (key.take(), value) {
                (Some((key_line, key)), value) => entries.push((key_line, key, value)),
                (None, Yaml::Scalar(scalar)) => *key = Some((line, scalar)),
                (None, _) => {
                    let problem = "the key of a map is a list or a map itself".to_owned();
                    return Err(ReadError { line, problem });
                }
            },
        }
        Ok(())
    }
}

/// The map of its entries, with what `<<` brings in behind them.
fn written_out(entries: Vec<(usize, Scalar, Yaml)>) -> Result<Map, ReadError> {
    let mut lines: HashMap<String, usize> = HashMap::new();
    let (mut map, mut inherited) = (Map::default(), Vec::new());
    for (line, key, value) in entries {
        if let Some(first) = lines.insert(key.text.clone(), line) {
            let problem =
                format!("the key {:?} is there twice, in lines {first} and {line}", key.text);
            return Err(ReadError { line, problem });
        }
        if key.plain && key.text == "<<" {
            match value {
                Yaml::Map(other) => inherited.push(other),
                Yaml::List(others) if others.iter().all(|other| other.as_map().is_some()) => {
                    inherited.extend(others.into_iter().filter_map(|other| match other {
                        Yaml::Map(other) => Some(other),
                        _ => None,
                    }));
                }
                other => {
                    let problem = format!("<< needs a map or a list of maps, not {}", other.noun());
                    return Err(ReadError { line, problem });
                }
            }
        } else {
            map.0.push((key, value));
        }
    }
    for (key, value) in inherited.into_iter().flat_map(|other| other.0) {
        if map.get(&key.text).is_none() {
            map.0.push((key, value));
        }
    }
    Ok(map)
}

fn refuse_tag(tag: Option<&Tag>, usual: &str, line: usize) -> Result<(), ReadError> {
    match tag {
        Some(tag) if !tag.is_yaml_core_schema_tag(usual) => {
            let problem = format!("the tag {} on a list or map is not supported", tag.original());
            Err(ReadError { line, problem })
        }
        _ => Ok(()),
    }
}

fn size(value: &Yaml) -> usize {
    match value {
        Yaml::Scalar(_) => 1,
        Yaml::List(list) => 1 + list.iter().map(size).sum::<usize>(),
        Yaml::Map(map) => 1 + map.0.iter().map(|(_, value)| 1 + size(value)).sum::<usize>(),
    }
}
