//! The columns of each kind's table.

use super::Column;

const fn text(name: &'static str, description: &'static str) -> Column {
    Column { name, kind: "string", format: "", description, priority: 0 }
}

const fn wide(name: &'static str, description: &'static str) -> Column {
    Column { priority: 1, ..text(name, description) }
}

const fn number(name: &'static str, description: &'static str) -> Column {
    Column { kind: "integer", ..text(name, description) }
}

const fn flag(name: &'static str, description: &'static str) -> Column {
    Column { kind: "boolean", ..text(name, description) }
}

const NAME: Column = Column {
    format: "name",
    ..text("Name", "The name of the object, unique among its kind in its namespace.")
};
const AGE: Column = text("Age", "How long ago the object was created.");
const CONTAINERS: Column = wide("Containers", "The names of the containers in the pod template.");
const IMAGES: Column = wide("Images", "The images of the containers in the pod template.");
const SELECTOR: Column = wide("Selector", "The labels of the pods that belong to the object.");

const DEFAULT: &[Column] =
    &[NAME, Column { kind: "date", ..text("Created At", "When the object was created.") }];

const POD: &[Column] = &[
    NAME,
    text("Ready", "How many of the pod's containers are ready, of how many."),
    text("Status", "What the states of the pod's containers add up to."),
    text("Restarts", "How often containers were restarted, and when last."),
    AGE,
    wide("IP", "The pod's first address."),
    wide("Node", "The node the pod is bound to."),
    wide("Nominated Node", "The node that is being made free for the pod."),
    wide("Readiness Gates", "How many of the extra conditions for readiness are true."),
];

const POD_TEMPLATE: &[Column] = &[
    NAME,
    text("Containers", "The names of the containers in the template."),
    text("Images", "The images of the containers in the template."),
    text("Pod Labels", "The labels that pods made of the template get."),
];

const BUDGET: &[Column] = &[
    NAME,
    text("Min Available", "How many pods have to stay available."),
    text("Max Unavailable", "How many pods may be unavailable."),
    number("Allowed Disruptions", "How many pods may be evicted now."),
    AGE,
];

