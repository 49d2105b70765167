//! Matches a class's selectors to objects of a vCenter.
//!
//! Pure: the input is the inventory, the output a choice or the reason for none. Equal inputs give
//! equal choices.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use joiner_cloud::glob::matches;
use joiner_vim::MoRef;

use crate::{
    inventory::{Cluster, Datastore, Inventory, Named, Network, Template},
    node_class::Wanted,
};

/// Objects by the set of tags that a selector requires.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tagged(BTreeMap<BTreeMap<String, String>, BTreeSet<MoRef>>);

impl Tagged {
    /// Learns which objects carry all of these tags.
    pub(crate) fn learn(&mut self, tags: &BTreeMap<String, String>, objects: BTreeSet<MoRef>) {
        self.0.insert(tags.clone(), objects);
    }

    fn has(&self, tags: &BTreeMap<String, String>, object: &MoRef) -> bool {
        self.0.get(tags).is_some_and(|objects| objects.contains(object))
    }
}

/// Why a selector matches no usable object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unresolved {
    /// For programs.
    pub(crate) reason: &'static str,
    /// For people: the field, what is wrong, the remedy.
    pub(crate) message: String,
}

/// Where instances run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Compute {
    /// The object that the selector matched.
    pub(crate) named: Named,
    /// The pool that instances are put into.
    pub(crate) pool: MoRef,
    /// The cluster whose hosts they run on.
    pub(crate) cluster: MoRef,
    /// Datastores that its hosts mount.
    datastores: Vec<MoRef>,
    /// Networks that its hosts see.
    networks: Vec<MoRef>,
    /// Each host of the cluster with all that it is in, from the inside out.
    pub(crate) hosts: Vec<Vec<MoRef>>,
    /// The pool with all that it is in, from the inside out.
    pub(crate) pools: Vec<MoRef>,
}

impl Compute {
    fn of(cluster: &Cluster, named: &Named, pool: &MoRef, pools: Vec<MoRef>) -> Self {
        let with_cluster = |own: &MoRef| [std::slice::from_ref(own), &cluster.lineage].concat();
        Self {
            hosts: cluster.hosts.iter().map(with_cluster).collect(),
            pools,
            named: named.clone(),
            pool: pool.clone(),
            cluster: cluster.named.reference.clone(),
            datastores: cluster.datastores.clone(),
            networks: cluster.networks.clone(),
        }
    }
}

/// Where instances run.
pub(crate) fn compute(
    field: &str,
    wanted: Wanted<'_>,
    tagged: &Tagged,
    inventory: &Inventory,
) -> Result<Compute, Unresolved> {
    let owner = |reference: &MoRef| {
        inventory.clusters.iter().find(|cluster| cluster.named.reference == *reference)
    };
    let pools = |fits: &dyn Fn(&Named) -> bool| -> Vec<Compute> {
        let fitting = inventory.pools.iter().filter(|pool| fits(&pool.named));
        fitting
            .filter_map(|pool| {
                let (own, lineage) = (&pool.named.reference, pool.lineage.clone());
                Some(Compute::of(owner(&pool.owner)?, &pool.named, own, lineage))
            })
            .collect()
    };
    let clusters = |fits: &dyn Fn(&Named) -> bool| -> Vec<Compute> {
        let fitting = inventory.clusters.iter().filter(|cluster| fits(&cluster.named));
        let of_cluster = |cluster: &Cluster| {
            let pools = [std::slice::from_ref(&cluster.root_pool), &cluster.lineage].concat();
            Compute::of(cluster, &cluster.named, &cluster.root_pool, pools)
        };
        fitting.map(of_cluster).collect()
    };
    let found = match wanted {
        Wanted::Tags(tags) => {
            let fits = |named: &Named| tagged.has(tags, &named.reference);
            let mut found = clusters(&fits);
            // A cluster's own pool is the cluster.
            found.extend(pools(&fits).into_iter().filter(|pool| {
                inventory.clusters.iter().all(|cluster| cluster.root_pool != pool.pool)
            }));
            found
        }
        Wanted::Name(name) | Wanted::Pattern(name) => {
            let at_path = pools(&|named| is_at(named, name));
            let of_cluster = || clusters(&|named| named.name == name || is_at(named, name));
            let of_pool = || pools(&|named| named.name == name);
            [at_path]
                .into_iter()
                .chain([of_cluster()])
                .chain([of_pool()])
                .find(|found| !found.is_empty())
                .unwrap_or_default()
        }
    };
    let named = |compute: &Compute| compute.named.path.clone();
    one(
        field,
        wanted,
        "cluster or resource pool",
        "ComputeNotFound",
        "ComputeAmbiguous",
        found,
        named,
    )
}

/// Datastores that a selector matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Datastores {
    /// The datastores that are usable now, the one with most room first. At least one.
    pub(crate) usable: Vec<Datastore>,
    /// All matching datastores, usable or not.
    pub(crate) meant: Vec<MoRef>,
}

