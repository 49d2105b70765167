//! Ports of the instance itself.

use expect_test::expect;
use joiner_core::{
    pod::HostPort,
    requirement::Operator::In,
    testing::{instance_type, node, pod, pool, snapshot},
};

use crate::support::{check, check_each, cluster};

#[test]
fn pods_with_the_same_host_port_get_different_instances() {
    check(
        cluster().pods(pod("a").host_port(80).replicas(2)),
        expect![[r#"
            claim default: a-0 | small-instance-type +5
            claim default: a-1 | small-instance-type +5
        "#]],
    );
}

#[test]
fn other_ports_addresses_and_protocols_do_not_conflict() {
    let listening = |name: &str, ip: &str, port, protocol: &str| {
        let mut pod = pod(name).build();
        let mut spec = (*pod.spec).clone();
        spec.host_ports.insert(HostPort { ip: ip.into(), port, protocol: protocol.into() });
        pod.spec = spec.into();
        pod
    };
    let first = || cluster().pod(listening("a", "10.0.0.1", 80, "TCP"));
    check_each(
        [
            ("port", first().pod(listening("b", "10.0.0.1", 81, "TCP"))),
            ("protocol", first().pod(listening("b", "10.0.0.1", 80, "UDP"))),
            ("address", first().pod(listening("b", "10.0.0.2", 80, "TCP"))),
            ("same", first().pod(listening("b", "10.0.0.1", 80, "TCP"))),
            ("every address", first().pod(listening("b", "0.0.0.0", 80, "TCP"))),
            ("every address, IPv6", first().pod(listening("b", "::", 80, "TCP"))),
        ],
        expect![[r#"
            port: claim default: a b | small-instance-type +4
            protocol: claim default: a b | small-instance-type +4
            address: claim default: a b | small-instance-type +4
            same: claim default: a | small-instance-type +5
            same: claim default: b | small-instance-type +5
            every address: claim default: a | small-instance-type +5
            every address: claim default: b | small-instance-type +5
            every address, IPv6: claim default: a | small-instance-type +5
            every address, IPv6: claim default: b | small-instance-type +5
        "#]],
    );
}

#[test]
fn a_port_of_a_node_may_be_taken() {
    check(
        cluster()
            .node(node("n").pod(pod("x").host_port(80)))
            .pod(pod("same").host_port(80))
            .pod(pod("other").host_port(81)),
        expect![[r#"
            claim default: same | small-instance-type +5
            node n: other
        "#]],
    );
}

#[test]
fn a_daemon_takes_its_port_only_on_types_it_runs_on() {
    check(
        cluster()
            .daemon(pod("agent").host_port(8080).on_node_selector("size", "large"))
            .pod(pod("a").host_port(8080)),
        expect![[r#"
            claim default: a | small-instance-type +4
        "#]],
    );
}

#[test]
fn a_claim_keeps_off_types_whose_daemon_has_the_port_of_any_of_its_pods() {
    let sized = |name, cpu| instance_type(name).cpu(cpu).require("size", In, [name]).build();
    check(
        snapshot()
            .pool(pool("default"), [sized("small", "2"), sized("large", "8")])
            .daemon(pod("agent").host_port(8080).on_node_selector("size", "large"))
            .pod(pod("a").cpu("1").host_port(8080))
            .pod(pod("b").cpu("1"))
            .pod(pod("c").cpu("1")),
        expect![[r#"
            claim default: a b | small
            claim default: c | large +1
        "#]],
    );
}
