//! `joiner plan` and `explain` on a cluster that is there: the laboratory's, over HTTP.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod doctor;
mod laid_over;
mod proxy;
mod real;

use std::{collections::BTreeSet, fs, path::PathBuf};

use expect_test::expect;
use jiff::{Timestamp, civil::Weekday, tz::TimeZone};
use joiner_apiserver::{Call, DeleteOptions, Key, Protection, Resource, Serving, kubeconfig};
use joiner_clock::Clock;
use joiner_lab::{
    Lab, Setup,
    history::{Entry, Keep},
};
use joiner_operator::files;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{Run, right_size, run_with};

/// What a container was told and nobody else should learn.
const SECRET: &str = "correct-horse-battery-staple";

/// A laboratory without time, that programs can ask.
struct Cluster {
    lab: Lab,
    serving: Serving,
    folder: TempDir,
}

impl Cluster {
    /// A cluster with nothing in it but our definitions.
    async fn empty() -> Self {
        let clock = Some(Clock::wall());
        let lab = Lab::new(Setup { seed: 1, clock, keep: Keep::Everything, bare: true });
        for definition in joiner::house::definitions() {
            create(&lab, serde_json::to_value(definition).unwrap());
        }
        let any = "127.0.0.1:0".parse().unwrap();
        let serving =
            Serving::bind(lab.server().clone(), any, Protection::default()).await.unwrap();
        let folder = TempDir::new().unwrap();
        let config = kubeconfig(&serving);
        fs::write(folder.path().join("config"), config).unwrap();
        Self { lab, serving, folder }
    }

    /// The cluster of the first example, where a scheduler has looked at all pods but one.
    async fn first_look() -> Self {
        Self::of_example("first-look").await
    }

    async fn of_example(name: &str) -> Self {
        let cluster = Self::empty().await;
        for object in example(name) {
            create(&cluster.lab, object);
        }
        cluster
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Runs the program as somebody whose kubeconfig is this cluster's.
    async fn run(&self, args: &[&str]) -> Run {
        let mut args: Vec<String> = args.iter().map(ToString::to_string).collect();
        args.extend(["--kubeconfig".to_owned(), self.path("config")]);
        program(args).await
    }

    /// Everything that the API server was asked since: verbs, groups and plurals.
    fn calls_since(&self, start: usize) -> BTreeSet<(&'static str, String, String)> {
        let entries = self.lab.history().entries();
        let has_changed = entries[start..].iter().any(|entry| matches!(entry, Entry::Change(_)));
        assert!(!has_changed, "nothing may change");
        let calls = entries[start..].iter().filter_map(|entry| match entry {
            Entry::Call(Call { verb, resource, .. }) => {
                Some((*verb, resource.group.to_string(), resource.plural.to_string()))
            }
            _ => None,
        });
        calls.collect()
    }

    /// The same objects as files, as somebody else would write them down.
    fn write_down(&self) -> String {
        let folder = self.folder.path().join("files");
        fs::create_dir(&folder).unwrap();
        let kinds = [
            ("", "pods"),
            ("", "nodes"),
            ("", "namespaces"),
            ("apps", "daemonsets"),
            ("karpenter.sh", "nodepools"),
            ("karpenter.sh", "nodeclaims"),
            ("karpenter.kwok.sh", "kwoknodeclasses"),
            ("", "persistentvolumeclaims"),
            ("", "persistentvolumes"),
            ("storage.k8s.io", "storageclasses"),
        ];
        for (group, plural) in kinds {
            let list = self.lab.caller("admin").list(&Resource::new(group, plural), None);
            let items: Vec<Value> = list.iter().map(|object| object.value()).collect();
            let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
            fs::write(folder.join(format!("{plural}.json")), list.to_string()).unwrap();
        }
        folder.display().to_string()
    }
}

/// Runs the program without anything that would lead it to a cluster of the person who tests.
async fn program(args: Vec<String>) -> Run {
    program_with(args, Vec::new()).await
}

/// The same with some variables.
async fn program_with(args: Vec<String>, variables: Vec<(&'static str, String)>) -> Run {
    let run = move || {
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let variables: Vec<_> = variables.iter().map(|(name, text)| (*name, &**text)).collect();
        run_with(&args, "", &variables)
    };
    tokio::task::spawn_blocking(run).await.unwrap()
}

/// Creates an object with its status; a pod without a node was found to fit nowhere.
fn create(lab: &Lab, mut object: Value) {
    let text = |field: &str| object[field].as_str().unwrap().to_owned();
    let (resource, namespaced) =
        lab.server().resource_of(&text("apiVersion"), &text("kind")).expect("it is served");
    if namespaced {
        if object["metadata"]["namespace"].is_null() {
            object["metadata"]["namespace"] = "default".into();
        }
        let name = object["metadata"]["namespace"].clone();
        create(lab, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}));
    }
    let mut status = object["status"].take();
    if object["kind"] == "Pod" && object["spec"]["nodeName"].is_null() {
        status["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        }]);
    }
    let caller = lab.caller("admin");
    let created = match caller.create(&resource, object) {
        Err(there) if there.code == 409 => return,
        created => created.unwrap(),
    };
    if status.is_object() {
        let mut with_status = created.value();
        with_status["status"] = status;
        caller.update_status(&resource, with_status).unwrap();
    }
}

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The objects of one of the examples, as they are written.
fn example(name: &str) -> Vec<Value> {
    let folder = root().join("examples").join(name);
    let objects = files::read_as_written(&[folder], std::io::empty()).unwrap();
    objects.into_iter().map(|(_, object)| object).collect()
}

fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": SECRET,
        }},
        "spec": {"containers": [{
            "name": "app", "image": "app", "env": [{"name": "PASSWORD", "value": SECRET}],
            "resources": {"requests": {"cpu": "500m", "memory": "1Gi"}},
        }]},
    })
}

