//! Pods, and the templates they are made from.

use std::iter;

use k8s_openapi::api::core::v1::{
    Affinity, Container, PodAffinityTerm, PodSpec, PodStatus, PodTemplateSpec, Toleration,
    TopologySpreadConstraint,
};

use super::{
    Invalid, Sign, Within, each, label_selector, node_requirement, node_selector, one_of,
    quantities,
};

pub(super) fn template(template: Option<&PodTemplateSpec>) -> Result<(), Invalid> {
    template.and_then(|template| template.spec.as_ref()).map_or(Ok(()), spec).within("spec")
}

pub(super) fn spec(pod: &PodSpec) -> Result<(), Invalid> {
    each("containers", &pod.containers, container)?;
    each("initContainers", pod.init_containers.iter().flatten(), container)?;
    if let Some(resources) = &pod.resources {
        quantities("resources.requests", resources.requests.as_ref(), Sign::NotNegative)?;
        quantities("resources.limits", resources.limits.as_ref(), Sign::NotNegative)?;
    }
    quantities("overhead", pod.overhead.as_ref(), Sign::NotNegative)?;
    pod.affinity.as_ref().map_or(Ok(()), affinity).within("affinity")?;
    each("topologySpreadConstraints", pod.topology_spread_constraints.iter().flatten(), spread)?;
    each("tolerations", pod.tolerations.iter().flatten(), toleration)?;
    each("volumes", pod.volumes.iter().flatten(), |volume| match &volume.persistent_volume_claim {
        Some(claim) if claim.claim_name.is_empty() => {
            Err(Invalid::new("persistentVolumeClaim.claimName", "is empty; name the claim"))
        }
        _ => Ok(()),
    })
}

/// Amounts that a kubelet reports are only ever read, but must be readable.
pub(super) fn status(status: &PodStatus) -> Result<(), Invalid> {
    let lists = [
        ("containerStatuses", &status.container_statuses),
        ("initContainerStatuses", &status.init_container_statuses),
    ];
    for (list, statuses) in lists {
        each(list, statuses.iter().flatten(), |container| {
            let requests = container.resources.as_ref().and_then(|r| r.requests.as_ref());
            quantities("resources.requests", requests, Sign::Any)?;
            quantities("allocatedResources", container.allocated_resources.as_ref(), Sign::Any)
        })?;
    }
    Ok(())
}

fn container(container: &Container) -> Result<(), Invalid> {
    if let Some(resources) = &container.resources {
        quantities("resources.requests", resources.requests.as_ref(), Sign::NotNegative)?;
        quantities("resources.limits", resources.limits.as_ref(), Sign::NotNegative)?;
    }
    each("ports", container.ports.iter().flatten(), |port| match port.host_port {
        Some(number) if u16::try_from(number).is_err() => {
            Err(Invalid::new("hostPort", format!("{number} is no port; write 1 to 65535")))
        }
        _ => Ok(()),
    })
}

fn affinity(affinity: &Affinity) -> Result<(), Invalid> {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

    if let Some(node) = &affinity.node_affinity {
        let required = node.required_during_scheduling_ignored_during_execution.as_ref();
        required.map_or(Ok(()), node_selector).within(REQUIRED).within("nodeAffinity")?;
        let preferred = node.preferred_during_scheduling_ignored_during_execution.iter().flatten();
        each(PREFERRED, preferred, |term| {
            weight(term.weight)?;
            let expressions = term.preference.match_expressions.iter().flatten();
            each("matchExpressions", expressions, node_requirement).within("preference")
        })
        .within("nodeAffinity")?;
    }
    // Affinity and anti-affinity are of two types with the same fields.
    let near = affinity.pod_affinity.as_ref().map(|pods| {
        (
            "podAffinity",
            &pods.required_during_scheduling_ignored_during_execution,
            &pods.preferred_during_scheduling_ignored_during_execution,
        )
    });
    let away = affinity.pod_anti_affinity.as_ref().map(|pods| {
        (
            "podAntiAffinity",
            &pods.required_during_scheduling_ignored_during_execution,
            &pods.preferred_during_scheduling_ignored_during_execution,
        )
    });
    for (field, required, preferred) in iter::empty().chain(near).chain(away) {
        each(REQUIRED, required.iter().flatten(), pod_term).within(field)?;
        each(PREFERRED, preferred.iter().flatten(), |term| {
            weight(term.weight)?;
            pod_term(&term.pod_affinity_term).within("podAffinityTerm")
        })
        .within(field)?;
    }
    Ok(())
}

fn weight(weight: i32) -> Result<(), Invalid> {
    if (1..=100).contains(&weight) {
        return Ok(());
    }
    Err(Invalid::new("weight", format!("is {weight}; write 1 to 100")))
}

fn topology_key(key: &str) -> Result<(), Invalid> {
    if key.is_empty() {
        return Err(Invalid::new("topologyKey", "is missing; name a node label"));
    }
    Ok(())
}

fn pod_term(term: &PodAffinityTerm) -> Result<(), Invalid> {
    topology_key(&term.topology_key)?;
    label_selector(term.label_selector.as_ref()).within("labelSelector")?;
    label_selector(term.namespace_selector.as_ref()).within("namespaceSelector")
}

fn spread(constraint: &TopologySpreadConstraint) -> Result<(), Invalid> {
    topology_key(&constraint.topology_key)?;
    if constraint.max_skew < 1 {
        let problem = format!("is {}; write 1 or more", constraint.max_skew);
        return Err(Invalid::new("maxSkew", problem));
    }
    if let Some(domains) = constraint.min_domains.filter(|domains| *domains < 1) {
        return Err(Invalid::new("minDomains", format!("is {domains}; write 1 or more")));
    }
    let modes = ["DoNotSchedule", "ScheduleAnyway"];
    one_of("whenUnsatisfiable", &constraint.when_unsatisfiable, &modes)?;
    let policies = [
        ("nodeAffinityPolicy", &constraint.node_affinity_policy),
        ("nodeTaintsPolicy", &constraint.node_taints_policy),
    ];
    for (field, policy) in policies {
        one_of(field, policy.as_deref().unwrap_or("Honor"), &["Honor", "Ignore"])?;
    }
    label_selector(constraint.label_selector.as_ref()).within("labelSelector")
}

fn toleration(toleration: &Toleration) -> Result<(), Invalid> {
    let operator = toleration.operator.as_deref().unwrap_or_default();
    if !operator.is_empty() {
        one_of("operator", operator, &["Equal", "Exists", "Lt", "Gt"])?;
    }
    let effect = toleration.effect.as_deref().unwrap_or_default();
    if !effect.is_empty() {
        one_of("effect", effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"])?;
    }
    if toleration.key.as_deref().unwrap_or_default().is_empty() && operator != "Exists" {
        return Err(Invalid::new("operator", "must be Exists when key is empty"));
    }
    Ok(())
}
