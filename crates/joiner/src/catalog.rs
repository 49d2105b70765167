//! Which instances each pool can have.

use std::{collections::BTreeMap, fs, path::Path};

use joiner_api::{node_class_reference::NodeClassReference, node_pool::NodePool};
use joiner_cloud::class::ClassKind;
use joiner_core::{
    instance_type::{Catalog, InstanceType},
    pool::Readiness,
    snapshot::Snapshot,
};
use joiner_kwok::catalog_file::{self, CatalogFile};
use joiner_operator::objects::{self, Objects};
use joiner_vsphere::NodeClass;

use crate::{
    cli::InputArgs,
    errors::{Failure, chain},
    settings::Settings,
};

/// Classes that instances are known of.
pub(crate) const CLASSES: [ClassKind; 2] = [joiner_kwok::NODE_CLASS, joiner_vsphere::NODE_CLASS];

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
        let mut kwok = Vec::new();
        let mut vsphere: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut problems = Vec::new();
        for pool in &objects.node_pools {
            let class = class_of(pool);
            match (class.group.as_str(), class.kind.as_str()) {
                (joiner_kwok::NODE_CLASS_GROUP, joiner_kwok::NODE_CLASS_KIND) => {
                    kwok.push(name(pool));
                }
                (joiner_vsphere::NODE_CLASS_GROUP, joiner_vsphere::NODE_CLASS_KIND) => {
                    vsphere.entry(class.name).or_default().push(name(pool).to_owned());
                }
                _ => problems.push(without_types(pool, &class)),
            }
        }
        let mut found = Self::default();
        let mut parts = Vec::new();
        if !kwok.is_empty() || vsphere.is_empty() {
            parts.push(match &settings.kwok_instance_types {
                Some(path) => catalog_file("--instance-types-file-path", path)?.catalog(kwok),
                None => joiner_kwok::catalog(kwok),
            });
        }
        for (class, pools) in vsphere {
            let Some(object) = vsphere_class(objects, &class) else {
                problems.push(without_class(&class, &pools, args.is_live()));
                continue;
            };
            match found.vsphere_types(object, &pools, &settings.vsphere) {
                Ok(types) => parts.push(joiner_vsphere::catalog(types, pools)),
                Err(problem) => problems.push(problem),
            }
        }
        if !problems.is_empty() {
            return Err(Failure::BadInput(problems));
        }
        found.catalog = Catalog::merged(&parts);
        Ok(found)
    }

    /// The types of a class. One that cannot be used has none, and its `pools` are not ready.
    fn vsphere_types(
        &mut self,
        object: &objects::NodeClass,
        pools: &[String],
        settings: &joiner_vsphere::Settings,
    ) -> Result<Vec<InstanceType>, String> {
        let place = object.place.as_ref();
        let class = NodeClass::read(&object.object).map_err(|error| match place {
            Some(place) => format!("{place}: {error}"),
            None => error.to_string(),
        })?;
        match class.instances(settings) {
            Ok(instances) => {
                self.notes.extend(instances.notes);
                Ok(instances.types)
            }
            Err(not_ready) => {
                let why = not_ready.to_string();
                self.not_ready.extend(pools.iter().map(|pool| (pool.clone(), why.clone())));
                Ok(Vec::new())
            }
        }
    }

    /// Takes pools out of use whose class is unfit, as the class's controller would.
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

fn name(pool: &NodePool) -> &str {
    pool.metadata.name.as_deref().unwrap_or_default()
}

fn class_of(pool: &NodePool) -> NodeClassReference {
    pool.spec.template.spec.node_class_ref.clone().unwrap_or_default()
}

/// What to say of a pool whose instances nobody knows.
fn without_types(pool: &NodePool, class: &NodeClassReference) -> String {
    format!(
        "NodePool {:?}: spec.template.spec.nodeClassRef is {} {:?} of group {:?}, whose instances \
         are not known here: list them in a file and give it with --instance-types",
        name(pool),
        class.kind,
        class.name,
        class.group
    )
}

fn vsphere_class<'o>(objects: &'o Objects, name: &str) -> Option<&'o objects::NodeClass> {
    objects.node_classes.iter().find(|object| {
        object.group == joiner_vsphere::NODE_CLASS_GROUP
            && object.kind == joiner_vsphere::NODE_CLASS_KIND
            && object.name == name
    })
}

/// What to say of pools whose class is not among the objects.
fn without_class(class: &str, pools: &[String], live: bool) -> String {
    let pools: Vec<String> = pools.iter().map(|pool| format!("{pool:?}")).collect();
    let what_to_do = if live {
        "in the cluster: create it, give it with --with, or correct the name"
    } else {
        "in the files: add what `kubectl get vspherenodeclasses -o yaml` prints"
    };
    format!(
        "NodePool {}: spec.template.spec.nodeClassRef is {} {class:?}, which is not {what_to_do}, \
         or list the instances in a file and give it with --instance-types",
        pools.join(", "),
        joiner_vsphere::NODE_CLASS_KIND
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