/// The role that people are given who may plan.
fn rules_for_readers() -> Vec<Value> {
    let manifest = include_str!("../../../../examples/rbac/reader.yaml");
    let objects: Vec<Value> = serde_saphyr::from_multiple(manifest).unwrap();
    objects[0]["rules"].as_array().unwrap().clone()
}

/// An answer, as programs read it.
fn answer(output: &Run) -> Value {
    assert_eq!(output.code, Some(0), "{output}");
    serde_json::from_str(&output.stdout).unwrap()
}

/// A plan without what depends on how fast the computer is.
fn plan(output: &Run) -> Value {
    let mut plan = answer(output);
    plan["summary"]["solveSeconds"] = Value::Null;
    plan
}

#[tokio::test]
async fn a_cluster_its_dump_and_its_files_give_the_same_plan() {
    let cluster = Cluster::first_look().await;
    let dump = cluster.path("dump");
    let live = cluster.run(&["plan", "-o", "json", "--dump", &dump]).await;
    let live = plan(&live);
    assert!(live["summary"]["claims"].as_u64().unwrap() > 3, "there is something to plan");
    let of_files = |folder: String| async move {
        let args = ["plan", "-o", "json", "--pending", "unschedulable", "-f", &folder];
        plan(&program(args.map(str::to_owned).to_vec()).await)
    };
    assert_eq!(of_files(dump).await, live);
    assert_eq!(of_files(cluster.write_down()).await, live);
}

/// A time at which a cluster that was made now has been quiet for long enough, no instance of it is too old yet, and the
/// example's budgets are open.
fn next_monday_at_ten() -> Timestamp {
    let now = Timestamp::now().to_zoned(TimeZone::UTC);
    let monday = now.nth_weekday(1, Weekday::Monday).unwrap();
    monday.date().at(10, 0, 0, 0).to_zoned(TimeZone::UTC).unwrap().timestamp()
}

#[tokio::test]
async fn instances_of_a_cluster_and_of_its_dump_are_judged_alike() {
    let cluster = Cluster::of_example("right-size").await;
    let dump = cluster.path("dump");
    let later = next_monday_at_ten().to_string();
    let judge = ["plan", "--disrupt", "-o", "json", "--at", &later];
    let live = plan(&cluster.run(&[&judge[..], &["--dump", &dump]].concat()).await);
    assert!(live["commands"].as_array().unwrap().len() > 1, "{live}");
    let args = [&judge[..], &["--pending", "unschedulable", "-f", &dump]].concat();
    let of_dump = program(args.into_iter().map(str::to_owned).collect()).await;
    assert_eq!(plan(&of_dump), live);

    let start = cluster.lab.history().entries().len();
    let node = cluster.run(&["explain", "node", "worker-5", "-o", "json"]).await;
    assert_eq!(answer(&node)["verdict"], "stay");
    let drain = cluster.run(&["explain", "drain", "worker-5", "-o", "json"]).await;
    assert_eq!(answer(&drain)["completes"], false);
    let table = cluster.run(&[&judge[..2], &judge[4..]].concat()).await;
    let more = table.stdout.lines().last().unwrap();
    assert_eq!(more, "More: joiner explain node db-1", "nobody reads files");
    assert!(cluster.calls_since(start).iter().all(|(verb, ..)| *verb == "list"));
}

