//! The rows of each kind's table.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::{
    age,
    cells::{NONE, access_modes, containers, labels, or, selector},
    pod,
};
use crate::fields::Fields;

pub(super) const UNSET: &str = "<unset>";

pub(super) fn of(group: &str, kind: &str, object: &Value, now: Timestamp) -> Vec<Value> {
    let row = Row { object, now };
    let cells = match (group, kind) {
        ("", "Pod") => return pod::row(object, now),
        ("" | "events.k8s.io", "Event") => return row.event(),
        ("", "PodTemplate") => row.pod_template(),
        ("policy", "PodDisruptionBudget") => row.budget(),
        ("", "ReplicationController") | ("apps", "ReplicaSet") => row.replicas(),
        ("apps", "DaemonSet") => row.daemon_set(),
        ("apps", "Deployment") => row.deployment(),
        ("apps", "StatefulSet") => row.stateful_set(),
        ("apps", "ControllerRevision") => row.controller_revision(),
        ("batch", "Job") => row.job(),
        ("batch", "CronJob") => row.cron_job(),
        ("", "Service") => row.service(),
        ("networking.k8s.io", "Ingress") => row.ingress(),
        ("networking.k8s.io", "IngressClass") => return row.ingress_class(),
        ("networking.k8s.io", "NetworkPolicy") => row.network_policy(),
        ("", "Endpoints") => row.endpoints(),
        ("discovery.k8s.io", "EndpointSlice") => row.endpoint_slice(),
        ("", "Node") => row.node(),
        ("", "Namespace") => row.plain(&[row.status().text("phase")]),
        ("", "Secret") => vec![object.text("type").into(), row.keys(&["data"]), row.age()],
        ("", "ConfigMap") => vec![row.keys(&["data", "binaryData"]), row.age()],
        ("", "ServiceAccount") | ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate") => {
            vec![row.age()]
        }
        ("", "PersistentVolume") => row.volume(),
        ("", "PersistentVolumeClaim") => row.claim(),
        ("", "ResourceQuota") => row.quota(),
        ("autoscaling", "HorizontalPodAutoscaler") => row.autoscaler(),
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => row.binding(),
        ("certificates.k8s.io", "CertificateSigningRequest") => row.signing_request(),
        ("coordination.k8s.io", "Lease") => row.plain(&[row.spec().text("holderIdentity")]),
        ("storage.k8s.io", "StorageClass") => return row.storage_class(),
        ("storage.k8s.io", "VolumeAttachment") => row.attachment(),
        ("storage.k8s.io", "CSINode") => row.counted(row.spec().list("drivers").len()),
        ("storage.k8s.io", "CSIDriver") => row.csi_driver(),
        ("scheduling.k8s.io", "PriorityClass") => row.priority_class(),
        ("node.k8s.io", "RuntimeClass") => row.plain(&[object.text("handler")]),
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => row.counted(object.list("webhooks").len()),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => row.policy(),
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => {
            row.policy_binding()
        }
        ("resource.k8s.io", "ResourceClaim") => row.resource_claim(),
        ("resource.k8s.io", "ResourceSlice") => row.plain(&[
            row.spec().text("nodeName"),
            row.spec().text("driver"),
            row.spec().part("pool").text("name"),
        ]),
        _ => vec![row.metadata().text("creationTimestamp").into()],
    };
    let name = Value::from(row.metadata().text("name"));
    std::iter::once(name).chain(cells).collect()
}

/// The object of a row, and the time at which it is shown.
pub(super) struct Row<'a> {
    pub(super) object: &'a Value,
    pub(super) now: Timestamp,
}

