//! A piece of XML that was read.

use std::str::FromStr;

use crate::MoRef;

/// A piece of an answer: names and types without their namespaces' prefixes, which differ between
/// servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Element {
    /// The element's local name.
    pub name: Box<str>,
    /// What `xsi:type` says, without its prefix: `DuplicateName`, `string`.
    pub xsi_type: Option<Box<str>>,
    /// What the plain attribute `type` says: the kind of object that a reference refers to.
    pub reference_kind: Option<Box<str>>,
    /// The text between the tags; none where there are child elements.
    pub text: Box<str>,
    /// The elements inside, in the order they came.
    pub children: Vec<Element>,
}

impl Element {
    /// The first child of that name.
    pub fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|child| &*child.name == name)
    }

    /// All children of that name.
    pub fn children_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Element> {
        self.children.iter().filter(move |child| &*child.name == name)
    }

    /// What is at the end of a path of names: `runtime.host`. Of several children of one name the
    /// first is followed.
    pub fn at(&self, path: &str) -> Option<&Element> {
        path.split('.').try_fold(self, |element, name| element.child(name))
    }

    /// The text at the end of a path of names.
    pub fn text_at(&self, path: &str) -> Option<&str> {
        self.at(path).map(|element| &*element.text)
    }

    /// The text as something else: a number, or `bool` where the server writes `true` or `false`.
    pub fn parse<T: FromStr>(&self) -> Option<T> {
        self.text.trim().parse().ok()
    }

    /// The text at the end of a path of names, as something else. None also where the text is
    /// there but means something else.
    pub fn parse_at<T: FromStr>(&self, path: &str) -> Option<T> {
        self.at(path)?.parse()
    }

    /// The reference that this element is, if it is one.
    pub fn reference(&self) -> Option<MoRef> {
        let kind = self.reference_kind.as_deref()?;
        Some(MoRef::new(kind, self.text.trim()))
    }

    /// The reference at the end of a path of names.
    pub fn reference_at(&self, path: &str) -> Option<MoRef> {
        self.at(path)?.reference()
    }

    /// All references among the children: what an `ArrayOfManagedObjectReference` holds.
    pub fn references(&self) -> Vec<MoRef> {
        self.children.iter().filter_map(Element::reference).collect()
    }

    /// Whether this is of a type, as the server says by `xsi:type`.
    pub fn is_of_type(&self, name: &str) -> bool {
        self.xsi_type.as_deref() == Some(name)
    }
}