#[tokio::test]
async fn what_a_running_controller_has_begun_is_known_from_outside() {
    let cluster = Cluster::empty().await;
    for mut object in example("right-size") {
        if object["metadata"]["name"] == "general-m2b6t" {
            object["metadata"]["annotations"]["joiner.sh/disruption-command"] =
                right_size::COMMAND.into();
        }
        create(&cluster.lab, object);
    }
    let judged = cluster.run(&["plan", "--disrupt", "-o", "json"]).await;
    let judged = plan(&judged);
    let blocked = judged["blocked"].as_array().unwrap();
    let worker = blocked.iter().find(|instance| instance["node"] == "worker-3").unwrap();
    assert_eq!(worker["reasons"][0]["id"], "node.queued");
}

#[tokio::test]
async fn nothing_but_lists_reaches_the_api_server() {
    let cluster = Cluster::first_look().await;
    let start = cluster.lab.history().len();
    let planned = cluster.run(&["plan", "--dump", &cluster.path("dump")]).await;
    assert_eq!(planned.code, Some(0), "{planned}");
    let explained = cluster.run(&["explain", "pod", "ml/train-0"]).await;
    assert_eq!(explained.code, Some(0), "{explained}");
    let calls = cluster.calls_since(start);
    assert!(calls.len() > 20, "{calls:?}");
    let rules = rules_for_readers();
    for (verb, group, plural) in calls {
        assert_eq!((verb, plural == "secrets"), ("list", false), "{plural}");
        let has = |rule: &Value, field: &str, word: &str| {
            rule[field].as_array().unwrap().iter().any(|one| one == word)
        };
        let allows = |rule: &Value| {
            has(rule, "apiGroups", &group)
                && has(rule, "resources", &plural)
                && has(rule, "verbs", verb)
        };
        assert!(
            rules.iter().any(allows),
            "the role for readers lacks {verb} {plural} of {group:?}"
        );
    }
}

#[tokio::test]
async fn only_pods_that_a_scheduler_has_given_up_are_placed() {
    let cluster = Cluster::first_look().await;
    let mut fresh = pod("fresh");
    fresh["metadata"]["namespace"] = "default".into();
    let pods = Resource::new("", "pods");
    cluster.lab.caller("admin").create(&pods, fresh).unwrap();
    let count = |output: &Run| plan(output)["summary"]["pods"].as_u64().unwrap();
    let by_default = count(&cluster.run(&["plan", "-o", "json"]).await);
    let all = count(&cluster.run(&["plan", "-o", "json", "--pending", "unbound"]).await);
    assert_eq!(all, by_default + 1);
}

/// A lease in which a controller has published how it treats preferences.
fn lease(holder: &str, policy: &str) -> Value {
    let published = json!({"holder": "joiner_1", "settings": {"preference-policy": policy}});
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {
            "name": "karpenter-leader-election", "namespace": "joiner",
            "annotations": {"joiner.sh/settings": published.to_string()},
        },
        "spec": {"holderIdentity": holder},
    })
}

#[tokio::test]
async fn beside_a_running_controller_its_settings_count_where_none_are_given() {
    let cluster = Cluster::first_look().await;
    let mut choosy = pod("choosy");
    let anybody = json!({"labelSelector": {}, "topologyKey": "kubernetes.io/hostname"});
    choosy["spec"]["affinity"]["podAntiAffinity"] = json!({
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "podAffinityTerm": anybody},
        ],
    });
    create(&cluster.lab, choosy);
    let alone = cluster.run(&["plan", "--preference-policy", "Ignore", "-o", "json"]).await;
    create(&cluster.lab, lease("joiner_1", "Ignore"));
    let beside = cluster.run(&["plan", "-o", "json"]).await;
    let told = "joiner: settings of the running controller (lease joiner/karpenter-leader-election) \
                count where none are given: --preference-policy=Ignore\n";
    assert!(beside.stderr.contains(told), "{}", beside.stderr);
    assert_eq!(plan(&beside), plan(&alone));
    let own = cluster.run(&["plan", "--preference-policy", "Respect", "-o", "json"]).await;
    assert!(plan(&own) != plan(&beside), "what is given here counts more");
}

