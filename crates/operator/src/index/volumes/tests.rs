use expect_test::{Expect, expect};

use super::*;
use crate::index::{IndexSettings, tests::objects};

/// What becomes of the volumes of the only pending pod.
#[track_caller]
fn check(yaml: &str, expected: Expect) {
    let objects = objects(yaml);
    expected.assert_eq(&show(&VolumeIndex::new(&objects).of_pending(&objects.pods[0])));
}

fn show(volumes: &PodVolumes) -> String {
    let mut lines = Vec::new();
    for volume in &volumes.attached {
        lines.push(format!("attaches {} of {}", volume.claim, volume.driver));
    }
    for alternative in &volumes.alternatives {
        let parts = alternative.iter().map(|(key, requirement)| format!("{key} {requirement}"));
        lines.push(format!("may be where {}", parts.collect::<Vec<_>>().join(", ")));
    }
    lines.extend(volumes.waiting.as_ref().map(|why| format!("waits: {why}")));
    lines.join("\n")
}

/// A pod that mounts these claims.
fn pod(claims: &[&str]) -> String {
    let volumes: Vec<String> = claims
        .iter()
        .enumerate()
        .map(|(i, name)| format!("{{name: v{i}, persistentVolumeClaim: {{claimName: {name}}}}}"))
        .collect();
    format!(
        "{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{containers: [], volumes: [{}, \
         {{name: tmp, emptyDir: {{}}}}]}}}}\n---\n",
        volumes.join(", ")
    )
}

fn claim(name: &str, metadata: &str, spec: &str, status: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: {name}{metadata}}}, \
         spec: {{{spec}}}, status: {{{status}}}}}\n---\n"
    )
}

fn bound(name: &str, volume: &str) -> String {
    let annotations = ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}";
    claim(
        name,
        annotations,
        &format!("volumeName: {volume}, storageClassName: gone"),
        "phase: Bound",
    )
}

fn unbound(name: &str, class: &str) -> String {
    claim(name, "", &format!("storageClassName: {class}"), "")
}

fn class(name: &str, provisioner: &str, rest: &str) -> String {
    format!(
        "{{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {{name: {name}}}, \
         provisioner: {provisioner}, {rest}}}\n---\n"
    )
}

const LATE: &str = "volumeBindingMode: WaitForFirstConsumer";

fn volume(name: &str, source: &str, affinity: &str) -> String {
    format!(
        "{{apiVersion: v1, kind: PersistentVolume, metadata: {{name: {name}}}, spec: {{{source}, \
         nodeAffinity: {{required: {{nodeSelectorTerms: [{affinity}]}}}}}}}}\n---\n"
    )
}

const CSI: &str = "csi: {driver: csi.example.com, volumeHandle: h}";

/// A term of a volume's affinity or a class's topology.
fn zones(key: &str, zones: &str) -> String {
    format!("{{matchExpressions: [{{key: {key}, operator: In, values: [{zones}]}}]}}")
}

