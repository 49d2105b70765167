//! Reasons that lie with the pod itself or with other pods.

use expect_test::expect;
use joiner_core::{
    label::{HOSTNAME, INITIALIZED, NODE_POOL, ZONE},
    pod::NodeTerm,
    reason::ReasonId,
    requirement::Operator::{DoesNotExist, Exists, In},
    settings::PlanSettings,
    testing::{PodBuilder, instance_type, node, pod, pool, snapshot},
};

use super::web;
use crate::support::{check_reasons, cluster, cluster_of};

#[test]
fn topology_spread() {
    check_reasons(
        cluster_of(pool("default").require(ZONE, In, ["test-zone-1"]))
            .node(node("n").zone("test-zone-1").cpu("0").pod(pod("x").label("app", "web")))
            .node(node("m").zone("test-zone-2").cpu("0"))
            .pod(pod("a").cpu("1").label("app", "web").spread(ZONE, 1, web())),
        expect![[r#"
            a
              topology.spread in default
                counts: test-zone-1=1,test-zone-2=0
                key: topology.kubernetes.io/zone
                selector: app=web
                unsatisfiable topology constraint: no domain of pool "default" keeps app=web spread over topology.kubernetes.io/zone within maxSkew 1; pods there now: test-zone-1=1 test-zone-2=0
        "#]],
    );
    // No instance has the label.
    check_reasons(
        cluster().pod(pod("a").spread("unknown", 1, web())),
        expect![[r#"
            a
              topology.spread in default
                counts:
                key: unknown
                selector: app=web
                unsatisfiable topology constraint: no domain of pool "default" keeps app=web spread over unknown within maxSkew 1; no instance has a value of unknown
        "#]],
    );
}

#[test]
fn affinity_unmet() {
    check_reasons(
        cluster().pod(pod("a").affinity(ZONE, web())),
        expect![[r#"
            a
              affinity.unmet in default
                counts: test-zone-1=0,test-zone-2=0,test-zone-3=0
                key: topology.kubernetes.io/zone
                selector: app=web
                unsatisfiable topology constraint: no domain of pool "default" has a pod with app=web that this pod must share its topology.kubernetes.io/zone with; pods there now: test-zone-1=0 test-zone-2=0 test-zone-3=0
        "#]],
    );
    check_reasons(
        cluster().pod(pod("a").affinity(HOSTNAME, web())),
        expect![[r#"
            a
              affinity.unmet in default
                counts:
                key: kubernetes.io/hostname
                selector: app=web
                unsatisfiable topology constraint: no domain of pool "default" has a pod with app=web that this pod must share its kubernetes.io/hostname with
        "#]],
    );
}

#[test]
fn anti_affinity_blocked() {
    let everywhere = |with: fn(&str) -> PodBuilder| {
        ["test-zone-1", "test-zone-2", "test-zone-3"].into_iter().fold(cluster(), |all, zone| {
            all.node(node(zone).zone(zone).cpu("0").pod(with(&format!("on-{zone}"))))
        })
    };
    check_reasons(
        everywhere(|name| pod(name).label("app", "web"))
            .pod(pod("a").cpu("1").anti_affinity(ZONE, web())),
        expect![[r#"
            a
              antiAffinity.blocked in default
                counts: test-zone-1=1,test-zone-2=1,test-zone-3=1
                key: topology.kubernetes.io/zone
                selector: app=web
                unsatisfiable topology constraint: every domain of pool "default" may have a pod with app=web that this pod must not share its topology.kubernetes.io/zone with; pods there now: test-zone-1=1 test-zone-2=1 test-zone-3=1
        "#]],
    );
    // The other way round.
    check_reasons(
        everywhere(|name| pod(name).anti_affinity(ZONE, web()))
            .pod(pod("a").cpu("1").label("app", "web")),
        expect![[r#"
            a
              antiAffinity.blocked in default
                counts: test-zone-1=1,test-zone-2=1,test-zone-3=1
                key: topology.kubernetes.io/zone
                selector: app=web
                unsatisfiable topology constraint: every domain of pool "default" may have a pod that keeps app=web away from its topology.kubernetes.io/zone; pods there now: test-zone-1=1 test-zone-2=1 test-zone-3=1
        "#]],
    );
}

#[test]
fn dra_ignored() {
    check_reasons(
        cluster().pod(pod("a").dra()),
        expect![[r#"
            a
              dra.ignored
                pod has Dynamic Resource Allocation requirements that are not yet supported
        "#]],
    );
}

#[test]
fn pod_selector_restricted() {
    check_reasons(
        cluster().pod(pod("a").on_node_selector(HOSTNAME, "n").require(INITIALIZED, Exists, [])),
        expect![[r#"
            a
              pod.selector.restricted
                key: kubernetes.io/hostname
                spec.nodeSelector: label "kubernetes.io/hostname" is restricted, because a value of it could mislead the planner: use a well-known label (integer, karpenter.sh/capacity-type, karpenter.sh/nodepool, karpenter.test.sh/reservation-id, kubernetes.io/arch, kubernetes.io/os, node.kubernetes.io/instance-type, node.kubernetes.io/windows-build, size, special, topology.kubernetes.io/region, topology.kubernetes.io/zone) or one of a domain of your own
              pod.selector.restricted
                key: karpenter.sh/initialized
                spec.affinity.nodeAffinity: label "karpenter.sh/initialized" is restricted, because a value of it could mislead the planner: use a well-known label (integer, karpenter.sh/capacity-type, karpenter.sh/nodepool, karpenter.test.sh/reservation-id, kubernetes.io/arch, kubernetes.io/os, node.kubernetes.io/instance-type, node.kubernetes.io/windows-build, size, special, topology.kubernetes.io/region, topology.kubernetes.io/zone) or one of a domain of your own
        "#]],
    );
}

#[test]
fn pod_selector_invalid() {
    check_reasons(
        cluster().pod(pod("a").require(ZONE, In, [])),
        expect![[r#"
            a
              pod.selector.invalid
                key: topology.kubernetes.io/zone
                spec.affinity.nodeAffinity: label "topology.kubernetes.io/zone" has operator In and no values: list at least one, or use DoesNotExist
        "#]],
    );
    let mut by_field = pod("a").build();
    let mut spec = (*by_field.spec).clone();
    spec.node_affinity.push(NodeTerm { expressions: Vec::new(), has_fields: true });
    by_field.spec = spec.into();
    check_reasons(
        cluster().pod(by_field),
        expect![[r#"
            a
              pod.selector.invalid
                spec.affinity.nodeAffinity: matchFields are not supported, an instance that does not exist yet has no name: select by label instead
        "#]],
    );
}

#[test]
fn pod_opted_out() {
    check_reasons(
        cluster().pod(pod("a").require(NODE_POOL, DoesNotExist, [])),
        expect![[r#"
            a
              pod.optedOut
                key: karpenter.sh/nodepool
                configured to not run on a provisioned node: it requires the label "karpenter.sh/nodepool" to be absent
        "#]],
    );
}

#[test]
fn waiting_reservation() {
    check_reasons(
        snapshot()
            .pool(pool("default"), [instance_type("t").cpu("2").reserved("a", "r", 1, 0.1)])
            .pods(pod("a").cpu("2").replicas(2)),
        expect![[r#"
            a-1
              waiting.reservation
                one or more instance types with compatible reserved offerings are available, but could not be reserved; the pod waits until one is free
        "#]],
    );
}

#[test]
fn waiting_volume() {
    check_reasons(
        cluster().pod(pod("a").waits_for_volume("claim default/data is being deleted: wait")),
        expect![[r#"
            a
              waiting.volume
                claim default/data is being deleted: wait
        "#]],
    );
}

#[test]
fn devices_are_not_promised_even_where_they_are_not_to_be_ignored() {
    let settings = PlanSettings { ignore_dra: false, ..PlanSettings::default() };
    let snapshot = cluster().pod(pod("a").dra()).build();
    let plan = joiner_plan::provision(&snapshot, &settings).plan;
    let reason = &plan.unschedulable[0].reasons[0];
    assert_eq!(reason.id, ReasonId::DraIgnored);
    assert!(reason.message.ends_with("also with --ignore-dra-requests=false"), "{reason:?}");
}
