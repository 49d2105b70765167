//! Clusters that do not have our kinds, and objects of files that are laid over a cluster.

use super::*;

/// Takes definitions away from a cluster.
pub(super) fn undefine(cluster: &Cluster, names: &[&str]) {
    let definitions = Resource::new("apiextensions.k8s.io", "customresourcedefinitions");
    for name in names {
        let (key, options) = (Key::new("", name), DeleteOptions::default());
        cluster.lab.caller("admin").delete(&definitions, &key, options).unwrap();
    }
}

#[tokio::test]
async fn a_cluster_without_our_definitions_has_no_such_objects() {
    let cluster = Cluster::empty().await;
    create(&cluster.lab, pod("web"));
    undefine(&cluster, &["nodeoverlays.karpenter.sh", "capacitybuffers.autoscaling.x-k8s.io"]);
    let planned = cluster.run(&["plan"]).await;
    assert!(!planned.stderr.contains("does not have"), "they are not needed: {planned}");
    undefine(&cluster, &["nodepools.karpenter.sh", "nodeclaims.karpenter.sh"]);
    expect![[r"
        No instance would be made.

        1 pod cannot be placed:

          shop/web
            no dynamic nodepools found

        More: joiner explain pod shop/web
        stderr: joiner: the cluster does not have nodepools.karpenter.sh, nodeclaims.karpenter.sh, nodeoverlays.karpenter.sh, so that there are none; give such objects with --with FILE, or install the definitions: joiner crds | kubectl apply -f -
    "]]
    .assert_eq(&cluster.run(&["plan", "--feature-gates=NodeOverlay=true"]).await.to_string());
}

#[tokio::test]
async fn objects_of_files_are_tried_on_a_cluster_without_our_definitions() {
    let cluster = Cluster::empty().await;
    create(&cluster.lab, pod("web"));
    let ours = joiner::house::definitions();
    let ours = ours.iter().filter_map(|definition| definition.metadata.name.as_deref());
    undefine(&cluster, &ours.collect::<Vec<_>>());
    let (tried, dump) = (cluster.path("tried.yaml"), cluster.path("dump"));
    let wish = "
apiVersion: v1
kind: Pod
metadata: {name: wish, namespace: shop}
spec: {containers: [{name: main, image: web, resources: {requests: {cpu: '1'}}}]}
---
";
    let pools = fs::read_to_string(root().join("examples/first-look/pools.yaml")).unwrap();
    fs::write(&tried, format!("{wish}{pools}")).unwrap();
    let start = cluster.lab.history().entries().len();
    let args = ["plan", "-o", "json", "--with", &tried, "--dump", &dump];
    let planned = cluster.run(&args).await;
    cluster.calls_since(start);
    assert!(planned.stderr.contains("--with: 5 objects laid over the cluster"), "{planned}");
    let live = plan(&planned);
    assert_eq!(live["summary"]["placed"], 2, "the cluster's pod and the file's: {live}");
    let args = ["plan", "-o", "json", "--pending", "unschedulable", "-f", &dump];
    assert_eq!(plan(&program(args.map(str::to_owned).to_vec()).await), live);
}

#[tokio::test]
async fn of_two_objects_of_one_name_the_files_counts() {
    let cluster = Cluster::first_look().await;
    let of_general = |plan: &Value| {
        let claims = plan["claims"].as_array().unwrap().iter();
        claims.filter(|claim| claim["nodePool"] == "general").count()
    };
    let before = plan(&cluster.run(&["plan", "-o", "json"]).await);
    assert!(of_general(&before) > 0, "{before}");
    let tried = cluster.path("tried.yaml");
    let pools = fs::read_to_string(root().join("examples/first-look/pools.yaml")).unwrap();
    fs::write(&tried, pools.replace("cpu: \"100\"", "cpu: \"1\"")).unwrap();
    let tried = cluster.run(&["plan", "-o", "json", "--with", &tried]).await;
    expect![[r"
        joiner: --with: 4 objects laid over the cluster; instead of the cluster's count NodePool batch, NodePool databases, NodePool general, KWOKNodeClass default
    "]]
    .assert_eq(&tried.stderr);
    assert_eq!(of_general(&plan(&tried)), 0, "{tried}");
}