/// Datastores that disks may be in: those that the target's hosts mount and that are fit for use.
/// The one with most room comes first.
pub(crate) fn datastores(
    field: &str,
    wanted: Wanted<'_>,
    tagged: &Tagged,
    inventory: &Inventory,
    compute: &Compute,
) -> Result<Datastores, Unresolved> {
    let is_meant = |datastore: &&Datastore| match wanted {
        Wanted::Tags(tags) => {
            tagged.has(tags, &datastore.named.reference)
                || datastore.pod.as_ref().is_some_and(|pod| tagged.has(tags, pod))
        }
        Wanted::Name(name) | Wanted::Pattern(name) => {
            datastore.named.name == name
                || is_at(&datastore.named, name)
                || is_in_pod(&datastore.named, datastore.pod.is_some(), name)
        }
    };
    let meant: Vec<&Datastore> = inventory.datastores.iter().filter(is_meant).collect();
    if meant.is_empty() {
        return Err(not_found(field, wanted, "datastore", "DatastoreNotFound"));
    }
    let mounted: Vec<&&Datastore> =
        meant.iter().filter(|own| compute.datastores.contains(&own.named.reference)).collect();
    let mut usable: Vec<Datastore> =
        mounted.iter().filter(|own| own.usable).map(|own| (**own).clone()).collect();
    if usable.is_empty() {
        let paths: Vec<&str> = meant.iter().map(|own| own.named.path.as_str()).collect();
        let (reason, why) = if mounted.is_empty() {
            ("DatastoreNotMounted", format!("no host of {} mounts it", compute.named.path))
        } else {
            ("DatastoreUnusable", "it is out of reach or in maintenance".to_owned())
        };
        return Err(Unresolved {
            reason,
            message: format!(
                "{field} leads to {}, but {why}; mend that, or choose another datastore",
                paths.join(", ")
            ),
        });
    }
    by_room(&mut usable);
    let meant = meant.iter().map(|own| own.named.reference.clone()).collect();
    Ok(Datastores { usable, meant })
}

/// Puts the datastore with most room first.
pub(crate) fn by_room(datastores: &mut [Datastore]) {
    datastores
        .sort_by(|a, b| (Reverse(a.free), &a.named.name).cmp(&(Reverse(b.free), &b.named.name)));
}

/// The network of instances' first adapter.
pub(crate) fn network(
    field: &str,
    wanted: Wanted<'_>,
    tagged: &Tagged,
    inventory: &Inventory,
    compute: &Compute,
) -> Result<Network, Unresolved> {
    let is_meant = |network: &&Network| match wanted {
        Wanted::Tags(tags) => tagged.has(tags, &network.named.reference),
        Wanted::Name(name) | Wanted::Pattern(name) => {
            network.named.name == name || is_at(&network.named, name)
        }
    };
    let meant: Vec<&Network> = inventory.networks.iter().filter(is_meant).collect();
    let seen: Vec<Network> = meant
        .iter()
        .filter(|own| compute.networks.contains(&own.named.reference))
        .map(|own| (*own).clone())
        .collect();
    if seen.is_empty()
        && let Some(network) = meant.first()
    {
        return Err(Unresolved {
            reason: "NetworkNotReachable",
            message: format!(
                "{field} leads to {}, but no host of {} is in it; choose a network of its hosts",
                network.named.path, compute.named.path
            ),
        });
    }
    let path = |network: &Network| network.named.path.clone();
    let network = one(field, wanted, "network", "NetworkNotFound", "NetworkAmbiguous", seen, path)?;
    if network.backing.is_none() {
        return Err(Unresolved {
            reason: "NetworkUnreadable",
            message: format!(
                "{field} leads to {}, but its switch cannot be seen; give the account the role \
                 Read-only on the distributed switch",
                network.named.path
            ),
        });
    }
    Ok(network)
}

/// The template that instances are cloned from. Of several matches of a pattern, it is the newest.
pub(crate) fn image(
    field: &str,
    wanted: Wanted<'_>,
    tagged: &Tagged,
    inventory: &Inventory,
) -> Result<Template, Unresolved> {
    let is_meant = |template: &&Template| match wanted {
        Wanted::Tags(tags) => tagged.has(tags, &template.named.reference),
        Wanted::Name(name) => template.named.name == name || is_at(&template.named, name),
        Wanted::Pattern(pattern) if pattern.starts_with('/') => {
            matches(pattern, &template.named.path)
        }
        Wanted::Pattern(pattern) => matches(pattern, &template.named.name),
    };
    let meant: Vec<&Template> = inventory.templates.iter().filter(is_meant).collect();
    let mut fit: Vec<Template> =
        meant.iter().filter(|own| own.is_marked).map(|own| (*own).clone()).collect();
    if fit.is_empty()
        && let Some(instance) = meant.first()
    {
        return Err(Unresolved {
            reason: "ImageNotATemplate",
            message: format!(
                "{field} leads to {}, which is no template; mark it as one, or choose another",
                instance.named.path
            ),
        });
    }
    if matches!(wanted, Wanted::Pattern(_)) {
        fit.sort_by(|a, b| (&b.created, &b.named.name).cmp(&(&a.created, &a.named.name)));
        fit.truncate(1);
    }
    let path = |template: &Template| template.named.path.clone();
    one(field, wanted, "template", "ImageNotFound", "ImageAmbiguous", fit, path)
}

