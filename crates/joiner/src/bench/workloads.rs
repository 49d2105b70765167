//! The workloads: Karpenter's own benchmarks, and what they leave out.

use joiner_core::{
    instance_type::InstanceType,
    label,
    quantity::Quantity,
    resources::{CPU, MEMORY},
    settings::PreferencePolicy,
    testing::{FAKE_LABELS, fake_instance_types},
};
use serde_json::{Value, json};

use super::{
    objects::{
        Names, Size, ZONES, affinity, container, instance_type_file, one_of, pod, pool,
        running_instance, spread, term,
    },
    random::Random,
};

/// A workload that can be made in any size.
#[derive(Debug)]
pub(super) struct Workload {
    /// What it is called on the command line.
    pub(super) name: &'static str,
    /// What it is like, in one line.
    pub(super) about: &'static str,
    /// How many pods, unless told.
    pub(super) sizes: &'static [usize],
    /// What is done with preferences.
    pub(super) preferences: PreferencePolicy,
    /// Its instance type file.
    pub(super) instance_types: fn() -> Value,
    /// Gives every object of the cluster with so many pods to place.
    pub(super) objects: fn(usize, &mut Random, &mut dyn FnMut(Value)),
    /// How many of so many pods can never be placed.
    pub(super) never_fit: fn(usize) -> usize,
    /// Of how many seeds at most the mean is taken, unless told.
    pub(super) seeds_max: u64,
    /// How many claims so many pods of a seed need, where that is known.
    pub(super) claims: fn(usize, u64) -> Option<usize>,
}

/// Every workload, in the order in which they run.
pub(super) const ALL: &[Workload] = &[
    Workload {
        name: "diverse",
        about: "Karpenter's own mix: plain, spread over zones and hosts, attracted, repelled",
        sizes: &[500, 5_000, 10_000],
        objects: diverse,
        // A fifth of the pods repel each other, and everything else fits beside them.
        claims: |pods, _| Some((pods / 5).max(1)),
        ..DEFAULTS
    },
    Workload {
        name: "preference-respect",
        about: "equal pods with preferences, some of which cannot be met",
        sizes: &[4_000],
        objects: preference,
        claims: |pods, _| Some(pods),
        ..DEFAULTS
    },
    Workload {
        name: "preference-ignore",
        about: "the same pods when preferences are looked past",
        sizes: &[4_000],
        objects: preference,
        preferences: PreferencePolicy::Ignore,
        claims: |pods, seed| Some(pods.div_ceil(preference_pods_per_instance(seed))),
        ..DEFAULTS
    },
    Workload {
        name: "wide",
        about: "30 deployments of all sizes, spread over zones",
        sizes: &[1_000],
        instance_types: || {
            instance_type_file(&joiner_kwok::instance_types(), &joiner_kwok::WELL_KNOWN_LABELS)
        },
        objects: wide,
        ..DEFAULTS
    },
    Workload {
        name: "full-nodes",
        about: "one node for every five pods is there already, 80 % full",
        sizes: &[5_000],
        objects: full_nodes,
        ..DEFAULTS
    },
    Workload {
        name: "pools",
        about: "20 pools with weights, taints and labels",
        sizes: &[2_000],
        objects: pools,
        ..DEFAULTS
    },
    Workload {
        name: "daemons",
        about: "12 daemon sets, some of them for some instances only",
        sizes: &[2_000],
        objects: daemons,
        ..DEFAULTS
    },
    Workload {
        name: "zonal-volumes",
        about: "every pod has a volume that is, or may only be, in some zones",
        sizes: &[2_000],
        objects: zonal_volumes,
        ..DEFAULTS
    },
    Workload {
        name: NEVER_FIT,
        about: "one pod in five wants a GPU that no instance has",
        sizes: &[10_000],
        objects: never_fit,
        never_fit: |pods| pods / 5,
        ..DEFAULTS
    },
    Workload {
        name: LONG_LISTS,
        about: "one pod in ten is an object of 1.5 MB, all of it preferences about other pods",
        sizes: &[10, 1_000],
        objects: long_lists,
        never_fit: left_out,
        // Each has 150 MB of objects.
        seeds_max: 1,
        ..DEFAULTS
    },
];

/// The workload that tells what long lists cost the others.
pub(super) const LONG_LISTS: &str = "long-lists";

/// How many preferences make an object of 1.5 MB.
const LONG_LIST: usize = 20_000;

/// How many of so many pods have long lists.
pub(super) fn long_pods(pods: usize) -> usize {
    pods / 10
}

/// Of the pods with long lists one is read, and beside many others none is planned: each preference is held against each.
fn left_out(pods: usize) -> usize {
    long_pods(pods) - usize::from(pods < 150).min(long_pods(pods))
}

