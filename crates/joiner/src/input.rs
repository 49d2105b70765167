//! From files to a snapshot.

use std::io;

use jiff::Timestamp;
use joiner_core::{instance_type::Catalog, snapshot::Snapshot};
use joiner_operator::{files, index, objects::Objects};
use joiner_plan::overlay::{self, Verdict};

use crate::{
    catalog::Machines,
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
    let machines = Machines::find(objects, args, settings)?;
    let catalog = if settings.node_overlay {
        overlaid(objects, &machines.catalog)
    } else {
        machines.catalog.clone()
    };
    let mut indexed = index::snapshot(objects, catalog, &settings.index, Timestamp::now());
    for note in machines.notes.iter().chain(&indexed.notes) {
        output::talk(&format!("joiner: {note}"));
    }
    machines.close_pools(&mut indexed.snapshot);
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