#[tokio::test]
async fn settings_that_a_controller_left_behind_do_not_count() {
    let cluster = Cluster::first_look().await;
    let before = plan(&cluster.run(&["plan", "-o", "json"]).await);
    create(&cluster.lab, lease("karpenter-7d9f_1", "Ignore"));
    let beside = cluster.run(&["plan", "-o", "json"]).await;
    assert!(!beside.stderr.contains("settings"), "{}", beside.stderr);
    assert_eq!(plan(&beside), before);
}

#[tokio::test]
async fn settings_that_only_another_version_understands_do_not_count() {
    let cluster = Cluster::first_look().await;
    create(&cluster.lab, lease("joiner_1", "Balance"));
    let beside = cluster.run(&["plan", "-o", "json"]).await;
    assert_eq!(beside.code, Some(0), "{}", beside.stderr);
    let told = "joiner: settings of the running controller (lease joiner/karpenter-leader-election) \
                do not count, since this version does not understand them: --preference-policy \
                (PREFERENCE_POLICY) cannot be \"Balance\": use Respect or Ignore\n";
    assert!(beside.stderr.contains(told), "{}", beside.stderr);
}

#[tokio::test]
async fn lists_are_read_in_pages() {
    let cluster = Cluster::first_look().await;
    for number in 0..1001 {
        create(&cluster.lab, pod(&format!("many-{number:04}")));
    }
    let start = cluster.lab.history().len();
    let planned = cluster.run(&["plan", "-o", "json"]).await;
    assert!(plan(&planned)["summary"]["pods"].as_u64().unwrap() > 1000);
    let entries = cluster.lab.history().entries();
    let is_of_pods =
        |entry: &&Entry| matches!(entry, Entry::Call(call) if call.resource.is("", "pods"));
    assert_eq!(entries[start..].iter().filter(is_of_pods).count(), 3);
}

#[tokio::test]
async fn a_dump_holds_what_a_plan_depends_on_and_nothing_that_is_nobodys_business() {
    let cluster = Cluster::empty().await;
    create(&cluster.lab, pod("web"));
    let template = pod("unused")["spec"].take();
    create(
        &cluster.lab,
        json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": "agent", "namespace": "shop"},
            "spec": {
                "selector": {"matchLabels": {"app": "agent"}},
                "template": {"metadata": {"labels": {"app": "agent"}}, "spec": template},
            },
        }),
    );
    create(
        &cluster.lab,
        json!({
            "apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "key", "namespace": "shop"}, "stringData": {"key": SECRET},
        }),
    );
    let dump = cluster.path("dump");
    let planned = cluster.run(&["plan", "--dump", &dump]).await;
    assert_eq!(planned.code, Some(0), "{planned}");
    let mut names = Vec::new();
    for entry in fs::read_dir(&dump).unwrap() {
        let path = entry.unwrap().path();
        assert!(!fs::read_to_string(&path).unwrap().contains(SECRET), "{}", path.display());
        names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
    }
    names.sort();
    expect![[r"
        capacitybuffers.autoscaling.x-k8s.io.json
        csinodes.storage.k8s.io.json
        daemonsets.apps.json
        deployments.apps.json
        jobs.batch.json
        namespaces.json
        nodeclaims.karpenter.sh.json
        nodeoverlays.karpenter.sh.json
        nodepools.karpenter.sh.json
        nodes.json
        persistentvolumeclaims.json
        persistentvolumes.json
        poddisruptionbudgets.policy.json
        pods.json
        podtemplates.json
        priorityclasses.scheduling.k8s.io.json
        replicasets.apps.json
        replicationcontrollers.json
        services.json
        statefulsets.apps.json
        storageclasses.storage.k8s.io.json
        volumeattachments.storage.k8s.io.json"]]
    .assert_eq(&names.join("\n"));
    let pods = fs::read_to_string(format!("{dump}/pods.json")).unwrap();
    assert!(pods.contains(r#""cpu":"500m""#), "{pods}");
}

#[tokio::test]
async fn a_dump_holds_no_texts_for_instances_and_no_copies_of_objects() {
    let cluster = Cluster::empty().await;
    create(&cluster.lab, open_definition("karpenter.vsphere.com", "VsphereNodeClass"));
    let mut objects = example("vsphere");
    objects.push(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}));
    objects.push(json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "labels": {}},
        "status": {"addresses": [{"type": "Hostname", "address": SECRET}]},
    }));
    for mut object in objects {
        if object["kind"] == "VsphereNodeClass" {
            object["spec"]["userData"] = json!({
                "templateBase64": SECRET, "additionalUserdata": SECRET, "unknown": SECRET,
            });
            object["spec"]["customVMXKeys"] = json!({"guestinfo.password": SECRET});
        }
        let copies = [
            "objectset.rio.cattle.io/applied",
            "kapp.k14s.io/original",
            "kubectl.kubernetes.io/last-applied-configuration",
            "example.com/a-tool-nobody-has-heard-of",
        ];
        for key in copies {
            object["metadata"]["annotations"][key] = SECRET.into();
        }
        create(&cluster.lab, object);
    }
    let dump = cluster.path("dump");
    let live = plan(&cluster.run(&["plan", "-o", "json", "--dump", &dump]).await);
    assert!(live["summary"]["claims"].as_u64().unwrap() > 0, "{live}");
    for entry in fs::read_dir(&dump).unwrap() {
        let path = entry.unwrap().path();
        assert!(!fs::read_to_string(&path).unwrap().contains(SECRET), "{}", path.display());
    }
    let args = ["plan", "-o", "json", "--pending", "unschedulable", "-f", &dump];
    assert_eq!(plan(&program(args.map(str::to_owned).to_vec()).await), live);
}

