use expect_test::expect;

use super::*;
use crate::files::TextReader;

fn objects(text: &str) -> Objects {
    let mut reader = TextReader::default();
    reader.read("objects", text.to_owned()).unwrap();
    reader.finish()
}

fn made(text: &str) -> Objects {
    let mut objects = objects(text);
    make_pods(&mut objects, &Objects::default()).unwrap();
    objects
}

/// Name and owner of every pod.
fn names(objects: &Objects) -> String {
    let line = |pod: &Arc<Pod>| {
        let meta = &pod.metadata;
        let owner = &meta.owner_references.as_ref().unwrap()[0];
        let name = meta.name.as_deref().unwrap();
        format!("{}/{name} of {} {}", meta.namespace.as_deref().unwrap(), owner.kind, owner.name)
    };
    objects.pods.iter().map(line).collect::<Vec<_>>().join("\n")
}

const DEPLOYMENT: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: main, image: web, resources: {limits: {cpu: '1'}}}]}
";

#[test]
fn pods_of_a_deployment_are_owned_by_the_set_that_it_would_make() {
    let made = made(DEPLOYMENT);
    expect![[r"
        shop/web-f2lpcpnskt-5ql7k of ReplicaSet web-f2lpcpnskt
        shop/web-f2lpcpnskt-5j6bx of ReplicaSet web-f2lpcpnskt"]]
    .assert_eq(&names(&made));
    let [set] = made.replica_sets.as_slice() else { panic!("one set: {made:?}") };
    let selector = set.spec.selector.match_labels.as_ref().unwrap();
    let pod = &made.pods[0];
    let labels = pod.metadata.labels.as_ref().unwrap();
    assert_eq!(selector, labels, "the set selects its pods");
    assert!(set.metadata.name.as_ref().unwrap().ends_with(&labels["pod-template-hash"]));
    let resources = pod.spec.as_ref().unwrap().containers[0].resources.as_ref().unwrap();
    assert_eq!(resources.requests.as_ref().unwrap()["cpu"].0, "1", "limits are requests");
}

#[test]
fn the_same_manifests_give_the_same_pods_and_another_template_gives_others() {
    let names = |text: &str| names(&made(text));
    assert_eq!(names(DEPLOYMENT), names(DEPLOYMENT));
    assert_ne!(names(DEPLOYMENT), names(&DEPLOYMENT.replace("cpu: '1'", "cpu: '2'")));
}

#[test]
fn workloads_that_have_pods_get_none() {
    let pod = |owner: &str, hash: &str| {
        format!(
            "---
apiVersion: v1
kind: Pod
metadata:
  name: p
  namespace: shop
  labels: {{pod-template-hash: {hash}}}
  ownerReferences: [{{apiVersion: apps/v1, kind: ReplicaSet, name: {owner}, uid: u, controller: true}}]
spec: {{containers: []}}
"
        )
    };
    let with = |more: String| made(&format!("{DEPLOYMENT}{more}")).pods.len();
    assert_eq!(with(pod("web-abc", "abc")), 1);
    assert_eq!(with(pod("web-api-abc", "abc")), 3, "that is the set of Deployment web-api");
    assert_eq!(with(pod("web-abc", "abc").replace("shop", "other")), 3);
    let mut alone = objects(DEPLOYMENT);
    let others = objects(&pod("web-abc", "abc"));
    assert_eq!(make_pods(&mut alone, &others).unwrap(), [], "pods of a cluster count too");
}

#[test]
fn the_pods_of_a_deployment_whose_sets_are_there_are_those_of_its_sets() {
    let set = "---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: web-abc
  namespace: shop
  ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: u, controller: true}]
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: []}}
";
    expect!["shop/web-abc-g9hhg of ReplicaSet web-abc"]
        .assert_eq(&names(&made(&format!("{DEPLOYMENT}{set}"))));
}

const STATEFUL_SET: &str = "
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db, namespace: data}
spec:
  replicas: 2
  ordinals: {start: 3}
  selector: {matchLabels: {app: db}}
  template: {metadata: {labels: {app: db}}, spec: {containers: []}}
  volumeClaimTemplates: [{metadata: {name: disk}, spec: {accessModes: [ReadWriteOnce]}}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast, annotations: {storageclass.kubernetes.io/is-default-class: 'true'}}
