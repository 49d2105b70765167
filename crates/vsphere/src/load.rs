//! The resources that hosts have assigned to virtual machines, and the free rest.
//!
//! Assigned resources count, not current use, because a new node is idle only at first. The load
//! decides only among places of the same price.

use std::collections::BTreeMap;

use jiff::Timestamp;
use joiner_vim::{MoRef, Object};

use crate::inventory::Cluster;

/// Properties of hosts by which their size is known.
pub(crate) const HOSTS: &[&str] = &[
    "runtime.connectionState",
    "runtime.inMaintenanceMode",
    "summary.hardware.numCpuCores",
    "summary.hardware.memorySize",
];

/// Properties of virtual machines by which it is known what they take of their host.
pub(crate) const INSTANCES: &[&str] = &[
    "config.instanceUuid",
    "runtime.host",
    "runtime.powerState",
    "summary.config.numCpu",
    "summary.config.memorySizeMB",
];

/// Room is counted in so many parts of what the hosts have.
const WHOLE: i64 = 1000;

/// Processors and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Amount {
    pub(crate) cpus: u64,
    pub(crate) memory_mib: u64,
}

impl Amount {
    fn add(&mut self, other: Self) {
        self.cpus = self.cpus.saturating_add(other.cpus);
        self.memory_mib = self.memory_mib.saturating_add(other.memory_mib);
    }
}

/// The resources of a cluster's hosts, and the part assigned to running instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Load {
    pub(crate) has: Amount,
    pub(crate) given: Amount,
}

impl Load {
    /// The free part of the scarcer resource, in thousandths of the hosts' total. Negative where the
    /// hosts are overcommitted; none where the total is unknown.
    fn left(&self) -> Option<i64> {
        let of = |has: u64, given: u64| {
            let (has, given) = (i64::try_from(has).ok()?, i64::try_from(given).ok()?);
            has.checked_sub(given)?.checked_mul(WHOLE)?.checked_div(has)
        };
        let cpus = of(self.has.cpus, self.given.cpus)?;
        Some(cpus.min(of(self.has.memory_mib, self.given.memory_mib)?))
    }
}

/// The result of one reading of an inventory.
#[derive(Debug, Clone, Default)]
pub(crate) struct Seen {
    clusters: BTreeMap<MoRef, Load>,
    /// Whether instances run, by the identity that their clone was given.
    instances: BTreeMap<String, bool>,
}

impl Seen {
    /// Adds up what was read of hosts and virtual machines.
    pub(crate) fn of(clusters: &[Cluster], hosts: &[Object], instances: &[Object]) -> Self {
        let cluster_of: BTreeMap<&MoRef, &MoRef> = clusters
            .iter()
            .flat_map(|own| own.hosts.iter().map(|host| (host, &own.named.reference)))
            .collect();
        let mut seen = Self::default();
        for host in hosts {
            let Some(cluster) = cluster_of.get(&host.reference) else { continue };
            let is_up = host.text("runtime.connectionState") == Some("connected")
                && host.parse("runtime.inMaintenanceMode") != Some(true);
            let load = seen.clusters.entry((*cluster).clone()).or_default();
            if is_up {
                let bytes: u64 = host.parse("summary.hardware.memorySize").unwrap_or_default();
                let cpus = host.parse("summary.hardware.numCpuCores").unwrap_or_default();
                load.has.add(Amount { cpus, memory_mib: bytes >> 20 });
            }
        }
        for instance in instances {
            let runs = instance.text("runtime.powerState") == Some("poweredOn");
            if let Some(uuid) = instance.text("config.instanceUuid") {
                seen.instances.insert(uuid.to_ascii_lowercase(), runs);
            }
            let host = instance.reference("runtime.host").filter(|_| runs);
            let cluster = host.and_then(|host| cluster_of.get(&host).copied());
            if let Some(load) = cluster.and_then(|cluster| seen.clusters.get_mut(cluster)) {
                load.given.add(Amount {
                    cpus: instance.parse("summary.config.numCpu").unwrap_or_default(),
                    memory_mib: instance.parse("summary.config.memorySizeMB").unwrap_or_default(),
                });
            }
        }
        seen
    }
}

/// An instance that was sent to a cluster and that no look has shown running.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Sent {
    cluster: MoRef,
    amount: Amount,
    /// When its creation ended, successfully or not.
    ended: Option<Timestamp>,
}

/// The state of clusters: the last reading of each, and the instances sent there since.
#[derive(Debug, Default)]
pub(crate) struct Loads {
    clusters: BTreeMap<MoRef, Load>,
    /// By the identity of the claim, which is that of its instance.
    sent: BTreeMap<String, Sent>,
}

impl Loads {
    /// Records a reading that began at this time.
    pub(crate) fn learn(&mut self, seen: Seen, began: Timestamp) {
        self.sent.retain(|uid, sent| {
            if !seen.clusters.contains_key(&sent.cluster) {
                return true;
            }
            match seen.instances.get(uid) {
                Some(runs) => !runs,
                // The instance is not visible yet, was never made, or was removed.
                None => sent.ended.is_none_or(|ended| ended >= began),
            }
        });
        self.clusters.extend(seen.clusters);
    }

    /// An instance is sent to a cluster, or to another one than before.
    pub(crate) fn send(&mut self, uid: &str, cluster: &MoRef, amount: Amount) {
        let sent = Sent { cluster: cluster.clone(), amount, ended: None };
        self.sent.insert(uid.to_ascii_lowercase(), sent);
    }

    /// The creation of an instance has come to an end.
    pub(crate) fn end(&mut self, uid: &str, now: Timestamp) {
        if let Some(sent) = self.sent.get_mut(&uid.to_ascii_lowercase()) {
            sent.ended = Some(now);
        }
    }

    /// The free room of a cluster once an instance of a size is there, not counting the instance of
    /// this identity.
    pub(crate) fn room(&self, cluster: &MoRef, amount: Amount, uid: &str) -> Option<i64> {
        let mut load = *self.clusters.get(cluster)?;
        let uid = uid.to_ascii_lowercase();
        let others = self.sent.iter().filter(|(of, own)| own.cluster == *cluster && **of != uid);
        others.for_each(|(_, own)| load.given.add(own.amount));
        load.given.add(amount);
        load.left()
    }
}

#[cfg(test)]
mod tests;
