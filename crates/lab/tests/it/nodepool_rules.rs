//! What the definition of pools lets users write, and in which words the API server refuses the
//! rest. The rules are Karpenter's.

use std::sync::Arc;

use expect_test::expect;
use joiner_apiserver::{Caller, Object, Resource, Status};
use joiner_lab::{Lab, Setup};
use serde_json::{Value, json};

/// A pool that nothing can be said against, to try things with.
struct Pool {
    user: Caller,
    spec: Value,
}

impl Pool {
    fn new(spec: Value) -> Self {
        let user = Lab::new(Setup { bare: true, ..Setup::new(1) }).caller("user");
        let definitions = Resource::new("apiextensions.k8s.io", "customresourcedefinitions");
        for definition in joiner_api::crd::crds() {
            user.create(&definitions, serde_json::to_value(definition).unwrap()).unwrap();
        }
        Self { user, spec }
    }

    /// A pool that makes what pods need.
    fn dynamic() -> Self {
        let class = json!({"group": "example.com", "kind": "Class", "name": "default"});
        Self::new(json!({"template": {"spec": {"nodeClassRef": class, "requirements": []}}}))
    }

    /// A pool of a fixed size.
    fn fixed() -> Self {
        let mut pool = Self::dynamic();
        pool.spec["replicas"] = json!(3);
        pool
    }

    fn make(&self, spec: &Value) -> Result<Arc<Object>, Status> {
        let pool = json!({
            "apiVersion": "karpenter.sh/v1", "kind": "NodePool",
            "metadata": {"generateName": "pool-"}, "spec": spec,
        });
        self.user.create(&Resource::new("karpenter.sh", "nodepools"), pool)
    }

    /// What is said when it is made with one field set.
    fn made_with(&self, field: &str, value: &Value) -> String {
        let mut spec = self.spec.clone();
        *field.split('.').fold(&mut spec, |place, name| &mut place[name]) = value.clone();
        verdict(self.make(&spec))
    }

    /// What is said when it is there and one field is set, or with null taken away.
    fn changed_to(&self, field: &str, value: &Value) -> String {
        let pool = self.make(&self.spec).unwrap();
        let spec = field.rsplit('.').fold(value.clone(), |inner, name| json!({name: inner}));
        let pools = Resource::new("karpenter.sh", "nodepools");
        verdict(self.user.merge(&pools, &pool.key, None, json!({"spec": spec})))
    }

    /// What is said in both cases: the same.
    #[track_caller]
    fn with(&self, field: &str, value: &Value) -> String {
        let verdict = self.made_with(field, value);
        assert_eq!(self.changed_to(field, value), verdict, "{field}: {value}");
        verdict
    }
}

/// The rules that were broken, or that none was.
fn verdict(result: Result<Arc<Object>, Status>) -> String {
    let Err(status) = result else { return "accepted".to_owned() };
    let details = status.details.expect("a refusal tells what it is about");
    // Without a field, it says that more rules may be broken.
    let broken = details.causes.iter().filter(|cause| cause.field != "<nil>");
    let broken = broken.map(|cause| {
        // Up to there the field and its value are said once more.
        let rule = cause.message.rsplit_once(" in body ").map_or(&*cause.message, |(_, rule)| rule);
        format!("{}: {rule}", cause.field)
    });
    broken.collect::<Vec<_>>().join("; ")
}

/// What becomes of values, those with the same fate in one line.
fn table<V: Into<Value>>(
    values: impl IntoIterator<Item = V>,
    verdict: impl Fn(&Value) -> String,
) -> String {
    let mut fates: Vec<(String, Vec<String>)> = Vec::new();
    for value in values.into_iter().map(Into::into) {
        let verdict = verdict(&value);
        match fates.iter_mut().find(|(fate, _)| *fate == verdict) {
            Some((_, values)) => values.push(value.to_string()),
            None => fates.push((verdict, vec![value.to_string()])),
        }
    }
    fates.iter().map(|(fate, values)| values.join(" ") + " → " + fate + "\n").collect()
}

