//! Fleets for tests.

use jiff::{SignedDuration, Timestamp};

use crate::{
    disruption::{
        ClaimFacts, Drifted, Fleet, HeldMove, Instance, KeptBy, NodeBudget, Paused, PodFacts,
        PoolRules,
    },
    pod::{Pod, Role},
    pool::NodePool,
    snapshot::{Node, Snapshot},
};

/// The time of test fleets: noon of Wednesday, the 4th of March 2026.
pub fn now() -> Timestamp {
    Timestamp::constant(1_772_625_600, 0)
}

/// A number of minutes.
pub fn minutes(count: i64) -> SignedDuration {
    SignedDuration::from_mins(count)
}

/// The fleet of a snapshot. Instances with a claim are ready and have been quiet for an hour, all their pods can
/// move, and all pools allow everything.
pub fn fleet(snapshot: &Snapshot) -> FleetBuilder {
    let rules = |pool: &NodePool| {
        let mine = |node: &&Node| node.pool.as_ref() == Some(&pool.name);
        let rules = PoolRules {
            consolidate_after: Some(SignedDuration::ZERO),
            budgets: vec![budget("100%")],
            replicas: pool.is_static.then(|| snapshot.nodes.iter().filter(mine).count() as u32),
            ..PoolRules::default()
        };
        (pool.name.clone(), rules)
    };
    FleetBuilder {
        fleet: Fleet {
            instances: snapshot.nodes.iter().map(instance).collect(),
            pools: snapshot.pools.iter().map(rules).collect(),
            now: now(),
            ..Fleet::default()
        },
        names: snapshot.nodes.iter().map(|node| node.name().to_owned()).collect(),
        pods: snapshot.nodes.iter().map(|node| node.pods.iter().map(Pod::key).collect()).collect(),
    }
}

fn instance(node: &Node) -> Instance {
    let claim = node.claim.as_ref().map(|_| ClaimFacts {
        quiet_since: node.initialized.then(|| now() - minutes(60)),
        consolidatable: node.initialized,
        ..ClaimFacts::default()
    });
    let facts = |pod: &Pod| {
        let moves = matches!(pod.role, Role::Bound { daemon_set: None, terminating: false });
        PodFacts { reschedulable: moves, movable: moves, ..PodFacts::default() }
    };
    let pods = node.pods.iter().map(facts).collect();
    Instance { claim, ready: true, pods, ..Instance::default() }
}

/// Builds a [`Fleet`].
#[derive(Debug, Clone)]
pub struct FleetBuilder {
    fleet: Fleet,
    names: Vec<String>,
    pods: Vec<Vec<String>>,
}

impl FleetBuilder {
    /// Changes the rules of a pool.
    pub fn pool(mut self, name: &str, change: impl FnOnce(&mut PoolRules)) -> Self {
        change(self.fleet.pools.get_mut(name).expect("a pool of the snapshot"));
        self
    }

    /// Gives a pool these budgets and no others.
    pub fn budgets<const N: usize>(self, pool: &str, budgets: [NodeBudget; N]) -> Self {
        self.pool(pool, |rules| rules.budgets = budgets.into())
    }

    /// Removes a pool.
    pub fn without_pool(mut self, name: &str) -> Self {
        self.fleet.pools.remove(name);
        self
    }

    /// Changes the facts about an instance.
    pub fn instance(mut self, name: &str, change: impl FnOnce(&mut Instance)) -> Self {
        let at = self.names.iter().position(|known| known == name).expect("a node of the snapshot");
        change(&mut self.fleet.instances[at]);
        self
    }

    /// Changes the facts about an instance's claim.
    pub fn claim(self, name: &str, change: impl FnOnce(&mut ClaimFacts)) -> Self {
        self.instance(name, |instance| {
            change(instance.claim.as_mut().expect("an instance of ours"));
        })
    }

    /// Marks an instance as drifted since some minutes.
    pub fn drifted(self, name: &str, minutes_ago: i64) -> Self {
        let since = now() - minutes(minutes_ago);
        let drifted = Drifted { reason: "NodePoolDrifted".to_owned(), since };
        self.claim(name, |claim| claim.drifted = Some(drifted))
    }

    /// Sets the last change of an instance's pods to some minutes ago.
    pub fn busy(self, name: &str, minutes_ago: i64) -> Self {
        self.claim(name, |claim| claim.quiet_since = Some(now() - minutes(minutes_ago)))
    }

    /// Changes the facts about a pod, of namespace `default` unless the name has another.
    pub fn pod(mut self, name: &str, change: impl FnOnce(&mut PodFacts)) -> Self {
        let key = if name.contains('/') { name.to_owned() } else { format!("default/{name}") };
        let mut nodes = self.pods.iter().enumerate();
        let at =
            nodes.find_map(|(node, pods)| Some((node, pods.iter().position(|pod| *pod == key)?)));
        let (node, pod) = at.expect("a pod of a node of the snapshot");
        change(&mut self.fleet.instances[node].pods[pod]);
        self
    }

    /// Protects a pod.
    pub fn kept(self, name: &str, by: KeptBy) -> Self {
        self.pod(name, |facts| {
            facts.movable = false;
            facts.kept_by = Some(by);
        })
    }

    /// Holds such instances back for some minutes.
    pub fn held_back(mut self, pool: &str, instance_type: &str, for_minutes: i64) -> Self {
        self.fleet.held_back.push(HeldMove {
            pool: pool.to_owned(),
            instance_type: instance_type.to_owned(),
            until: now() + minutes(for_minutes),
        });
        self
    }

    /// Pauses disruption for the cluster.
    pub fn paused(mut self, who: &str) -> Self {
        self.fleet.paused = Some(Paused { by: who.to_owned(), on: "Namespace joiner".to_owned() });
        self
    }

    /// The fleet.
    pub fn build(self) -> Fleet {
        self.fleet
    }
}

/// A budget without reasons and schedule.
pub fn budget(nodes: &str) -> NodeBudget {
    NodeBudget { nodes: nodes.to_owned(), ..NodeBudget::default() }
}

/// A budget for one reason.
pub fn budget_for(reason: &str, nodes: &str) -> NodeBudget {
    NodeBudget { reasons: vec![reason.to_owned()], ..budget(nodes) }
}

/// A budget that is in force for some minutes after each time of a schedule.
pub fn budget_at(schedule: &str, for_minutes: i64, nodes: &str) -> NodeBudget {
    NodeBudget {
        schedule: Some(schedule.to_owned()),
        duration: Some(minutes(for_minutes)),
        ..budget(nodes)
    }
}