impl<'a> Row<'a> {
    pub(super) fn metadata(&self) -> &'a Value {
        self.object.part("metadata")
    }

    pub(super) fn spec(&self) -> &'a Value {
        self.object.part("spec")
    }

    pub(super) fn status(&self) -> &'a Value {
        self.object.part("status")
    }

    pub(super) fn age(&self) -> Value {
        age::since(self.metadata(), "creationTimestamp", self.now).into()
    }

    /// Some texts, and the age.
    pub(super) fn plain(&self, texts: &[&str]) -> Vec<Value> {
        texts.iter().map(|text| Value::from(*text)).chain([self.age()]).collect()
    }

    /// A number, and the age.
    pub(super) fn counted(&self, count: usize) -> Vec<Value> {
        vec![count.into(), self.age()]
    }

    fn keys(&self, fields: &[&str]) -> Value {
        let keys: usize = fields.iter().map(|field| self.object.entries(field).count()).sum();
        keys.into()
    }

    /// Containers, images and, where the kind shows it, the selector of the pods.
    pub(super) fn template(&self) -> [Value; 2] {
        containers(self.spec().part("template").part("spec"))
    }

    pub(super) fn selector(&self) -> Value {
        or(&selector(self.spec().part("selector")), NONE).into()
    }

    fn pod_template(&self) -> Vec<Value> {
        let template = self.object.part("template");
        let [names, images] = containers(template.part("spec"));
        vec![names, images, labels(template.part("metadata"), "labels").into()]
    }

    /// The name, marked if the object is the default one of its kind.
    pub(super) fn name_or_default(&self, annotations: &[&str]) -> Value {
        let given = self.metadata().part("annotations");
        let is_default = annotations.iter().any(|key| given.text(key) == "true");
        let mark = if is_default { " (default)" } else { "" };
        format!("{}{mark}", self.metadata().text("name")).into()
    }

    fn node(&self) -> Vec<Value> {
        let mut conditions = self.status().list("conditions").iter();
        let ready = conditions.rfind(|condition| condition.text("type") == "Ready");
        let mut state = match ready.map(|condition| condition.text("status")) {
            None => "Unknown",
            Some("True") => "Ready",
            Some(_) => "NotReady",
        }
        .to_owned();
        if self.spec().flag("unschedulable") {
            state.push_str(",SchedulingDisabled");
        }
        let role = |(key, value): (&'a str, &'a Value)| {
            let named = key.strip_prefix("node-role.kubernetes.io/");
            let labelled = value.as_str().filter(|_| key == "kubernetes.io/role");
            named.or(labelled).filter(|role| !role.is_empty())
        };
        let roles: BTreeSet<&str> = self.metadata().entries("labels").filter_map(role).collect();
        let roles: Vec<&str> = roles.into_iter().collect();
        let address = |kind: &str| {
            let mut addresses = self.status().list("addresses").iter();
            let found = addresses.find(|address| address.text("type") == kind);
            found.map_or(NONE, |address| address.text("address"))
        };
        let info = self.status().part("nodeInfo");
        let known = |field: &str| or(info.text(field), "<unknown>").to_owned();
        let mut kernel = known("kernelVersion");
        if !info.text("architecture").is_empty() {
            kernel = format!("{kernel} ({})", info.text("architecture"));
        }
        vec![
            state.into(),
            or(&roles.join(","), NONE).into(),
            self.age(),
            info.text("kubeletVersion").into(),
            address("InternalIP").into(),
            address("ExternalIP").into(),
            known("osImage").into(),
            kernel.into(),
            known("containerRuntimeVersion").into(),
        ]
    }

    /// Events of their own group have other names for some fields.
    fn event(&self) -> Vec<Value> {
        let event = self.object;
        let first_of = |names: [&'a str; 2]| names.into_iter().find(|name| event.has(name));
        let since =
            |names: [&'a str; 2]| first_of(names).map(|name| age::since(event, name, self.now));
        let first = since(["firstTimestamp", "deprecatedFirstTimestamp"])
            .unwrap_or_else(|| age::since(event, "eventTime", self.now));
        let mut last =
            since(["lastTimestamp", "deprecatedLastTimestamp"]).unwrap_or_else(|| first.clone());
        let mut count = event.count("count").max(event.count("deprecatedCount")).max(1);
        if let Some(series) = event.field("series") {
            last = age::since(series, "lastObservedTime", self.now);
            count = series.count("count");
        }
        let about =
            first_of(["involvedObject", "regarding"]).map_or(event, |name| event.part(name));
        let kind = about.text("kind").to_lowercase();
        let target = match about.text("name") {
            "" => kind,
            name => format!("{kind}/{name}"),
        };
        let source =
            first_of(["source", "deprecatedSource"]).map_or(&Value::Null, |name| event.part(name));
        let controller = or(event.text("reportingComponent"), event.text("reportingController"));
        let component = or(source.text("component"), controller);
        let instance = or(source.text("host"), event.text("reportingInstance"));
        let source = if instance.is_empty() {
            component.to_owned()
        } else {
            format!("{component}, {instance}")
        };
        vec![
            last.into(),
            event.text("type").into(),
            event.text("reason").into(),
            target.into(),
            about.text("fieldPath").into(),
            source.into(),
            or(event.text("message"), event.text("note")).trim().into(),
            first.into(),
            count.into(),
            self.metadata().text("name").into(),
        ]
    }

    fn volume(&self) -> Vec<Value> {
        let spec = self.spec();
        let claim = spec
            .field("claimRef")
            .map(|claim| format!("{}/{}", claim.text("namespace"), claim.text("name")));
        let annotations = self.metadata().part("annotations");
        let class = annotations.given_text("volume.beta.kubernetes.io/storage-class");
        vec![
            or(spec.part("capacity").text("storage"), "0").into(),
            access_modes(spec).into(),
            spec.text("persistentVolumeReclaimPolicy").into(),
            self.phase().into(),
            claim.unwrap_or_default().into(),
            class.unwrap_or_else(|| spec.text("storageClassName")).into(),
            spec.given_text("volumeAttributesClassName").unwrap_or(UNSET).into(),
            self.status().text("reason").into(),
            self.age(),
            spec.given_text("volumeMode").unwrap_or(UNSET).into(),
        ]
    }

    fn phase(&self) -> &'a str {
        if self.metadata().has("deletionTimestamp") {
            "Terminating"
        } else {
            self.status().text("phase")
        }
    }

    fn claim(&self) -> Vec<Value> {
        let (spec, status) = (self.spec(), self.status());
        let volume = spec.text("volumeName");
        let (capacity, modes) = if volume.is_empty() {
            (String::new(), String::new())
        } else {
            let capacity = or(status.part("capacity").text("storage"), "0");
            (capacity.to_owned(), access_modes(status))
        };
        let annotations = self.metadata().part("annotations");
        let class = annotations.given_text("volume.beta.kubernetes.io/storage-class");
        vec![
            self.phase().into(),
            volume.into(),
            capacity.into(),
            modes.into(),
            class.unwrap_or_else(|| spec.text("storageClassName")).into(),
            spec.given_text("volumeAttributesClassName").unwrap_or(UNSET).into(),
            self.age(),
            spec.given_text("volumeMode").unwrap_or(UNSET).into(),
        ]
    }

    fn quota(&self) -> Vec<Value> {
        let used = self.status().part("used");
        let column = |limits: bool| {
            let parts: Vec<String> = self
                .status()
                .entries("hard")
                .filter(|(name, _)| name.starts_with("limits.") == limits)
                .map(|(name, hard)| {
                    let hard = hard.as_str().unwrap_or("0");
                    format!("{name}: {}/{hard}", or(used.text(name), "0"))
                })
                .collect();
            parts.join(", ")
        };
        vec![column(false).into(), column(true).into(), self.age()]
    }

    fn binding(&self) -> Vec<Value> {
        let role = self.object.part("roleRef");
        let subjects = |kind: &str| {
            let of_kind: Vec<String> = self
                .object
                .list("subjects")
                .iter()
                .filter(|subject| subject.text("kind") == kind)
                .map(|subject| match kind {
                    "ServiceAccount" => {
                        format!("{}/{}", subject.text("namespace"), subject.text("name"))
                    }
                    _ => subject.text("name").to_owned(),
                })
                .collect();
            of_kind.join(", ")
        };
        vec![
            format!("{}/{}", role.text("kind"), role.text("name")).into(),
            self.age(),
            subjects("User").into(),
            subjects("Group").into(),
            subjects("ServiceAccount").into(),
        ]
    }

    fn signing_request(&self) -> Vec<Value> {
        let (spec, status) = (self.spec(), self.status());
        let has = |kind: &str| {
            status.list("conditions").iter().any(|condition| condition.text("type") == kind)
        };
        let mut state = match (has("Denied"), has("Approved")) {
            (true, _) => "Denied",
            (false, true) => "Approved",
            (false, false) => "Pending",
        }
        .to_owned();
        if has("Failed") {
            state.push_str(",Failed");
        }
        if !status.text("certificate").is_empty() {
            state.push_str(",Issued");
        }
        let duration = spec.number("expirationSeconds").map(age::seconds);
        vec![
            self.age(),
            or(spec.text("signerName"), NONE).into(),
            spec.text("username").into(),
            duration.unwrap_or_else(|| NONE.to_owned()).into(),
            state.into(),
        ]
    }

    fn storage_class(&self) -> Vec<Value> {
        let class = self.object;
        vec![
            self.name_or_default(&[
                "storageclass.kubernetes.io/is-default-class",
                "storageclass.beta.kubernetes.io/is-default-class",
            ]),
            class.text("provisioner").into(),
            class.given_text("reclaimPolicy").unwrap_or("Delete").into(),
            class.given_text("volumeBindingMode").unwrap_or("Immediate").into(),
            class.flag("allowVolumeExpansion").into(),
            self.age(),
        ]
    }

    fn attachment(&self) -> Vec<Value> {
        let spec = self.spec();
        vec![
            spec.text("attacher").into(),
            spec.part("source").text("persistentVolumeName").into(),
            spec.text("nodeName").into(),
            self.status().flag("attached").into(),
            self.age(),
        ]
    }

    fn csi_driver(&self) -> Vec<Value> {
        let spec = self.spec();
        let modes: Vec<&str> = spec.texts("volumeLifecycleModes").collect();
        let audiences: Vec<&str> =
            spec.list("tokenRequests").iter().map(|request| request.text("audience")).collect();
        let tokens = if spec.has("tokenRequests") { audiences.join(",") } else { UNSET.to_owned() };
        vec![
            spec.given_flag("attachRequired").unwrap_or(true).into(),
            spec.flag("podInfoOnMount").into(),
            spec.flag("storageCapacity").into(),
            tokens.into(),
            spec.flag("requiresRepublish").into(),
            or(&modes.join(","), NONE).into(),
            self.age(),
        ]
    }

    fn priority_class(&self) -> Vec<Value> {
        let class = self.object;
        vec![
            class.count("value").into(),
            class.flag("globalDefault").into(),
            self.age(),
            class.text("preemptionPolicy").into(),
        ]
    }

    fn policy(&self) -> Vec<Value> {
        let kind = self
            .spec()
            .field("paramKind")
            .map(|kind| format!("{}/{}", kind.text("apiVersion"), kind.text("kind")));
        vec![
            self.spec().list("validations").len().into(),
            kind.unwrap_or_else(|| UNSET.to_owned()).into(),
            self.age(),
        ]
    }

    fn policy_binding(&self) -> Vec<Value> {
        let reference = self.spec().part("paramRef");
        let parameter = match (reference.text("namespace"), reference.text("name")) {
            (_, "") => UNSET.to_owned(),
            (namespace, name) => format!("{}/{name}", or(namespace, "*")),
        };
        self.plain(&[self.spec().text("policyName"), &parameter])
    }

    fn resource_claim(&self) -> Vec<Value> {
        let deleted = self.metadata().has("deletionTimestamp");
        let mut states = Vec::new();
        if deleted {
            states.push("deleted");
        }
        if self.status().has("allocation") {
            states.push("allocated");
            if !self.status().list("reservedFor").is_empty() {
                states.push("reserved");
            }
        } else if !deleted {
            states.push("pending");
        }
        self.plain(&[&states.join(",")])
    }
}