#[tokio::test]
async fn a_dump_can_be_made_again_but_not_mixed_with_other_files() {
    let cluster = Cluster::first_look().await;
    let dump = cluster.path("dump");
    for _ in 0..2 {
        assert_eq!(cluster.run(&["plan", "--dump", &dump]).await.code, Some(0));
    }
    fs::write(format!("{dump}/others.yaml"), "").unwrap();
    let mixed = cluster.run(&["plan", "--dump", &dump]).await;
    assert_eq!(mixed.code, Some(2), "{mixed}");
    let expected = "others.yaml is there already and is not of this cluster: give another folder";
    assert!(mixed.stderr.contains(expected), "{mixed}");
}

#[tokio::test]
async fn a_pod_is_looked_for_in_the_namespace_that_is_named_or_the_contexts() {
    let cluster = Cluster::first_look().await;
    let first = async |args: &[&str]| {
        let output = cluster.run(args).await;
        output.to_string().lines().next().unwrap_or_default().to_owned()
    };
    expect!["ml/train-0 cannot be placed."]
        .assert_eq(&first(&["explain", "pod", "train-0", "-n", "ml"]).await);
    expect!["stderr: joiner: no pod default/train-0 waits for a place: did you mean ml/train-0?"]
        .assert_eq(&first(&["explain", "pod", "train-0"]).await);
    expect!["stderr: joiner: the pod ml/train-0 is in namespace ml and -n says shop: leave one of them out"].assert_eq(&first(&["explain", "pod", "ml/train-0", "-n", "shop"]).await);
    let config = fs::read_to_string(cluster.path("config")).unwrap();
    let with_namespace = config.replace("    user: ", "    namespace: ml\n    user: ");
    assert_ne!(with_namespace, config);
    fs::write(cluster.path("config"), with_namespace).unwrap();
    expect!["ml/train-0 cannot be placed."].assert_eq(&first(&["explain", "pod", "train-0"]).await);
}

