//! Stories: what happens in a cluster over hours or days, told from a seed.

mod admin;

use jiff::SignedDuration;
use joiner_apiserver::{Caller, Resource};
use joiner_core::{
    quantity::Quantity,
    resources::{CPU, MEMORY, PODS},
};
use serde_json::{Value, json};

use crate::{
    Lab, Setup,
    chance::Chance,
    checks::{self, Violation},
    cluster::instances::{Fault, InstanceSpec},
    faults::{Rates, ScriptError},
    history::{History, Keep},
    process,
};

/// A story from a seed and what came of it.
#[derive(Debug)]
pub struct Told {
    /// Everything that happened.
    pub history: History,
    /// What must not have happened.
    pub violations: Vec<Violation>,
}

/// Tells the story of a seed: a small cluster with workloads, an administrator who scales, drains
/// and restarts over a bad connection, instances that fail, and at last some quiet in which
/// everything must come to rest. A fault script may add to what goes wrong; its client is
/// `administrator`.
///
/// Must be run on a paused runtime: it takes hours.
pub async fn replay(seed: u64, script: &str) -> Result<Told, ScriptError> {
    let mut lab = Lab::new(Setup::new(seed));
    lab.faults().add_script(script)?;
    let mut chance = lab.chance("story");
    let instances = 4 + chance.below(6) as usize;
    for number in 0..instances {
        boot(&lab, number, 8);
    }
    let workloads = build_workloads(&lab.caller("user"), &mut chance);
    lab.pass(SignedDuration::from_mins(5)).await;

    lab.faults().add_chance(lab.chance("network"), Rates::bad_day());
    let rounds = 6 + chance.below(10);
    for _ in 0..rounds {
        let task = admin::Task::choose(&mut chance, &workloads, instances);
        break_something(&lab, &mut chance, instances);
        let administrator = lab.client("administrator");
        lab.beside(process::run(&administrator, |connection| task.run(connection))).await;
        lab.pass(SignedDuration::from_mins(2 + chance.below(20) as i64)).await;
    }
    repair_all(&lab, instances);
    for number in 0..instances {
        uncordon(&lab, number);
    }
    lab.pass(SignedDuration::from_mins(30)).await;

    let mut violations = checks::all(lab.history());
    violations.extend(not_at_rest(&lab, &workloads));
    Ok(Told { history: lab.history().clone(), violations })
}

/// A day of a quiet cluster: so many instances and pods, of which some restart every hour. Answers
/// the laboratory at the end of the day.
///
/// Must be run on a paused runtime.
pub async fn quiet_day(seed: u64, instances: usize, pods: usize, restarts_per_hour: f64) -> Lab {
    const REPLICAS_MAX: usize = 50;
    let mut lab = Lab::new(Setup { keep: Keep::WithoutHeartbeats, ..Setup::new(seed) });
    for number in 0..instances {
        boot(&lab, number, 32);
    }
    let user = lab.caller("user");
    for (number, first) in (0..pods).step_by(REPLICAS_MAX).enumerate() {
        let replicas = REPLICAS_MAX.min(pods - first);
        let name = format!("app-{number}");
        create(&user, "apps", "deployments", deployment(&name, replicas as u64, "500m"));
    }
    lab.instances().restarts_per_hour(restarts_per_hour);
    lab.pass(SignedDuration::from_hours(24)).await;
    lab
}

fn instance_name(number: usize) -> String {
    format!("instance-{number:03}")
}

fn boot(lab: &Lab, number: usize, cpus: u64) {
    let mut spec = InstanceSpec::new(&instance_name(number));
    let zone = ["a", "b", "c"][number % 3];
    spec.labels.insert("topology.kubernetes.io/zone".into(), zone.into());
    spec.capacity = [
        (CPU, Quantity::whole(cpus as i64)),
        (MEMORY, Quantity::bytes((cpus as i64) << 32)),
        (PODS, Quantity::whole(110)),
    ]
    .into_iter()
    .collect();
    spec.allocatable = spec.capacity.clone();
    lab.instances().boot(spec).expect("instances of a story have different names");
}

fn create(user: &Caller, group: &str, plural: &str, object: Value) {
    user.create(&Resource::new(group, plural), object)
        .expect("objects of a story are valid and have different names");
}

/// Deployments with budgets, one StatefulSet and one DaemonSet. Answers the deployments' names.
fn build_workloads(user: &Caller, chance: &mut Chance) -> Vec<String> {
    let count = 2 + chance.below(4);
    let mut names = Vec::new();
    for number in 0..count {
        let name = format!("web-{number}");
        let replicas = 2 + chance.below(5);
        create(user, "apps", "deployments", deployment(&name, replicas, "250m"));
        let budget = json!({
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": name}}},
        });
        create(user, "policy", "poddisruptionbudgets", budget);
        names.push(name);
    }
    let mut set = deployment("db", 3, "500m");
    set["spec"]["serviceName"] = "db".into();
    create(user, "apps", "statefulsets", set);
    let mut daemons = deployment("agent", 1, "50m");
    if let Some(spec) = daemons["spec"].as_object_mut() {
        spec.remove("replicas");
    }
    create(user, "apps", "daemonsets", daemons);
    names
}

/// The common ground of all workloads of a story.
fn deployment(name: &str, replicas: u64, cpu: &str) -> Value {
    json!({
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{
                    "name": "app",
                    "image": "registry.example/app:1",
                    "resources": {"requests": {"cpu": cpu, "memory": "128Mi"}},
                }]},
            },
        },
    })
}

/// Now and then an instance goes wrong, and the ones that were wrong before recover.
fn break_something(lab: &Lab, chance: &mut Chance, instances: usize) {
    let name = instance_name(chance.below(instances as u64) as usize);
    match chance.below(5) {
        0 => lab.instances().break_node(&name, Fault::KubeletStopped),
        1 => lab.instances().break_node(&name, Fault::Partitioned),
        2 => lab.instances().power_off(&name).expect("instances of a story exist"),
        3 => lab.instances().break_node(&name, Fault::PodsHang),
        _ => repair_all(lab, instances),
    }
}

/// Ends everything that is wrong with instances.
fn repair_all(lab: &Lab, instances: usize) {
    for number in 0..instances {
        let name = instance_name(number);
        lab.instances().heal(&name);
        if lab.instances().get(&name).is_some_and(|instance| !instance.running) {
            lab.instances().reboot(&name).expect("instances of a story exist");
        }
    }
}

fn uncordon(lab: &Lab, number: usize) {
    let key = joiner_apiserver::Key::new("", &instance_name(number));
    let patch = json!({"spec": {"unschedulable": null}});
    // An instance that was off for long has lost its node; it gets a new one.
    let _ = lab.caller("user").merge(&Resource::new("", "nodes"), &key, None, patch);
}

/// Deployments that do not have what they want after the quiet at the end.
fn not_at_rest(lab: &Lab, workloads: &[String]) -> Vec<Violation> {
    let user = lab.caller("user");
    let at = lab.server().clock().now();
    let mut violations = Vec::new();
    for name in workloads {
        let key = joiner_apiserver::Key::new("default", name);
        let Ok(found) = user.get(&Resource::new("apps", "deployments"), &key) else { continue };
        let value = found.value();
        let wanted = value["spec"]["replicas"].as_i64().unwrap_or(1);
        let ready = value["status"]["readyReplicas"].as_i64().unwrap_or(0);
        if wanted != ready {
            let what = format!("deployment {key} wants {wanted} pods and has {ready} ready");
            violations.push(Violation { at, rule: "everything comes to rest", what });
        }
    }
    violations
}
