//! The whole engine on a whole laboratory: instances that are not needed go, wrong ones are replaced,
//! and whenever the process is killed it ends the same.

use jiff::SignedDuration;
use joiner_apiserver::{Key, Resource};
use joiner_lab::{
    Lab,
    faults::{Aim, Fault, Rule},
    history::Timeline,
    process,
};
use serde_json::json;

use crate::whole::{End, JOINER, create, deployment, end, furnished, pass, scale};

/// How many CPUs each instance of the cluster has, most first.
fn cpus(lab: &Lab) -> Vec<u64> {
    let nodes = lab.caller("admin").list(&Resource::new("", "nodes"), None);
    let cpu = |node: serde_json::Value| {
        let text = node["status"]["capacity"]["cpu"].as_str().unwrap_or_default().to_owned();
        text.parse().unwrap_or_default()
    };
    let mut cpus: Vec<u64> = nodes.iter().map(|node| cpu(node.value())).collect();
    cpus.sort_by(|a, b| b.cmp(a));
    cpus
}

/// Kills are counted from when the process has learnt the cluster: other stories are about that.
fn once_it_works(kill: Rule) -> Rule {
    Rule { from: SignedDuration::from_secs(3 * 60 + 1), ..kill }
}

/// A large instance is needed at first, and then a small one would do; with one kill added.
async fn consolidation(kill: Rule) -> Lab {
    let mut lab = furnished(1);
    create(&lab, "apps", "deployments", deployment("web", 10));
    pass(&mut lab, 3, 1).await;
    scale(&lab, "web", 2);
    lab.faults().add(once_it_works(kill));
    pass(&mut lab, 5, 2).await;
    lab
}

/// The pool wants instances with another label; with one kill added.
async fn drift(kill: Rule) -> Lab {
    let mut lab = furnished(1);
    create(&lab, "apps", "deployments", deployment("web", 3));
    pass(&mut lab, 3, 1).await;
    let (pools, key) = (Resource::new("karpenter.sh", "nodepools"), Key::new("", "default"));
    let patch = json!({"spec": {"template": {"metadata": {"labels": {"generation": "2"}}}}});
    lab.caller("user").merge(&pools, &key, None, patch).unwrap();
    lab.faults().add(once_it_works(kill));
    pass(&mut lab, 5, 2).await;
    lab
}

/// How a story ends when nobody is killed.
async fn in_peace<F: Future<Output = Lab>>(story: impl Fn(Rule) -> F) -> Lab {
    let never = Rule {
        fault: Fault::Kill { after: false },
        aim: Aim { client: JOINER.to_owned(), ..Aim::default() },
        from: SignedDuration::ZERO,
        skip: 0,
        times: Some(0),
    };
    story(never).await
}

fn told(lab: &Lab) -> String {
    lab.history().timeline(&Timeline::default())
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_is_too_large_is_replaced_by_a_smaller_one() {
    let lab = in_peace(consolidation).await;
    assert_eq!(End::of(&lab), end(2, 1), "{}", told(&lab));
    assert_eq!(cpus(&lab), [2], "{}", told(&lab));
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_its_pool_does_not_want_any_more_is_replaced() {
    let lab = in_peace(drift).await;
    let found = End::of(&lab);
    assert_eq!(found, end(3, found.instances), "{}", told(&lab));
    let nodes = lab.caller("admin").list(&Resource::new("", "nodes"), None);
    for node in &nodes {
        assert_eq!(node.value()["metadata"]["labels"]["generation"], "2", "{}", told(&lab));
    }
}

#[tokio::test(start_paused = true)]
async fn instances_that_are_empty_go() {
    let mut lab = furnished(1);
    create(&lab, "apps", "deployments", deployment("web", 10));
    pass(&mut lab, 3, 1).await;
    scale(&lab, "web", 0);
    pass(&mut lab, 5, 2).await;
    assert_eq!(End::of(&lab), end(0, 0), "{}", told(&lab));
}

#[tokio::test(start_paused = true)]
async fn killed_at_every_call_a_consolidation_ends_the_same() {
    let kills = process::sweep(JOINER, consolidation, End::of)
        .await
        .unwrap_or_else(|interrupted| panic!("{interrupted}"));
    println!("consolidation: {kills} of {kills} kills end the same");
    assert!(kills > 30, "{kills}");
}

#[tokio::test(start_paused = true)]
async fn killed_at_every_call_a_drift_ends_the_same() {
    let kills = process::sweep(JOINER, drift, End::of)
        .await
        .unwrap_or_else(|interrupted| panic!("{interrupted}"));
    println!("drift: {kills} of {kills} kills end the same");
    assert!(kills > 30, "{kills}");
}
