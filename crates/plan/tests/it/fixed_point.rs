//! A plan that is being carried out does not change: once its instances are on their way, planning
//! again puts every pod on them and asks for nothing more.

use joiner_core::{
    label::{CAPACITY_TYPE, HOSTNAME, ZONE},
    requirement::Operator::{In, NotIn},
    taint::Effect::{NoSchedule, PreferNoSchedule},
    testing::{
        fake_instance_types, fake_instance_types_assorted, instance_type, node, pod, pool,
        selector, snapshot,
    },
};

use crate::support::{check_fixed_point, cluster, cluster_of};

#[test]
fn of_pods_of_many_sizes() {
    let cpus = ["100m", "250m", "500m", "1", "1500m", "2500m"];
    let memory = ["100Mi", "256Mi", "1Gi", "2Gi"];
    let pods = (0..60)
        .map(|n| pod(&format!("p{n:02}")).cpu(cpus[n % cpus.len()]).mem(memory[n % memory.len()]));
    check_fixed_point(cluster().pods(pods.clone()));
    check_fixed_point(snapshot().pool(pool("default"), fake_instance_types(20)).pods(pods.clone()));
    check_fixed_point(snapshot().pool(pool("default"), fake_instance_types_assorted()).pods(pods));
}

#[test]
fn of_pods_with_requirements() {
    check_fixed_point(
        cluster_of(pool("default").require("team", In, ["a", "b"]).taint("own", "", NoSchedule))
            .pod(pod("1").tolerate("own").on_node_selector("team", "a"))
            .pod(pod("2").tolerate("own").on_node_selector("team", "b"))
            .pod(pod("3").tolerate("own").require(ZONE, NotIn, ["test-zone-1"]))
            .pod(pod("4").tolerate("own").on_node_selector(CAPACITY_TYPE, "spot"))
            .pod(pod("5").tolerate("own").on_node_selector("kubernetes.io/os", "windows")),
    );
}

#[test]
fn of_pods_that_exclude_a_label_that_nobody_defines() {
    check_fixed_point(cluster().pod(pod("1").require("team", NotIn, ["x"])));
}

#[test]
fn of_pods_that_are_spread() {
    let web = || selector([("app", "web")]);
    check_fixed_point(
        cluster()
            .pods(pod("z").cpu("1100m").label("app", "web").spread(ZONE, 1, web()).replicas(7))
            .pods(pod("h").cpu("100m").label("app", "web").spread(HOSTNAME, 2, web()).replicas(5)),
    );
}

#[test]
fn of_pods_that_are_near_or_apart() {
    let app = |name| selector([("app", name)]);
    check_fixed_point(
        cluster()
            .pods(pod("near").cpu("1").label("app", "near").affinity(ZONE, app("near")).replicas(4))
            .pods(
                pod("apart")
                    .cpu("1")
                    .label("app", "apart")
                    .anti_affinity(HOSTNAME, app("apart"))
                    .replicas(4),
            ),
    );
}

#[test]
fn of_pods_on_a_pool_that_prefers_not_to_be_used() {
    check_fixed_point(
        cluster_of(pool("default").taint("shy", "", PreferNoSchedule)).pods(pod("a").replicas(3)),
    );
}

#[test]
fn of_pods_beside_daemons() {
    check_fixed_point(
        cluster()
            .daemon(pod("agent").cpu("300m").mem("200Mi").host_port(9100))
            .daemon(pod("on-large").cpu("1").on_node_selector("size", "large"))
            .pods(pod("a").cpu("700m").replicas(9)),
    );
}

#[test]
fn of_pods_with_ports_and_volumes() {
    let types = [
        instance_type("few").volume_limit("csi.example.com", 2),
        instance_type("more").volume_limit("csi.example.com", 5).price(2.0),
    ];
    let pods = (0..6).map(|n| {
        pod(&format!("p{n}"))
            .host_port(8000 + n % 3)
            .volume("csi.example.com", &format!("v{n}"))
            .volume_in(ZONE, [if n < 3 { "a" } else { "b" }])
    });
    check_fixed_point(snapshot().pool(pool("default"), types).pods(pods));
}

#[test]
fn of_pods_beyond_a_limit() {
    check_fixed_point(
        cluster_of(pool("default").limit("cpu", "6").limit("nodes", "3"))
            .pods(pod("a").cpu("1500m").replicas(8)),
    );
}

#[test]
fn of_pods_that_use_nodes_that_exist() {
    check_fixed_point(
        cluster()
            .node(node("n1").zone("test-zone-1"))
            .node(node("n2").zone("test-zone-2").taint("own", "", NoSchedule))
            .pods(pod("a").cpu("1500m").replicas(8)),
    );
}
