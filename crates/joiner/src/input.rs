//! From files, or from a cluster itself, to a snapshot.

mod laid_over;
mod spelling;

use std::{collections::BTreeSet, io, path::PathBuf};

use jiff::Timestamp;
use joiner_core::{disruption::Fleet, instance_type::Catalog, snapshot::Snapshot};
use joiner_operator::{
    disruption::record,
    files,
    index::{self, Pending},
    live::{self, Live},
    objects::{DEFAULT_NAMESPACE, Objects},
    workloads::{self, Made},
    world::Wanted,
};
use joiner_plan::overlay::{self, Verdict};

use crate::{
    catalog::Instances,
    cli::InputArgs,
    clouds, connection, crds,
    errors::{Failure, chain},
    output,
    settings::Settings,
    text,
};

impl InputArgs {
    /// Whether a cluster itself is read, and not files.
    pub(crate) fn is_live(&self) -> bool {
        self.files.is_empty()
    }

    fn now(&self) -> Timestamp {
        self.at.unwrap_or_else(Timestamp::now)
    }
}

/// A cluster's objects, wherever they come from.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) objects: Objects,
    /// The namespace that is meant where none is named.
    pub(crate) namespace: String,
    /// What roles call the kinds that were asked for, where a cluster itself was read.
    pub(crate) read: BTreeSet<String>,
    /// The moment that the objects are judged as of.
    now: Timestamp,
}

impl Input {
    /// Reads a cluster's objects. What is not used is told on stderr.
    pub(crate) fn read(args: &InputArgs, settings: &Settings) -> Result<Self, Failure> {
        if args.is_live() {
            return of_cluster(args, settings);
        }
        if args.cluster.kubeconfig.is_some() || args.cluster.context.is_some() {
            return Err(Failure::bad_input(
                "-f reads files, --kubeconfig and --context lead to a cluster: give one of them",
            ));
        }
        let mut objects = of_files(&args.files)?;
        // Pods that are only expected have met no scheduler.
        if settings.index.pending == Pending::Unbound {
            make_pods(&mut objects, &Objects::default())?;
        }
        let namespace = DEFAULT_NAMESPACE.to_owned();
        Ok(Self::new(objects, namespace, BTreeSet::new(), args.now()))
    }

    fn new(
        mut objects: Objects,
        namespace: String,
        read: BTreeSet<String>,
        now: Timestamp,
    ) -> Self {
        objects.leaving = under_way(&objects);
        Self { objects, namespace, read, now }
    }

    /// The snapshot of the objects. What is odd about them is told on stderr.
    pub(crate) fn snapshot(
        &self,
        args: &InputArgs,
        settings: &Settings,
    ) -> Result<Snapshot, Failure> {
        let objects = &self.objects;
        let instances = Instances::find(objects, args, settings)?;
        let catalog = if settings.node_overlay {
            overlaid(objects, &instances.catalog)
        } else {
            tell_ignored(objects.node_overlays.len(), "NodeOverlay");
            instances.catalog.clone()
        };
        if !settings.index.capacity_buffer {
            tell_ignored(objects.capacity_buffers.len(), "CapacityBuffer");
        }
        let mut indexed = index::snapshot(objects, catalog, &settings.index, self.now);
        for note in instances.notes.iter().chain(&indexed.notes) {
            output::talk(&format!("joiner: {note}"));
        }
        instances.close_pools(&mut indexed.snapshot);
        Ok(indexed.snapshot)
    }

    /// The snapshot's instances as candidates for removal. What is odd about them is told on stderr.
    pub(crate) fn fleet(&self, snapshot: &Snapshot, settings: &Settings) -> Fleet {
        for note in index::fleet::notes(&self.objects) {
            output::talk(&format!("joiner: {note}"));
        }
        self.instances(snapshot, settings)
    }

    /// The same without a word.
    pub(crate) fn instances(&self, snapshot: &Snapshot, settings: &Settings) -> Fleet {
        let live = index::Live { queued: self.objects.leaving.clone(), ..index::Live::of_nobody() };
        index::fleet(&self.objects, snapshot, &settings.index, &live, self.now)
    }
}

/// Names of the claims that a running controller is about to delete, as it has written on claims.
/// Like the controller, this command counts them as leaving instances. Unreadable records are
/// reported on stderr.
fn under_way(objects: &Objects) -> BTreeSet<String> {
    let (commands, unreadable) = record::found(objects.node_claims.iter().map(AsRef::as_ref));
    for problem in unreadable {
        output::talk(&format!("joiner: {problem}"));
    }
    let going = commands.into_values().flat_map(|command| command.candidates);
    going.map(|candidate| candidate.node_claim).collect()
}