/// The workload that is also run without its hopeless pods.
pub(super) const NEVER_FIT: &str = "never-fit";

const DEFAULTS: Workload = Workload {
    name: "",
    about: "",
    sizes: &[],
    preferences: PreferencePolicy::Respect,
    instance_types: || instance_type_file(&fake_types(), &FAKE_LABELS),
    objects: |_, _, _| {},
    never_fit: |_| 0,
    seeds_max: u64::MAX,
    claims: |_, _| None,
};

/// The 400 types that Karpenter's benchmark runs on.
fn fake_types() -> Vec<InstanceType> {
    fake_instance_types(400)
}

/// The mix of Karpenter's benchmark.
fn diverse(pods: usize, random: &mut Random, add: &mut dyn FnMut(Value)) {
    add(pool("default"));
    diverse_pods(pods, random, add);
}

fn diverse_pods(pods: usize, random: &mut Random, add: &mut dyn FnMut(Value)) {
    let mut names = Names::new("pod");
    let block = pods / 5;
    let generic = |random: &mut Random, names: &mut Names| {
        let labels = random_label(random, "my-label");
        let size = Size::draw(random);
        pod(&names.next(), random, &labels, size)
    };
    for _ in 0..block {
        add(generic(random, &mut names));
    }
    for key in [label::ZONE, label::HOSTNAME] {
        for _ in 0..block {
            let labels = random_label(random, "my-label");
            let selected = random_label(random, "my-label");
            let size = Size::draw(random);
            let mut pod = pod(&names.next(), random, &labels, size);
            pod["spec"]["topologySpreadConstraints"] = json!([spread(key, &selected)]);
            add(pod);
        }
    }
    for _ in 0..block {
        // The missing syllable is upstream's.
        let labels = random_label(random, "my-affininity");
        let size = Size::draw(random);
        let mut pod = pod(&names.next(), random, &labels, size);
        pod["spec"]["affinity"] = affinity("podAffinity", label::ZONE, &labels);
        add(pod);
    }
    let nginx = json!({"app": "nginx"});
    for _ in 0..block {
        let size = Size::draw(random);
        let mut pod = pod(&names.next(), random, &nginx, size);
        pod["spec"]["affinity"] = affinity("podAntiAffinity", label::HOSTNAME, &nginx);
        add(pod);
    }
    for _ in 5 * block..pods {
        add(generic(random, &mut names));
    }
}

fn random_label(random: &mut Random, key: &str) -> Value {
    json!({key: random.one_of(&["a", "b", "c", "d", "e", "f", "g"])})
}

/// Karpenter's preference benchmark: equal pods that would like one zone, would like to be alone in
/// their zone (which only the first can be), and alone on their instance.
fn preference(pods: usize, random: &mut Random, add: &mut dyn FnMut(Value)) {
    add(pool("default"));
    let mut names = Names::new("pod");
    let nginx = json!({"app": "nginx"});
    let size = Size::draw(random);
    for _ in 0..pods {
        let mut pod = pod(&names.next(), random, &nginx, size);
        pod["spec"]["affinity"] = json!({
            "nodeAffinity": preferred_zone("test-zone-1"),
            "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 10, "podAffinityTerm": term(label::ZONE, &nginx)},
                {"weight": 1, "podAffinityTerm": term(label::HOSTNAME, &nginx)},
            ]},
        });
        add(pod);
    }
}

/// How many of a seed's preference pods the largest type takes: 399.9 CPUs, 819,190Mi, 4,000 pods.
fn preference_pods_per_instance(seed: u64) -> usize {
    let size = Size::draw(&mut Random::new(seed));
    (399_900 / size.cpu).min(819_190 / size.memory).min(4_000) as usize
}

fn preferred_zone(zone: &str) -> Value {
    json!({"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 1, "preference": {"matchExpressions": [one_of(label::ZONE, &[zone])]}},
    ]})
}

/// The deployments of Karpenter's "wide deployments" test: thousandths of a CPU and MiB.
pub(super) const WIDE: [(u32, u32); 30] = [
    (240, 300),
    (450, 400),
    (650, 700),
    (900, 1024),
    (1400, 2048),
    (1900, 4096),
    (2400, 8192),
    (2800, 4096),
    (3300, 16384),
    (3700, 10240),
    (2300, 65536),
    (900, 30720),
    (1300, 32768),
    (2800, 32768),
    (1800, 30720),
    (1850, 20480),
    (3300, 30720),
    (3800, 300),
    (225, 500),
    (450, 750),
    (700, 1024),
    (900, 2048),
    (1300, 4096),
    (1800, 8192),
    (2400, 16384),
    (2800, 32768),
    (3400, 28672),
    (3800, 65536),
    (3300, 13312),
    (2800, 24576),
];

