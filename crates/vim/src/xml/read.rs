//! Reading XML piece by piece, so that a large answer is never a large tree.

use std::mem;

use quick_xml::{
    NsReader,
    escape::resolve_predefined_entity,
    events::{BytesStart, Event},
    name::{Namespace, ResolveResult},
};

use super::Element;

/// What `xsi` stands for; servers choose other prefixes for it.
const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// Deeper than any answer of a vCenter; a limit for servers of other kinds.
const DEPTH_MAX: usize = 64;

/// An answer that is no XML, or breaks off.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Unreadable(pub(crate) String);

/// A reader that stands somewhere in a text.
///
/// [`Reader::next_child`] steps into elements one after the other; what it stepped into is then
/// read whole, skipped, or stepped through in the same way.
pub(crate) struct Reader<'a> {
    xml: NsReader<&'a [u8]>,
    /// How many elements it is in.
    depth: usize,
}

impl<'a> Reader<'a> {
    /// A reader at the start of a text, outside of its outermost element.
    pub(crate) fn new(text: &'a str) -> Self {
        let mut xml = NsReader::from_str(text);
        // An empty element is then one that ends at once.
        xml.config_mut().expand_empty_elements = true;
        Self { xml, depth: 0 }
    }

    /// Steps into the next element, or out of the one it is in when there is none: then the
    /// answer is none. The element is returned without what is inside.
    pub(crate) fn next_child(&mut self) -> Result<Option<Element>, Unreadable> {
        loop {
            match self.event()? {
                Event::Start(tag) => return self.opened(&tag).map(Some),
                Event::End(_) | Event::Eof => return Ok(None),
                _ => {}
            }
        }
    }

    /// Steps into elements until one has this name; what is before is skipped. Where there is
    /// none the reader is outside, and the answer is false.
    pub(crate) fn enter(&mut self, name: &str) -> Result<bool, Unreadable> {
        while let Some(element) = self.next_child()? {
            if &*element.name == name {
                return Ok(true);
            }
            self.skip()?;
        }
        Ok(false)
    }

    /// Reads the rest of the element that was stepped into.
    pub(crate) fn finish(&mut self, element: Element) -> Result<Element, Unreadable> {
        self.read_into(element, DEPTH_MAX)
    }

    /// Skips the rest of the element that was stepped into.
    pub(crate) fn skip(&mut self) -> Result<(), Unreadable> {
        let mut depth = 0_usize;
        loop {
            match self.event()? {
                Event::Start(_) => depth += 1,
                Event::End(_) if depth == 0 => return Ok(()),
                Event::End(_) => depth -= 1,
                Event::Eof => return Err(broken_off()),
                _ => {}
            }
        }
    }

    fn read_into(&mut self, mut element: Element, depth: usize) -> Result<Element, Unreadable> {
        if depth == 0 {
            return Err(Unreadable(format!("elements are nested more than {DEPTH_MAX} deep")));
        }
        let mut text = String::new();
        loop {
            match self.event()? {
                Event::Start(tag) => {
                    let child = self.opened(&tag)?;
                    element.children.push(self.read_into(child, depth - 1)?);
                }
                Event::End(_) => break,
                Event::Eof => return Err(broken_off()),
                Event::Text(part) => text.push_str(&part.xml10_content()),
                Event::CData(part) => text.push_str(&part.xml10_content()),
                Event::GeneralRef(entity) => {
                    let unknown = || Unreadable(format!("no character is called &{};", &*entity));
                    match entity.resolve_char_ref().map_err(|e| Unreadable(e.to_string()))? {
                        Some(character) => text.push(character),
                        None => {
                            text.push_str(resolve_predefined_entity(&entity).ok_or_else(unknown)?);
                        }
                    }
                }
                _ => {}
            }
        }
        // Between elements there is only the server's indentation.
        if element.children.is_empty() {
            element.text = mem::take(&mut text).into_boxed_str();
        }
        Ok(element)
    }