provisioner: csi.example.com
volumeBindingMode: WaitForFirstConsumer
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk-db-3, namespace: data}
spec: {storageClassName: slow}
";

#[test]
fn pods_of_a_stateful_set_have_their_ordinals_and_claims() {
    let made = made(STATEFUL_SET);
    expect![[r"
        data/db-3 of StatefulSet db
        data/db-4 of StatefulSet db"]]
    .assert_eq(&names(&made));
    let volumes = made.pods[1].spec.as_ref().unwrap().volumes.as_ref().unwrap();
    let claim = &volumes[0].persistent_volume_claim.as_ref().unwrap().claim_name;
    assert_eq!(claim, "disk-db-4");
    let claims: Vec<_> = made
        .persistent_volume_claims
        .iter()
        .map(|claim| {
            let class = claim.spec.as_ref().unwrap().storage_class_name.clone();
            (claim.metadata.name.clone().unwrap(), class.unwrap())
        })
        .collect();
    let pair = |name: &str, class: &str| (name.to_owned(), class.to_owned());
    let expected = [pair("disk-db-3", "slow"), pair("disk-db-4", "fast")];
    assert_eq!(claims, expected, "what is there stays, and the default class is filled in");
}

#[test]
fn a_job_has_the_pods_that_are_left_to_do_and_may_run_together() {
    let job = |spec: &str, status: &str| {
        let text = format!(
            "
apiVersion: batch/v1
kind: Job
metadata: {{name: report, namespace: shop}}
spec:
  {spec}
  template: {{metadata: {{}}, spec: {{containers: []}}}}
status: {status}
"
        );
        made(&text).pods.len()
    };
    assert_eq!(job("{}".trim_matches(['{', '}']), "{}"), 1);
    assert_eq!(job("parallelism: 3", "{}"), 3);
    assert_eq!(job("completions: 5", "{}"), 1);
    assert_eq!(job("parallelism: 3\n  completions: 2", "{}"), 2);
    assert_eq!(job("parallelism: 3\n  completions: 5", "{succeeded: 4}"), 1);
    assert_eq!(job("parallelism: 3\n  suspend: true", "{}"), 0);
    assert_eq!(job("parallelism: 3", "{conditions: [{type: Complete, status: 'True'}]}"), 0);
}

#[test]
fn an_indexed_job_names_its_pods_by_their_index() {
    let text = "
apiVersion: batch/v1
kind: Job
metadata: {name: report, namespace: shop}
spec:
  parallelism: 2
  completions: 2
  completionMode: Indexed
  template: {metadata: {}, spec: {containers: []}}
";
    expect![[r"
        shop/report-0-xr8tb of Job report
        shop/report-1-nn8ns of Job report"]]
    .assert_eq(&names(&made(text)));
}

#[test]
fn more_pods_than_anybody_plans_for_are_refused_before_they_are_made() {
    let refused = |text: &str| {
        let mut objects = objects(text);
        let refused = make_pods(&mut objects, &Objects::default()).unwrap_err();
        assert_eq!(objects.pods.len(), 0);
        refused.to_string()
    };
    let many = DEPLOYMENT.replace("replicas: 2", "replicas: 2000000000");
    expect!["Deployment shop/web: spec.replicas is 2000000000: with those of the other workloads that makes 2000000000 pods, and 50000 can be planned for at most; lower it, or leave the object out"].assert_eq(&refused(&many));
    let long = DEPLOYMENT.replace("replicas: 2", "replicas: 50000");
    let long = long.replace(
        "{app: web}}\n    spec",
        &format!("{{app: web, a: {}}}}}\n    spec", "x".repeat(20_000)),
    );
    expect!["Deployment shop/web: spec.replicas is 50000: with those of the other workloads that makes 1005950000 bytes of pods, and 100000000 can be planned for at most; lower it, or leave the object out"].assert_eq(&refused(&long));
}
