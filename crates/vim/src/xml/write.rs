//! Writing XML: elements in the order in which they are written, everything escaped.

use std::{borrow::Cow, fmt::Display};

use quick_xml::escape::escape;

use crate::MoRef;

/// XML under construction.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    out: String,
}

impl Writer {
    /// What was written.
    pub(crate) fn finish(self) -> String {
        self.out
    }

    /// An element with others inside.
    pub(crate) fn nested(&mut self, name: &str, inside: impl FnOnce(&mut Self)) {
        self.surrounded(name, "", inside);
    }

    /// An element with others inside, of a type that its name does not tell.
    pub(crate) fn typed(&mut self, name: &str, xsi_type: &str, inside: impl FnOnce(&mut Self)) {
        self.surrounded(name, &format!(" xsi:type=\"{xsi_type}\""), inside);
    }

    /// An element with a text.
    pub(crate) fn leaf(&mut self, name: &str, text: impl Display) {
        let text = text.to_string();
        self.surrounded(name, "", |xml| xml.text(&text));
    }

    /// An element with a text, of a type that its name does not tell.
    pub(crate) fn typed_leaf(&mut self, name: &str, xsi_type: &str, text: &str) {
        self.typed(name, xsi_type, |xml| xml.text(text));
    }

    /// An element with a text where there is one.
    pub(crate) fn optional(&mut self, name: &str, text: Option<impl Display>) {
        if let Some(text) = text {
            self.leaf(name, text);
        }
    }

    /// A reference to an object.
    pub(crate) fn reference(&mut self, name: &str, reference: &MoRef) {
        let kind = format!(" type=\"{}\"", escape(&reference.kind));
        self.surrounded(name, &kind, |xml| xml.text(&reference.id));
    }

    /// A reference to an object where there is one.
    pub(crate) fn optional_reference(&mut self, name: &str, reference: Option<&MoRef>) {
        if let Some(reference) = reference {
            self.reference(name, reference);
        }
    }

    /// A piece that was written before.
    pub(crate) fn piece(&mut self, xml: &str) {
        self.out.push_str(xml);
    }

    fn surrounded(&mut self, name: &str, attributes: &str, inside: impl FnOnce(&mut Self)) {
        for part in ["<", name, attributes, ">"] {
            self.out.push_str(part);
        }
        inside(self);
        for part in ["</", name, ">"] {
            self.out.push_str(part);
        }
    }

    fn text(&mut self, text: &str) {
        // A reader takes a bare carriage return for a line's end.
        self.out.push_str(&escape(&*allowed(text)).replace('\r', "&#13;"));
    }
}

/// XML cannot carry most control characters, not even escaped: a server refuses the whole request
/// because of one. They are replaced by U+FFFD.
fn allowed(text: &str) -> Cow<'_, str> {
    let refused = |c: char| matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}');
    if text.contains(refused) {
        Cow::Owned(text.replace(refused, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::xml::Reader;

    proptest! {
        #[test]
        fn what_is_written_is_read_as_it_was(text in "(?s)[\\PC\r\n\t]*") {
            let mut xml = Writer::default();
            xml.leaf("name", &text);
            let written = xml.finish();
            let mut reader = Reader::new(&written);
            let element = reader.next_child().unwrap().unwrap();
            prop_assert_eq!(&*reader.finish(element).unwrap().text, &*text);
        }

        #[test]
        fn no_text_upsets_the_reader(text in "(?s)[<>/&;\"=a:x \\PC]{0,60}") {
            let mut reader = Reader::new(&text);
            let mut elements = 0;
            while let Ok(Some(element)) = reader.next_child() {
                elements += 1;
                drop(reader.finish(element));
            }
            prop_assert!(elements <= text.matches('<').count());
        }
    }

    #[test]
    fn texts_are_escaped_and_control_characters_shown() {
        let mut xml = Writer::default();
        xml.leaf("name", "a<b>&\"c\"\u{1}\n");
        assert_eq!(xml.finish(), "<name>a&lt;b&gt;&amp;&quot;c&quot;\u{fffd}\n</name>");
    }

    #[test]
    fn references_carry_their_kind() {
        let mut xml = Writer::default();
        xml.reference("_this", &MoRef::new("VirtualMachine", "vm-1"));
        assert_eq!(xml.finish(), "<_this type=\"VirtualMachine\">vm-1</_this>");
    }
}
