//! Elements of a request, read into a tree.

use std::str;

use quick_xml::{
    Reader,
    escape::resolve_predefined_entity,
    events::{BytesStart, Event},
};

use crate::reference::Ref;

/// How deep elements may lie in each other; requests that are deeper are not honest.
const DEPTH_MAX: usize = 64;

/// An element with everything in it. Names are without their prefixes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Element {
    pub(crate) name: String,
    /// What `xsi:type` says.
    pub(crate) instance_type: Option<String>,
    /// What a plain `type` says: the type of an object's name.
    pub(crate) object_type: Option<String>,
    pub(crate) text: String,
    pub(crate) children: Vec<Element>,
}

impl Element {
    /// Reads a document, or says what is wrong with it.
    pub(crate) fn read(document: &str) -> Result<Self, String> {
        let mut reader = Reader::from_str(document);
        let mut open = vec![Self::default()];
        loop {
            let at = reader.buffer_position();
            let problem = |what: &dyn std::fmt::Display| format!("{what} at byte {at}");
            match reader.read_event().map_err(|error| problem(&error))? {
                Event::Start(start) => {
                    if open.len() > DEPTH_MAX {
                        return Err(problem(&"elements too deep in each other"));
                    }
                    open.push(begin(&start).map_err(|error| problem(&error))?);
                }
                Event::Empty(start) => {
                    let element = begin(&start).map_err(|error| problem(&error))?;
                    innermost(&mut open).children.push(element);
                }
                Event::End(_) => {
                    // The reader refuses an end without a beginning.
                    let element = open.pop().unwrap_or_default();
                    innermost(&mut open).children.push(element);
                }
                Event::Text(text) => innermost(&mut open).text.push_str(&text.xml10_content()),
                Event::CData(text) => innermost(&mut open).text.push_str(&text.xml10_content()),
                Event::GeneralRef(named) => {
                    let text = match named.resolve_char_ref().map_err(|error| problem(&error))? {
                        Some(letter) => letter.to_string(),
                        None => {
                            let text = resolve_predefined_entity(&named);
                            let unknown = || problem(&format!("unknown entity &{};", &*named));
                            text.ok_or_else(unknown)?.to_owned()
                        }
                    };
                    innermost(&mut open).text.push_str(&text);
                }
                Event::Eof => break,
                Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => {}
            }
        }
        let document = open.swap_remove(0);
        match <[Self; 1]>::try_from(document.children) {
            Ok([root]) if open.is_empty() => Ok(root),
            _ => Err("the document ends in the middle, or has not exactly one root".to_owned()),
        }
    }

    /// The first child of a name.
    pub(crate) fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|child| child.name == name)
    }

    /// All children of a name.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |child| child.name == name)
    }

    /// What is found by going from child to child.
    pub(crate) fn at(&self, path: &[&str]) -> Option<&Self> {
        path.iter().try_fold(self, |element, name| element.child(name))
    }

    /// The text of a child.
    pub(crate) fn text_of(&self, name: &str) -> Option<&str> {
        self.child(name).map(|child| child.text.as_str())
    }

    /// A child's text as a number, a truth value and the like. The schema has seen to it that it is
    /// one.
    pub(crate) fn parse<T: str::FromStr>(&self, name: &str) -> Option<T> {
        self.text_of(name)?.trim().parse().ok()
    }

    /// A child that says yes.
    pub(crate) fn says(&self, name: &str) -> bool {
        self.text_of(name).is_some_and(|text| matches!(text.trim(), "true" | "1"))
    }

    /// The object that the element names; an error has the words that name none.
    pub(crate) fn reference(&self) -> Result<Ref, (String, String)> {
        let kind = self.object_type.clone().unwrap_or_default();
        Ref::read(&kind, &self.text).ok_or_else(|| (kind, self.text.clone()))
    }
}

/// The element that is being read; there is always one, the document itself.
fn innermost(open: &mut Vec<Element>) -> &mut Element {
    if open.is_empty() {
        open.push(Element::default());
    }
    let last = open.len() - 1;
    &mut open[last]
}

fn begin(start: &BytesStart<'_>) -> Result<Element, String> {
    let name = start.local_name().into_inner().to_owned();
    let mut element = Element { name, ..Element::default() };
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| error.to_string())?;
        if attribute.key.local_name().into_inner() != "type" {
            continue;
        }
        let value = attribute.value.as_ref();
        if attribute.key.prefix().is_some() {
            // The prefix of a type is the client's choice as well.
            let local = value.rsplit(':').next().unwrap_or(value);
            element.instance_type = Some(local.to_owned());
        } else {
            element.object_type = Some(value.to_owned());
        }
    }
    Ok(element)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_do_not_matter() {
        let document = r#"<?xml version="1.0"?>
            <e:Envelope xmlns:e="x" xmlns:_i="y"><a type="Task" _i:type="v:Some">1 &lt; 2&#33;</a><b/></e:Envelope>"#;
        let root = Element::read(document).unwrap();
        assert_eq!(root.name, "Envelope");
        let a = root.child("a").unwrap();
        assert_eq!(a.text, "1 < 2!");
        assert_eq!(a.object_type.as_deref(), Some("Task"));
        assert_eq!(a.instance_type.as_deref(), Some("Some"));
        assert_eq!(root.child("b").unwrap().text, "");
    }

    #[test]
    fn what_is_no_document_is_refused() {
        for document in ["", "<a>", "<a></b>", "<a/><b/>", "<a>&nothing;</a>"] {
            assert!(Element::read(document).is_err(), "{document}");
        }
    }
}
