//! Views: sets of objects that sessions keep.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    reference::{Kind, Ref},
    session::Viewer,
    world::World,
};

/// All views.
#[derive(Debug, Default)]
pub(crate) struct Views {
    containers: BTreeMap<Ref, Container>,
    lists: BTreeMap<Ref, Listed>,
    made: u32,
}

/// Everything of some kinds that lies in an object.
#[derive(Debug)]
pub(crate) struct Container {
    pub(crate) of: Ref,
    /// Any kind if empty.
    pub(crate) kinds: Vec<String>,
    pub(crate) recursive: bool,
    pub(crate) session: String,
}

#[derive(Debug)]
struct Listed {
    objects: BTreeSet<Ref>,
    session: String,
}

impl Views {
    pub(crate) fn has(&self, view: Ref) -> bool {
        self.containers.contains_key(&view) || self.lists.contains_key(&view)
    }

    pub(crate) fn container(&self, view: Ref) -> Option<&Container> {
        self.containers.get(&view)
    }

    /// Whether what is in a view depends on which host VMs are on.
    pub(crate) fn have_hosts(&self) -> bool {
        self.containers.values().any(|container| container.of.kind == Kind::HostSystem)
    }

    pub(crate) fn add_container(&mut self, container: Container) -> Ref {
        self.made += 1;
        let view = Ref::new(Kind::ContainerView, self.made);
        self.containers.insert(view, container);
        view
    }

    pub(crate) fn add_list(&mut self, objects: BTreeSet<Ref>, session: &str) -> Ref {
        self.made += 1;
        let view = Ref::new(Kind::ListView, self.made);
        self.lists.insert(view, Listed { objects, session: session.to_owned() });
        view
    }

    /// Adds and removes objects of a list; none if it is no list.
    pub(crate) fn modify(&mut self, view: Ref, add: Vec<Ref>, remove: &[Ref]) -> Option<()> {
        let list = self.lists.get_mut(&view)?;
        list.objects.extend(add);
        list.objects.retain(|object| !remove.contains(object));
        Some(())
    }

    pub(crate) fn remove(&mut self, view: Ref) -> bool {
        self.containers.remove(&view).is_some() || self.lists.remove(&view).is_some()
    }

    /// The views of a session.
    pub(crate) fn of_session(&self, session: &str) -> Vec<Ref> {
        let containers = self.containers.iter().filter(|(_, of)| of.session == session);
        let lists = self.lists.iter().filter(|(_, of)| of.session == session);
        containers.map(|(view, _)| *view).chain(lists.map(|(view, _)| *view)).collect()
    }

    pub(crate) fn end_session(&mut self, session: &str) {
        self.containers.retain(|_, of| of.session != session);
        self.lists.retain(|_, of| of.session != session);
    }

    /// What is in a view now, as far as who asks may see it.
    pub(crate) fn contents(&self, world: &World, viewer: &Viewer, view: Ref) -> Option<Vec<Ref>> {
        let visible = |object: &Ref| world.sessions.may_see(viewer, &world.estate, *object);
        if let Some(list) = self.lists.get(&view) {
            let there = list.objects.iter().filter(|object| world.has(**object));
            return Some(there.copied().filter(visible).collect());
        }
        let container = self.containers.get(&view)?;
        let mut found = BTreeSet::new();
        gather(world, container.of, container.recursive, &mut found);
        let fits = |object: &Ref| {
            container.kinds.is_empty() || container.kinds.iter().any(|kind| object.kind.is(kind))
        };
        Some(found.into_iter().filter(fits).filter(visible).collect())
    }
}

/// What lies in an object. What runs in a pool or on a host lies in it as well as in its folder.
fn gather(world: &World, container: Ref, recursive: bool, found: &mut BTreeSet<Ref>) {
    let estate = &world.estate;
    let inside = estate.tree.children(container).collect::<Vec<_>>();
    let running = match container.kind {
        Kind::ResourcePool => estate.vms_where(|vm| vm.pool == Some(container)),
        Kind::HostSystem => estate.vms_where(|vm| vm.host == container),
        _ => Vec::new(),
    };
    for object in inside.into_iter().chain(running) {
        if found.insert(object) && recursive && object.kind != Kind::VirtualMachine {
            gather(world, object, true, found);
        }
    }
}