/// Karpenter's "wide deployments": 35 replicas of the first 20, 30 of the others, at 1,000 pods.
fn wide(pods: usize, random: &mut Random, add: &mut dyn FnMut(Value)) {
    let mut general = pool("default");
    let template = &mut general["spec"]["template"]["spec"];
    template["nodeClassRef"] = json!({
        "group": joiner_kwok::NODE_CLASS_GROUP, "kind": joiner_kwok::NODE_CLASS_KIND,
        "name": "default",
    });
    template["requirements"] = json!([
        one_of(label::OS, &["linux"]),
        one_of(label::CAPACITY_TYPE, &[label::CAPACITY_TYPE_ON_DEMAND]),
        {"key": joiner_kwok::INSTANCE_SIZE, "operator": "Lt", "values": ["32"]},
    ]);
    add(general);
    // Rounding each deployment's last pod by its share keeps the sum exact.
    let mut so_far = 0;
    let mut made = 0;
    for (index, (cpu, memory)) in WIDE.into_iter().enumerate() {
        so_far += if index < 20 { 35 } else { 30 };
        let app = format!("wide-{}", index + 1);
        let labels = json!({"app": app});
        for replica in 0..(pods * so_far / 1000 - made) {
            let name = format!("{app}-{replica:05}");
            let mut pod = pod(&name, random, &labels, Size { cpu, memory });
            let mut spreads = vec![spread(label::ZONE, &labels)];
            match index {
                0..3 => {
                    pod["spec"]["affinity"] = affinity("podAntiAffinity", label::HOSTNAME, &labels);
                }
                3..6 => spreads.push(spread(label::HOSTNAME, &labels)),
                _ => {}
            }
            pod["spec"]["topologySpreadConstraints"] = Value::from(spreads);
            add(pod);
        }
        made = pods * so_far / 1000;
    }
}

/// A cluster that is nearly full: each instance has eight pods that take a tenth of it each.
fn full_nodes(pods: usize, random: &mut Random, add: &mut dyn FnMut(Value)) {
    add(pool("default"));
    let types = fake_types();
    let sixteen = &types[15];
    let room = sixteen.allocatable(&sixteen.offerings[2]);
    let tenth = |name: &str, unit: Quantity| (room.get(name).nanos() / unit.nanos() / 10) as u32;
    let size = Size {
        cpu: tenth(CPU, Quantity::milli(1)),
        memory: tenth(MEMORY, Quantity::bytes(1 << 20)),
    };
    for index in 0..(pods / 5).max(1) {
        // The on-demand offerings come after the two for spot.
        let offering = &sixteen.offerings[2 + index % 3];
        for object in running_instance(index, "default", sixteen, offering) {
            add(object);
        }
        for bound in 0..8 {
            let labels = random_label(random, "my-label");
            let mut pod = pod(&format!("bound-{index:05}-{bound}"), random, &labels, size);
            pod["spec"]["nodeName"] = json!(format!("node-{index:05}"));
            pod["status"] = json!({"phase": "Running"});
            add(pod);
        }
    }
    diverse_pods(pods, random, add);
}

/// Teams with their own pools, half of them closed to other teams.
fn pools(pods: usize, random: &mut Random, add: &mut dyn FnMut(Value)) {
    const POOLS: usize = 20;
    for index in 0..POOLS {
        let team = format!("team-{index:02}");
        let mut pool = pool(&team);
        pool["spec"]["weight"] = json!(1 + index * 7 % 50);
        let template = &mut pool["spec"]["template"];
        template["metadata"]["labels"]["example.com/team"] = json!(team);
        if index % 2 == 1 {
            template["spec"]["taints"] =
                json!([{"key": "example.com/team", "value": team, "effect": "NoSchedule"}]);
        }
        if index % 3 == 0 {
            template["spec"]["requirements"] =
                json!([one_of(label::CAPACITY_TYPE, &[label::CAPACITY_TYPE_ON_DEMAND])]);
        }
        add(pool);
    }
    let mut names = Names::new("pod");
    for index in 0..pods {
        let team = format!("team-{:02}", random.number() as usize % POOLS);
        let labels = json!({"app": format!("{team}-{}", random.one_of(&["api", "web", "batch"]))});
        let size = Size::draw(random);
        let mut pod = pod(&names.next(), random, &labels, size);
        // One pod in five goes wherever there is an open pool.
        if index % 5 != 0 {
            pod["spec"]["nodeSelector"] = json!({"example.com/team": team});
            pod["spec"]["tolerations"] =
                json!([{"key": "example.com/team", "operator": "Equal", "value": team}]);
        }
        if index % 5 == 1 {
            pod["spec"]["topologySpreadConstraints"] = json!([spread(label::ZONE, &labels)]);
        }
        add(pod);
    }
}

