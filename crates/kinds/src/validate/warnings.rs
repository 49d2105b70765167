//! What the API server warns about though it accepts it.

use serde_json::Value;

use super::{errors::Path, formats, ip, pod_warnings, resources};
use crate::fields::Fields;

/// Labels of nodes that have been replaced by others.
const DEPRECATED_LABELS: [(&str, &str); 8] = [
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    (
        "failure-domain.beta.kubernetes.io/zone",
        "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
    ),
    (
        "beta.kubernetes.io/instance-type",
        "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
    ),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    (
        "scheduler.alpha.kubernetes.io/preferAvoidPods",
        "deprecated since v1.22; use Taints and Tolerations instead",
    ),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

/// What to say about the label of a node, if it has been replaced.
pub(super) fn deprecated_label(key: &str) -> Option<&'static str> {
    DEPRECATED_LABELS.iter().find(|(label, _)| *label == key).map(|(_, message)| *message)
}

/// Warnings about an object that is created or updated.
pub fn warnings(group: &str, kind: &str, object: &Value) -> Vec<String> {
    let spec = object.part("spec");
    let template = Path::new("spec.template");
    match (group, kind) {
        ("", "Pod") => {
            let mut all = name_in_hostnames(object, "the Pod's hostname");
            all.extend(pod_warnings::of_pod(object));
            all
        }
        ("", "PodTemplate") => {
            pod_warnings::of_template(&Path::new("template"), object.part("template"))
        }
        ("apps", "DaemonSet") => pod_warnings::of_template(&template, spec.part("template")),
        ("apps", "Deployment" | "ReplicaSet")
        | ("", "ReplicationController")
        | ("batch", "Job") => {
            let mut all = name_in_hostnames(object, "Pod names and hostnames");
            all.extend(pod_warnings::of_template(&template, spec.part("template")));
            all
        }
        ("batch", "CronJob") => {
            let mut all = name_in_hostnames(object, "Pod names and hostnames");
            let template = Path::new("spec.jobTemplate.spec.template");
            let job = spec.part("jobTemplate").part("spec");
            all.extend(pod_warnings::of_template(&template, job.part("template")));
            all
        }
        ("apps", "StatefulSet") => stateful_set(spec),
        ("", "Node") => node(spec),
        ("", "Service") => service(object),
        ("", "Endpoints") => {
            vec![
                "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
                    .to_owned(),
            ]
        }
        ("", "PersistentVolumeClaim") => claim_spec(&Path::new("spec"), spec),
        ("", "PersistentVolume") => volume(spec),
        ("storage.k8s.io", "StorageClass") => storage_class(object),
        ("storage.k8s.io", "CSIDriver")
            if !spec.list("tokenRequests").is_empty()
                && !spec.has("serviceAccountTokenInSecrets") =>
        {
            vec![
                "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set \
                 to true to prevent possible logging of tokens in volume attributes"
                    .to_owned(),
            ]
        }
        ("node.k8s.io", "RuntimeClass") => {
            let labels = object.part("scheduling").entries("nodeSelector");
            let deprecated = labels.filter_map(|(key, _)| deprecated_label(key));
            deprecated.map(|message| format!("scheduling.nodeSelector: {message}")).collect()
        }
        _ => Vec::new(),
    }
}

fn name_in_hostnames(object: &Value, used_in: &str) -> Vec<String> {
    let wrong = formats::dns_label(object.part("metadata").text("name"));
    if wrong.is_empty() {
        return Vec::new();
    }
    vec![format!(
        "metadata.name: this is used in {used_in}, which can result in surprising behavior; a DNS \
         label is recommended: [{}]",
        wrong.join(" ")
    )]
}

fn stateful_set(spec: &Value) -> Vec<String> {
    let template = Path::new("spec.template");
    let mut all = pod_warnings::of_template(&template, spec.part("template"));
    let claims = Path::new("spec.volumeClaimTemplates");
    for (index, claim) in spec.list("volumeClaimTemplates").iter().enumerate() {
        all.extend(claim_spec(&claims.index(index), claim.part("spec")));
    }
    if spec.count("revisionHistoryLimit") < 0 {
        all.push(
            "spec.revisionHistoryLimit: a negative value retains all historical revisions; a \
             value >= 0 is recommended"
                .to_owned(),
        );
    }
    all
}

