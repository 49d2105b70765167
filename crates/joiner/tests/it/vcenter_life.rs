//! The program, a real control plane and govmomi's vCenter simulator: pods that wait become virtual
//! machines that join, and nothing is left when nobody needs them any more.
//!
//! Runs where `JOINER_CONTROL_PLANE` names a file with what `scripts/install-real-parts` printed and
//! `JOINER_VCSIM` names the simulator.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod cluster;
mod guests;
mod vcenter;

use std::{collections::BTreeSet, env, fs};

use joiner_realparts::{
    control_plane::{ControlPlane, Options, Parts},
    http::Server,
    vcsim::{PASSWORD, USER, Vcsim},
};
use serde_json::{Value, json};

use self::{
    cluster::{Cluster, condition, name},
    vcenter::VCenter,
};
use crate::install::{Installed, VSPHERE, apply, of_account};

/// What the cluster is called, and what its instances' names begin with.
const CLUSTER: &str = "life";
/// Pods, each of which has a node for itself.
const PODS: usize = 3;

/// Joiner, installed as people install it, and running as its Deployment says: with the rights of its
/// service account, and with variables from a Secret. What it says is kept with the control plane's
/// logs.
async fn installed(plane: &ControlPlane, vcsim: &Vcsim) -> Installed {
    let server = Server::new(plane.url(), plane.token());
    apply(&server, VSPHERE).await;
    let example = include_str!("../../../../examples/vsphere-start/secret.yaml");
    let mut secret: Value = serde_saphyr::from_str(example).unwrap();
    secret["stringData"] = json!({
        "CLUSTER_NAME": CLUSTER,
        "GOVC_URL": vcsim.url(),
        "GOVC_USERNAME": USER,
        "GOVC_PASSWORD": PASSWORD,
        "GOVC_INSECURE": "true",
        "VSPHERE_FOLDER": "/",
    });
    apply(&server, &secret.to_string()).await;
    let config = fs::read_to_string(plane.kubeconfig()).unwrap();
    let config = of_account(&server, serde_json::from_str(&config).unwrap()).await;
    Installed::start(&server, &config, plane.folder(), VSPHERE).await
}