/// Adds the pods of workloads that have none, neither here nor among `others`, and tells on stderr whose.
fn make_pods(objects: &mut Objects, others: &Objects) -> Result<(), Failure> {
    /// How many workloads are named.
    const NAMED: usize = 3;

    let made = workloads::make_pods(objects, others);
    let made = made.map_err(|problem| Failure::bad_input(problem.to_string()))?;
    if !made.is_empty() {
        let pods = text::count(made.iter().map(|made| made.pods).sum(), "pod");
        let names: Vec<String> =
            made.iter().map(|Made { workload, pods }| format!("{workload} ({pods})")).collect();
        output::talk(&format!(
            "joiner: {pods} are planned for that are not in the files yet, of {}",
            text::some_of(&names, NAMED)
        ));
    }
    Ok(())
}

/// The objects of files. What is not used is told on stderr.
fn of_files(paths: &[PathBuf]) -> Result<Objects, Failure> {
    let objects = files::read(paths, io::stdin().lock())
        .map_err(|error| Failure::bad_input(chain(&error)))?;
    if objects.is_empty() {
        let places: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        return Err(Failure::bad_input(format!(
            "no Kubernetes object in {}: give what `kubectl get … -o yaml` printed, or a folder of \
             *.yaml, *.yml or *.json files",
            places.join(", ")
        )));
    }
    if !objects.ignored.is_empty() {
        let kinds: Vec<String> =
            objects.ignored.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let kinds = kinds.join(", ");
        if objects.is_of_no_use() {
            return Err(Failure::bad_input(format!(
                "no object is of a kind that is used here, there are only {kinds}: check the \
                 spelling of each kind, and give Pods, Nodes, NodePools and what belongs to them"
            )));
        }
        output::talk(&format!("joiner: not used: {kinds}"));
    }
    for note in spelling::unknown_fields(&objects.written, || crds::all(clouds::ALL)) {
        output::talk(&format!("joiner: {note}"));
    }
    Ok(objects)
}

fn of_cluster(args: &InputArgs, settings: &Settings) -> Result<Input, Failure> {
    // Instances that are listed in a file are those of every class.
    let classes =
        if args.instance_types.is_some() { Vec::new() } else { clouds::ALL.class_kinds() };
    let wanted = Wanted {
        classes,
        default_spread: !settings.index.scheduler_config.is_empty(),
        overlays: settings.node_overlay,
        buffers: settings.index.capacity_buffer,
    };
    let over = if args.with.is_empty() { None } else { Some(of_files(&args.with)?) };
    let pools = over.as_ref().map(|over| over.node_pools.clone()).unwrap_or_default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Ended(format!("cannot start: {error}")))?;
    let (live, namespace) = runtime.block_on(async {
        let found = connection::find(&args.cluster).await?;
        let namespace = found.config.default_namespace.clone();
        let url = found.url();
        output::progress(&format!("reading the cluster at {url} {}", found.way));
        let client = connection::client(&found, None)?;
        let live = live::read(&client, &wanted, &pools).await.map_err(|problems| {
            let at = |problem| format!("cluster {url}: {}", chain(&problem));
            Failure::BadInput(problems.into_iter().map(at).collect())
        })?;
        Ok::<_, Failure>((live, namespace))
    })?;
    let Live { mut objects, read, absent, mut notes } = live;
    notes.extend(laid_over::absence(&absent));
    if let Some(mut over) = over {
        make_pods(&mut over, &objects)?;
        notes.push(laid_over::lay(&mut objects, over));
    }
    for note in notes {
        output::talk(&format!("joiner: {note}"));
    }
    Ok(Input::new(objects, namespace, read, args.now()))
}

/// Says that objects of a kind have no effect, if there are any, because the gate of the same name is off.
fn tell_ignored(objects: usize, kind: &str) {
    if objects == 0 {
        return;
    }
    let are = if objects == 1 { "is" } else { "are" };
    output::talk(&format!(
        "joiner: {} {are} ignored: the gate {kind} is off (--feature-gates {kind}=true)",
        text::count(objects, kind)
    ));
}

/// The catalog with the corrections of `NodeOverlay`s.
fn overlaid(objects: &Objects, catalog: &Catalog) -> Catalog {
    let pools = index::pools::node_pools(objects, &catalog.well_known);
    let evaluated = overlay::evaluate(&index::overlays(&objects.node_overlays), &pools, catalog);
    for (name, verdict) in &evaluated.verdicts {
        if *verdict != Verdict::Applied {
            output::talk(&format!("joiner: NodeOverlay {name:?} has no effect: {verdict}"));
        }
    }
    evaluated.catalog
}
