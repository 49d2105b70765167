//! A story is played on a laboratory.

use std::{cell::RefCell, rc::Rc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use joiner_apiserver::{Caller, DeleteOptions, Key, Propagation, Resource, Server};
use joiner_lab::{
    Lab,
    cluster::instances::{Fault, Instances},
};
use joiner_view::{
    scene::{Node, Phase, Scene, Totals},
    stage,
};
use serde_json::json;

use super::{Act, Story};
use crate::{
    demo::{audience::Audience, vsphere::Estate},
    lab,
};

/// How long the cluster may take to come to rest after the last chapter.
const REST_MAX: SignedDuration = SignedDuration::from_mins(10);
/// How long nothing may have to be done before it is at rest: longer than instances are kept that are
/// not needed, and than a second look at them takes.
const QUIET: SignedDuration = SignedDuration::from_secs(90);

/// The cluster and the viewers of a story.
#[derive(Clone, Debug)]
pub(crate) struct Play {
    server: Server,
    instances: Instances,
    estate: Option<Estate>,
    audience: Rc<RefCell<Audience>>,
}

/// Plays a story until the cluster is at rest after it.
pub(crate) async fn play(story: &Story, play: Play) {
    let clock = play.server.clock().clone();
    let start = clock.now();
    for (index, chapter) in story.chapters.iter().enumerate() {
        clock.sleep_until(start + chapter.at).await;
        let shown = stage::Chapter {
            number: index + 1,
            of: story.chapters.len(),
            title: chapter.title.to_owned(),
            text: chapter.text.clone(),
        };
        play.audience.borrow_mut().chapter(clock.now(), shown, chapter.burst);
        for act in &chapter.acts {
            play.act(act, clock.now());
        }
    }
    play.rest().await;
    play.audience.borrow_mut().end(clock.now());
}

impl Play {
    /// A play on a laboratory.
    pub(crate) fn on(lab: &Lab, audience: &Rc<RefCell<Audience>>, estate: Option<Estate>) -> Self {
        let (server, instances) = (lab.server().clone(), lab.instances().clone());
        Self { server, instances, estate, audience: Rc::clone(audience) }
    }

    fn act(&self, act: &Act, now: Timestamp) {
        let user = self.server.caller("user");
        match act {
            Act::Create(object) => {
                lab::create(&self.server, &user, object.clone())
                    .expect("the objects of the story are valid");
            }
            Act::Scale { namespace, deployment, replicas } => {
                let patch = json!({"spec": {"replicas": replicas}});
                let key = Key::new(namespace, deployment);
                // A user of kubectl may have deleted it, which is allowed.
                let _ = user.merge(&Resource::new("apps", "deployments"), &key, None, patch);
            }
            Act::DeleteJob { namespace, job } => delete_job(&user, &Key::new(namespace, job)),
            Act::FailInstance { pool } => {
                let scene = self.audience.borrow().scene(now);
                if let Some(node) = fullest(&scene, pool).and_then(|node| node.node.as_deref()) {
                    self.fail(node);
                }
            }
            Act::FailHost => self.estate.iter().for_each(Estate::fail_busiest_host),
            Act::FillDatastore { name } => self.estate.iter().for_each(|own| own.fill(name)),
        }
    }

    /// Lets an instance fail; a virtual machine is gone from one moment to the next, and the node of a
    /// KWOK instance, which is nothing but a node, falls silent.
    fn fail(&self, node: &str) {
        if self.estate.as_ref().is_some_and(|estate| estate.delete(node)) {
            return;
        }
        if self.instances.destroy(node).is_err() {
            self.instances.break_node(node, Fault::KubeletStopped);
        }
    }

    /// Waits until nothing has had to be done for a while.
    async fn rest(&self) {
        let clock = self.server.clock();
        let end = clock.now().saturating_add(REST_MAX).unwrap_or(Timestamp::MAX);
        let mut quiet_since = clock.now();
        while clock.now() < end && clock.now().duration_since(quiet_since) < QUIET {
            clock.sleep(Duration::from_secs(1)).await;
            if is_busy(&self.audience.borrow().totals()) {
                quiet_since = clock.now();
            }
        }
    }
}

/// Whether pods or instances are still on their way somewhere.
fn is_busy(totals: &Totals) -> bool {
    let pods = totals.waiting + totals.starting + totals.unready;
    let instances = totals.coming + totals.leaving + totals.lost;
    pods + instances > 0
}

fn delete_job(user: &Caller, key: &Key) {
    let options =
        DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    // One that has ended and was cleaned up needs no deletion.
    let _ = user.delete(&Resource::new("batch", "jobs"), key, options);
}

/// The instance of a pool that most pods would miss; of equals the first.
fn fullest<'s>(scene: &'s Scene, pool: &str) -> Option<&'s Node> {
    let mut fullest: Option<(usize, &Node)> = None;
    let ready = |node: &&Node| node.pool == pool && node.phase == Phase::Ready;
    for node in scene.nodes.iter().filter(ready) {
        let pods = node.pods.iter().filter(|pod| !pod.daemon).count();
        if fullest.is_none_or(|(most, _)| pods > most) {
            fullest = Some((pods, node));
        }
    }
    fullest.map(|(_, node)| node)
}

#[cfg(test)]
mod tests {
    use joiner_view::scene::Pod;

    use super::*;

    fn node(name: &str, pool: &str, phase: Phase, pods: usize, daemons: usize) -> Node {
        let pod = |daemon| Pod { daemon, ..Pod::default() };
        let mut own = vec![pod(false); pods];
        own.extend(vec![pod(true); daemons]);
        let (name, pool) = (name.to_owned(), pool.to_owned());
        Node { node: Some(name.clone()), name, pool, phase, pods: own, ..Node::default() }
    }

    #[test]
    fn the_instance_fails_that_most_pods_would_miss() {
        let nodes = vec![
            node("few", "general", Phase::Ready, 2, 9),
            node("many", "general", Phase::Ready, 5, 1),
            node("as-many", "general", Phase::Ready, 5, 1),
            node("gone-anyway", "general", Phase::Draining, 9, 1),
            node("elsewhere", "batch", Phase::Ready, 9, 1),
        ];
        let scene = Scene { nodes, ..Scene::default() };
        assert_eq!(fullest(&scene, "general").map(|node| node.name.as_str()), Some("many"));
        assert_eq!(fullest(&scene, "none"), None);
    }
}