/// Daemon sets that each instance pays for: most on every one, some in one zone or on large ones only.
fn daemons(pods: usize, random: &mut Random, add: &mut dyn FnMut(Value)) {
    add(pool("default"));
    for index in 0..12_u32 {
        let name = format!("agent-{index:02}");
        let labels = json!({"agent": name});
        let mut spec = json!({"containers": [container(Size {
            cpu: 20 + 10 * index,
            memory: 32 + 16 * index,
        })]});
        match index {
            8 | 9 => spec["nodeSelector"] = json!({label::ZONE: ZONES[index as usize - 8]}),
            10 => spec["nodeSelector"] = json!({"size": "large"}),
            11 => spec["nodeSelector"] = json!({label::ARCH: "arm64"}),
            _ => {}
        }
        add(json!({
            "apiVersion": "apps/v1", "kind": "DaemonSet",
            "metadata": {"name": name, "namespace": "default", "uid": format!("ds-{name}")},
            "spec": {
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": spec},
            },
        }));
    }
    diverse_pods(pods, random, add);
}

/// Databases: half have a volume in one zone already, half may be in either of two zones.
fn zonal_volumes(pods: usize, random: &mut Random, add: &mut dyn FnMut(Value)) {
    add(pool("default"));
    for (index, zones) in [[0, 1], [1, 2]].into_iter().enumerate() {
        add(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass",
            "metadata": {"name": format!("two-zones-{index}")},
            "provisioner": "csi.example.com",
            "volumeBindingMode": "WaitForFirstConsumer",
            "allowedTopologies": [{"matchLabelExpressions": [
                {"key": label::ZONE, "values": zones.map(|zone: usize| ZONES[zone])},
            ]}],
        }));
    }
    let mut names = Names::new("db");
    for index in 0..pods {
        let name = names.next();
        let labels = random_label(random, "my-label");
        let mut claim = json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default", "uid": format!("pvc-{name}")},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "10Gi"}},
                "storageClassName": format!("two-zones-{}", random.number() % 2),
            },
        });
        if index % 2 == 0 {
            let volume = format!("volume-{name}");
            claim["spec"]["volumeName"] = json!(volume);
            claim["metadata"]["annotations"] = json!({"pv.kubernetes.io/bind-completed": "yes"});
            claim["status"] = json!({"phase": "Bound"});
            add(zonal_volume(&volume, random.one_of(&ZONES)));
        }
        add(claim);
        let size = Size::draw(random);
        let mut pod = pod(&name, random, &labels, size);
        pod["spec"]["volumes"] =
            json!([{"name": "data", "persistentVolumeClaim": {"claimName": name}}]);
        add(pod);
    }
}

fn zonal_volume(name: &str, zone: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": "10Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "csi.example.com", "volumeHandle": name},
            "nodeAffinity": {"required": {"nodeSelectorTerms": [
                {"matchExpressions": [one_of(label::ZONE, &[zone])]},
            ]}},
        },
    })
}

/// Karpenter's mix, and a crowd of larger pods, tried first, for which there is no instance.
fn never_fit(pods: usize, random: &mut Random, add: &mut dyn FnMut(Value)) {
    let hopeless = pods / 5;
    diverse(pods - hopeless, random, add);
    let mut names = Names::new("gpu");
    for index in 0..hopeless {
        let labels = random_label(random, "gpu-job");
        let size =
            Size { cpu: random.one_of(&[2000, 4000, 8000]), memory: random.one_of(&[8192, 16384]) };
        let mut pod = pod(&names.next(), random, &labels, size);
        pod["spec"]["containers"][0]["resources"]["limits"] = json!({"example.com/gpu": "1"});
        pod["spec"]["containers"][0]["resources"]["requests"]["example.com/gpu"] = json!("1");
        if index % 2 == 0 {
            pod["spec"]["affinity"] =
                json!({"nodeAffinity": preferred_zone(random.one_of(&ZONES))});
        }
        add(pod);
    }
}

/// Pods of one workload, and some that would rather be away from 20,000 others.
fn long_lists(pods: usize, random: &mut Random, add: &mut dyn FnMut(Value)) {
    let long = long_pods(pods);
    diverse(pods - long, random, add);
    let mut names = Names::new("long");
    let preference = |number: usize| {
        let away = term(label::ZONE, &json!({"n": number.to_string()}));
        json!({"weight": 1, "podAffinityTerm": away})
    };
    let preferences: Value = (0..LONG_LIST).map(preference).collect();
    for _ in 0..long {
        let size = Size::draw(random);
        let mut pod = pod(&names.next(), random, &json!({"app": "long"}), size);
        pod["spec"]["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"] =
            preferences.clone();
        add(pod);
    }
}
