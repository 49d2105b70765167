//! What pools say.

use serde_json::{Value, json};

use super::{
    catalog::GPU,
    world::{
        ARCH, CAPACITY_TYPE, CPUS, FAMILY, INSTANCE_TYPE, World, ZONE, bare_condition, condition,
        pool, push, require,
    },
};
use crate::rng::Rng;

/// Makes sure of at least `count` pools.
fn ensure(world: &mut World, count: usize) {
    for name in ["pool-b", "pool-c", "pool-d"].iter().take(count - 1) {
        if !world.pools.iter().any(|pool| pool["metadata"]["name"] == *name) {
            world.pools.push(pool(name));
        }
    }
}

pub(super) fn several(world: &mut World, rng: &mut Rng) {
    ensure(world, rng.between(2, 4));
    let families = ["c", "s", "m"];
    for index in 0..world.pools.len() {
        let pool = &mut world.pools[index];
        match rng.below(7) {
            0 => {
                let count = rng.between(1, 2);
                require(pool, ZONE, "In", &rng.pick_some(&world.zones, count));
            }
            1 => require(pool, ZONE, "NotIn", &rng.pick_some(&world.zones, 1)),
            2 => require(pool, ZONE, "In", &[world.zones[0].as_str(), "zone-not-built-yet"]),
            3 => require(pool, ARCH, "In", &[*rng.pick(&["amd64", "arm64"])]),
            4 => require(pool, CAPACITY_TYPE, "In", &[*rng.pick(&["spot", "on-demand"])]),
            5 => require(pool, FAMILY, "In", &rng.pick_some(&families, 2)),
            _ => {
                let operator = *rng.pick(&["Gt", "Lt", "Gte", "Lte"]);
                require(pool, CPUS, operator, &[*rng.pick(&["2", "4", "8"])]);
            }
        }
    }
}

/// Pools that no instance can be made from, next to the others.
pub(super) fn unusable(world: &mut World, rng: &mut Rng) {
    let mut unusable = pool("pool-z");
    unusable["spec"]["weight"] = json!(100);
    match rng.below(4) {
        0 => {
            let condition = |name: &str| {
                json!({
                    "type": name, "status": "False", "reason": "NodeClassNotReady", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                })
            };
            unusable["status"]["conditions"] =
                json!([condition("NodeClassReady"), condition("Ready")]);
        }
        1 => {
            unusable["metadata"]["deletionTimestamp"] = json!("2026-03-01T00:00:00Z");
            unusable["metadata"]["finalizers"] = json!(["karpenter.sh/termination"]);
        }
        2 => {
            // A pool of fixed size has no weight.
            unusable["spec"] = json!({"replicas": 1, "template": unusable["spec"]["template"]});
        }
        _ => require(&mut unusable, INSTANCE_TYPE, "In", &["no-such-type"]),
    }
    if rng.chance(15) {
        world.pools.clear();
    }
    world.pools.push(unusable);
}

/// Pools that may be limited or weighted: those of fixed size may not.
fn growing(world: &mut World) -> impl Iterator<Item = &mut Value> {
    world.pools.iter_mut().filter(|pool| pool["spec"].get("replicas").is_none())
}

pub(super) fn weights(world: &mut World, rng: &mut Rng) {
    ensure(world, rng.between(2, 3));
    for (index, pool) in growing(world).enumerate() {
        if rng.chance(80) {
            pool["spec"]["weight"] = json!(rng.between(1, 4) * 10);
        }
        if index % 2 == 0 {
            require(pool, CAPACITY_TYPE, "In", &[*rng.pick(&["spot", "on-demand"])]);
        }
    }
}

pub(super) fn limits(world: &mut World, rng: &mut Rng) {
    for pool in growing(world) {
        match rng.below(4) {
            0 => pool["spec"]["limits"] = json!({"memory": format!("{}Gi", rng.between(8, 128))}),
            1 => {
                pool["spec"]["limits"] =
                    json!({"cpu": rng.between(4, 40).to_string(), "memory": "100Gi"});
            }
            _ => pool["spec"]["limits"] = json!({"cpu": rng.between(2, 48).to_string()}),
        }
    }
}

pub(super) fn node_limits(world: &mut World, rng: &mut Rng) {
    for pool in growing(world) {
        pool["spec"]["limits"]["nodes"] = json!(rng.between(1, 5).to_string());
    }
}

