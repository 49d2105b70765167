use expect_test::{Expect, expect};
use joiner_core::disruption::DisruptionReason;

use crate::files;

/// The complaints about objects, one to a line, without the place.
#[track_caller]
fn check(objects: &[&str], expected: Expect) {
    let complaints = objects.iter().map(|yaml| match files::read(&["-".into()], yaml.as_bytes()) {
        Ok(_) => format!("{yaml} is valid"),
        Err(error) => error.to_string().replacen("standard input: document 1: ", "", 1),
    });
    expected.assert_eq(&complaints.collect::<Vec<_>>().join("\n"));
}

#[track_caller]
fn check_pods(specs: &[&str], expected: Expect) {
    let pods: Vec<String> = specs
        .iter()
        .map(|spec| {
            format!("{{apiVersion: v1, kind: Pod, metadata: {{name: p}}, spec: {{{spec}}}}}")
        })
        .collect();
    check(&pods.iter().map(String::as_str).collect::<Vec<_>>(), expected);
}

#[test]
fn amounts_of_pods() {
    check_pods(
        &[
            "containers: [{name: a}, {name: b, resources: {requests: {cpu: lots}}}]",
            "containers: [{name: a, resources: {requests: {cpu: -1}}}]",
            "containers: [{name: a, resources: {limits: {memory: 1GiB}}}]",
            "initContainers: [{name: a, resources: {requests: {cpu: ''}}}], containers: []",
            "containers: [], overhead: {cpu: -100m}",
            "containers: [], resources: {requests: {cpu: x}}",
            "containers: [{name: a, ports: [{containerPort: 1, hostPort: 70000}]}]",
            "containers: [], volumes: [{name: v, persistentVolumeClaim: {claimName: ''}}]",
        ],
        expect![[r#"
            Pod default/p: spec.containers[1].resources.requests.cpu: "lots" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
            Pod default/p: spec.containers[0].resources.requests.cpu: -1 is below zero; write 0 or more
            Pod default/p: spec.containers[0].resources.limits.memory: "1GiB" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
            Pod default/p: spec.initContainers[0].resources.requests.cpu: "" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
            Pod default/p: spec.overhead.cpu: -100m is below zero; write 0 or more
            Pod default/p: spec.resources.requests.cpu: "x" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
            Pod default/p: spec.containers[0].ports[0].hostPort: 70000 is no port; write 1 to 65535
            Pod default/p: spec.volumes[0].persistentVolumeClaim.claimName: is empty; name the claim"#]],
    );
}

#[test]
fn affinity_of_pods() {
    let node = |term: &str| {
        format!(
            "containers: [], affinity: {{nodeAffinity: {{requiredDuringSchedulingIgnoredDuringExecution: \
             {{nodeSelectorTerms: [{{matchExpressions: [{term}]}}]}}}}}}"
        )
    };
    let pods = |kind: &str, term: &str| {
        format!(
            "containers: [], affinity: {{{kind}: {{requiredDuringSchedulingIgnoredDuringExecution: [{term}]}}}}"
        )
    };
    let specs = [
        node("{key: zone, operator: Near, values: [a]}"),
        node("{key: zone, operator: Gte, values: ['1']}"),
        node("{key: '', operator: Exists}"),
        "containers: [], affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: \
         [{weight: 0, preference: {}}]}}"
            .to_owned(),
        pods("podAffinity", "{labelSelector: {}}"),
        pods("podAntiAffinity", "{topologyKey: ''}"),
        pods("podAffinity", "{topologyKey: z, labelSelector: {matchExpressions: [{key: a, operator: Gt}]}}"),
        pods("podAffinity", "{topologyKey: z, namespaceSelector: {matchExpressions: [{key: a, operator: In}]}}"),
        "containers: [], affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: \
         [{weight: 101, podAffinityTerm: {topologyKey: z}}]}}"
            .to_owned(),
    ];
    check_pods(
        &specs.iter().map(String::as_str).collect::<Vec<_>>(),
        expect![[r#"
        Pod default/p: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: is "Near"; use In, NotIn, Exists, DoesNotExist, Gt, Lt
        Pod default/p: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator: is "Gte"; use In, NotIn, Exists, DoesNotExist, Gt, Lt
        Pod default/p: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].key: is empty; name a label
        Pod default/p: spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: is 0; write 1 to 100
        Pod default/p: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: is missing; name a node label
        Pod default/p: spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologyKey: is missing; name a node label
        Pod default/p: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].labelSelector.matchExpressions[0].operator: is "Gt"; use In, NotIn, Exists, DoesNotExist
        Pod default/p: spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaceSelector.matchExpressions[0].values: is empty; In needs values
        Pod default/p: spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: is 101; write 1 to 100"#]],
    );
}

#[test]
fn spread_and_tolerations_of_pods() {
    check_pods(
        &[
            "containers: [], topologySpreadConstraints: [{maxSkew: 0, topologyKey: z, whenUnsatisfiable: DoNotSchedule}]",
            "containers: [], topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: Never}]",
            "containers: [], topologySpreadConstraints: [{maxSkew: 1, whenUnsatisfiable: DoNotSchedule}]",
            "containers: [], topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, minDomains: 0}]",
            "containers: [], topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, nodeTaintsPolicy: X}]",
            "containers: [], topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, labelSelector: {matchExpressions: [{key: a, operator: X}]}}]",
            "containers: [], tolerations: [{key: a, operator: Like}]",
            "containers: [], tolerations: [{key: a, effect: Never}]",
            "containers: [], tolerations: [{value: a}]",
        ],
        expect![[r#"
            Pod default/p: spec.topologySpreadConstraints[0].maxSkew: is 0; write 1 or more
            Pod default/p: spec.topologySpreadConstraints[0].whenUnsatisfiable: is "Never"; use DoNotSchedule, ScheduleAnyway
            Pod default/p: spec.topologySpreadConstraints[0].topologyKey: is missing; name a node label
            Pod default/p: spec.topologySpreadConstraints[0].minDomains: is 0; write 1 or more
            Pod default/p: spec.topologySpreadConstraints[0].nodeTaintsPolicy: is "X"; use Honor, Ignore
            Pod default/p: spec.topologySpreadConstraints[0].labelSelector.matchExpressions[0].operator: is "X"; use In, NotIn, Exists, DoesNotExist
            Pod default/p: spec.tolerations[0].operator: is "Like"; use Equal, Exists, Lt, Gt
            Pod default/p: spec.tolerations[0].effect: is "Never"; use NoSchedule, PreferNoSchedule, NoExecute
            Pod default/p: spec.tolerations[0].operator: must be Exists when key is empty"#]],
    );
}

#[test]
fn templates_are_pods() {
    let template = "{spec: {containers: [{name: a, resources: {requests: {cpu: x}}}]}}";
    let workload = |kind: &str| {
        format!(
            "{{apiVersion: apps/v1, kind: {kind}, metadata: {{name: w}}, spec: {{selector: {{}}, template: {template}}}}}"
        )
    };
    let objects = [
        workload("DaemonSet"),
        workload("Deployment"),
        workload("ReplicaSet"),
        workload("StatefulSet"),
        format!(
            "{{apiVersion: v1, kind: PodTemplate, metadata: {{name: w}}, template: {template}}}"
        ),
    ];
    check(
        &objects.iter().map(String::as_str).collect::<Vec<_>>(),
        expect![[r#"
        DaemonSet default/w: spec.template.spec.containers[0].resources.requests.cpu: "x" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
        Deployment default/w: spec.template.spec.containers[0].resources.requests.cpu: "x" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
        ReplicaSet default/w: spec.template.spec.containers[0].resources.requests.cpu: "x" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
        StatefulSet default/w: spec.template.spec.containers[0].resources.requests.cpu: "x" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
        PodTemplate default/w: template.spec.containers[0].resources.requests.cpu: "x" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3"#]],
    );
}

#[test]
fn pools() {
    let class = "nodeClassRef: {group: g, kind: k, name: n}";
    let pool = |template: &str, rest: &str| {
        format!(
            "{{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {{name: p}}, spec: {{template: \
             {{spec: {{{template}}}}}{rest}}}}}"
        )
    };
    let required = |requirement: &str| pool(&format!("{class}, requirements: [{requirement}]"), "");
    let objects = [
        pool("", ""),
        pool("nodeClassRef: {group: g, kind: k}", ""),
        pool("nodeClassRef: {group: g/v1, kind: k, name: n}", ""),
        required("{key: a, operator: In}"),
        required("{key: a, operator: Like, values: [b]}"),
        required("{operator: Exists}"),
        required("{key: a, operator: Gt, values: [b]}"),
        required("{key: a, operator: Lte, values: ['1', '2']}"),
        required("{key: a, operator: Gt, values: ['-1']}"),
        required("{key: a, operator: In, values: [b], minValues: 2}"),
        required("{key: a, operator: Exists, minValues: 51}"),
        pool(&format!("{class}, taints: [{{key: a, effect: Sometimes}}]"), ""),
        pool(&format!("{class}, startupTaints: [{{effect: NoSchedule}}]"), ""),
        pool(&format!("{class}, expireAfter: 1.5h"), ""),
        pool(&format!("{class}, terminationGracePeriod: -5m"), ""),
        pool(class, ", disruption: {consolidateAfter: -30s}"),
        pool(class, ", disruption: {budgets: [{nodes: 1}]}"),
        pool(class, ", limits: {cpu: -1}"),
        pool(class, ", limits: {cpu: many}"),
        pool(class, ", weight: 101"),
        pool(class, ", replicas: -1"),
        pool(class, ", replicas: 1, weight: 1"),
        pool(class, ", replicas: 1, limits: {cpu: 1}"),
    ];
    check(
        &objects.iter().map(String::as_str).collect::<Vec<_>>(),
        expect![[r#"
            NodePool p: spec.template.spec.nodeClassRef: is missing; write {group: ..., kind: ..., name: ...} of a NodeClass
            NodePool p: spec.template.spec.nodeClassRef.name: is missing; name the NodeClass fully
            NodePool p: spec.template.spec.nodeClassRef.group: contains a version; write the group alone
            NodePool p: spec.template.spec.requirements[0].values: is empty; In needs values
            NodePool p: spec.template.spec.requirements[0].operator: is "Like"; use In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte
            NodePool p: spec.template.spec.requirements[0].key: is empty; name a label
            NodePool p: spec.template.spec.requirements[0].values: Gt needs one whole number of 0 or more
            NodePool p: spec.template.spec.requirements[0].values: Lte needs one whole number of 0 or more
            NodePool p: spec.template.spec.requirements[0].values: Gt needs one whole number of 0 or more
            NodePool p: spec.template.spec.requirements[0].minValues: is 2, but there are 1 values; add values or lower it
            NodePool p: spec.template.spec.requirements[0].minValues: is 51; write 1 to 50
            NodePool p: spec.template.spec.taints[0].effect: is "Sometimes"; use NoSchedule, PreferNoSchedule, NoExecute
            NodePool p: spec.template.spec.startupTaints[0].key: is empty; name the taint
            NodePool p: spec.template.spec.expireAfter: is "1.5h"; write whole hours, minutes and seconds, such as 1h30m
            NodePool p: spec.template.spec.terminationGracePeriod: is "-5m"; write whole hours, minutes and seconds, such as 1h30m
            NodePool p: spec.disruption.consolidateAfter: is "-30s"; write whole hours, minutes and seconds, such as 1h30m
            NodePool p: spec.disruption.budgets[0].nodes: invalid type: integer `1`, expected a string; put it in quotes
            NodePool p: spec.limits.cpu: -1 is below zero; write 0 or more
            NodePool p: spec.limits.cpu: "many" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
            NodePool p: spec.weight: is 101; write 1 to 100
            NodePool p: spec.replicas: is -1; write 0 or more
            NodePool p: spec.weight: has no meaning with replicas; remove one
            NodePool p: spec.limits.cpu: has no meaning with replicas; limit nodes, or remove replicas"#]],
    );
}

#[test]
fn claims_overlays_and_buffers() {
    let object = |api_version: &str, kind: &str, spec: &str| {
        format!(
            "{{apiVersion: {api_version}, kind: {kind}, metadata: {{name: x}}, spec: {{{spec}}}}}"
        )
    };
    let claim = |spec: &str| object("karpenter.sh/v1", "NodeClaim", spec);
    let overlay = |spec: &str| object("karpenter.sh/v1alpha1", "NodeOverlay", spec);
    let buffer = |spec: &str| object("autoscaling.x-k8s.io/v1beta1", "CapacityBuffer", spec);
    let objects = [
        claim("requirements: [{key: a, operator: Like}]"),
        claim("resources: {requests: {cpu: x}}"),
        overlay("requirements: [{key: a, operator: NotIn}]"),
        overlay("price: '+5'"),
        overlay("priceAdjustment: '5'"),
        overlay("priceAdjustment: lots"),
        overlay("priceAdjustment: -200%"),
        overlay("price: '5', priceAdjustment: '+5'"),
        overlay("capacity: {example.com/gpu: x}"),
        buffer("replicas: -1"),
        buffer("percentage: -1"),
        buffer("limits: {cpu: x}"),
        buffer("podTemplateRef: {name: t}"),
        buffer("podTemplateRef: {name: t}, scalableRef: {kind: k, name: n}, replicas: 1"),
    ];
    check(
        &objects.iter().map(String::as_str).collect::<Vec<_>>(),
        expect![[r#"
            NodeClaim x: spec.requirements[0].operator: is "Like"; use In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte, Lte
            NodeClaim x: spec.resources.requests.cpu: "x" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
            NodeOverlay x: spec.requirements[0].values: is empty; NotIn needs values
            NodeOverlay x: spec.price: is "+5"; a price has no sign, a change has one
            NodeOverlay x: spec.priceAdjustment: is "5"; a price has no sign, a change has one
            NodeOverlay x: spec.priceAdjustment: "lots" is no change of a price: write a price such as 0.5, or a change such as +0.1, -0.1, +10% or -10%
            NodeOverlay x: spec.priceAdjustment: is -200%; no price falls by more than -100%
            NodeOverlay x: spec.priceAdjustment: cannot be combined with price; remove one
            NodeOverlay x: spec.capacity.example.com/gpu: "x" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
            CapacityBuffer default/x: spec.replicas: is -1; write 0 or more
            CapacityBuffer default/x: spec.percentage: is -1; write 0 or more
            CapacityBuffer default/x: spec.limits.cpu: "x" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
            CapacityBuffer default/x: spec.replicas: is missing; a podTemplateRef needs replicas or limits
            CapacityBuffer default/x: spec.scalableRef: cannot be combined with podTemplateRef; remove one"#]],
    );
}

#[test]
fn storage_nodes_and_budgets() {
    check(
        &[
            "{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: s}, provisioner: p, volumeBindingMode: Soon}",
            "{apiVersion: v1, kind: PersistentVolume, metadata: {name: v}, spec: {nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: a, operator: X}]}]}}}}",
            "{apiVersion: storage.k8s.io/v1, kind: CSINode, metadata: {name: n}, spec: {drivers: [{name: d, nodeID: n, allocatable: {count: -1}}]}}",
            "{apiVersion: v1, kind: Node, metadata: {name: n}, spec: {taints: [{key: a, effect: X}]}}",
            "{apiVersion: v1, kind: Node, metadata: {name: n}, status: {allocatable: {cpu: x}}}",
            "{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: b}, spec: {selector: {matchExpressions: [{key: a, operator: X}]}}}",
        ],
        expect![[r#"
            StorageClass s: volumeBindingMode: is "Soon"; use Immediate, WaitForFirstConsumer
            PersistentVolume v: spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator: is "X"; use In, NotIn, Exists, DoesNotExist, Gt, Lt
            CSINode n: spec.drivers[0].allocatable.count: is below zero; write 0 or more
            Node n: spec.taints[0].effect: is "X"; use NoSchedule, PreferNoSchedule, NoExecute
            Node n: status.allocatable.cpu: "x" is not a quantity: write a number with an optional suffix, such as 500m, 2, 1.5Gi or 1e3
            PodDisruptionBudget default/b: spec.selector.matchExpressions[0].operator: is "X"; use In, NotIn, Exists, DoesNotExist"#]],
    );
}

#[test]
fn disruption_of_pools() {
    let pool = |disruption: &str| {
        format!(
            "{{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {{name: p}}, spec: {{template: \
             {{spec: {{nodeClassRef: {{group: g, kind: K, name: n}}, requirements: []}}}}, \
             disruption: {{{disruption}}}}}}}"
        )
    };
    let pools = [
        pool("consolidationPolicy: whenEmpty"),
        pool("consolidateAfter: 1hr"),
        pool("budgets: [{nodes: '1'}, {nodes: '-1'}]"),
        pool("budgets: [{nodes: '101%'}]"),
        pool("budgets: [{nodes: '0', reasons: [Empty, Old]}]"),
        pool("budgets: [{nodes: '0', schedule: '@daily'}]"),
        pool("budgets: [{nodes: '0', duration: 8h}]"),
        pool("budgets: [{nodes: '0', schedule: '@daily', duration: 90s}]"),
    ];
    check(
        &pools.iter().map(String::as_str).collect::<Vec<_>>(),
        expect![[r#"
            NodePool p: spec.disruption.consolidationPolicy: is "whenEmpty"; use WhenEmpty, WhenEmptyOrUnderutilized, Balanced
            NodePool p: spec.disruption.consolidateAfter: "1hr" is no duration (a unit is unknown); write it as 720h or 1h30m, or Never
            NodePool p: spec.disruption.budgets[1].nodes: is "-1"; write a number, or a percentage from 0% to 100%
            NodePool p: spec.disruption.budgets[0].nodes: is "101%"; write a number, or a percentage from 0% to 100%
            NodePool p: spec.disruption.budgets[0].reasons[1]: is "Old"; use Underutilized, Empty, Drifted, Unhealthy
            NodePool p: spec.disruption.budgets[0].duration: is missing; a schedule needs one, such as 8h
            NodePool p: spec.disruption.budgets[0].schedule: is missing; a duration needs one, such as 0 9 * * *
            NodePool p: spec.disruption.budgets[0].duration: is 90s; write hours and minutes, such as 8h or 1h30m"#]],
    );
    for right in ["1h30m", "8h0m0s", "90m"] {
        let budgets = format!("budgets: [{{nodes: 100%, schedule: '@daily', duration: {right}}}]");
        assert!(files::read(&["-".into()], pool(&budgets).as_bytes()).is_ok(), "{right}");
    }
}

#[test]
fn durations_that_the_crd_allows_are_taken() {
    for text in ["Never", "0s", "720h", "1h30m", "1h0m5s", "30s"] {
        let yaml = format!(
            "{{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {{name: p}}, spec: {{disruption: \
             {{consolidateAfter: {text}}}, template: {{spec: {{nodeClassRef: {{group: g, kind: k, \
             name: n}}, expireAfter: {text}}}}}}}}}"
        );
        assert!(files::read(&["-".into()], yaml.as_bytes()).is_ok(), "{text}");
    }
}

/// Karpenter 1.15 knows one more than 1.14.
#[test]
fn every_reason_of_a_budget_is_taken() {
    for reason in DisruptionReason::ALL {
        let yaml = format!(
            "{{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {{name: p}}, spec: {{disruption: \
             {{budgets: [{{nodes: '1', reasons: [{reason}]}}]}}, template: {{spec: {{nodeClassRef: \
             {{group: g, kind: k, name: n}}}}}}}}}}"
        );
        assert!(files::read(&["-".into()], yaml.as_bytes()).is_ok(), "{reason}");
    }
}