const REPLICAS: &[Column] = &[
    NAME,
    number("Desired", "How many pods there should be."),
    number("Current", "How many pods there are."),
    number("Ready", "How many pods are ready."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const DAEMON_SET: &[Column] = &[
    NAME,
    number("Desired", "How many nodes should run the daemon."),
    number("Current", "How many nodes run the daemon and should."),
    number("Ready", "On how many nodes the daemon is ready."),
    number("Up-to-date", "How many nodes run the daemon as it is now specified."),
    number("Available", "On how many nodes the daemon has been ready for long enough."),
    text("Node Selector", "The labels of nodes that run the daemon."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const DEPLOYMENT: &[Column] = &[
    NAME,
    text("Ready", "How many pods are ready, of how many."),
    text("Up-to-date", "How many pods are as they are now specified."),
    text("Available", "How many pods have been ready for long enough."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const STATEFUL_SET: &[Column] =
    &[NAME, text("Ready", "How many pods are ready, of how many."), AGE, CONTAINERS, IMAGES];

const CONTROLLER_REVISION: &[Column] = &[
    NAME,
    text("Controller", "The object whose revision it is."),
    text("Revision", "The number of the revision."),
    AGE,
];

const JOB: &[Column] = &[
    NAME,
    text("Status", "How far the job is."),
    text("Completions", "How many pods have succeeded, of how many."),
    text("Duration", "How long the job has been running, or ran."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const CRON_JOB: &[Column] = &[
    NAME,
    text("Schedule", "When jobs are started, in cron's notation."),
    text("Timezone", "The time zone of the schedule."),
    flag("Suspend", "Whether no jobs are started."),
    number("Active", "How many jobs are running."),
    text("Last Schedule", "How long ago a job was started."),
    AGE,
    CONTAINERS,
    IMAGES,
    SELECTOR,
];

const SERVICE: &[Column] = &[
    NAME,
    text("Type", "How the service is reached."),
    text("Cluster-IP", "The service's first address within the cluster."),
    text("External-IP", "The service's addresses outside of the cluster."),
    text("Port(s)", "The service's ports, with those of nodes."),
    AGE,
    wide("Selector", "The labels of the pods behind the service."),
];

const INGRESS: &[Column] = &[
    NAME,
    text("Class", "The class that serves it."),
    text("Hosts", "The hosts that have rules."),
    text("Address", "Where it is served."),
    text("Ports", "The ports it is served at."),
    AGE,
];

const INGRESS_CLASS: &[Column] = &[
    NAME,
    text("Controller", "Who serves ingresses of the class."),
    text("Parameters", "The object with the controller's settings."),
    AGE,
];

const ENDPOINTS: &[Column] =
    &[NAME, text("Endpoints", "The first addresses that can be reached."), AGE];

const ENDPOINT_SLICE: &[Column] = &[
    NAME,
    text("AddressType", "What sort of addresses it has."),
    text("Ports", "The first ports of its endpoints."),
    text("Endpoints", "The first addresses of its endpoints."),
    AGE,
];

const NODE: &[Column] = &[
    NAME,
    text("Status", "Whether the node is ready and may get pods."),
    text("Roles", "What the node is for, from its labels."),
    AGE,
    text("Version", "The version of kubelet on the node."),
    wide("Internal-IP", "The node's address within the cluster."),
    wide("External-IP", "The node's address outside of the cluster."),
    wide("OS-Image", "The node's operating system."),
    wide("Kernel-Version", "The node's kernel and architecture."),
    wide("Container-Runtime", "What runs containers on the node."),
];

const EVENT: &[Column] = &[
    text("Last Seen", "How long ago it happened last."),
    text("Type", "Normal or Warning."),
    text("Reason", "Why it happened, in one word."),
    text("Object", "What it happened to."),
    wide("Subobject", "Which part of the object it happened to."),
    wide("Source", "Who said so."),
    text("Message", "What happened."),
    wide("First Seen", "How long ago it happened first."),
    wide("Count", "How often it happened."),
    Column { priority: 1, ..NAME },
];

const NAMESPACE: &[Column] =
    &[NAME, text("Status", "Whether the namespace is in use or going away."), AGE];

const SECRET: &[Column] = &[
    NAME,
    text("Type", "What the secret is for."),
    text("Data", "How many keys the secret has."),
    AGE,
];

const CONFIG_MAP: &[Column] = &[NAME, text("Data", "How many keys the map has."), AGE];

const ONLY_AGE: &[Column] = &[NAME, AGE];

const VOLUME: &[Column] = &[
    NAME,
    text("Capacity", "How large the volume is."),
    text("Access Modes", "How the volume may be mounted."),
    text("Reclaim Policy", "What becomes of the volume without its claim."),
    text("Status", "Whether the volume is free, bound or lost."),
    text("Claim", "The claim the volume is bound to."),
    text("StorageClass", "The class the volume belongs to."),
    text("VolumeAttributesClass", "The class of the volume's attributes."),
    text("Reason", "Why the volume is as it is."),
    AGE,
    wide("VolumeMode", "Whether the volume has a file system."),
];

const CLAIM: &[Column] = &[
    NAME,
    text("Status", "Whether the claim is bound."),
    text("Volume", "The volume the claim is bound to."),
    text("Capacity", "How large the bound volume is."),
    text("Access Modes", "How the bound volume may be mounted."),
    text("StorageClass", "The class the claim asks for."),
    text("VolumeAttributesClass", "The class of attributes the claim asks for."),
    AGE,
    wide("VolumeMode", "Whether the volume has a file system."),
];

const AUTOSCALER: &[Column] = &[
    NAME,
    text("Reference", "What is scaled."),
    text("Targets", "What is measured, and what it should be."),
    text("MinPods", "The fewest replicas."),
    text("MaxPods", "The most replicas."),
    text("Replicas", "How many replicas there are."),
    AGE,
];

const NETWORK_POLICY: &[Column] =
    &[NAME, text("Pod-Selector", "The labels of the pods it applies to."), AGE];

const ROLE_BINDING: &[Column] = &[
    NAME,
    text("Role", "The role that is given."),
    AGE,
    wide("Users", "The users who get the role."),
    wide("Groups", "The groups that get the role."),
    wide("ServiceAccounts", "The service accounts that get the role."),
];

const SIGNING_REQUEST: &[Column] = &[
    NAME,
    AGE,
    text("SignerName", "Who is to sign."),
    text("Requestor", "Who asked."),
    text("RequestedDuration", "How long the certificate should be valid."),
    text("Condition", "Whether the request is approved and signed."),
];

const LEASE: &[Column] = &[NAME, text("Holder", "Who holds the lease."), AGE];

const STORAGE_CLASS: &[Column] = &[
    NAME,
    text("Provisioner", "Who makes volumes of the class."),
    text("ReclaimPolicy", "What becomes of volumes without their claim."),
    text("VolumeBindingMode", "When volumes are made."),
    text("AllowVolumeExpansion", "Whether volumes can grow."),
    AGE,
];

const QUOTA: &[Column] = &[
    NAME,
    text("Request", "What is used of what may be requested."),
    text("Limit", "What is used of what may be the limit."),
    AGE,
];

const PRIORITY_CLASS: &[Column] = &[
    NAME,
    number("Value", "The priority."),
    flag("Global-Default", "Whether pods without a class have this one."),
    AGE,
    text("PreemptionPolicy", "Whether pods of the class push others off their nodes."),
];

const RUNTIME_CLASS: &[Column] = &[NAME, text("Handler", "What runs pods of the class."), AGE];

const ATTACHMENT: &[Column] = &[
    NAME,
    Column { format: "name", ..text("Attacher", "The driver that attaches the volume.") },
    text("PV", "The volume."),
    text("Node", "The node the volume is attached to."),
    flag("Attached", "Whether the volume is attached."),
    AGE,
];

const CSI_NODE: &[Column] = &[NAME, number("Drivers", "How many drivers the node has."), AGE];

const CSI_DRIVER: &[Column] = &[
    NAME,
    flag("AttachRequired", "Whether volumes are attached before they are mounted."),
    flag("PodInfoOnMount", "Whether the driver is told which pod mounts."),
    flag("StorageCapacity", "Whether the scheduler asks how much storage is left."),
    text("TokenRequests", "The audiences of the tokens the driver gets."),
    flag("RequiresRepublish", "Whether volumes are mounted again and again."),
    text("Modes", "How volumes of the driver come to be."),
    AGE,
];

const WEBHOOKS: &[Column] =
    &[NAME, number("Webhooks", "How many webhooks the configuration has."), AGE];

const POLICY: &[Column] = &[
    NAME,
    number("Validations", "How many rules the policy has."),
    text("ParamKind", "The kind of the policy's parameters."),
    AGE,
];

const POLICY_BINDING: &[Column] = &[
    NAME,
    text("PolicyName", "The policy that is put to use."),
    text("ParamRef", "The object with the policy's parameters."),
    AGE,
];

const RESOURCE_CLAIM: &[Column] =
    &[NAME, text("State", "Whether the claim is allocated and reserved."), AGE];

const RESOURCE_SLICE: &[Column] = &[
    NAME,
    text("Node", "The node the devices are in."),
    text("Driver", "The driver of the devices."),
    text("Pool", "The pool the devices belong to."),
    AGE,
];

pub(super) fn of(group: &str, kind: &str) -> &'static [Column] {
    match (group, kind) {
        ("", "Pod") => POD,
        ("", "PodTemplate") => POD_TEMPLATE,
        ("policy", "PodDisruptionBudget") => BUDGET,
        ("", "ReplicationController") | ("apps", "ReplicaSet") => REPLICAS,
        ("apps", "DaemonSet") => DAEMON_SET,
        ("apps", "Deployment") => DEPLOYMENT,
        ("apps", "StatefulSet") => STATEFUL_SET,
        ("apps", "ControllerRevision") => CONTROLLER_REVISION,
        ("batch", "Job") => JOB,
        ("batch", "CronJob") => CRON_JOB,
        ("", "Service") => SERVICE,
        ("networking.k8s.io", "Ingress") => INGRESS,
        ("networking.k8s.io", "IngressClass") => INGRESS_CLASS,
        ("networking.k8s.io", "NetworkPolicy") => NETWORK_POLICY,
        ("", "Endpoints") => ENDPOINTS,
        ("discovery.k8s.io", "EndpointSlice") => ENDPOINT_SLICE,
        ("", "Node") => NODE,
        ("" | "events.k8s.io", "Event") => EVENT,
        ("", "Namespace") => NAMESPACE,
        ("", "Secret") => SECRET,
        ("", "ConfigMap") => CONFIG_MAP,
        ("", "ServiceAccount") | ("resource.k8s.io", "DeviceClass" | "ResourceClaimTemplate") => {
            ONLY_AGE
        }
        ("", "PersistentVolume") => VOLUME,
        ("", "PersistentVolumeClaim") => CLAIM,
        ("", "ResourceQuota") => QUOTA,
        ("autoscaling", "HorizontalPodAutoscaler") => AUTOSCALER,
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => ROLE_BINDING,
        ("certificates.k8s.io", "CertificateSigningRequest") => SIGNING_REQUEST,
        ("coordination.k8s.io", "Lease") => LEASE,
        ("storage.k8s.io", "StorageClass") => STORAGE_CLASS,
        ("storage.k8s.io", "VolumeAttachment") => ATTACHMENT,
        ("storage.k8s.io", "CSINode") => CSI_NODE,
        ("storage.k8s.io", "CSIDriver") => CSI_DRIVER,
        ("scheduling.k8s.io", "PriorityClass") => PRIORITY_CLASS,
        ("node.k8s.io", "RuntimeClass") => RUNTIME_CLASS,
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => WEBHOOKS,
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => POLICY,
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding") => POLICY_BINDING,
        ("resource.k8s.io", "ResourceClaim") => RESOURCE_CLAIM,
        ("resource.k8s.io", "ResourceSlice") => RESOURCE_SLICE,
        _ => DEFAULT,
    }
}
