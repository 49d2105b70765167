//! Values of properties and answers, and how they are written.

use std::{borrow::Cow, fmt::Write as _};

use jiff::Timestamp;
use quick_xml::escape::escape;

use crate::reference::Ref;

/// A value of the wire. Texts may be borrowed from the world, so that a list of thousands of VMs
/// copies requested values only.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value<'w> {
    /// A field that the type has and this object has not: absent, but no mistake to ask for.
    Unset,
    Text(Cow<'w, str>),
    /// A word of an enumeration, with the enumeration's name.
    Word(&'static str, Cow<'w, str>),
    Bool(bool),
    Short(i16),
    Int(i32),
    Long(i64),
    Float(f32),
    Time(Timestamp),
    Ref(Ref),
    /// An object's name that stands for no object that ever was.
    NoSuchRef(Cow<'w, str>, Cow<'w, str>),
    /// A data object where exactly this type is expected.
    Data(&'static str, Vec<(&'static str, Value<'w>)>),
    /// A data object where this type is one of several.
    Sub(Cow<'w, str>, Vec<(Cow<'w, str>, Value<'w>)>),
    /// Values of a type; as a field, one element each.
    List(&'static str, Vec<Value<'w>>),
    /// A value where anything may stand.
    Any(Box<Value<'w>>),
}

use Value::{Any, Data, List, Sub, Unset};

impl<'w> Value<'w> {
    pub(crate) fn text(text: impl Into<Cow<'w, str>>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn word(name: &'static str, word: impl Into<Cow<'w, str>>) -> Self {
        Self::Word(name, word.into())
    }

    pub(crate) fn maybe<T>(value: Option<T>, of: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Unset, of)
    }

    /// A data object of a subtype.
    pub(crate) fn sub(name: &'static str, fields: Vec<(&'static str, Self)>) -> Self {
        let fields = fields.into_iter().map(|(name, value)| (Cow::from(name), value)).collect();
        Sub(name.into(), fields)
    }

    pub(crate) fn refs(refs: impl IntoIterator<Item = Ref>) -> Self {
        List("ManagedObjectReference", refs.into_iter().map(Value::Ref).collect())
    }

    pub(crate) fn texts<T: Into<Cow<'w, str>>>(texts: impl IntoIterator<Item = T>) -> Self {
        List("string", texts.into_iter().map(Value::text).collect())
    }

    /// A value where anything may stand, which therefore says what it is.
    pub(crate) fn any(self) -> Self {
        Any(Box::new(self))
    }

    /// What a property path leads to from here: none for a field that the type has not.
    pub(crate) fn follow(&self, path: &[Step<'_>]) -> Option<&Self> {
        let Some((step, rest)) = path.split_first() else { return Some(self) };
        let next = match (step, self) {
            (_, Unset) => return Some(&Unset),
            (_, Any(inner)) => return inner.follow(path),
            (Step::Field(name), Data(_, fields)) => {
                &fields.iter().find(|(known, _)| known == name)?.1
            }
            (Step::Field(name), Sub(_, fields)) => {
                &fields.iter().find(|(known, _)| known == name)?.1
            }
            (Step::Key(key), List(_, elements)) => {
                let keyed = elements.iter().find(|element| element.has_key(key));
                keyed.unwrap_or(&Unset)
            }
            _ => return None,
        };
        next.follow(rest)
    }

    fn has_key(&self, key: &str) -> bool {
        match self.follow(&[Step::Field("key")]) {
            Some(Self::Text(text)) => text == key,
            Some(Self::Int(number)) => number.to_string() == key,
            _ => false,
        }
    }

    /// The objects that a value names, one or many.
    pub(crate) fn named(&self) -> Vec<Ref> {
        match self {
            Self::Ref(named) => vec![*named],
            List(_, elements) => elements.iter().flat_map(Value::named).collect(),
            _ => Vec::new(),
        }
    }

    /// Writes the value as an element; nothing where it is unset.
    pub(crate) fn write(&self, out: &mut String, tag: &str) {
        self.write_as(out, tag, false);
    }

    /// Writes the value as an element that says what it is.
    pub(crate) fn write_any(&self, out: &mut String, tag: &str) {
        self.write_as(out, tag, true);
    }

    fn write_as(&self, out: &mut String, tag: &str, says_type: bool) {
        match self {
            Unset => {}
            Any(inner) => inner.write_as(out, tag, true),
            List(_, elements) if !says_type => {
                for element in elements {
                    element.write_as(out, tag, false);
                }
            }
            _ => {
                let _ = write!(out, "<{tag}");
                match self {
                    Self::Ref(named) => {
                        let _ = write!(out, " type=\"{}\"", named.kind.name());
                    }
                    Self::NoSuchRef(kind, _) => {
                        let _ = write!(out, " type=\"{}\"", escape(kind.as_ref()));
                    }
                    _ => {}
                }
                if says_type || matches!(self, Sub(..)) {
                    let _ = write!(out, " xsi:type=\"{}\"", self.type_name());
                }
                out.push('>');
                self.write_content(out);
                let _ = write!(out, "</{tag}>");
            }
        }
    }

    fn write_content(&self, out: &mut String) {
        let _ = match self {
            Unset => Ok(()),
            Any(inner) => {
                inner.write_content(out);
                Ok(())
            }
            Self::Text(text) | Self::Word(_, text) | Self::NoSuchRef(_, text) => {
                out.push_str(&escape(text.as_ref()));
                Ok(())
            }
            Self::Bool(yes) => write!(out, "{yes}"),
            Self::Short(number) => write!(out, "{number}"),
            Self::Int(number) => write!(out, "{number}"),
            Self::Long(number) => write!(out, "{number}"),
            Self::Float(number) => write!(out, "{number}"),
            Self::Time(moment) => write!(out, "{moment:.6}"),
            Self::Ref(named) => {
                out.push_str(&named.id());
                Ok(())
            }
            Data(_, fields) => {
                for (name, value) in fields {
                    value.write(out, name);
                }
                Ok(())
            }
            Sub(_, fields) => {
                for (name, value) in fields {
                    value.write(out, name);
                }
                Ok(())
            }
            List(name, elements) => {
                for element in elements {
                    element.write(out, name);
                }
                Ok(())
            }
        };
    }

    /// The type as `xsi:type` has it.
    fn type_name(&self) -> Cow<'_, str> {
        match self {
            Unset => "".into(),
            Self::Text(_) => "xsd:string".into(),
            Self::Word(name, _) | Data(name, _) => (*name).into(),
            Self::Bool(_) => "xsd:boolean".into(),
            Self::Short(_) => "xsd:short".into(),
            Self::Int(_) => "xsd:int".into(),
            Self::Long(_) => "xsd:long".into(),
            Self::Float(_) => "xsd:float".into(),
            Self::Time(_) => "xsd:dateTime".into(),
            Self::Ref(_) | Self::NoSuchRef(..) => "ManagedObjectReference".into(),
            Sub(name, _) => escape(name.as_ref()),
            List(name, _) => {
                let (first, rest) = name.split_at(1);
                format!("ArrayOf{}{rest}", first.to_ascii_uppercase()).into()
            }
            Any(inner) => inner.type_name(),
        }
    }
}

