//! Which objects and properties a client is after.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    fault::Fault,
    properties::{self, ObjectReader},
    reference::{Kind, Ref},
    session::Viewer,
    wire::element::Element,
    world::World,
};

/// What a client is after.
#[derive(Clone, Debug)]
pub(crate) struct FilterSpec {
    properties: Vec<PropertySet>,
    objects: Vec<ObjectSet>,
}

#[derive(Clone, Debug)]
struct PropertySet {
    kind: String,
    all: bool,
    paths: Vec<String>,
}

#[derive(Clone, Debug)]
struct ObjectSet {
    object: Ref,
    skip: bool,
    select: Vec<Selection>,
}

/// A way from object to object; only a name if it is described elsewhere.
#[derive(Clone, Debug)]
struct Selection {
    name: String,
    traversal: Option<Traversal>,
}

#[derive(Clone, Debug)]
struct Traversal {
    kind: String,
    path: String,
    skip: bool,
    select: Vec<Selection>,
}

impl FilterSpec {
    /// Reads a spec, and refuses types and properties that are not there.
    pub(crate) fn read(spec: &Element) -> Result<Self, Fault> {
        let properties = spec.all("propSet").map(PropertySet::read).collect::<Result<_, _>>()?;
        let objects = spec.all("objectSet").map(ObjectSet::read).collect::<Result<_, _>>()?;
        Ok(Self { properties, objects })
    }

    /// The objects that are meant, each once, in the order in which they are found.
    pub(crate) fn select(&self, world: &World, viewer: &Viewer) -> Result<Vec<Ref>, Fault> {
        let mut found = Found::default();
        for set in &self.objects {
            if !world.has(set.object) {
                return Err(Fault::gone(set.object));
            }
            if !set.skip {
                found.add(set.object);
            }
            let mut named = BTreeMap::new();
            collect_named(&set.select, &mut named);
            let mut walk = Walk { world, viewer, named, done: BTreeSet::new(), found };
            walk.follow(set.object, &set.select)?;
            found = walk.found;
        }
        found.list.retain(|object| !self.paths(*object).is_empty() || self.wants(*object));
        Ok(found.list)
    }

    /// Whether what is meant depends on nothing but what there is and what views have in them.
    pub(super) fn is_plain(&self) -> bool {
        let view = |way: &Traversal| way.path == "view" && way.select.is_empty();
        let plain = |selection: &Selection| selection.traversal.as_ref().is_some_and(view);
        self.objects.iter().all(|set| set.select.iter().all(plain))
    }

    /// Whether tasks are meant, which come and go all the time.
    pub(super) fn has_tasks(&self) -> bool {
        self.properties.iter().any(|set| Kind::Task.is(&set.kind))
    }

    fn wants(&self, object: Ref) -> bool {
        self.properties.iter().any(|set| object.kind.is(&set.kind))
    }

    /// The paths that are wanted of an object.
    pub(crate) fn paths(&self, object: Ref) -> Vec<&str> {
        let mut paths = Vec::new();
        for set in self.properties.iter().filter(|set| object.kind.is(&set.kind)) {
            if set.all {
                paths.extend(properties::names(object.kind));
            } else {
                paths.extend(set.paths.iter().map(String::as_str));
            }
        }
        paths
    }
}

impl PropertySet {
    fn read(set: &Element) -> Result<Self, Fault> {
        let kind = set.text_of("type").unwrap_or_default().trim().to_owned();
        if !Kind::is_known(&kind) {
            let message = format!("there is no type {kind:?} of managed objects");
            return Err(Fault::new("InvalidType", message));
        }
        let paths: Vec<String> = set.all("pathSet").map(|path| path.text.clone()).collect();
        for path in &paths {
            let first = path.split(['.', '[']).next().unwrap_or_default();
            if !properties::is_property(&kind, first) {
                return Err(Fault::invalid_property(path));
            }
        }
        Ok(Self { kind, all: set.says("all"), paths })
    }
}

impl ObjectSet {
    fn read(set: &Element) -> Result<Self, Fault> {
        let object = crate::methods::named(set.child("obj"))?;
        let select = read_selections(set);
        Ok(Self { object, skip: set.says("skip"), select })
    }
}

fn read_selections(of: &Element) -> Vec<Selection> {
    let read = |selection: &Element| {
        let traversal = selection.child("path").map(|path| Traversal {
            kind: selection.text_of("type").unwrap_or_default().to_owned(),
            path: path.text.clone(),
            skip: selection.says("skip"),
            select: read_selections(selection),
        });
        Selection { name: selection.text_of("name").unwrap_or_default().to_owned(), traversal }
    };
    of.all("selectSet").map(read).collect()
}

fn collect_named<'s>(selections: &'s [Selection], named: &mut BTreeMap<&'s str, &'s Traversal>) {
    for selection in selections {
        if let Some(traversal) = &selection.traversal {
            if !selection.name.is_empty() {
                named.insert(&selection.name, traversal);
            }
            collect_named(&traversal.select, named);
        }
    }
}

#[derive(Debug, Default)]
struct Found {
    list: Vec<Ref>,
    set: BTreeSet<Ref>,
}

impl Found {
    fn add(&mut self, object: Ref) {
        if self.set.insert(object) {
            self.list.push(object);
        }
    }
}

struct Walk<'s> {
    world: &'s World,
    viewer: &'s Viewer,
    named: BTreeMap<&'s str, &'s Traversal>,
    /// Which way was gone from where; ways may lead round in circles.
    done: BTreeSet<(Ref, *const Traversal)>,
    found: Found,
}

impl<'s> Walk<'s> {
    fn follow(&mut self, from: Ref, selections: &'s [Selection]) -> Result<(), Fault> {
        for selection in selections {
            let named = self.named.get(selection.name.as_str()).copied();
            let Some(way) = selection.traversal.as_ref().or(named) else {
                let why = format!("no selection is called {:?}", selection.name);
                return Err(Fault::invalid_argument("specSet.objectSet.selectSet", &why));
            };
            let goes = from.kind.is(&way.kind) && self.done.insert((from, std::ptr::from_ref(way)));
            if !goes {
                continue;
            }
            let mut reader = ObjectReader::new(self.world, self.viewer, from);
            let Some(value) = reader.value(&way.path) else {
                return Err(Fault::invalid_property(&way.path));
            };
            for object in value.named() {
                if !way.skip {
                    self.found.add(object);
                }
                self.follow(object, &way.select)?;
            }
        }
        Ok(())
    }
}