pub(super) fn min_values(world: &mut World, rng: &mut Rng) {
    let types = world.type_names();
    for pool in &mut world.pools {
        let (mut requirement, most) = match rng.below(3) {
            0 => (bare_condition(INSTANCE_TYPE, "Exists"), 6),
            1 => {
                let some = rng.pick_some(&types, 6);
                (condition(INSTANCE_TYPE, "In", &some), some.len())
            }
            _ => (bare_condition(FAMILY, "Exists"), 3),
        };
        requirement["minValues"] = json!(rng.between(1, most));
        push(&mut pool["spec"]["template"]["spec"]["requirements"], requirement);
    }
}

pub(super) fn taints(world: &mut World, rng: &mut Rng) {
    if rng.chance(60) {
        ensure(world, 2);
    }
    let tainted = rng.below(world.pools.len());
    let effect = *rng.pick(&["NoSchedule", "NoSchedule", "NoExecute"]);
    let spec = &mut world.pools[tainted]["spec"]["template"]["spec"];
    push(
        &mut spec["taints"],
        json!({"key": "example.com/dedicated", "value": "batch", "effect": effect}),
    );
    for workload in world.some_workloads(rng) {
        let mut toleration = json!({"key": "example.com/dedicated"});
        match rng.below(5) {
            0 => toleration["operator"] = json!("Exists"),
            1 => toleration = json!({"operator": "Exists"}),
            2 => toleration["value"] = json!("other"),
            3 => toleration["value"] = json!("batch"),
            _ => {
                toleration["operator"] = json!("Equal");
                toleration["value"] = json!("batch");
                toleration["effect"] = json!(effect);
            }
        }
        push(&mut workload.pod["spec"]["tolerations"], toleration);
    }
}

pub(super) fn prefer_no_schedule(world: &mut World, rng: &mut Rng) {
    if rng.chance(60) {
        ensure(world, 2);
    }
    let tainted = rng.below(world.pools.len());
    let spec = &mut world.pools[tainted]["spec"]["template"]["spec"];
    push(
        &mut spec["taints"],
        json!({"key": "example.com/avoid", "value": "yes", "effect": "PreferNoSchedule"}),
    );
    if rng.chance(40) {
        for workload in world.some_workloads(rng) {
            push(
                &mut workload.pod["spec"]["tolerations"],
                json!({"key": "example.com/avoid", "operator": "Exists"}),
            );
        }
    }
}

pub(super) fn startup_taints(world: &mut World, rng: &mut Rng) {
    for pool in &mut world.pools {
        if rng.chance(70) {
            let effect = *rng.pick(&["NoSchedule", "NoExecute"]);
            let taint = json!({"key": "example.com/agent-not-ready", "effect": effect});
            push(&mut pool["spec"]["template"]["spec"]["startupTaints"], taint);
        }
    }
}

pub(super) fn overlays(world: &mut World, rng: &mut Rng) {
    world.set_flag("feature-gates", "NodeOverlay=true");
    let types = world.type_names();
    for index in 0..rng.between(1, 4) {
        let requirement = match rng.below(4) {
            0 => condition(INSTANCE_TYPE, "In", &rng.pick_some(&types, 2)),
            1 => condition(FAMILY, "NotIn", &["c"]),
            2 => condition(CAPACITY_TYPE, "In", &[*rng.pick(&["spot", "on-demand"])]),
            _ => condition(CPUS, "Gt", &["2"]),
        };
        let mut spec = match rng.below(5) {
            0 => json!({"price": format!("0.{:03}", rng.between(1, 999))}),
            1 => json!({"priceAdjustment": *rng.pick(&["+50%", "-50%", "+10%", "-100%"])}),
            2 => json!({"priceAdjustment": *rng.pick(&["+0.05", "-0.01", "-5"])}),
            3 => json!({"capacity": {GPU: rng.between(1, 4).to_string()}}),
            _ => json!({"price": "0.02", "capacity": {"example.com/licence": "3"}}),
        };
        spec["requirements"] = json!([requirement]);
        if rng.chance(70) {
            spec["weight"] = json!(rng.between(1, 3));
        }
        world.objects.push(json!({
            "apiVersion": "karpenter.sh/v1alpha1", "kind": "NodeOverlay",
            "metadata": {"name": format!("overlay-{index}")}, "spec": spec,
        }));
    }
}