/// A step of a property path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'p> {
    /// To a field.
    Field(&'p str),
    /// To the element of a list that has this key.
    Key(&'p str),
}

/// Takes a property path apart: `config.hardware.device[4000].backing`,
/// `config.extraConfig["a.b"].value`. None if it is none.
pub(crate) fn steps(path: &str) -> Option<Vec<Step<'_>>> {
    let mut steps = Vec::new();
    let mut rest = path;
    loop {
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if name.is_empty() {
            return None;
        }
        steps.push(Step::Field(name));
        rest = after;
        while let Some(after) = rest.strip_prefix('[') {
            let (key, after) = match after.strip_prefix('"') {
                Some(quoted) => quoted.split_once("\"]")?,
                None => after.split_once(']')?,
            };
            steps.push(Step::Key(key));
            rest = after;
        }
        match rest.strip_prefix('.') {
            Some(after) => rest = after,
            None if rest.is_empty() => return Some(steps),
            None => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Value<'static> {
        let option = |key, value| {
            Value::sub("OptionValue", vec![("key", Value::text(key)), ("value", Value::any(value))])
        };
        Data(
            "Config",
            vec![
                ("name", Value::text("a<b")),
                ("uuid", Unset),
                ("extra", List("OptionValue", vec![option("a.b", Value::text("1"))])),
            ],
        )
    }

    fn at(path: &str) -> Option<String> {
        let config = config();
        let value = config.follow(&steps(path)?)?;
        let mut out = String::new();
        value.write_any(&mut out, "val");
        Some(out)
    }

    #[test]
    fn a_path_leads_to_a_value_with_its_type() {
        assert_eq!(at("name").unwrap(), r#"<val xsi:type="xsd:string">a&lt;b</val>"#);
        assert_eq!(at("extra[\"a.b\"].value").unwrap(), r#"<val xsi:type="xsd:string">1</val>"#);
        let list = r#"<val xsi:type="ArrayOfOptionValue"><OptionValue xsi:type="OptionValue"><key>a.b</key><value xsi:type="xsd:string">1</value></OptionValue></val>"#;
        assert_eq!(at("extra").unwrap(), list);
    }

    #[test]
    fn what_is_not_set_is_absent_and_what_is_not_there_is_a_mistake() {
        assert_eq!(at("uuid").unwrap(), "");
        assert_eq!(at("extra[\"other\"].value").unwrap(), "");
        assert_eq!(at("nothing"), None);
        for path in ["", ".", "name.", "extra[", "extra[\"a\"", "extra[1]x"] {
            assert_eq!(at(path), None, "{path}");
        }
    }
}
