//! JSON: read in place, without building a tree.

use serde::{Deserialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{NOT_AN_OBJECT, ReadError, Reader, complete, invalid, is_empty_list};
use crate::{
    objects::{Body, Head},
    validate::Invalid,
};

/// The documents of a text, which may hold several, one after the other; or the number of the one
/// that is broken.
pub(super) fn documents(text: &str) -> Result<Vec<&RawValue>, (u32, serde_json::Error)> {
    let mut documents = Vec::new();
    for document in serde_json::Deserializer::from_str(text).into_iter() {
        let number = documents.len() as u32 + 1;
        documents.push(document.map_err(|error| (number, error))?);
    }
    Ok(documents)
}

/// Takes the objects of every document.
pub(super) fn read(reader: &mut Reader, documents: &[&RawValue]) -> Result<(), ReadError> {
    for document in documents {
        reader.document += 1;
        let text = document.get();
        if text.starts_with('[') {
            let items = outline(reader, 0, "", text)?;
            read_items(reader, items, None)?;
            continue;
        }
        if text.starts_with('{') {
            let outline: Outline<'_> = outline(reader, 0, "", text)?;
            let head = outline.head();
            match outline.items {
                None if text == "{}" || is_empty_list(&head) => {}
                Some(items) if head.kind.ends_with("List") => {
                    let items = self::outline(reader, 0, &head.kind, items.get())?;
                    read_items(reader, items, Some(&head))?;
                }
                _ => read_object(reader, document, head, None, 0)?,
            }
            continue;
        }
        if text != "null" {
            return Err(reader.refused(0, "", Invalid::new("", NOT_AN_OBJECT)));
        }
    }
    Ok(())
}

fn read_items(
    reader: &mut Reader,
    items: Option<Vec<&RawValue>>,
    list: Option<&Head>,
) -> Result<(), ReadError> {
    for (i, item) in items.into_iter().flatten().enumerate() {
        let number = i as u32 + 1;
        if !item.get().starts_with('{') {
            return Err(reader.refused(number, "", Invalid::new("", NOT_AN_OBJECT)));
        }
        let outline: Outline<'_> = outline(reader, number, "", item.get())?;
        read_object(reader, item, outline.head(), list, number)?;
    }
    Ok(())
}

fn read_object(
    reader: &mut Reader,
    text: &RawValue,
    head: Head,
    list: Option<&Head>,
    item: u32,
) -> Result<(), ReadError> {
    let kind = head.kind.clone();
    match complete(head, list, item) {
        Ok(head) => reader.add(head, text, item),
        Err(invalid) => Err(reader.refused(item, &kind, invalid)),
    }
}

/// The parts of an object that say what it is.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Outline<'t> {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<Metadata>,
    #[serde(borrow)]
    items: Option<&'t RawValue>,
}

#[derive(Deserialize)]
struct Metadata {
    name: Option<String>,
    namespace: Option<String>,
}

impl Outline<'_> {
    fn head(&self) -> Head {
        let metadata = self.metadata.as_ref();
        Head {
            api_version: self.api_version.clone().unwrap_or_default(),
            kind: self.kind.clone().unwrap_or_default(),
            namespace: metadata.and_then(|metadata| metadata.namespace.clone()),
            name: metadata.and_then(|metadata| metadata.name.clone()).unwrap_or_default(),
        }
    }
}

/// Reads a part of a document, of which the syntax is known to be right.
fn outline<'t, T: Deserialize<'t>>(
    reader: &Reader,
    item: u32,
    object: &str,
    text: &'t str,
) -> Result<T, ReadError> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text))
        .map_err(|error| reader.refused(item, object, invalid(error)))
}

impl Body for RawValue {
    fn decode<T: DeserializeOwned>(&self) -> Result<T, Invalid> {
        serde_json::from_str(self.get()).or_else(|_| {
            let mut deserializer = serde_json::Deserializer::from_str(self.get());
            serde_path_to_error::deserialize(&mut deserializer).map_err(invalid)
        })
    }
}