#[tokio::test(start_paused = true)]
async fn durations_are_whole_hours_minutes_and_seconds() {
    let pool = Pool::dynamic();
    let fields = [
        "disruption.consolidateAfter",
        "template.spec.expireAfter",
        "template.spec.terminationGracePeriod",
    ];
    let durations = [
        "30s", "1h30m5s", "0s", "Never", "FooNever", "never", "-1s", "1hr", "1.5h", "1d", "30", "",
    ];
    let said = fields.map(|field| table(durations, |duration| pool.with(field, duration)));
    expect![[r#"
        "30s" "1h30m5s" "0s" "Never" → accepted
        "FooNever" "never" "-1s" "1hr" "1.5h" "1d" "30" "" → spec.disruption.consolidateAfter: should match '^(([0-9]+(s|m|h))+|Never)$'
        "30s" "1h30m5s" "0s" "Never" → accepted
        "FooNever" "never" "-1s" "1hr" "1.5h" "1d" "30" "" → spec.template.spec.expireAfter: should match '^(([0-9]+(s|m|h))+|Never)$'
        "30s" "1h30m5s" "0s" → accepted
        "Never" "FooNever" "never" "-1s" "1hr" "1.5h" "1d" "30" "" → spec.template.spec.terminationGracePeriod: should match '^([0-9]+(s|m|h))+$'
    "#]].assert_eq(&said.concat());
}

#[tokio::test(start_paused = true)]
async fn policies_are_written_with_exactly_these_letters() {
    let pool = Pool::dynamic();
    let policies =
        ["WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced", "whenEmpty", "WhenUnderutilized"];
    let said = table(policies, |policy| pool.with("disruption.consolidationPolicy", policy));
    expect![[r#"
        "WhenEmpty" "WhenEmptyOrUnderutilized" "Balanced" → accepted
        "whenEmpty" → spec.disruption.consolidationPolicy: Unsupported value: "whenEmpty": supported values: "WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"
        "WhenUnderutilized" → spec.disruption.consolidationPolicy: Unsupported value: "WhenUnderutilized": supported values: "WhenEmpty", "WhenEmptyOrUnderutilized", "Balanced"
    "#]].assert_eq(&said);
}

#[tokio::test(start_paused = true)]
async fn budgets_are_numbers_or_shares() {
    let pool = Pool::dynamic();
    let numbers =
        ["0", "10", "1000", "0%", "99%", "100%", "-10", "-10%", "101%", "1000%", "1.5%", "%", ""];
    let said = table(numbers, |nodes| {
        let verdict = pool.with("disruption.budgets", &json!([{"nodes": nodes}]));
        let second = pool.with("disruption.budgets", &json!([{"nodes": "1"}, {"nodes": nodes}]));
        assert_eq!(second.replace("[1]", "[0]"), verdict, "one that is well excuses no other");
        verdict
    });
    expect![[r#"
        "0" "10" "1000" "0%" "99%" "100%" → accepted
        "-10" "-10%" "101%" "1000%" "1.5%" "%" "" → spec.disruption.budgets[0].nodes: should match '^((100|[0-9]{1,2})%|[0-9]+)$'
    "#]].assert_eq(&said);
}

#[tokio::test(start_paused = true)]
async fn budgets_are_for_reasons_that_there_are() {
    let pool = Pool::dynamic();
    let reasons = [
        json!([]),
        json!(["Underutilized", "Empty", "Drifted"]),
        json!(["Empty", "Empty"]),
        json!(["empty"]),
        json!(["Expired"]),
    ];
    let said = table(reasons, |reasons| {
        pool.with("disruption.budgets", &json!([{"nodes": "1", "reasons": reasons}]))
    });
    expect![[r#"
        [] ["Underutilized","Empty","Drifted"] → accepted
        ["Empty","Empty"] → spec.disruption.budgets[0].reasons[1]: Duplicate value: "Empty"
        ["empty"] → spec.disruption.budgets[0].reasons[0]: Unsupported value: "empty": supported values: "Underutilized", "Empty", "Drifted", "Unhealthy"
        ["Expired"] → spec.disruption.budgets[0].reasons[0]: Unsupported value: "Expired": supported values: "Underutilized", "Empty", "Drifted", "Unhealthy"
    "#]].assert_eq(&said);
}

#[tokio::test(start_paused = true)]
async fn schedules_are_of_five_fields_or_named() {
    let pool = Pool::dynamic();
    let schedules = [
        "0 9 * * mon-fri",
        "@annually",
        "@yearly",
        "@monthly",
        "@weekly",
        "@daily",
        "@midnight",
        "@hourly",
        // The pattern looks no closer than this; what is no time is told by the operator.
        "61 * * * *",
        "@dailyish",
        "*",
        "* * * *",
        "@every 1h",
        "",
    ];
    let said = table(schedules, |schedule| {
        let budget = json!({"nodes": "1", "schedule": schedule, "duration": "1h"});
        pool.with("disruption.budgets", &json!([budget]))
    });
    expect![[r#"
        "0 9 * * mon-fri" "@annually" "@yearly" "@monthly" "@weekly" "@daily" "@midnight" "@hourly" "61 * * * *" "@dailyish" → accepted
        "*" "* * * *" "@every 1h" "" → spec.disruption.budgets[0].schedule: should match '^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\s(.+)\s(.+)\s(.+)\s(.+))$'
    "#]].assert_eq(&said);
}

#[tokio::test(start_paused = true)]
async fn schedules_last_whole_minutes_and_hours() {
    let pool = Pool::dynamic();
    let durations =
        ["20m", "8h", "2h20m", "2h20m0s", "-20m", "30s", "20m30s", "20m8h", "Never", ""];
    let said = table(durations, |duration| {
        let budget = json!({"nodes": "1", "schedule": "@daily", "duration": duration});
        pool.with("disruption.budgets", &json!([budget]))
    });
    expect![[r#"
        "20m" "8h" "2h20m" "2h20m0s" → accepted
        "-20m" "30s" "20m30s" "20m8h" "Never" "" → spec.disruption.budgets[0].duration: should match '^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$'
    "#]].assert_eq(&said);
}

#[tokio::test(start_paused = true)]
async fn a_schedule_has_a_duration_and_a_duration_a_schedule() {
    let pool = Pool::dynamic();
    let budgets = [
        json!([{"schedule": "@daily", "duration": "20m"}, {}]),
        json!([{"schedule": "@daily"}]),
        json!([{"duration": "20m"}]),
        json!([{}, {"duration": "20m"}]),
    ];
    let said = table(budgets, |budgets| pool.with("disruption.budgets", budgets));
    expect![[r#"
        [{"duration":"20m","schedule":"@daily"},{}] → accepted
        [{"schedule":"@daily"}] [{"duration":"20m"}] [{},{"duration":"20m"}] → spec.disruption.budgets: Invalid value: 'schedule' must be set with 'duration'
    "#]].assert_eq(&said);
}

#[tokio::test(start_paused = true)]
async fn labels_are_in_domains_of_the_users_own() {
    let pool = Pool::dynamic();
    let labels = [
        json!({"example.com/team": "web", "kubernetes.io/team": "", "team": "web"}),
        json!({"karpenter.sh/capacity-type": "spot"}),
        // No pattern is on the keys; the operator tells of this one.
        json!({"our team": "web"}),
        json!({"karpenter.sh/nodepool": "general"}),
        json!({"karpenter.sh/team": "web"}),
        json!({"x.karpenter.sh/team": "web"}),
        json!({"kubernetes.io/hostname": "n1"}),
        json!({"team": "web and shop"}),
        json!({"team": "x".repeat(64)}),
    ];
    let said = table(labels, |labels| pool.with("template.metadata.labels", labels));
    expect![[r#"
        {"example.com/team":"web","kubernetes.io/team":"","team":"web"} {"karpenter.sh/capacity-type":"spot"} {"our team":"web"} → accepted
        {"karpenter.sh/nodepool":"general"} → spec.template.metadata.labels: Invalid value: label "karpenter.sh/nodepool" is restricted
        {"karpenter.sh/team":"web"} {"x.karpenter.sh/team":"web"} → spec.template.metadata.labels: Invalid value: label domain "karpenter.sh" is restricted
        {"kubernetes.io/hostname":"n1"} → spec.template.metadata.labels: Invalid value: label "kubernetes.io/hostname" is restricted
        {"team":"web and shop"} → spec.template.metadata.labels.team: should match '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$'
        {"team":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"} → spec.template.metadata.labels.team: Too long: may not be more than 63 bytes
    "#]].assert_eq(&said);
}

#[tokio::test(start_paused = true)]
async fn taints_have_a_key_and_an_effect_that_kubernetes_knows() {
    let pool = Pool::dynamic();
    let taints = [
        json!({"key": "example.com/a", "value": "b", "effect": "NoSchedule"}),
        json!({"key": "a", "effect": "PreferNoSchedule"}),
        json!({"key": "a", "effect": "NoExecute"}),
        json!({"key": "a b", "effect": "NoSchedule"}),
        json!({"key": "", "effect": "NoSchedule"}),
        json!({"effect": "NoSchedule"}),
        json!({"key": "a", "value": "b c", "effect": "NoSchedule"}),
        json!({"key": "a", "effect": "Never"}),
        json!({"key": "a", "effect": ""}),
        json!({"key": "a"}),
    ];
    let said = table(taints, |taint| {
        let verdict = pool.with("template.spec.taints", &json!([taint]));
        let startup = pool.with("template.spec.startupTaints", &json!([taint]));
        assert_eq!(startup.replace("startupTaints", "taints"), verdict);
        verdict
    });
    expect![[r#"
        {"effect":"NoSchedule","key":"example.com/a","value":"b"} {"effect":"PreferNoSchedule","key":"a"} {"effect":"NoExecute","key":"a"} → accepted
        {"effect":"NoSchedule","key":"a b"} → spec.template.spec.taints[0].key: should match '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$'
        {"effect":"NoSchedule","key":""} → spec.template.spec.taints[0].key: should be at least 1 chars long
        {"effect":"NoSchedule"} → spec.template.spec.taints[0].key: Required value
        {"effect":"NoSchedule","key":"a","value":"b c"} → spec.template.spec.taints[0].value: should match '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$'
        {"effect":"Never","key":"a"} → spec.template.spec.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"
        {"effect":"","key":"a"} → spec.template.spec.taints[0].effect: Unsupported value: "": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"
        {"key":"a"} → spec.template.spec.taints[0].effect: Required value
    "#]].assert_eq(&said);
}

#[tokio::test(start_paused = true)]
async fn requirements_name_labels_that_may_be_asked_for() {
    let pool = Pool::dynamic();
    let keys = [
        "example.com/size",
        "kubernetes.io/arch",
        "karpenter.sh/capacity-type",
        "karpenter.sh/nodepool",
        "karpenter.sh/initialized",
        "x.karpenter.sh/size",
        "kubernetes.io/hostname",
        "a b",
        "/size",
        "",
    ];
    let said = table(keys, |key| {
        pool.with("template.spec.requirements", &json!([{"key": key, "operator": "Exists"}]))
    });
    expect![[r#"
        "example.com/size" "kubernetes.io/arch" "karpenter.sh/capacity-type" → accepted
        "karpenter.sh/nodepool" → spec.template.spec.requirements[0].key: Invalid value: "karpenter.sh/nodepool": label "karpenter.sh/nodepool" is restricted
        "karpenter.sh/initialized" → spec.template.spec.requirements[0].key: Invalid value: "karpenter.sh/initialized": label domain "karpenter.sh" is restricted
        "x.karpenter.sh/size" → spec.template.spec.requirements[0].key: Invalid value: "x.karpenter.sh/size": label domain "karpenter.sh" is restricted
        "kubernetes.io/hostname" → spec.template.spec.requirements[0].key: Invalid value: "kubernetes.io/hostname": label "kubernetes.io/hostname" is restricted
        "a b" "/size" "" → spec.template.spec.requirements[0].key: should match '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$'
    "#]].assert_eq(&said);
}

#[tokio::test(start_paused = true)]
async fn requirements_have_values_that_their_operator_can_work_with() {
    let pool = Pool::dynamic();
    let relations = [
        json!({"operator": "In", "values": ["b", "c"]}),
        json!({"operator": "NotIn", "values": ["b"]}),
        json!({"operator": "Exists"}),
        json!({"operator": "DoesNotExist"}),
        // None of these is looked at: the pattern of values is on their list, where it means
        // nothing, and only `In` is asked whether it has any.
        json!({"operator": "In", "values": ["b c"]}),
        json!({"operator": "NotIn"}),
        json!({"operator": "Exists", "values": ["b"]}),
        json!({"operator": "In", "values": []}),
        json!({"operator": "In"}),
        json!({"operator": "in", "values": ["b"]}),
        json!({"values": ["b"]}),
    ];
    let said = table(relations, |relation| {
        let mut requirement = relation.clone();
        requirement["key"] = json!("a");
        pool.with("template.spec.requirements", &json!([requirement]))
    });
    expect![[r#"
        {"operator":"In","values":["b","c"]} {"operator":"NotIn","values":["b"]} {"operator":"Exists"} {"operator":"DoesNotExist"} {"operator":"In","values":["b c"]} {"operator":"NotIn"} {"operator":"Exists","values":["b"]} → accepted
        {"operator":"In","values":[]} → spec.template.spec.requirements: Invalid value: requirements with operator 'In' must have a value defined
        {"operator":"In"} → spec.template.spec.requirements: Invalid value: "array": no such key: values evaluating rule: requirements with operator 'In' must have a value defined
        {"operator":"in","values":["b"]} → spec.template.spec.requirements[0].operator: Unsupported value: "in": supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Gte", "Lte"
        {"values":["b"]} → spec.template.spec.requirements[0].operator: Required value
    "#]].assert_eq(&said);
}

#[tokio::test(start_paused = true)]
async fn bounds_are_one_number() {
    let pool = Pool::dynamic();
    let bounds = [
        json!(["0"]),
        json!(["100"]),
        json!(["-1"]),
        json!(["1", "2"]),
        json!([]),
        json!(["b"]),
        json!(["1.5"]),
    ];
    let said = ["Gt", "Gte", "Lt", "Lte"].map(|operator| {
        table(bounds.clone(), |values| {
            let requirement = json!({"key": "a", "operator": operator, "values": values});
            pool.with("template.spec.requirements", &json!([requirement]))
        })
    });
    assert!(said.iter().all(|of_one| *of_one == said[0]), "{said:?}");
    expect![[r#"
        ["0"] ["100"] → accepted
        ["-1"] ["1","2"] [] → spec.template.spec.requirements: Invalid value: requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must have a single positive integer value
        ["b"] ["1.5"] → spec.template.spec.requirements: Invalid value: "array": type conversion error from 'string' to 'int' evaluating rule: requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must have a single positive integer value
    "#]].assert_eq(&said[0]);
}

#[tokio::test(start_paused = true)]
async fn as_many_values_as_a_requirement_wants_are_there() {
    let pool = Pool::dynamic();
    let of_any = table([-1, 0, 1, 50, 51], |count| {
        let requirement = json!({"key": "a", "operator": "Exists", "minValues": count});
        pool.with("template.spec.requirements", &json!([requirement]))
    });
    let of_two = table([1, 2, 3], |count| {
        let values = json!(["b", "c"]);
        let requirement =
            json!({"key": "a", "operator": "In", "values": values, "minValues": count});
        pool.with("template.spec.requirements", &json!([requirement]))
    });
    expect![[r#"
        -1 0 → spec.template.spec.requirements[0].minValues: should be greater than or equal to 1
        1 50 → accepted
        51 → spec.template.spec.requirements[0].minValues: should be less than or equal to 50
        1 2 → accepted
        3 → spec.template.spec.requirements: Invalid value: requirements with 'minValues' must have at least that many values specified in the 'values' field
    "#]].assert_eq(&(of_any + &of_two));
}

#[tokio::test(start_paused = true)]
async fn lists_are_only_so_long() {
    let pool = Pool::dynamic();
    let times = |item: Value, count: &Value| -> Value {
        (0..count.as_u64().unwrap()).map(|_| item.clone()).collect()
    };
    let budgets = table([50, 51], |count| {
        pool.with("disruption.budgets", &times(json!({"nodes": "1"}), count))
    });
    let requirements = table([100, 101], |count| {
        let requirement = json!({"key": "a", "operator": "Exists"});
        pool.with("template.spec.requirements", &times(requirement, count))
    });
    let labels = table([100, 101], |count| {
        let labels = (0..count.as_u64().unwrap()).map(|n| (format!("label-{n}"), json!("")));
        pool.with("template.metadata.labels", &Value::Object(labels.collect()))
    });
    expect![[r#"
        50 → accepted
        51 → spec.disruption.budgets: Too many: 51: must have at most 50 items
        100 → accepted
        101 → spec.template.spec.requirements: Too many: 101: must have at most 100 items
        100 → accepted
        101 → spec.template.metadata.labels: Too many: 101: must have at most 100 items
    "#]]
    .assert_eq(&[budgets, requirements, labels].concat());
}

#[tokio::test(start_paused = true)]
async fn a_pool_tells_wholly_which_class_its_instances_are_of() {
    let pool = Pool::dynamic();
    let classes = [
        json!({"group": "example.com", "kind": "Class", "name": "other"}),
        json!({"group": "example.com/v1", "kind": "Class", "name": "default"}),
        json!({"group": "", "kind": "", "name": ""}),
        json!({}),
        Value::Null,
    ];
    let said = table(classes, |class| pool.made_with("template.spec.nodeClassRef", class));
    expect![[r#"
        {"group":"example.com","kind":"Class","name":"other"} → accepted
        {"group":"example.com/v1","kind":"Class","name":"default"} → spec.template.spec.nodeClassRef.group: should match '^[^/]*$'
        {"group":"","kind":"","name":""} → spec.template.spec.nodeClassRef.group: Invalid value: "": group may not be empty; spec.template.spec.nodeClassRef.kind: Invalid value: "": kind may not be empty; spec.template.spec.nodeClassRef.name: Invalid value: "": name may not be empty
        {} → spec.template.spec.nodeClassRef.group: Required value; spec.template.spec.nodeClassRef.kind: Required value; spec.template.spec.nodeClassRef.name: Required value
        null → spec.template.spec.nodeClassRef: Required value
    "#]].assert_eq(&said);
}

#[tokio::test(start_paused = true)]
async fn a_pool_can_change_its_class_for_another_of_that_kind() {
    let pool = Pool::dynamic();
    let changes = [
        json!({"name": "other"}),
        json!({"group": "example.org"}),
        json!({"kind": "Other"}),
        json!({"group": "example.org", "kind": "Other", "name": "other"}),
    ];
    let said = table(changes, |change| pool.changed_to("template.spec.nodeClassRef", change));
    expect![[r#"
        {"name":"other"} → accepted
        {"group":"example.org"} → spec.template.spec.nodeClassRef: Invalid value: nodeClassRef.group is immutable
        {"kind":"Other"} → spec.template.spec.nodeClassRef: Invalid value: nodeClassRef.kind is immutable
        {"group":"example.org","kind":"Other","name":"other"} → spec.template.spec.nodeClassRef: Invalid value: nodeClassRef.group is immutable; spec.template.spec.nodeClassRef: Invalid value: nodeClassRef.kind is immutable
    "#]].assert_eq(&said);
}

#[tokio::test(start_paused = true)]
async fn a_pool_remains_of_a_fixed_size_or_not() {
    let (fixed, dynamic) = (Pool::fixed(), Pool::dynamic());
    let said = [
        table([0, 5, -1], |replicas| fixed.with("replicas", replicas)),
        table([Value::Null], |none| fixed.changed_to("replicas", none)),
        table([0, 5], |replicas| dynamic.changed_to("replicas", replicas)),
    ];
    expect![[r#"
        0 5 → accepted
        -1 → spec.replicas: should be greater than or equal to 0; .spec.replicas: Invalid value: -1: should be a non-negative integer
        null → spec: Invalid value: Cannot transition NodePool between static (replicas set) and dynamic (replicas unset) provisioning modes
        0 5 → spec: Invalid value: Cannot transition NodePool between static (replicas set) and dynamic (replicas unset) provisioning modes
    "#]].assert_eq(&said.concat());
}

#[tokio::test(start_paused = true)]
async fn a_pool_of_a_fixed_size_limits_nothing_but_nodes_and_has_no_weight() {
    let limits = [
        json!({}),
        json!({"nodes": 5}),
        json!({"cpu": "100"}),
        json!({"nodes": "5", "memory": "1Ti"}),
        json!({"nodes": "many"}),
    ];
    let said = [Pool::fixed(), Pool::dynamic()].map(|pool| {
        let limits = table(limits.clone(), |limits| pool.with("limits", limits));
        limits + &table([1, 100, 0, 101], |weight| pool.with("weight", weight)) + "\n"
    });
    expect![[r#"
        {} {"nodes":5} → accepted
        {"cpu":"100"} {"memory":"1Ti","nodes":"5"} → spec: Invalid value: only 'limits.nodes' is supported on static NodePools
        {"nodes":"many"} → spec.limits.nodes: should match '^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$'
        1 100 → spec: Invalid value: 'weight' is not supported on static NodePools
        0 → spec.weight: should be greater than or equal to 1; spec: Invalid value: 'weight' is not supported on static NodePools
        101 → spec.weight: should be less than or equal to 100; spec: Invalid value: 'weight' is not supported on static NodePools

        {} {"nodes":5} {"cpu":"100"} {"memory":"1Ti","nodes":"5"} → accepted
        {"nodes":"many"} → spec.limits.nodes: should match '^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$'
        1 100 → accepted
        0 → spec.weight: should be greater than or equal to 1
        101 → spec.weight: should be less than or equal to 100

    "#]].assert_eq(&said.concat());
}
