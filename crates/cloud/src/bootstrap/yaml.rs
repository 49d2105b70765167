//! YAML as trees that keep what was written.
//!
//! The guests' programs read YAML 1.1 or 1.2, each with its own idea of what `0644` or `yes` is.
//! A plain scalar of the user's is therefore never interpreted and written again: it is kept
//! letter by letter, with its tag, and it leaves as it came. That is why there is no `serde` here.

mod read;
#[cfg(test)]
mod tests;
mod write;

use std::sync::LazyLock;

use regex::Regex;

pub(crate) use self::read::documents;

/// One node of a document. Documents have secrets in them, so that none can be printed by mistake.
#[derive(Clone, PartialEq)]
#[cfg_attr(test, derive(Debug))]
pub(crate) enum Yaml {
    Scalar(Scalar),
    List(Vec<Yaml>),
    Map(Map),
}

/// A leaf.
#[derive(Clone)]
#[cfg_attr(test, derive(Debug))]
pub(crate) struct Scalar {
    pub(crate) text: String,
    /// Written without quotes, so that its reader decides what it is.
    pub(crate) plain: bool,
    /// As written, such as `!!binary`.
    pub(crate) tag: Option<String>,
}

/// A map in the order of its document.
#[derive(Clone, PartialEq, Default)]
#[cfg_attr(test, derive(Debug))]
pub(crate) struct Map(pub(crate) Vec<(Scalar, Yaml)>);

/// Quotes make a difference only where they change what is read.
impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text && self.tag == other.tag && self.is_text() == other.is_text()
    }
}

impl Scalar {
    /// A string, even if it looks like a number or another type.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), plain: false, tag: None }
    }

    fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), plain: true, tag: None }
    }

    pub(crate) fn is_null(&self) -> bool {
        let words = ["", "~", "null", "Null", "NULL"];
        self.plain && self.tag.is_none() && words.contains(&self.text.as_str())
    }

    /// Whether every reader sees a string.
    pub(crate) fn is_text(&self) -> bool {
        self.tag.is_none() && (!self.plain || !is_ambiguous(&self.text))
    }
}

impl Yaml {
    /// A string, even if it looks like a number or another type.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Scalar(Scalar::text(text))
    }

    pub(crate) fn number(number: impl Into<u64>) -> Self {
        Self::Scalar(Scalar::plain(number.into().to_string()))
    }

    pub(crate) fn bool(value: bool) -> Self {
        Self::Scalar(Scalar::plain(value.to_string()))
    }

    pub(crate) fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(Self::text).collect())
    }

    pub(crate) fn as_map(&self) -> Option<&Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(crate) fn as_map_mut(&mut self) -> Option<&mut Map> {
        match self {
            Self::Map(map) => Some(map),
            _ => None,
        }
    }

    pub(crate) fn as_list(&self) -> Option<&[Self]> {
        match self {
            Self::List(list) => Some(list),
            _ => None,
        }
    }

    /// The letters of a scalar that is there and not null.
    pub(crate) fn as_str(&self) -> Option<&str> {
        match self {
            Self::Scalar(scalar) if !scalar.is_null() => Some(&scalar.text),
            _ => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Scalar(scalar) if scalar.is_null())
    }

    /// The noun for messages.
    pub(crate) fn noun(&self) -> &'static str {
        match self {
            Self::Scalar(scalar) if scalar.is_null() => "nothing",
            Self::Scalar(_) => "a single value",
            Self::List(_) => "a list",
            Self::Map(_) => "a map",
        }
    }

    /// The document as text, with a line end.
    pub(crate) fn print(&self) -> String {
        write::print(self)
    }
}

impl Map {
    pub(crate) fn get(&self, key: &str) -> Option<&Yaml> {
        self.0.iter().find(|(known, _)| known.text == key).map(|(_, value)| value)
    }

    pub(crate) fn get_mut(&mut self, key: &str) -> Option<&mut Yaml> {
        self.0.iter_mut().find(|(known, _)| known.text == key).map(|(_, value)| value)
    }

    /// Replaces the value of `key` where it stands, or adds it at the end.
    pub(crate) fn set(&mut self, key: impl Into<String>, value: Yaml) {
        let key = key.into();
        match self.get_mut(&key) {
            Some(old) => *old = value,
            None => self.0.push((Scalar::text(key), value)),
        }
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Yaml> {
        let at = self.0.iter().position(|(known, _)| known.text == key)?;
        Some(self.0.remove(at).1)
    }

    /// The map under `key`, made if there is none.
    pub(crate) fn map_at(&mut self, key: &str) -> &mut Self {
        if self.get(key).is_none_or(|value| value.as_map().is_none()) {
            self.set(key, Yaml::Map(Self::default()));
        }
        self.get_mut(key).and_then(Yaml::as_map_mut).expect("it was just made")
    }

    /// The value at the end of a path of keys.
    pub(crate) fn find(&self, path: &[&str]) -> Option<&Yaml> {
        let (first, rest) = path.split_first()?;
        let value = self.get(first)?;
        if rest.is_empty() { Some(value) } else { value.as_map()?.find(rest) }
    }
}

impl<K: Into<String>> FromIterator<(K, Yaml)> for Map {
    fn from_iter<I: IntoIterator<Item = (K, Yaml)>>(iter: I) -> Self {
        Self(iter.into_iter().map(|(key, value)| (Scalar::text(key), value)).collect())
    }
}

impl<K: Into<String>> FromIterator<(K, Yaml)> for Yaml {
    fn from_iter<I: IntoIterator<Item = (K, Yaml)>>(iter: I) -> Self {
        Self::Map(iter.into_iter().collect())
    }
}

/// Whether some reader of YAML takes these plain letters for something else than a string.
fn is_ambiguous(text: &str) -> bool {
    // Null and booleans of YAML 1.1, then everything that begins as a number, a date or a special
    // float does.
    static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"(?ix)^(
                | ~ | null | y | n | yes | no | on | off | true | false
                | [-+]?\.?[0-9][0-9a-fox_.:+\-tz\ ]*
                | [-+]?\.(inf|nan)
                | = | <<
            )$",
        )
        .expect("the pattern is well formed")
    });
    PATTERN.is_match(text)
}
