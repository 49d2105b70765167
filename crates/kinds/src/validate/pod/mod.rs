//! Pods and pod templates.

pub(crate) mod containers;
mod env;
pub(crate) mod handlers;
pub(crate) mod scheduling;
mod security;
mod status;
mod update;
mod volumes;
pub(crate) mod windows;

use serde_json::Value;

use super::{
    errors::{Errors, Path},
    formats, internal, ip,
    resources::{self, Of, quantity, quantity_text},
    selectors,
};
use crate::fields::Fields;

pub(super) use status::update_status;
pub(super) use update::{update, update_ephemeral_containers, update_resize};

/// Marks a pod that stands for one that kubelet runs by itself.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// A pod's spec with what its parts need to know of each other.
pub(crate) struct PodSpec<'a> {
    spec: &'a Value,
    /// The pod's name; empty in templates and while it is generated.
    name: &'a str,
    /// Whether this is a pod rather than a template of one.
    is_pod: bool,
    /// The volumes that containers can mount, by name.
    volumes: Vec<(&'a str, &'a Value)>,
    /// The names of the pod's resource claims.
    claims: Vec<&'a str>,
    grace: Option<i64>,
    host_users: bool,
    restart_policy: &'a str,
    os: Option<&'a str>,
}

impl<'a> PodSpec<'a> {
    fn new(spec: &'a Value, name: &'a str, is_pod: bool) -> Self {
        let claims = spec.list("resourceClaims").iter().map(|claim| claim.text("name"));
        Self {
            spec,
            name,
            is_pod,
            volumes: Vec::new(),
            claims: claims.filter(|name| !name.is_empty()).collect(),
            grace: spec.number("terminationGracePeriodSeconds"),
            host_users: spec.given_flag("hostUsers").unwrap_or(true),
            restart_policy: spec.text("restartPolicy"),
            os: spec.field("os").map(|os| os.text("name")),
        }
    }

    fn volume(&self, name: &str) -> Option<&'a Value> {
        self.volumes.iter().find(|(other, _)| *other == name).map(|(_, volume)| *volume)
    }
}

/// Every container of a pod with its path: init containers, regular ones, ephemeral ones.
pub(super) fn each_container<'a>(
    path: &Path<'_>,
    spec: &'a Value,
    mut visit: impl FnMut(&Path<'_>, &'a Value),
) {
    for field in ["initContainers", "containers", "ephemeralContainers"] {
        let path = path.child(field);
        for (index, container) in spec.list(field).iter().enumerate() {
            visit(&path.index(index), container);
        }
    }
}

/// A pod that is created.
pub(super) fn create(errors: &mut Errors, pod: &Value) {
    annotations_and_spec(errors, pod);
    let (spec, path) = (pod.part("spec"), Path::new("spec"));
    if !spec.list("ephemeralContainers").is_empty() {
        errors.forbidden(&path.child("ephemeralContainers"), "cannot be set on create");
    }
    if !spec.text("nodeName").is_empty() && !spec.list("schedulingGates").is_empty() {
        let detail = "cannot be set until all schedulingGates have been cleared";
        errors.forbidden(&path.child("nodeName"), detail);
    }
    windows::seccomp_annotations(errors, &path, pod.part("metadata"), spec);
}

fn annotations_and_spec(errors: &mut Errors, pod: &Value) {
    let (metadata, spec) = (pod.part("metadata"), pod.part("spec"));
    annotations(errors, &Path::new("metadata.annotations"), metadata, spec);
    let path = Path::new("spec");
    self::spec(errors, &path, spec, Some(metadata));
    if spec.text("serviceAccountName").is_empty() {
        let volumes = path.child("volumes");
        for (index, volume) in spec.list("volumes").iter().enumerate() {
            let volume_path = volumes.index(index);
            let sources = volume_path.child("projected.sources");
            for (index, source) in volume.part("projected").list("sources").iter().enumerate() {
                if source.has("serviceAccountToken") {
                    let detail = "must not be specified when serviceAccountName is not set";
                    errors.forbidden(&sources.index(index).child("serviceAccountToken"), detail);
                }
            }
        }
    }
    for field in ["containers", "initContainers"] {
        let path = path.child(field);
        for (index, container) in spec.list(field).iter().enumerate() {
            containers::image_is_trimmed(errors, &path.index(index), container);
        }
    }
}

