//! Reading properties, a page at a time.

use std::{collections::VecDeque, sync::Arc};

use super::FilterSpec;
use crate::{
    fault::Fault,
    properties::ObjectReader,
    reference::Ref,
    session::Viewer,
    wire::{element::Element, value::Value},
    world::World,
};

/// A read that is not at its end.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) session: String,
    rest: VecDeque<(Arc<FilterSpec>, Ref)>,
    size: usize,
}

impl World {
    /// Begins to read: the first page.
    pub(crate) fn retrieve(&mut self, viewer: &Viewer, call: &Element) -> Result<String, Fault> {
        let mut rest = VecDeque::new();
        for spec in call.all("specSet") {
            let spec = Arc::new(FilterSpec::read(spec)?);
            let objects = spec.select(self, viewer)?;
            rest.extend(objects.into_iter().map(|object| (Arc::clone(&spec), object)));
        }
        let asked = call.child("options").and_then(|options| options.parse::<i32>("maxObjects"));
        let asked = asked.and_then(|asked| usize::try_from(asked).ok()).filter(|asked| *asked > 0);
        let size = asked.unwrap_or(usize::MAX).min(self.behaviour.page_max).max(1);
        self.page(viewer, Page { session: viewer.session.clone(), rest, size })
    }

    /// Reads on.
    pub(crate) fn retrieve_more(&mut self, viewer: &Viewer, token: &str) -> Result<String, Fault> {
        let page = self.collectors.pages.remove(token);
        let own = page.filter(|page| page.session == viewer.session);
        let unknown = || Fault::invalid_argument("token", "no read is in the middle by that token");
        self.page(viewer, own.ok_or_else(unknown)?)
    }

    pub(crate) fn retrieve_no_more(&mut self, token: &str) {
        self.collectors.pages.remove(token);
    }

    fn page(&mut self, viewer: &Viewer, mut page: Page) -> Result<String, Fault> {
        let mut objects = String::new();
        let count = page.size.min(page.rest.len());
        for (spec, object) in page.rest.drain(..count) {
            // What went away since the first page is left out.
            if self.has(object) {
                write_object(self, viewer, &spec, object, &mut objects)?;
            }
        }
        let mut out = String::new();
        if !page.rest.is_empty() {
            self.collectors.made += 1;
            let token = self.collectors.made.to_string();
            Value::text(&*token).write(&mut out, "token");
            self.collectors.pages.insert(token, page);
        }
        out.push_str(&objects);
        Ok(out)
    }
}

fn write_object(
    world: &World,
    viewer: &Viewer,
    spec: &FilterSpec,
    object: Ref,
    out: &mut String,
) -> Result<(), Fault> {
    out.push_str("<objects>");
    Value::Ref(object).write(out, "obj");
    let paths = spec.paths(object);
    if world.sessions.may_see(viewer, &world.estate, object) {
        let mut reader = ObjectReader::new(world, viewer, object);
        for path in paths {
            let Some(value) = reader.write(path, "val") else {
                return Err(Fault::invalid_property(path));
            };
            if !value.is_empty() {
                write_path(out, "propSet", "name", path);
                out.push_str(&value);
                out.push_str("</propSet>");
            }
        }
    } else {
        write_missing(out, &paths, &Fault::no_permission(object, "System.Read"));
    }
    out.push_str("</objects>");
    Ok(())
}

/// Opens an element that begins with a path.
pub(super) fn write_path(out: &mut String, tag: &str, name: &str, path: &str) {
    out.extend(["<", tag, ">"]);
    Value::text(path).write(out, name);
}

fn write_missing(out: &mut String, paths: &[&str], fault: &Fault) {
    for path in paths {
        write_path(out, "missingSet", "path", path);
        fault.localized().write(out, "fault");
        out.push_str("</missingSet>");
    }
}

/// The answer of some releases to a session that has expired: everything is there, and nothing of
/// it may be read.
pub(crate) fn all_missing(world: &World, call: &Element) -> Result<String, Fault> {
    let mut out = String::new();
    for spec in call.all("specSet") {
        let spec = FilterSpec::read(spec)?;
        // The objects are read without the rights of a session.
        for object in spec.select(world, &Viewer::default())? {
            out.push_str("<objects>");
            Value::Ref(object).write(&mut out, "obj");
            write_missing(&mut out, &spec.paths(object), &Fault::not_authenticated());
            out.push_str("</objects>");
        }
    }
    Ok(out)
}
