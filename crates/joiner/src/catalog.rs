//! Which instances each pool can have, where no cloud is asked.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use joiner_api::{node_class_reference::NodeClassReference, node_pool::NodePool};
use joiner_cloud::{
    class::{ClassKind, NodeClass},
    types::{NoTypes, TypeSource},
};
use joiner_core::{instance_type::Catalog, pool::Readiness, snapshot::Snapshot};
use joiner_kwok::catalog_file::{self, CatalogFile};
use joiner_operator::{
    catalog::{Closed, Why, class_of, is_of, pool_types},
    objects::{self, Objects},
};

use crate::{
    cli::InputArgs,
    clouds::{Class, CloudKind, Configured},
    errors::{Failure, chain},
    settings::Settings,
};

/// The instances of all pools, and what there is to say about them.
#[derive(Debug, Default)]
pub(crate) struct Instances {
    pub(crate) catalog: Catalog,
    /// Pools of whose class no instance can be made, and why.
    not_ready: BTreeMap<String, String>,
    /// Things that the author of a class may not expect.
    pub(crate) notes: Vec<String>,
}

impl Instances {
    /// Finds out which instances each pool can have.
    pub(crate) fn find(
        objects: &Objects,
        args: &InputArgs,
        settings: &Settings,
    ) -> Result<Self, Failure> {
        if let Some(path) = &args.instance_types {
            let names = objects.node_pools.iter().map(|pool| name(pool));
            let catalog = catalog_file("--instance-types", path)?.catalog(names);
            return Ok(Self { catalog, ..Self::default() });
        }
        Self::of_clouds(objects, &settings.clouds, args.is_live())
    }

    /// The instances of these clouds, as their classes have them. `live` says whether the objects are
    /// those of a cluster.
    pub(crate) fn of_clouds(
        objects: &Objects,
        clouds: &[Configured],
        live: bool,
    ) -> Result<Self, Failure> {
        let kinds: Vec<&CloudKind> = clouds.iter().map(|configured| configured.kind).collect();
        let sources = sources(objects, clouds)?;
        let sources: Vec<&dyn TypeSource> = sources.iter().map(AsRef::as_ref).collect();
        let class = |kind: &ClassKind, name: &str| node_class(objects, &kinds, kind, name);
        let found = pool_types(&sources, &objects.node_pools, class);
        let mut problems: Vec<String> =
            objects.node_pools.iter().filter_map(|pool| unknown_class(pool, &kinds)).collect();
        let mut not_ready = BTreeMap::new();
        // A problem of a class is told once, with all of its pools.
        let mut without: BTreeMap<(&str, &str, &str), (&Closed, Vec<&str>)> = BTreeMap::new();
        for pool in objects.node_pools.iter().map(|pool| name(pool)) {
            match found.closed.get(pool) {
                None => {}
                Some(Closed { why: Why::NoTypes(NoTypes::NotReady(why)), .. }) => {
                    not_ready.insert(pool.to_owned(), why.clone());
                }
                Some(closed) => {
                    let class = &closed.class;
                    let entry = without.entry((
                        class.group.as_str(),
                        class.kind.as_str(),
                        class.name.as_str(),
                    ));
                    entry.or_insert_with(|| (closed, Vec::new())).1.push(pool);
                }
            }
        }
        problems.extend(without.values().map(|(Closed { class, why }, pools)| match why {
            Why::NoTypes(NoTypes::Unreadable(problem) | NoTypes::NotReady(problem)) => {
                unreadable(objects, class, problem)
            }
            Why::NoClass => without_class(class, &kinds, pools, live),
        }));
        if !problems.is_empty() {
            return Err(Failure::BadInput(problems));
        }
        Ok(Self { catalog: found.catalog, not_ready, notes: found.notes })
    }

    /// Disables pools with an invalid class, as the class's controller would.
    pub(crate) fn close_pools(&self, snapshot: &mut Snapshot) {
        for pool in &mut snapshot.pools {
            if let Some(why) = self.not_ready.get(&pool.name)
                && pool.readiness == Readiness::Ready
            {
                pool.readiness = Readiness::NotReady(why.clone());
            }
        }
    }
}