/// The datacenter that everything else is looked for in.
pub(crate) fn datacenter(
    wanted: Option<Wanted<'_>>,
    setting: Option<&str>,
    tagged: &Tagged,
    datacenters: &[Named],
) -> Result<Named, Unresolved> {
    let path = |named: &Named| named.path.clone();
    let by_name = |field: &str, wanted: Wanted<'_>, fits: &dyn Fn(&Named) -> bool| {
        let found: Vec<Named> = datacenters.iter().filter(|own| fits(own)).cloned().collect();
        one(field, wanted, "datacenter", "DatacenterNotFound", "DatacenterAmbiguous", found, path)
    };
    match (wanted, setting) {
        (Some(Wanted::Tags(tags)), _) => {
            let wanted = Wanted::Tags(tags);
            by_name("spec.dcSelector.tags", wanted, &|own| tagged.has(tags, &own.reference))
        }
        (Some(Wanted::Name(name) | Wanted::Pattern(name)), _) => {
            let fits = |own: &Named| own.name == name || is_at(own, name);
            by_name("spec.dcSelector.id", Wanted::Name(name), &fits)
        }
        (None, Some(name)) => {
            let fits = |own: &Named| own.name == name || is_at(own, name);
            by_name("VSPHERE_DC (--vsphere-dc)", Wanted::Name(name), &fits)
        }
        (None, None) => match datacenters {
            [only] => Ok(only.clone()),
            [] => Err(Unresolved {
                reason: "DatacenterNotFound",
                message: "the account sees no datacenter; give it the role Read-only on one"
                    .to_owned(),
            }),
            several => {
                let names: Vec<&str> = several.iter().map(|own| own.name.as_str()).collect();
                Err(Unresolved {
                    reason: "DatacenterAmbiguous",
                    message: format!(
                        "there are several datacenters ({}) and nobody says which; set \
                         VSPHERE_DC (--vsphere-dc) or spec.dcSelector.id",
                        names.join(", ")
                    ),
                })
            }
        },
    }
}

/// Whether something is at a path: an absolute one, or one below its datacenter's folder of such
/// things.
fn is_at(named: &Named, path: &str) -> bool {
    if path.starts_with('/') {
        return named.path == path;
    }
    path.contains('/') && named.path.strip_suffix(path).is_some_and(|rest| rest.ends_with('/'))
}

/// Whether a datastore is in a datastore cluster of this name.
fn is_in_pod(named: &Named, in_pod: bool, name: &str) -> bool {
    let parent = named.path.rsplit('/').nth(1);
    in_pod
        && (parent == Some(name)
            || named.path.rsplit_once('/').is_some_and(|(parent, _)| parent == name))
}

/// The one match, or the reason why there is none.
fn one<T>(
    field: &str,
    wanted: Wanted<'_>,
    noun: &str,
    none: &'static str,
    several: &'static str,
    mut found: Vec<T>,
    path: impl Fn(&T) -> String,
) -> Result<T, Unresolved> {
    if found.len() > 1 {
        let mut paths: Vec<String> = found.iter().map(path).collect();
        paths.sort();
        return Err(Unresolved {
            reason: several,
            message: format!(
                "{field} leads to several things ({}); write the whole path of one {noun}, or tags \
                 that only one has",
                paths.join(", ")
            ),
        });
    }
    found.pop().ok_or_else(|| not_found(field, wanted, noun, none))
}

fn not_found(field: &str, wanted: Wanted<'_>, noun: &str, reason: &'static str) -> Unresolved {
    let what = match wanted {
        Wanted::Tags(tags) => {
            let tags: Vec<String> =
                tags.iter().map(|(category, tag)| format!("{category}={tag}")).collect();
            format!("no {noun} with the tags {}", tags.join(", "))
        }
        Wanted::Name(name) => format!("no {noun} of the name or at the path {name:?}"),
        Wanted::Pattern(pattern) => format!("no {noun} whose name is like {pattern:?}"),
    };
    Unresolved {
        reason,
        message: format!(
            "{field}: there is {what} that the account can see; correct it, or give the account \
             the role Read-only there"
        ),
    }
}

#[cfg(test)]
mod tests;
