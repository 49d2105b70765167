//! Queries for properties, and their answers.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    Element, Fault, MoRef, Object, VimError,
    soap::Answer,
    xml::{Reader, Writer},
};

/// How many objects come in one answer at most: about half a megabyte of instances.
pub(crate) const PAGE: u32 = 200;

/// The objects of a query.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of<'a> {
    /// Of these objects.
    Objects(&'a [MoRef]),
    /// Of all objects of several kinds in a view, each with its own.
    Kinds {
        /// The view.
        view: &'a MoRef,
        /// The kinds of objects, none of which descends from another, and their properties.
        kinds: &'a [(&'a str, &'a [&'a str])],
    },
    /// Of all objects of a kind in a view.
    View {
        /// The view, whose kind of reference says what kind of view it is.
        view: &'a MoRef,
        /// The kind of objects.
        kind: &'a str,
    },
}

/// Writes a `PropertyFilterSpec`: which properties of which objects.
pub(crate) fn filter(xml: &mut Writer, name: &str, of: Of<'_>, paths: &[Arc<str>]) {
    xml.nested(name, |xml| match of {
        Of::Objects(objects) => {
            let mut kinds: Vec<&str> = objects.iter().map(|object| &*object.kind).collect();
            kinds.sort_unstable();
            kinds.dedup();
            for kind in kinds {
                properties(xml, kind, paths.iter().map(|path| &**path));
            }
            for object in objects {
                xml.nested("objectSet", |xml| xml.reference("obj", object));
            }
        }
        Of::View { view, kind } => {
            properties(xml, kind, paths.iter().map(|path| &**path));
            members(xml, view);
        }
        Of::Kinds { view, kinds } => {
            for (kind, paths) in kinds {
                properties(xml, kind, paths.iter().copied());
            }
            members(xml, view);
        }
    });
}

fn properties<'p>(xml: &mut Writer, kind: &str, paths: impl Iterator<Item = &'p str>) {
    xml.nested("propSet", |xml| {
        xml.leaf("type", kind);
        xml.leaf("all", false);
        for path in paths {
            xml.leaf("pathSet", path);
        }
    });
}

/// Everything that a view shows.
fn members(xml: &mut Writer, view: &MoRef) {
    xml.nested("objectSet", |xml| {
        xml.reference("obj", view);
        xml.leaf("skip", true);
        xml.typed("selectSet", "TraversalSpec", |xml| {
            xml.leaf("name", "members");
            xml.leaf("type", &view.kind);
            xml.leaf("path", "view");
            xml.leaf("skip", false);
        });
    });
}

/// A part of what was asked for.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) objects: Vec<Object>,
    /// The token for the next page, if any.
    pub(crate) token: Option<String>,
}

/// Reads a `RetrieveResult`, object by object.
pub(crate) fn page(answer: &Answer, paths: &[Arc<str>]) -> Result<Page, VimError> {
    let mut reader = answer.inside()?;
    let mut page = Page::default();
    // Nothing at all is returned where there are no objects.
    if !reader.enter("returnval")? {
        return Ok(page);
    }
    while let Some(part) = reader.next_child()? {
        match &*part.name {
            "token" => page.token = Some(reader.finish(part)?.text.into()),
            "objects" => page.objects.push(object(&mut reader, paths)?),
            _ => reader.skip()?,
        }
    }
    in_session(page.objects.iter().flat_map(|object| object.missing.values()))?;
    Ok(page)
}

/// Returns an error if properties are missing because the session has ended. Some servers answer so
/// instead of with a fault.
fn in_session<'a>(mut missing: impl Iterator<Item = &'a Fault>) -> Result<(), VimError> {
    let ended = missing.find(|fault| fault.is("NotAuthenticated"));
    ended.map_or(Ok(()), |fault| Err(VimError::Fault(fault.clone())))
}

/// Reads the inside of an `ObjectContent`.
fn object(reader: &mut Reader<'_>, paths: &[Arc<str>]) -> Result<Object, VimError> {
    let (mut reference, mut values, mut missing) = (None, BTreeMap::new(), BTreeMap::new());
    while let Some(part) = reader.next_child()? {
        match &*part.name {
            "obj" => reference = reader.finish(part)?.reference(),
            "propSet" => {
                let (name, value) = pair(reader, paths, "val")?;
                values.extend(value.map(|value| (name, value)));
            }
            "missingSet" => {
                let (path, fault) = missing_property(reader, paths)?;
                missing.insert(path, fault);
            }
            _ => reader.skip()?,
        }
    }
    Ok(Object { reference: reference.ok_or_else(no_reference)?, values, missing })
}