/// What `kubeadm` leaves in a cluster for those who join, a class and a pool.
async fn furnish(cluster: &Cluster, plane: &ControlPlane) {
    for kind in [cluster::CLASSES, cluster::POOLS, cluster::CLAIMS] {
        cluster.until(&format!("{kind} is served"), async || cluster.get(kind).await).await;
    }
    let kubeconfig =
        json!({"clusters": [{"name": "", "cluster": {"server": plane.url()}}]}).to_string();
    let info = json!({
        "metadata": {"name": "cluster-info"}, "data": {"kubeconfig": kubeconfig},
    });
    cluster.create("/api/v1/namespaces/kube-public/configmaps", info).await;
    let class = json!({
        "apiVersion": "karpenter.vsphere.com/v1alpha1", "kind": "VsphereNodeClass",
        "metadata": {"name": "workers"},
        "spec": {
            "computeSelector": {"name": "DC0_C0"},
            "datastoreSelector": {"name": "LocalDS_0"},
            "networkSelector": {"name": "DC0_DVPG0"},
            "imageSelector": {"pattern": "ubuntu-*"},
            "tags": {"k8s-zone": "az1", "k8s-region": "dc1"},
            "instanceTypes": [{"os": "linux", "cpu": 2, "memory": 4, "zone": "az1", "region": "dc1"}],
        },
    });
    cluster.create(cluster::CLASSES, class).await;
    let reference = json!({
        "group": "karpenter.vsphere.com", "kind": "VsphereNodeClass", "name": "workers",
    });
    let pool = json!({
        "apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": {"name": "general"},
        "spec": {
            "template": {"spec": {"nodeClassRef": reference, "requirements": []}},
            "disruption": {"consolidateAfter": "1s", "budgets": [{"nodes": "100%"}]},
        },
    });
    cluster.create(cluster::POOLS, pool).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pods_become_instances_that_join_and_nothing_is_left_of_them() {
    let Some(listing) = env::var_os("JOINER_CONTROL_PLANE") else { return };
    let Some(program) = Vcsim::installed() else { return };
    let parts = Parts::from_listing(&fs::read_to_string(listing).unwrap()).unwrap();
    let options = Options { controllers: true, scheduler: true, kwok: true, ..Options::default() };
    let plane = ControlPlane::start(&parts, &options).await.unwrap();
    let size = ["-vm", "1", "-standalone-host", "0", "-template", "ubuntu-2404"];
    let delays = ["-method-delay", "CloneVm:500,LockHandoff:0"];
    let vcsim = Vcsim::start(&program, &[&size[..], &delays].concat()).await.unwrap();
    let (cluster, vcenter) = (Cluster::of(&plane), VCenter::of(&vcsim));
    let mut installed = installed(&plane, &vcsim).await;
    installed.ready().await;
    furnish(&cluster, &plane).await;
    tokio::select! {
        never = guests::join_for_ever(&vcenter, &cluster) => match never {},
        () = life(&cluster, &vcenter) => {}
    }
    // A right that is missing would be named here.
    assert_eq!(installed.readiness().await.matches("may not").count(), 0);
    installed.end();
}

async fn life(cluster: &Cluster, vcenter: &VCenter) {
    let class = format!("{}/workers", cluster::CLASSES);
    let is_ready = async || {
        let class = cluster.get(&class).await?;
        (condition(&class, "Ready")["status"] == "True").then_some(())
    };
    cluster.until("the class is ready", is_ready).await;

    cluster.deploy(PODS).await;
    let run = async || {
        let pods = cluster.list("/api/v1/namespaces/default/pods").await;
        let runs = |pod: &Value| pod["status"]["phase"] == "Running";
        (pods.len() == PODS && pods.iter().all(runs)).then_some(())
    };
    cluster.until("all pods run", run).await;
    let initialized = async || {
        let claims = cluster.list(cluster::CLAIMS).await;
        let is_done = |claim: &Value| condition(claim, "Initialized")["status"] == "True";
        (claims.len() == PODS && claims.iter().all(is_done)).then_some(claims)
    };
    let claims = cluster.until("every claim is initialized", initialized).await;
    let instances = vcenter.instances().await;
    assert_eq!(instances.len(), PODS, "{instances:?}");
    for claim in &claims {
        let instance = instances.iter().find(|own| own.claim == name(claim)).unwrap();
        assert_eq!(instance.name, format!("{CLUSTER}-karp-{}", name(claim)));
        assert_eq!(claim["status"]["providerID"], instance.provider_id);
        assert_eq!(claim["status"]["nodeName"], instance.name);
        let node = cluster.get(&format!("{}/{}", cluster::NODES, instance.name)).await.unwrap();
        assert_eq!(node["spec"]["providerID"], instance.provider_id);
        assert_eq!(node["metadata"]["labels"]["karpenter.sh/nodepool"], "general");
        assert_eq!(node["metadata"]["labels"]["topology.kubernetes.io/zone"], "az1");
        let tags = vcenter.tags_of(instance).await;
        for tag in [("karpenter.sh/clustername", CLUSTER), ("k8s-zone", "az1")] {
            let tag = (tag.0.to_owned(), tag.1.to_owned());
            assert!(tags.contains(&tag), "{tag:?} is not among {tags:?}");
        }
    }
    // Whoever has joined needs no token any more.
    let tokens_are_gone = async || cluster.tokens().await.is_empty().then_some(());
    cluster.until("no token is left", tokens_are_gone).await;

    cluster.scale(0).await;
    let nothing_is_left = async || {
        let claims = cluster.list(cluster::CLAIMS).await;
        let nodes = cluster.list(cluster::NODES).await;
        let instances = vcenter.instances().await;
        (claims.is_empty() && nodes.is_empty() && instances.is_empty()).then_some(())
    };
    cluster.until("no claim, no node and no instance is left", nothing_is_left).await;
    // A vCenter forgets the tags of what is destroyed; the simulator does not. What can be seen here
    // is that instances of one kind share their tags.
    let tags = vcenter.all_tags().await;
    let each_once: BTreeSet<&(String, String)> = tags.iter().collect();
    assert_eq!(each_once.len(), tags.len(), "{tags:?}");
}