#[tokio::test]
async fn an_api_server_that_is_not_there_is_bad_input() {
    let cluster = Cluster::empty().await;
    let url = cluster.serving.url();
    let Cluster { serving, folder, .. } = cluster;
    serving.stop().await;
    let config = folder.path().join("config").display().to_string();
    let refused = program(vec!["plan".into(), "--kubeconfig".into(), config]).await;
    expect![[r"
        stderr: joiner: cluster URL: the API server does not answer: ServiceError: client error (Connect): tcp connect error: Connection refused (os error 111). Check that it is up, that it can be reached from here, and that the kubeconfig names the right one
        exit code: 2
    "]].assert_eq(&refused.to_string().replace(&url, "URL"));
}

#[tokio::test]
async fn instances_of_vsphere_are_those_of_the_classes_in_the_cluster() {
    let cluster = Cluster::empty().await;
    let refused = async || {
        let output = cluster.run(&["plan"]).await;
        output.to_string().replace(&cluster.serving.url(), "URL")
    };
    let (classes, others): (Vec<Value>, Vec<Value>) =
        example("vsphere").into_iter().partition(|object| object["kind"] == "VsphereNodeClass");
    for object in others {
        create(&cluster.lab, object);
    }
    laid_over::undefine(&cluster, &["vspherenodeclasses.karpenter.vsphere.com"]);
    let undefined = refused().await;
    assert!(undefined.contains("does not have vspherenodeclasses.karpenter.vsphere.com"));
    create(&cluster.lab, open_definition("karpenter.vsphere.com", "VsphereNodeClass"));
    expect![[r#"
        stderr: joiner: NodePool "general": spec.template.spec.nodeClassRef is VsphereNodeClass "general", which is not in the cluster: create it, give it with --with, or correct the name, or list the instances in a file and give it with --instance-types
        stderr: joiner: NodePool "gpu": spec.template.spec.nodeClassRef is VsphereNodeClass "gpu", which is not in the cluster: create it, give it with --with, or correct the name, or list the instances in a file and give it with --instance-types
        exit code: 2
    "#]].assert_eq(&refused().await);
    for object in classes {
        create(&cluster.lab, object);
    }
    let dump = cluster.path("dump");
    let live = plan(&cluster.run(&["plan", "-o", "json", "--dump", &dump]).await);
    assert!(live["summary"]["claims"].as_u64().unwrap() > 0, "{live}");
    let args = ["plan", "-o", "json", "--pending", "unschedulable", "-f", &dump];
    assert_eq!(plan(&program(args.map(str::to_owned).to_vec()).await), live);
}

#[tokio::test]
async fn a_dump_keeps_what_plans_for_cloudstack_depend_on() {
    let cluster = Cluster::of_example("cloudstack").await;
    let dump = cluster.path("dump");
    let live = plan(&cluster.run(&["plan", "-o", "json", "--dump", &dump]).await);
    assert_eq!(live["summary"]["claims"], 3, "{live}");
    let args = ["plan", "-o", "json", "--pending", "unschedulable", "-f", &dump];
    assert_eq!(plan(&program(args.map(str::to_owned).to_vec()).await), live);
    let kept =
        fs::read_to_string(format!("{dump}/cloudstacknodeclasses.karpenter.k8s.cloudstack.json"));
    let kept = kept.unwrap();
    assert!(kept.contains("Medium Instance") && !kept.contains("SelectorTerms"), "{kept}");
}

/// A definition that lets everything through.
fn open_definition(group: &str, kind: &str) -> Value {
    let (singular, plural) = (kind.to_lowercase(), format!("{}es", kind.to_lowercase()));
    let anything = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.{group}")},
        "spec": {
            "group": group, "scope": "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": singular},
            "versions": [{
                "name": "v1alpha1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": anything},
            }],
        },
    })
}

#[tokio::test]
async fn contexts_that_do_not_exist_and_files_beside_a_cluster_are_refused() {
    let cluster = Cluster::empty().await;
    let nowhere = cluster.run(&["plan", "--context", "nowhere"]).await;
    assert_eq!(nowhere.code, Some(2), "{nowhere}");
    assert!(
        nowhere.stderr.contains(r#"--context "nowhere" is not in the kubeconfig"#),
        "{nowhere}"
    );
    assert!(nowhere.stderr.ends_with("use one of joiner-lab\n"), "{nowhere}");
    let both = cluster.run(&["plan", "-f", "examples/first-look"]).await;
    expect![[r"
        stderr: joiner: -f reads files, --kubeconfig and --context lead to a cluster: give one of them
        exit code: 2
    "]].assert_eq(&both.to_string());
    let both = cluster.run(&["plan", "-f", "examples/first-look", "--with", "x.yaml"]).await;
    assert!(both.stderr.contains("cannot be used with"), "{both}");
}