/// Reads the inside of something that has a path and one other thing of interest.
fn pair(
    reader: &mut Reader<'_>,
    paths: &[Arc<str>],
    wanted: &str,
) -> Result<(Arc<str>, Option<Element>), VimError> {
    let (mut path, mut value) = (None, None);
    while let Some(part) = reader.next_child()? {
        match &*part.name {
            "name" | "path" => path = Some(known(&reader.finish(part)?.text, paths)),
            name if name == wanted => value = Some(reader.finish(part)?),
            _ => reader.skip()?,
        }
    }
    let nameless = || VimError::Malformed("a property without a name".to_owned());
    Ok((path.ok_or_else(nameless)?, value))
}

fn missing_property(
    reader: &mut Reader<'_>,
    paths: &[Arc<str>],
) -> Result<(Arc<str>, Fault), VimError> {
    let (path, fault) = pair(reader, paths, "fault")?;
    Ok((path, Fault::localized(&fault.unwrap_or_default())))
}

/// The path that was asked for, so that thousands of objects share it.
fn known(path: &str, paths: &[Arc<str>]) -> Arc<str> {
    paths.iter().find(|known| &***known == path).map_or_else(|| path.into(), Arc::clone)
}

fn no_reference() -> VimError {
    VimError::Malformed("an object without a reference".to_owned())
}

/// The changes of the objects of a filter.
#[derive(Debug, Default)]
pub(crate) struct Updates {
    /// The state that was told; the next question asks for what came after it.
    pub(crate) version: String,
    /// Whether there is more of the same state to be told.
    pub(crate) truncated: bool,
    pub(crate) objects: Vec<ObjectUpdate>,
}

/// What happened to an object.
#[derive(Debug)]
pub(crate) struct ObjectUpdate {
    pub(crate) reference: MoRef,
    pub(crate) kind: UpdateKind,
    /// Properties and what they are now; none is not set any more.
    pub(crate) values: BTreeMap<Arc<str>, Option<Element>>,
    pub(crate) missing: BTreeMap<Arc<str>, Fault>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpdateKind {
    Enter,
    Modify,
    Leave,
}

/// Reads an `UpdateSet`, object by object. None where the server waited for nothing.
pub(crate) fn updates(answer: &Answer, paths: &[Arc<str>]) -> Result<Option<Updates>, VimError> {
    let mut reader = answer.inside()?;
    if !reader.enter("returnval")? {
        return Ok(None);
    }
    let mut updates = Updates::default();
    while let Some(part) = reader.next_child()? {
        match &*part.name {
            "version" => updates.version = reader.finish(part)?.text.into(),
            "truncated" => updates.truncated = reader.finish(part)?.parse().unwrap_or(false),
            "filterSet" => {
                while let Some(part) = reader.next_child()? {
                    match &*part.name {
                        "objectSet" => updates.objects.push(object_update(&mut reader, paths)?),
                        _ => reader.skip()?,
                    }
                }
            }
            _ => reader.skip()?,
        }
    }
    in_session(updates.objects.iter().flat_map(|object| object.missing.values()))?;
    Ok(Some(updates))
}

/// Reads the inside of an `ObjectUpdate`.
fn object_update(reader: &mut Reader<'_>, paths: &[Arc<str>]) -> Result<ObjectUpdate, VimError> {
    let (mut reference, mut kind) = (None, None);
    let (mut values, mut missing) = (BTreeMap::new(), BTreeMap::new());
    while let Some(part) = reader.next_child()? {
        match &*part.name {
            "kind" => {
                kind = match &*reader.finish(part)?.text {
                    "enter" => Some(UpdateKind::Enter),
                    "modify" => Some(UpdateKind::Modify),
                    "leave" => Some(UpdateKind::Leave),
                    _ => None,
                }
            }
            "obj" => reference = reader.finish(part)?.reference(),
            // Whole properties are requested, so the value is the current one for every operation.
            "changeSet" => values.extend([pair(reader, paths, "val")?]),
            "missingSet" => missing.extend([missing_property(reader, paths)?]),
            _ => reader.skip()?,
        }
    }
    let unknown = || VimError::Malformed("an update of an unknown kind".to_owned());
    let reference = reference.ok_or_else(no_reference)?;
    Ok(ObjectUpdate { reference, kind: kind.ok_or_else(unknown)?, values, missing })
}

#[cfg(test)]
mod tests;
