//! From files to a snapshot.

use std::{fs, io, path::Path};

use jiff::Timestamp;
use joiner_api::node_pool::NodePool;
use joiner_core::{instance_type::Catalog, snapshot::Snapshot};
use joiner_kwok::catalog_file::{self, CatalogFile};
use joiner_operator::{files, index, objects::Objects};
use joiner_plan::overlay::{self, Verdict};

use crate::{
    cli::InputArgs,
    errors::{Failure, chain},
    output,
    settings::Settings,
};

/// Reads a cluster's objects. What is not used is told on stderr.
pub(crate) fn objects(args: &InputArgs) -> Result<Objects, Failure> {
    if args.files.is_empty() {
        return Err(Failure::bad_input(
            "no cluster to read: live clusters come with the controller, which this build does not \
             have. Give a cluster's objects with -f, for instance:\n  \
             kubectl get nodepools,nodeclaims,nodes,pods,daemonsets,pvc,pv,sc -A -o yaml > c.yaml\n  \
             joiner plan -f c.yaml",
        ));
    }
    let objects = files::read(&args.files, io::stdin().lock())
        .map_err(|error| Failure::bad_input(chain(&error)))?;
    if objects.is_empty() {
        let places: Vec<String> =
            args.files.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::bad_input(format!(
            "no Kubernetes object in {}: give what `kubectl get … -o yaml` printed, or a folder of \
             *.yaml, *.yml or *.json files",
            places.join(", ")
        )));
    }
    if !objects.ignored.is_empty() {
        let kinds: Vec<String> =
            objects.ignored.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        output::talk(&format!("joiner: not used: {}", kinds.join(", ")));
    }
    Ok(objects)
}

/// The snapshot of a cluster's objects. What is odd about them is told on stderr.
pub(crate) fn snapshot(
    objects: &Objects,
    args: &InputArgs,
    settings: &Settings,
) -> Result<Snapshot, Failure> {
    let mut catalog = catalog(args, settings, &objects.node_pools)?;
    if settings.node_overlay {
        catalog = overlaid(objects, &catalog);
    }
    let indexed = index::snapshot(objects, catalog, &settings.index, Timestamp::now());
    for note in &indexed.notes {
        output::talk(&format!("joiner: {note}"));
    }
    Ok(indexed.snapshot)
}

/// The catalog with the corrections of `NodeOverlay`s.
fn overlaid(objects: &Objects, catalog: &Catalog) -> Catalog {
    let pools = index::pools::node_pools(objects, &catalog.well_known);
    let evaluated = overlay::evaluate(&index::overlays(objects), &pools, catalog);
    for (name, verdict) in &evaluated.verdicts {
        if *verdict != Verdict::Applied {
            output::talk(&format!("joiner: NodeOverlay {name:?} has no effect: {verdict}"));
        }
    }
    evaluated.catalog
}

/// The machines that each pool can have.
fn catalog(args: &InputArgs, settings: &Settings, pools: &[NodePool]) -> Result<Catalog, Failure> {
    let names = pools.iter().map(name);
    if let Some(path) = &args.instance_types {
        return Ok(catalog_file("--instance-types", path)?.catalog(names));
    }
    let unknown: Vec<String> = pools.iter().filter_map(without_types).collect();
    if !unknown.is_empty() {
        return Err(Failure::BadInput(unknown));
    }
    match &settings.kwok_instance_types {
        Some(path) => Ok(catalog_file("--instance-types-file-path", path)?.catalog(names)),
        None => Ok(joiner_kwok::catalog(names)),
    }
}

fn name(pool: &NodePool) -> &str {
    pool.metadata.name.as_deref().unwrap_or_default()
}

/// What to say of a pool whose machines nobody knows.
fn without_types(pool: &NodePool) -> Option<String> {
    let class = pool.spec.template.spec.node_class_ref.clone().unwrap_or_default();
    let is_kwok =
        class.group == joiner_kwok::NODE_CLASS_GROUP && class.kind == joiner_kwok::NODE_CLASS_KIND;
    (!is_kwok).then(|| {
        format!(
            "NodePool {:?}: spec.template.spec.nodeClassRef is {} {:?} of group {:?}, whose machines \
             are not known here: list them in a file and give it with --instance-types",
            name(pool),
            class.kind,
            class.name,
            class.group
        )
    })
}

fn catalog_file(flag: &str, path: &Path) -> Result<CatalogFile, Failure> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| {
        Failure::bad_input(format!("{flag}: {name} cannot be read; check the path: {error}"))
    })?;
    catalog_file::parse(&text, &name).map_err(|error| Failure::bad_input(chain(&error)))
}
