//! Other clusters that have this cluster's name, and instances in the same folders.

use std::collections::BTreeMap;

use joiner_cloud::{mark::Cluster, notes::Note};

use super::Inner;
use crate::vm::Vm;

/// Instances of other clusters of the same name that a list has met.
#[derive(Debug, Default)]
pub(super) struct Namesakes(BTreeMap<String, Met>);

/// How many there are of one cluster, and the name of one of them.
#[derive(Debug)]
struct Met {
    count: usize,
    example: String,
}

impl Namesakes {
    /// Looks whose an instance is.
    pub(super) fn see(&mut self, vm: &Vm, cluster: Cluster<'_>) {
        let mark = vm.mark.as_ref().filter(|_| !vm.is_template);
        if let Some(uid) = mark.and_then(|mark| mark.namesake_of(cluster)) {
            let met = self.0.entry(uid.to_owned());
            met.or_insert_with(|| Met { count: 0, example: vm.name.clone() }).count += 1;
        }
    }
}

impl Inner {
    /// Tells of each other cluster of the name once.
    pub(super) fn tell_of(&self, namesakes: Namesakes) {
        let Cluster { name, uid } = self.cluster();
        for (theirs, Met { count, example }) in namesakes.0 {
            if !self.state().told_namesakes.insert(theirs.clone()) {
                continue;
            }
            // The remedy first: an event has room for so much.
            self.notes.write(Note::wrong_with_cloud(
                "OtherCluster",
                format!(
                    "Give one of two clusters another CLUSTER_NAME: {count} instances, such as \
                     {example}, are of a cluster {name:?} whose namespace kube-system has the UID \
                     {theirs}, and ours has {}; they are left alone",
                    uid.unwrap_or_default()
                ),
            ));
        }
    }
}