/// Annotations that mean something to the API server.
fn annotations(errors: &mut Errors, path: &Path<'_>, metadata: &Value, spec: &Value) {
    const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
    let annotations = metadata.part("annotations");
    if let Some(value) = annotations.given_text(MIRROR)
        && spec.text("nodeName").is_empty()
    {
        let detail = "must set spec.nodeName if mirror pod annotation is set";
        errors.invalid(&path.key(MIRROR), value, detail);
    }
    if let Some(cost) = annotations.given_text(COST) {
        let is_plain = cost == "0" || !cost.trim_start_matches('-').starts_with('0');
        if cost.starts_with('+') || !is_plain || cost.parse::<i32>().is_err() {
            errors.invalid(&path.key(COST), cost, "must be a 32bit integer");
        }
    }
}

/// The template in a workload; `path` is the template's.
pub(super) fn template(errors: &mut Errors, path: &Path<'_>, template: &Value) {
    let (metadata, spec) = (template.part("metadata"), template.part("spec"));
    template_metadata(errors, path, template);
    let at = path.child("spec");
    self::spec(errors, &at, spec, None);
    windows::seccomp_annotations(errors, &at, metadata, spec);
    if !spec.list("ephemeralContainers").is_empty() {
        let detail = "ephemeral containers not allowed in pod template";
        errors.forbidden(&at.child("ephemeralContainers"), detail);
    }
}

/// The labels and annotations of a template.
pub(super) fn template_metadata(errors: &mut Errors, path: &Path<'_>, template: &Value) {
    let (metadata, spec) = (template.part("metadata"), template.part("spec"));
    selectors::labels(errors, &path.child("labels"), metadata, "labels");
    annotation_keys(errors, &path.child("annotations"), metadata);
    annotations(errors, &path.child("annotations"), metadata, spec);
}

fn annotation_keys(errors: &mut Errors, path: &Path<'_>, metadata: &Value) {
    const LIMIT: usize = 256 * 1024;
    let mut size = 0;
    for (key, value) in metadata.entries("annotations") {
        let lower = key.to_lowercase();
        for message in formats::qualified_name(&lower) {
            errors.invalid(path, key, message);
        }
        size += key.len() + value.as_str().unwrap_or_default().len();
    }
    if size > LIMIT {
        errors.too_long(path, LIMIT);
    }
}

/// The spec of a pod, whose metadata is given, or of a template.
fn spec(errors: &mut Errors, path: &Path<'_>, spec: &Value, metadata: Option<&Value>) {
    let name = metadata.map_or("", |metadata| metadata.text("name"));
    let is_mirror = metadata.is_some_and(|metadata| metadata.part("annotations").has(MIRROR));
    let mut pod = PodSpec::new(spec, name, metadata.is_some());
    if pod.grace.is_none() {
        errors.required(&path.child("terminationGracePeriodSeconds"), "");
    }
    pod.volumes = volumes::volumes(errors, &path.child("volumes"), &pod);
    resource_claims(errors, &path.child("resourceClaims"), spec, is_mirror);
    containers::regular(errors, &path.child("containers"), &pod);
    containers::init(errors, &path.child("initContainers"), &pod);
    containers::ephemeral(errors, &path.child("ephemeralContainers"), &pod);
    if let Some(requirements) = spec.field("resources") {
        pod_resources(errors, &path.child("resources"), &pod, requirements);
    }
    host_network_ports(errors, path, &pod);
    let policies = ["Always", "OnFailure", "Never"];
    errors.one_of(&path.child("restartPolicy"), pod.restart_policy, &policies);
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    errors.one_of(&path.child("dnsPolicy"), spec.text("dnsPolicy"), &policies);
    selectors::labels(errors, &path.child("nodeSelector"), spec, "nodeSelector");
    security::pod(errors, &path.child("securityContext"), &pod);
    scheduling::affinity(errors, &path.child("affinity"), spec.part("affinity"));
    dns_config(errors, &path.child("dnsConfig"), spec);
    gates(errors, path, spec);
    let constraints = path.child("topologySpreadConstraints");
    scheduling::spread(errors, &constraints, spec.list("topologySpreadConstraints"));
    windows::host_process(errors, path, spec);
    host_users(errors, path, spec);
    names(errors, path, spec);
    scheduling::tolerations(errors, &path.child("tolerations"), spec.list("tolerations"));
    host_aliases(errors, &path.child("hostAliases"), spec);
    classes(errors, path, spec);
    windows::operating_system(errors, path, spec);
    if let Some(group) = spec.field("schedulingGroup") {
        scheduling_group(errors, &path.child("schedulingGroup.podGroupName"), group);
    }
    file_key_volumes(errors, path, spec);
}