/// The types of the clouds that have pools here. Where none has, of those that no setting turns on.
fn sources(objects: &Objects, clouds: &[Configured]) -> Result<Vec<Box<dyn TypeSource>>, Failure> {
    let has_pools = |configured: &&Configured| {
        objects.node_pools.iter().filter_map(|pool| class_of(pool)).any(|reference| {
            configured.kind.classes.iter().any(|class| is_of(reference, &class.kind))
        })
    };
    let is_default = |configured: &&Configured| configured.kind.settings.turned_on_by.is_none();
    let types = |configured: &Configured| configured.cloud.types();
    if clouds.iter().any(|configured| has_pools(&configured)) {
        clouds.iter().filter(has_pools).map(types).collect()
    } else {
        clouds.iter().filter(is_default).map(types).collect()
    }
}

fn name(pool: &NodePool) -> &str {
    pool.metadata.name.as_deref().unwrap_or_default()
}

/// What the clouds say of the class that is meant.
fn known<'k>(kinds: &[&'k CloudKind], reference: &NodeClassReference) -> Option<&'k Class> {
    kinds.iter().flat_map(|kind| kind.classes).find(|class| is_of(reference, &class.kind))
}

fn object<'o>(
    objects: &'o Objects,
    reference: &NodeClassReference,
) -> Option<&'o objects::NodeClass> {
    objects.node_classes.iter().find(|object| {
        object.group == reference.group
            && object.kind == reference.kind
            && object.name == reference.name
    })
}

/// A class among the objects. Of a kind whose types do not depend on it, it need not be there.
fn node_class(
    objects: &Objects,
    kinds: &[&CloudKind],
    kind: &ClassKind,
    name: &str,
) -> Option<Arc<NodeClass>> {
    let reference = NodeClassReference {
        group: kind.group.to_owned(),
        kind: kind.kind.to_owned(),
        name: name.to_owned(),
    };
    let empty = || NodeClass {
        group: kind.group.to_owned(),
        api_version: kind.version.to_owned(),
        kind: kind.kind.to_owned(),
        name: name.to_owned(),
        ..NodeClass::default()
    };
    let class = match object(objects, &reference) {
        Some(object) => object.of_kind(kind).unwrap_or_else(|| NodeClass {
            // Its metadata makes no sense, which matters to no type.
            spec: object.object["spec"].clone(),
            status: object.object["status"].clone(),
            ..empty()
        }),
        None if known(kinds, &reference).is_some_and(|class| class.has_types) => return None,
        None => empty(),
    };
    Some(Arc::new(class))
}

/// What to say of a pool whose class no cloud knows.
fn unknown_class(pool: &NodePool, kinds: &[&CloudKind]) -> Option<String> {
    let class = class_of(pool).cloned().unwrap_or_default();
    if known(kinds, &class).is_some() {
        return None;
    }
    Some(format!(
        "NodePool {:?}: spec.template.spec.nodeClassRef is {} {:?} of group {:?}, whose instances \
         are not known here: list them in a file and give it with --instance-types",
        name(pool),
        class.kind,
        class.name,
        class.group
    ))
}

/// What to say of a class that the API server would refuse.
fn unreadable(objects: &Objects, class: &NodeClassReference, problem: &str) -> String {
    match object(objects, class).and_then(|object| object.place.as_ref()) {
        Some(place) => format!("{place}: {problem}"),
        None => problem.to_owned(),
    }
}

/// What to say of pools whose class is not among the objects.
fn without_class(
    class: &NodeClassReference,
    kinds: &[&CloudKind],
    pools: &[&str],
    live: bool,
) -> String {
    let pools: Vec<String> = pools.iter().map(|pool| format!("{pool:?}")).collect();
    let what_to_do = if live {
        "in the cluster: create it, give it with --with, or correct the name".to_owned()
    } else {
        let plural = known(kinds, class).map_or("nodeclasses", |class| class.kind.plural);
        format!("in the files: add what `kubectl get {plural} -o yaml` prints")
    };
    format!(
        "NodePool {}: spec.template.spec.nodeClassRef is {} {:?}, which is not {what_to_do}, \
         or list the instances in a file and give it with --instance-types",
        pools.join(", "),
        class.kind,
        class.name,
    )
}

/// Reads the types in a file that a flag names.
pub(crate) fn catalog_file(flag: &str, path: &Path) -> Result<CatalogFile, Failure> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::bad_input(format!("{flag}: {name} cannot be read; check the path: {error}"))
    })?;
    catalog_file::parse(&text, &name).map_err(|error| Failure::bad_input(chain(&error)))
}