#[test]
fn a_bound_claim_is_attached_and_decides_the_zone() {
    check(
        &(pod(&["c"])
            + &bound("c", "v")
            + &volume("v", CSI, &zones("topology.kubernetes.io/zone", "a"))),
        expect![[r#"
            attaches default/c of csi.example.com
            may be where topology.kubernetes.io/zone In [a]"#]],
    );
}

#[test]
fn beta_labels_of_volumes_are_those_in_use() {
    check(
        &(pod(&["c"])
            + &bound("c", "v")
            + &volume("v", CSI, &zones("failure-domain.beta.kubernetes.io/zone", "a"))),
        expect![[r#"
            attaches default/c of csi.example.com
            may be where topology.kubernetes.io/zone In [a]"#]],
    );
}

#[test]
fn terms_of_volumes_and_classes_are_alternatives() {
    let terms = format!("{}, {}, {{}}", zones("zone", "a"), zones("zone", "b"));
    check(
        &(pod(&["c"]) + &bound("c", "v") + &volume("v", CSI, &terms)),
        expect![[r#"
            attaches default/c of csi.example.com
            may be where zone In [a]
            may be where zone In [b]"#]],
    );
    let allowed = "allowedTopologies: [{matchLabelExpressions: [{key: zone, values: [a, b]}]}, \
                   {matchLabelExpressions: [{key: rack, values: [r]}]}]";
    check(
        &(pod(&["c"])
            + &unbound("c", "s")
            + &class("s", "csi.example.com", &format!("{LATE}, {allowed}"))),
        expect![[r#"
            attaches default/c of csi.example.com
            may be where zone In [a b]
            may be where rack In [r]"#]],
    );
}

#[test]
fn two_volumes_must_be_in_one_place() {
    let two = |first: &str, second: &str| {
        pod(&["c", "d"])
            + &bound("c", "v")
            + &volume("v", "nfs: {path: /, server: s}", first)
            + &bound("d", "w")
            + &volume("w", "nfs: {path: /, server: s}", second)
    };
    let (a, b, c) = (zones("zone", "a"), zones("zone", "b"), zones("zone", "c"));
    check(&two(&format!("{a}, {b}"), &format!("{b}, {c}")), expect!["may be where zone In [b]"]);
    // A contradiction stays one, so that planning says what is wrong.
    check(&two(&a, &b), expect!["may be where zone DoesNotExist"]);
    check(&two(&a, ""), expect!["may be where zone In [a]"]);
    // Equal places are one.
    check(&two(&format!("{a}, {a}"), &a), expect!["may be where zone In [a]"]);
}

#[test]
fn the_name_of_an_instance_binds_no_volume_on_its_own_disk() {
    let hostname = zones("kubernetes.io/hostname", "n1");
    let both = "{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}, \
                {key: zone, operator: In, values: [a]}]}";
    let local =
        |source: &str, term: &str| pod(&["c"]) + &bound("c", "v") + &volume("v", source, term);
    for source in ["local: {path: /d}", "hostPath: {path: /d}"] {
        check(&local(source, &hostname), expect!["may be where "]);
        check(&local(source, both), expect!["may be where zone In [a]"]);
    }
    check(
        &local(CSI, &hostname),
        expect![[r#"
            attaches default/c of csi.example.com
            may be where kubernetes.io/hostname In [n1]"#]],
    );
}

#[test]
fn an_ephemeral_volume_has_a_claim_named_after_its_pod() {
    check(
        &("{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [], volumes: [{name: v, ephemeral: {}}]}}\n---\n"
            .to_owned()
            + &unbound("p-v", "s")
            + &class("s", "csi.example.com", LATE)),
        expect!["attaches default/p-v of csi.example.com"],
    );
}

#[test]
fn pods_that_share_a_claim_take_one_slot() {
    check(
        &(pod(&["c", "c"]) + &unbound("c", "s") + &class("s", "csi.example.com", LATE)),
        expect!["attaches default/c of csi.example.com"],
    );
}

#[test]
fn drivers_from_before_csi_count_under_their_new_name() {
    for (in_tree, driver) in IN_TREE_DRIVERS {
        let objects = objects(&(pod(&["c"]) + &unbound("c", "s") + &class("s", in_tree, LATE)));
        let volumes = VolumeIndex::new(&objects).of_pending(&objects.pods[0]);
        assert_eq!(show(&volumes), format!("attaches default/c of {driver}"));
    }
    for (source, driver) in [
        ("awsElasticBlockStore: {volumeID: v}", "ebs.csi.aws.com"),
        ("azureDisk: {diskName: d, diskURI: u}", "disk.csi.azure.com"),
        ("azureFile: {secretName: s, shareName: n}", "file.csi.azure.com"),
        ("cinder: {volumeID: v}", "cinder.csi.openstack.org"),
        ("gcePersistentDisk: {pdName: d}", "pd.csi.storage.gke.io"),
        ("portworxVolume: {volumeID: v}", "pxd.portworx.com"),
        ("vsphereVolume: {volumePath: p}", "csi.vsphere.vmware.com"),
    ] {
        let objects = objects(&(pod(&["c"]) + &bound("c", "v") + &volume("v", source, "")));
        let volumes = VolumeIndex::new(&objects).of_pending(&objects.pods[0]);
        assert_eq!(show(&volumes), format!("attaches default/c of {driver}"), "{source}");
    }
    check(
        &(pod(&["c"]) + &bound("c", "v") + &volume("v", "nfs: {path: /, server: s}", "")),
        expect![""],
    );
}

#[test]
fn a_pod_waits_for_a_claim_that_is_not_ready() {
    let late = class("s", "csi.example.com", LATE);
    let deleting = ", deletionTimestamp: '2026-01-01T00:00:00Z'";
    let done = ", annotations: {pv.kubernetes.io/bind-completed: 'yes'}";
    let cases = [
        String::new(),
        claim("c", deleting, "storageClassName: s", "") + &late,
        claim("c", done, "volumeName: v", "phase: Lost") + &volume("v", CSI, ""),
        claim("c", done, "volumeName: v", ""),
        claim("c", done, "volumeName: v", "")
            + &volume("v", CSI, "").replace("name: v}", &format!("name: v{deleting}}}")),
        claim("c", "", "volumeName: v", "") + &volume("v", CSI, ""),
        claim("c", "", "", ""),
        claim("c", "", "storageClassName: ''", ""),
        claim("c", "", "storageClassName: s", ""),
        claim("c", "", "storageClassName: s", "")
            + &class("s", "x", "volumeBindingMode: Immediate"),
    ];
    let waits = cases.iter().map(|case| {
        let objects = objects(&(pod(&["c"]) + case));
        let volumes = VolumeIndex::new(&objects).of_pending(&objects.pods[0]);
        volumes.waiting.unwrap_or_else(|| "ready".to_owned())
    });
    expect![[r#"
        PersistentVolumeClaim default/c does not exist; create it
        PersistentVolumeClaim default/c is being deleted; create it again
        PersistentVolumeClaim default/c has lost its PersistentVolume; restore the volume or the claim
        PersistentVolumeClaim default/c names PersistentVolume v, which does not exist; create it
        PersistentVolumeClaim default/c is bound to PersistentVolume v, which is being deleted
        PersistentVolumeClaim default/c names PersistentVolume v but is not bound to it yet (no annotation pv.kubernetes.io/bind-completed); wait for the volume controller
        PersistentVolumeClaim default/c is not bound and names no StorageClass; name one, or bind a volume
        PersistentVolumeClaim default/c is not bound and names no StorageClass; name one, or bind a volume
        PersistentVolumeClaim default/c names StorageClass s, which does not exist; create it
        PersistentVolumeClaim default/c is not bound yet, and its StorageClass binds before pods are placed; wait for its provisioner"#]].assert_eq(&waits.collect::<Vec<_>>().join("\n"));
}

#[test]
fn a_bound_claim_needs_no_class() {
    check(
        &(pod(&["c"]) + &bound("c", "v") + &volume("v", CSI, "")),
        expect!["attaches default/c of csi.example.com"],
    );
}

#[test]
fn a_class_that_says_nothing_of_binding_waits_for_the_pod() {
    check(
        &(pod(&["c"]) + &unbound("c", "s") + &class("s", "csi.example.com", "parameters: {}")),
        expect!["attaches default/c of csi.example.com"],
    );
}

#[test]
fn a_moving_pod_waits_only_for_objects_that_have_gone() {
    let moving = |rest: &str| {
        let objects = objects(&(pod(&["c"]) + rest));
        show(&VolumeIndex::new(&objects).of_moving(&objects.pods[0]))
    };
    let immediate = class("s", "csi.example.com", "volumeBindingMode: Immediate");
    assert_eq!(moving(&(unbound("c", "s") + &immediate)), "attaches default/c of csi.example.com");
    assert_eq!(moving(&claim("c", "", "", "")), "");
    assert_eq!(moving(""), "waits: PersistentVolumeClaim default/c does not exist; create it");
    assert_eq!(
        moving(&bound("c", "v")),
        "waits: PersistentVolumeClaim default/c names PersistentVolume v, which does not exist; restore it"
    );
}

/// The volumes of the only pod of a node, with more of its metadata.
fn staying(metadata: &str, claims: &[&str], rest: &str) -> String {
    let yaml = pod(claims).replace("containers: []", "containers: [], nodeName: n").replacen(
        "{name: p",
        &format!("{{name: p{metadata}"),
        1,
    ) + rest
        + "{apiVersion: v1, kind: Node, metadata: {name: n}}";
    let indexed = crate::index::tests::index(&yaml, &IndexSettings::default());
    show(&indexed.snapshot.nodes[0].pods[0].volumes)
}

#[test]
fn a_pod_that_ends_with_its_node_has_attached_what_can_be_found() {
    let daemon = ", ownerReferences: [{apiVersion: apps/v1, kind: DaemonSet, name: d, uid: d}]";
    let rest = unbound("c", "s") + &class("s", "csi.example.com", "volumeBindingMode: Immediate");
    assert_eq!(staying(daemon, &["c", "missing"], &rest), "attaches default/c of csi.example.com");
}

#[test]
fn a_pod_that_stays_knows_where_its_volumes_would_allow_it_to_be() {
    let rest = bound("c", "v") + &volume("v", CSI, &zones("zone", "a"));
    expect![[r"
        attaches default/c of csi.example.com
        may be where zone In [a]"]]
    .assert_eq(&staying("", &["c"], &rest));
}

#[test]
fn alternatives_do_not_multiply_without_end() {
    let claims: Vec<String> = (0..8).map(|i| format!("c{i}")).collect();
    let names: Vec<&str> = claims.iter().map(String::as_str).collect();
    let mut yaml = pod(&names);
    for (i, name) in names.iter().enumerate() {
        let terms: Vec<String> =
            (0..8).map(|value| zones(&format!("key{i}"), &format!("v{value}"))).collect();
        yaml += &bound(name, &format!("v{i}"));
        yaml += &volume(&format!("v{i}"), CSI, &terms.join(", "));
    }
    let objects = objects(&yaml);
    let volumes = VolumeIndex::new(&objects).of_pending(&objects.pods[0]);
    assert_eq!(volumes.alternatives.len(), ALTERNATIVES_MAX);
}