fn resource_claims(errors: &mut Errors, path: &Path<'_>, spec: &Value, is_mirror: bool) {
    let claims = spec.list("resourceClaims");
    if is_mirror {
        for _ in claims {
            errors.forbidden(&Path::new(""), "static pods do not support resource claims");
        }
        return;
    }
    for (index, claim) in claims.iter().enumerate() {
        let path = path.index(index);
        let name = claim.text("name");
        if name.is_empty() {
            errors.required(&path.child("name"), "");
        } else if claims[..index].iter().any(|other| other.text("name") == name) {
            errors.duplicate(&path.child("name"), name);
        } else {
            errors.invalid_each(&path.child("name"), name, formats::dns_label(name));
        }
        let sources = ["resourceClaimName", "resourceClaimTemplateName"];
        let shown = || internal::compact("PodResourceClaim", claim);
        match sources.iter().filter(|source| claim.has(source)).count() {
            0 => {
                let detail =
                    "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`";
                errors.invalid_shown(&path, &shown(), detail);
            }
            1 => {}
            _ => {
                let detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` \
                     may be specified";
                errors.invalid_shown(&path, &shown(), detail);
            }
        }
        for source in sources {
            if let Some(name) = claim.given_text(source) {
                errors.invalid_each(&path.child(source), name, formats::dns_subdomain(name));
            }
        }
    }
}

/// Requests and limits of the pod as a whole, which its containers have to fit in.
fn pod_resources(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>, requirements: &Value) {
    if pod.os == Some("windows") {
        errors.forbidden(path, "may not be set for a windows pod");
        return;
    }
    if requirements.has("claims") {
        let detail = "claims may not be set for Resources at pod-level";
        errors.forbidden(&path.child("claims"), detail);
    }
    resources::requirements(errors, path, Of::Pod, requirements, &pod.claims);
    for (name, request) in requirements.entries("requests") {
        let sum = super::pod_sums::requests(pod.spec, name);
        if sum > quantity(request) {
            let detail =
                format!("must be greater than or equal to aggregate container requests of {sum}");
            let requests = path.child("requests");
            errors.invalid(&requests.key(name), quantity_text(request), detail);
        }
    }
    let containers = path.child("containers");
    for (index, container) in pod.spec.list("containers").iter().enumerate() {
        for (name, limit) in container.part("resources").entries("limits") {
            let Some(most) = requirements.part("limits").field(name) else { continue };
            if quantity(limit) > quantity(most) {
                let detail =
                    format!("must be less than or equal to pod limits of {}", quantity_text(most));
                let at = containers.index(index);
                errors.invalid(&at.key(name).child("limits"), quantity_text(limit), detail);
            }
        }
    }
}

/// A container in the network of its host has the ports of the host.
fn host_network_ports(errors: &mut Errors, path: &Path<'_>, pod: &PodSpec<'_>) {
    if !pod.spec.flag("hostNetwork") {
        return;
    }
    let containers = path.child("containers");
    for (index, container) in pod.spec.list("containers").iter().enumerate() {
        let container_path = containers.index(index);
        let ports = container_path.child("ports");
        for (index, port) in container.list("ports").iter().enumerate() {
            let host = port.count("hostPort");
            if (pod.is_pod || host != 0) && host != port.count("containerPort") {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.invalid(&ports.index(index).child("hostPort"), host, detail);
            }
        }
    }
}

fn dns_config(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let config = spec.field("dnsConfig");
    if spec.text("dnsPolicy") == "None" {
        let Some(config) = config else {
            errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None");
            return;
        };
        if config.list("nameservers").is_empty() {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            errors.required(&path.child("nameservers"), detail);
            return;
        }
    }
    let Some(config) = config else { return };
    let servers = path.child("nameservers");
    if config.list("nameservers").len() > 3 {
        let detail = "must not have more than 3 nameservers";
        errors.invalid(&servers, config.part("nameservers").clone(), detail);
    }
    for (index, server) in config.texts("nameservers").enumerate() {
        ip::address(errors, &servers.index(index), server, &[]);
    }
    let searches = path.child("searches");
    let domains: Vec<&str> = config.texts("searches").collect();
    if domains.len() > 32 {
        let detail = "must not have more than 32 search paths";
        errors.invalid(&searches, config.part("searches").clone(), detail);
    }
    if domains.join(" ").len() > 2048 {
        let detail =
            "must not have more than 2048 characters (including spaces) in the search list";
        errors.invalid(&searches, config.part("searches").clone(), detail);
    }
    for (index, domain) in domains.into_iter().enumerate().filter(|(_, domain)| *domain != ".") {
        let domain = domain.strip_suffix('.').unwrap_or(domain);
        let wrong = formats::dns_subdomain_with_underscores(domain);
        errors.invalid_each(&searches.index(index), domain, wrong);
    }
    let options = path.child("options");
    for (index, option) in config.list("options").iter().enumerate() {
        if option.text("name").is_empty() {
            errors.required(&options.index(index), "must not be empty");
        }
    }
}

/// Conditions that readiness waits for, and gates that scheduling waits for.
fn gates(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let readiness = path.child("readinessGates");
    for (index, gate) in spec.list("readinessGates").iter().enumerate() {
        let condition = gate.text("conditionType");
        let at = readiness.index(index);
        let wrong = formats::qualified_name(condition);
        errors.invalid_each(&at.child("conditionType"), condition, wrong);
    }
    let scheduling = path.child("schedulingGates");
    let gates = spec.list("schedulingGates");
    for (index, gate) in gates.iter().enumerate() {
        let name = gate.text("name");
        let at = scheduling.index(index);
        errors.invalid_each(&at, name, formats::qualified_name(name));
        if gates[..index].iter().any(|other| other.text("name") == name) {
            errors.duplicate(&at, name);
        }
    }
}

/// A pod with users of its own cannot share other things with its host.
fn host_users(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    if spec.given_flag("hostUsers") != Some(false) {
        return;
    }
    for (field, shown) in
        [("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")]
    {
        if spec.flag(field) {
            errors.forbidden(&path.child(shown), "when `hostUsers` is false");
        }
    }
    each_container(path, spec, |path, container| {
        if !container.list("volumeDevices").is_empty() {
            errors.forbidden(&path.child("volumeDevices"), "when `hostUsers` is false");
        }
    });
}

fn names(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    if let Some(name) = spec.given_text("hostnameOverride") {
        let at = path.child("hostnameOverride");
        if spec.flag("setHostnameAsFQDN") {
            errors.forbidden(&at, "may not be specified when setHostnameAsFQDN is true");
        }
        if spec.flag("hostNetwork") {
            errors.forbidden(&at, "may not be specified when hostNetwork is true");
        }
        if name.len() > 64 {
            errors.too_long(&at, 64);
        }
        errors.invalid_each(&at, name, formats::dns_subdomain(name));
    }
    for field in ["serviceAccountName", "nodeName"] {
        let name = spec.text(field);
        if !name.is_empty() {
            errors.invalid_each(&path.child(field), name, formats::dns_subdomain(name));
        }
    }
    if let Some(seconds) = spec.number("activeDeadlineSeconds") {
        for message in formats::in_range(seconds, 1, i64::from(i32::MAX)) {
            errors.invalid(&path.child("activeDeadlineSeconds"), seconds, message);
        }
    }
    for field in ["hostname", "subdomain"] {
        let name = spec.text(field);
        if !name.is_empty() {
            errors.invalid_each(&path.child(field), name, formats::dns_label(name));
        }
    }
}

fn host_aliases(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    for (index, alias) in spec.list("hostAliases").iter().enumerate() {
        let path = path.index(index);
        ip::address(errors, &path.child("ip"), alias.text("ip"), &[]);
        let hostnames = path.child("hostnames");
        for (index, name) in alias.texts("hostnames").enumerate() {
            errors.invalid_each(&hostnames.index(index), name, formats::dns_subdomain(name));
        }
    }
}

fn classes(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    let class = spec.text("priorityClassName");
    if !class.is_empty() {
        let at = path.child("priorityClassName");
        errors.invalid_each(&at, class, formats::dns_subdomain(class));
    }
    if let Some(class) = spec.given_text("runtimeClassName") {
        let at = path.child("runtimeClassName");
        errors.invalid_each(&at, class, formats::dns_subdomain(class));
    }
    if let Some(policy) = spec.given_text("preemptionPolicy") {
        preemption_policy(errors, &path.child("preemptionPolicy"), policy);
    }
    overhead(errors, &path.child("overhead"), spec, "overhead");
}

/// Whether a pod may push others off their nodes.
pub(super) fn preemption_policy(errors: &mut Errors, path: &Path<'_>, policy: &str) {
    errors.one_of(path, policy, &["PreemptLowerPriority", "Never"]);
}

/// What running a pod costs besides its containers. Errors are about limits: the API server checks
/// it as if it were those.
pub(super) fn overhead(errors: &mut Errors, path: &Path<'_>, owner: &Value, field: &str) {
    if let Some(overhead) = owner.field(field) {
        let limits = serde_json::json!({ "limits": overhead });
        resources::requirements(errors, path, Of::Container, &limits, &[]);
    }
}

fn scheduling_group(errors: &mut Errors, path: &Path<'_>, group: &Value) {
    match group.given_text("podGroupName") {
        None => errors.invalid(path, Value::Null, "must specify one of: `podGroupName`"),
        Some(name) => errors.invalid_each(path, name, formats::dns_subdomain(name)),
    }
}

/// Variables that are read from files need a volume that containers can write to.
fn file_key_volumes(errors: &mut Errors, path: &Path<'_>, spec: &Value) {
    each_container(path, spec, |path, container| {
        let env = path.child("env");
        for (index, variable) in container.list("env").iter().enumerate() {
            let Some(reference) = variable.part("valueFrom").field("fileKeyRef") else { continue };
            let name = reference.text("volumeName");
            let at = env.index(index);
            let at = at.child("valueFrom.fileKeyRef.volumeName");
            match spec.list("volumes").iter().rfind(|volume| volume.text("name") == name) {
                None => errors.not_found(&at, name, ""),
                Some(volume) if !volume.has("emptyDir") => {
                    errors.invalid(&at, name, "referenced volume must be of type emptyDir");
                }
                Some(_) => {}
            }
        }
    });
}

/// Where a pod is bound to.
pub(super) fn binding(errors: &mut Errors, binding: &Value) {
    let target = binding.part("target");
    let kind = target.text("kind");
    if !kind.is_empty() && kind != "Node" {
        errors.not_supported(&Path::new("target.kind"), kind, &["Node", "<empty>"]);
    }
    if target.text("name").is_empty() {
        errors.required(&Path::new("target.name"), "");
    }
}