    /// The next thing in the text. A text that ends inside of an element was cut off, and what was
    /// read of it must not pass for the whole.
    fn event(&mut self) -> Result<Event<'a>, Unreadable> {
        let event = self.xml.read_event().map_err(|error| {
            Unreadable(format!("{error} (at byte {})", self.xml.error_position()))
        })?;
        match event {
            Event::Start(_) => self.depth += 1,
            // The library sees to it that only what was opened is closed.
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            Event::Eof if self.depth > 0 => return Err(broken_off()),
            _ => {}
        }
        Ok(event)
    }

    /// An element as its tag says it is.
    fn opened(&self, tag: &BytesStart<'_>) -> Result<Element, Unreadable> {
        let name = tag.local_name().into_inner().into();
        let mut element = Element { name, ..Element::default() };
        for attribute in tag.attributes() {
            let attribute = attribute.map_err(|error| Unreadable(error.to_string()))?;
            let (namespace, name) = self.xml.resolver().resolve_attribute(attribute.key);
            if name.into_inner() != "type" {
                continue;
            }
            match namespace {
                ResolveResult::Bound(Namespace(SCHEMA_INSTANCE)) => {
                    let local = attribute.value.rsplit(':').next().unwrap_or_default();
                    element.xsi_type = Some(local.into());
                }
                ResolveResult::Unbound => element.reference_kind = Some((&*attribute.value).into()),
                _ => {}
            }
        }
        Ok(element)
    }
}

fn broken_off() -> Unreadable {
    Unreadable("it breaks off in the middle".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MoRef;

    fn read(text: &str) -> Result<Element, Unreadable> {
        let mut reader = Reader::new(text);
        let element = reader.next_child()?.ok_or_else(broken_off)?;
        reader.finish(element)
    }

    #[test]
    fn types_are_known_by_their_namespace_whatever_its_prefix() {
        for prefix in ["xsi", "_XMLSchema-instance"] {
            let text = format!(
                "<v:fault xmlns:v=\"urn:vim25\" xmlns:{prefix}=\"{SCHEMA_INSTANCE}\" \
                 {prefix}:type=\"v:DuplicateName\"><object type=\"Folder\">group-1</object></v:fault>"
            );
            let fault = read(&text).unwrap();
            assert_eq!(&*fault.name, "fault");
            assert!(fault.is_of_type("DuplicateName"));
            assert_eq!(fault.reference_at("object"), Some(MoRef::new("Folder", "group-1")));
        }
    }

    #[test]
    fn texts_are_what_was_meant() {
        let name = read("<name>a&lt;b&gt; &amp; &#252;&#x1F600; <![CDATA[<c>]]></name>").unwrap();
        assert_eq!(&*name.text, "a<b> & ü😀 <c>");
        assert_eq!(&*read("<name/>").unwrap().text, "");
    }

    #[test]
    fn what_is_no_xml_is_refused() {
        for text in ["", "<a><b></a>", "<a>", "<a>&nbsp;</a>", &"<a>".repeat(100_000)] {
            assert!(read(text).is_err(), "{}", &text[..text.len().min(20)]);
        }
    }

    #[test]
    fn pieces_are_read_one_by_one() {
        let mut reader = Reader::new("<a><x>1<y/></x><b>2</b><b>3</b></a><z/>");
        assert!(reader.enter("a").unwrap());
        assert!(reader.enter("b").unwrap());
        reader.skip().unwrap();
        let second = reader.next_child().unwrap().unwrap();
        assert_eq!(&*reader.finish(second).unwrap().text, "3");
        assert_eq!(reader.next_child().unwrap(), None, "the end of a");
    }

    #[test]
    fn a_text_that_is_cut_off_is_never_shorter_but_unreadable() {
        let whole = "<a><b>1</b><b>2</b></a>";
        for cut in 1..whole.len() {
            let mut reader = Reader::new(&whole[..cut]);
            let mut read = || -> Result<usize, Unreadable> {
                let mut count = 0;
                if !reader.enter("a")? {
                    return Err(broken_off());
                }
                while let Some(child) = reader.next_child()? {
                    reader.finish(child)?;
                    count += 1;
                }
                Ok(count)
            };
            assert!(read().is_err(), "{}", &whole[..cut]);
        }
    }
}