fn node(spec: &Value) -> Vec<String> {
    let mut all = Vec::new();
    if spec.has("configSource") {
        all.push("spec.configSource: the feature is removed".to_owned());
    }
    if !spec.text("externalID").is_empty() {
        all.push(
            "spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned(),
        );
    }
    all
}

/// Bytes cannot be split.
pub(super) fn fractional_bytes(path: &Path<'_>, amounts: &Value, name: &str) -> Option<String> {
    let value = amounts.field(name).filter(|value| !resources::is_whole(value))?;
    let text = resources::quantity_text(value);
    let path = path.key(name);
    Some(format!("{path}: fractional byte value {text:?} is invalid, must be an integer"))
}

/// Warnings about a claim, also in templates.
pub(super) fn claim_spec(path: &Path<'_>, spec: &Value) -> Vec<String> {
    let kinds = [("resources.requests", "requests"), ("resources.limits", "limits")];
    let warning = |(shown, kind): (&'static str, &str)| {
        fractional_bytes(&path.child(shown), spec.part("resources").part(kind), "storage")
    };
    kinds.into_iter().filter_map(warning).collect()
}

fn volume(spec: &Value) -> Vec<String> {
    let mut all = Vec::new();
    if spec.text("persistentVolumeReclaimPolicy") == "Recycle" {
        all.push(
            "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. \
             Instead, the recommended approach is to use dynamic provisioning."
                .to_owned(),
        );
    }
    let terms = Path::new("spec.nodeAffinity.required.nodeSelectorTerms");
    let required = spec.part("nodeAffinity").part("required");
    for (index, term) in required.list("nodeSelectorTerms").iter().enumerate() {
        all.extend(pod_warnings::node_selector_term(&terms.index(index), term, false));
    }
    all
}

fn storage_class(class: &Value) -> Vec<String> {
    let mut all = Vec::new();
    let path = Path::new("allowedTopologies");
    for (index, term) in class.list("allowedTopologies").iter().enumerate() {
        let path = path.index(index);
        let path = path.child("matchLabelExpressions");
        for (index, requirement) in term.list("matchLabelExpressions").iter().enumerate() {
            if let Some(message) = deprecated_label(requirement.text("key")) {
                all.push(format!("{}: {message}", path.index(index).child("key")));
            }
        }
    }
    all
}

fn service(service: &Value) -> Vec<String> {
    let (spec, path) = (service.part("spec"), Path::new("spec"));
    let mut all = Vec::new();
    let hints = "service.kubernetes.io/topology-aware-hints";
    if service.part("metadata").part("annotations").has(hints) {
        all.push(format!(
            "annotation {hints} is deprecated, please use service.kubernetes.io/topology-mode \
             instead"
        ));
    }
    let addresses = |all: &mut Vec<String>, field: &str| {
        let path = path.child(field);
        for (index, address) in spec.texts(field).enumerate() {
            all.extend(ip::address_warning(&path.index(index), address));
        }
    };
    if !["", "None"].contains(&spec.text("clusterIP")) {
        addresses(&mut all, "clusterIPs");
    }
    let (kind, external) = (spec.text("type"), !spec.list("externalIPs").is_empty());
    let headless = kind == "ClusterIP" && spec.text("clusterIP") == "None";
    if headless {
        let ignored = [
            ("loadBalancerIP", !spec.text("loadBalancerIP").is_empty()),
            ("externalIPs", external),
            ("SessionAffinity", spec.text("sessionAffinity") != "None"),
        ];
        for (field, _) in ignored.into_iter().filter(|(_, given)| *given) {
            all.push(format!("spec.{field} is ignored for headless services"));
        }
    }
    addresses(&mut all, "externalIPs");
    if external && !headless && kind != "ExternalName" {
        all.push(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
                .to_owned(),
        );
    }
    let balancer = spec.text("loadBalancerIP");
    all.extend(ip::address_warning(&path.child("loadBalancerIP"), balancer));
    if kind == "ExternalName" && external {
        all.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if kind != "ExternalName" && !spec.text("externalName").is_empty() {
        all.push("spec.externalName is ignored when spec.type is not \"ExternalName\"".to_owned());
    }
    if spec.text("trafficDistribution") == "PreferClose" {
        all.push(
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\""
                .to_owned(),
        );
    }
    all
}
