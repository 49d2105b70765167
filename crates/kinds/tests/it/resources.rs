//! What discovery lists.

use expect_test::expect;
use joiner_kinds::{Resource, find, find_kind, resources, schema, schema_named};

#[test]
fn groups_come_in_the_order_of_their_priority() {
    let mut groups: Vec<String> = Vec::new();
    for resource in resources() {
        let api_version = resource.api_version();
        if !groups.contains(&api_version) {
            groups.push(api_version);
        }
    }
    expect![[r#"
        v1
        apiregistration.k8s.io/v1
        apps/v1
        events.k8s.io/v1
        authentication.k8s.io/v1
        authorization.k8s.io/v1
        autoscaling/v2
        batch/v1
        certificates.k8s.io/v1
        networking.k8s.io/v1
        policy/v1
        rbac.authorization.k8s.io/v1
        storage.k8s.io/v1
        admissionregistration.k8s.io/v1
        apiextensions.k8s.io/v1
        scheduling.k8s.io/v1
        coordination.k8s.io/v1
        node.k8s.io/v1
        discovery.k8s.io/v1
        resource.k8s.io/v1
        flowcontrol.apiserver.k8s.io/v1
    "#]]
    .assert_eq(&(groups.join("\n") + "\n"));
}

#[test]
fn a_resource_knows_its_names() {
    let deployments = find("apps", "v1", "deployments").expect("deployments");
    assert_eq!(deployments.list_kind(), "DeploymentList");
    assert_eq!(deployments.qualified(), "deployments.apps");
    assert_eq!(deployments.short_names, ["deploy"]);
    assert_eq!(deployments.categories, ["all"]);
    assert!(deployments.namespaced);
    let scale = deployments.subresource("scale").expect("scale");
    assert_eq!((scale.group, scale.version, scale.kind), ("autoscaling", "v1", "Scale"));
    assert!(scale.foreign);
    assert_eq!(scale.verbs, ["get", "patch", "update"]);
}

#[test]
fn kinds_and_resources_name_each_other() {
    for resource in resources() {
        let found = find_kind(resource.group, resource.version, resource.kind);
        assert_eq!(found, Some(resource), "{}", resource.plural);
    }
    assert_eq!(find("apps", "v1", "pods"), None);
}

#[test]
fn some_updates_name_a_version_and_some_create() {
    let of = |wanted: fn(&Resource) -> bool| {
        let names = resources().iter().filter(|resource| wanted(resource));
        names.map(|resource| resource.plural).collect::<Vec<_>>().join(" ")
    };
    expect!["apiservices poddisruptionbudgets csidrivers csinodes csistoragecapacities volumeattachments mutatingadmissionpolicies mutatingadmissionpolicybindings mutatingwebhookconfigurations validatingadmissionpolicies validatingadmissionpolicybindings validatingwebhookconfigurations customresourcedefinitions leases runtimeclasses"].assert_eq(&of(Resource::update_needs_version));
    expect!["endpoints events limitranges services events clusterrolebindings clusterroles rolebindings roles leases runtimeclasses"].assert_eq(&of(Resource::update_creates));
    expect!["replicationcontrollers jobs"].assert_eq(&of(Resource::orphans_by_default));
}

#[test]
fn schemas_are_shared_and_found_by_their_published_names() {
    let pods = schema(find("", "v1", "pods").expect("pods"));
    let spec = schema_named("io.k8s.api.core.v1.PodSpec").expect("a type");
    assert!(std::sync::Arc::ptr_eq(&pods.properties["spec"], &spec));
    assert!(schema_named("io.k8s.api.core.v1.Nothing").is_none());
    assert!(schema_named("Pod").is_none());
}
