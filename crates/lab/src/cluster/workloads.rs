//! What a real cluster's controller manager does for nodes and pods: it makes pods for workloads,
//! collects garbage, monitors nodes and updates the status of disruption budgets.
//!
//! All of it is one [`Controller`] with parts, as it is one program in a real cluster: pods and nodes
//! are read once per change and indexed once (`world`), and every part looks at the same picture. The
//! loop delivers every change, including our own writes, before a part acts again. So the picture
//! always contains a part's own writes. The expectations of the real controllers are not needed.

mod attach;
mod budgets;
mod daemonsets;
mod deployments;
mod events;
mod facts;
mod garbage;
mod jobs;
mod namespaces;
mod nodes;
mod owned;
mod pods;
mod queue;
mod replicasets;
mod revisions;
mod selectors;
mod statefulsets;
mod tainted;
mod world;

use jiff::Timestamp;
use joiner_apiserver::{Change, Server};

use self::world::{News, World};
use super::Controller;

/// One of the controllers inside the controller manager.
trait Part: Send {
    /// Takes note of a change that the world already has.
    fn observe(&mut self, world: &World, news: &News<'_>);

    /// Does everything that is due now, and says when something will be due next.
    fn act(&mut self, world: &World, now: Timestamp) -> Option<Timestamp>;
}

/// The parts, in the order in which they act, and what they all look at.
struct Manager {
    world: World,
    parts: Vec<Box<dyn Part>>,
}

/// The controllers that a cluster needs beside its scheduler and kubelets, in the order in which they
/// act: first controllers that others depend on (namespaces, the state of nodes), then controllers
/// that make objects, owners first. Garbage collection comes last.
pub fn controllers(server: &Server) -> Vec<Box<dyn Controller>> {
    let parts: Vec<Box<dyn Part>> = vec![
        Box::new(namespaces::Namespaces::new(server)),
        Box::new(nodes::Nodes::new(server)),
        Box::new(tainted::Tainted::new(server)),
        Box::new(jobs::Jobs::new(server)),
        Box::new(deployments::Deployments::new(server)),
        Box::new(replicasets::ReplicaSets::of_replica_sets(server)),
        Box::new(replicasets::ReplicaSets::of_replication_controllers(server)),
        Box::new(statefulsets::StatefulSets::new(server)),
        Box::new(daemonsets::DaemonSets::new(server)),
        Box::new(budgets::Budgets::new(server)),
        Box::new(attach::Attachments::new(server)),
        Box::new(garbage::pods::PodGarbage::new(server)),
        Box::new(garbage::Garbage::new(server)),
    ];
    vec![Box::new(Manager { world: World::default(), parts })]
}

impl Controller for Manager {
    fn name(&self) -> &'static str {
        "kube-controller-manager"
    }

    fn observe(&mut self, change: &Change, now: Timestamp) {
        let news = self.world.apply(change, now);
        for part in &mut self.parts {
            part.observe(&self.world, &news);
        }
    }

    fn act(&mut self, now: Timestamp) -> Option<Timestamp> {
        self.parts.iter_mut().filter_map(|part| part.act(&self.world, now)).min()
    }
}
