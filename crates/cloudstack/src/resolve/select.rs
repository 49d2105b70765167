//! Which objects terms of a selector find.

use std::collections::BTreeMap;

use crate::{
    client::objects::{Identified, Network, ServiceOffering, Tag, Template},
    node_class::Term,
};

/// The value of a tag that stands for any.
const ANY: &str = "*";

/// Something that terms can find.
pub(crate) trait Selectable: Identified {
    /// Whether it has a tag.
    fn has_tag(&self, key: &str, value: &str) -> bool;
    /// Whether its operating system is called so.
    fn is_os(&self, _os_type: &str) -> bool {
        false
    }
}

fn is_tagged(tags: &[Tag], key: &str, value: &str) -> bool {
    tags.iter().any(|tag| tag.key == key && (value == ANY || tag.value == value))
}

impl Selectable for Network {
    fn has_tag(&self, key: &str, value: &str) -> bool {
        is_tagged(&self.tags, key, value)
    }
}

impl Selectable for Template {
    fn has_tag(&self, key: &str, value: &str) -> bool {
        is_tagged(&self.tags, key, value)
    }

    fn is_os(&self, os_type: &str) -> bool {
        let is = |own: Option<&String>| own.is_some_and(|own| own.eq_ignore_ascii_case(os_type));
        is(self.os_type_id.as_ref()) || is(self.os_type_name.as_ref())
    }
}

impl Selectable for ServiceOffering {
    /// CloudStack has no tags for service offerings; operators write details instead. Tags of hosts
    /// and storage are found by two keys of their own.
    fn has_tag(&self, key: &str, value: &str) -> bool {
        let listed = match key {
            "hosttags" => Some(&self.host_tags),
            "storagetags" => Some(&self.storage_tags),
            _ => None,
        };
        if let Some(listed) = listed {
            let words = listed.as_deref().unwrap_or_default().split(',').map(str::trim);
            let mut words = words.filter(|word| !word.is_empty());
            return words.any(|word| value == ANY || word == value);
        }
        self.details.get(key).is_some_and(|own| value == ANY || own == value)
    }
}

/// Whether every field that a term has matches.
fn matches(term: &Term<'_>, object: &impl Selectable) -> bool {
    !term.is_empty()
        && term.id.is_none_or(|id| id.eq_ignore_ascii_case(object.id()))
        && term.name.is_none_or(|name| name == object.name())
        && term.os_type.is_none_or(|os_type| object.is_os(os_type))
        && term
            .tags
            .iter()
            .flat_map(|tags| tags.iter())
            .all(|(key, value)| object.has_tag(key, value))
}

/// The objects that any of the terms finds, with the place of the first that does.
pub(crate) fn selected<'o, T: Selectable>(
    terms: &[Term<'_>],
    objects: impl IntoIterator<Item = &'o T>,
) -> Vec<(usize, &'o T)> {
    objects
        .into_iter()
        .filter_map(|object| Some((terms.iter().position(|term| matches(term, object))?, object)))
        .collect()
}

/// How many of the objects each term finds, in words.
pub(crate) fn counts<T: Selectable>(terms: &[Term<'_>], objects: &[&T]) -> String {
    if terms.is_empty() {
        return "there is no term".to_owned();
    }
    let told: Vec<String> = terms
        .iter()
        .map(|term| {
            let count = objects.iter().filter(|object| matches(term, **object)).count();
            format!("{} finds {count}", in_words(term))
        })
        .collect();
    format!("of {} seen, {}", objects.len(), told.join(", "))
}

/// A term as its author wrote it.
fn in_words(term: &Term<'_>) -> String {
    let texts = [("id", term.id), ("name", term.name), ("osType", term.os_type)];
    let texts = texts.into_iter().filter_map(|(field, text)| Some(format!("{field}: {}", text?)));
    let tags = term.tags.map(|tags: &BTreeMap<String, String>| {
        let tags: Vec<String> = tags.iter().map(|(key, value)| format!("{key}: {value}")).collect();
        format!("tags: {{{}}}", tags.join(", "))
    });
    let parts: Vec<String> = texts.chain(tags).collect();
    format!("{{{}}}", parts.join(", "))
}
