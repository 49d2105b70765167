use expect_test::{Expect, expect};

use super::*;

const GIB: u64 = 1 << 30;

fn processors(model: &str, sockets: u32, cores: u32, cpus: u32) -> Processors {
    Processors { model: model.to_owned(), sockets, cores, cpus }
}

#[track_caller]
fn check(processors: &Processors, settings: &HostSettings, expected: &Expect) {
    let topology = Topology::discover(processors, 256 * GIB, settings, None);
    told(&topology, expected);
}

#[track_caller]
fn told(topology: &Topology, expected: &Expect) {
    let mut lines = vec![format!(
        "{:?}: {} CPUs, {} cores, {} sockets, {} caches",
        topology.source,
        topology.cpus.len(),
        topology.cores.len(),
        topology.sockets.len(),
        topology.caches.len()
    )];
    for (id, cpus) in &topology.numa_nodes {
        let gib = topology.numa_memory[id] / GIB;
        lines.push(format!("{id}: {cpus}, {gib} GiB"));
    }
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn hosts_are_guessed_by_the_name_of_their_processors() {
    let plain = HostSettings::default();
    let epyc = processors("AMD EPYC 9454P 48-Core Processor", 1, 48, 96);
    check(
        &epyc,
        &plain,
        &expect![[r#"
        Guess: 96 CPUs, 48 cores, 1 sockets, 8 caches
        0: 0-11,48-59, 64 GiB
        1: 12-23,60-71, 64 GiB
        2: 24-35,72-83, 64 GiB
        3: 36-47,84-95, 64 GiB"#]],
    );
    let two_epycs = processors("AMD EPYC 9355 32-Core Processor", 2, 64, 128);
    check(
        &two_epycs,
        &plain,
        &expect![[r#"
        Guess: 128 CPUs, 64 cores, 2 sockets, 8 caches
        0: 0-7,64-71, 32 GiB
        1: 8-15,72-79, 32 GiB
        2: 16-23,80-87, 32 GiB
        3: 24-31,88-95, 32 GiB
        4: 32-39,96-103, 32 GiB
        5: 40-47,104-111, 32 GiB
        6: 48-55,112-119, 32 GiB
        7: 56-63,120-127, 32 GiB"#]],
    );
    let xeons = processors("Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz", 2, 28, 56);
    check(
        &xeons,
        &plain,
        &expect![[r#"
        Guess: 56 CPUs, 28 cores, 2 sockets, 2 caches
        0: 0-13,28-41, 128 GiB
        1: 14-27,42-55, 128 GiB"#]],
    );
    let ryzen = processors("AMD Ryzen 7 5700X 8-Core Processor", 1, 8, 16);
    check(
        &ryzen,
        &plain,
        &expect![[r#"
        Guess: 16 CPUs, 8 cores, 1 sockets, 1 caches
        0: 0-15, 256 GiB"#]],
    );
}

/// Upstream: such a host is never used.
#[test]
fn a_host_with_unknown_processors_has_one_numa_node() {
    let plain = HostSettings::default();
    for model in ["AMD EPYC-Rome Processor", "QEMU Virtual CPU version 2.5+", "Neoverse-N1", ""] {
        let topology = Topology::discover(&processors(model, 1, 8, 16), 8 * GIB, &plain, None);
        assert_eq!(topology.cpus, CpuSet::range(0, 16), "{model}");
        assert_eq!(topology.memory(), 8 * GIB, "{model}");
        assert!(!topology.is_known(), "{model}");
    }
    let odd = Topology::discover(&processors("AMD EPYC 7351 x", 3, 2, 0), GIB, &plain, None);
    assert!(odd.cpus.len() <= 2, "{odd:?}");
}

#[test]
fn the_file_knows_better_than_the_name() {
    let (settings, _) = crate::configuration::node_settings::NodeSettings::read(
        r#"{"r": {"*": {"sockets": 1, "threads": 2, "uncorecaches": 2,
            "nodes": {"0": {"cpus": "0-3,8-11", "memsize": 17179869184},
                      "1": {"cpus": "4-7,12-15", "memory": 8589934592}}}}}"#,
    )
    .unwrap();
    let epyc = processors("AMD EPYC 9454P 48-Core Processor", 1, 8, 16);
    check(
        &epyc,
        &settings.of("r", "z"),
        &expect![[r#"
        Settings: 16 CPUs, 8 cores, 1 sockets, 2 caches
        0: 0-3,8-11, 16 GiB
        1: 4-7,12-15, 8 GiB"#]],
    );
}

#[test]
fn the_virtual_machine_that_describes_its_host_is_believed() {
    let config = [
        ("affinity", "0-13,28-41,14-27,42-55"),
        ("numa0", "cpus=0-27,hostnodes=0,memory=64512"),
        ("numa1", "cpus=28-55,hostnodes=1,memory=64512"),
        ("name", "node-capacity"),
    ]
    .map(|(option, value)| (option.to_owned(), value.to_owned()))
    .into();
    let xeons = processors("Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz", 2, 28, 56);
    let topology = Topology::discover(&xeons, 128 * GIB, &HostSettings::default(), Some(&config));
    assert!(topology.is_known());
    told(
        &topology,
        &expect![[r#"
        TopologyVm: 56 CPUs, 28 cores, 2 sockets, 2 caches
        0: 0-13,28-41, 63 GiB
        1: 14-27,42-55, 63 GiB"#]],
    );

    let broken = [("affinity", "0-3"), ("numa0", "cpus=0-7,hostnodes=0,memory=1024")]
        .map(|(option, value)| (option.to_owned(), value.to_owned()))
        .into();
    let topology = Topology::discover(&xeons, GIB, &HostSettings::default(), Some(&broken));
    assert_eq!(topology.source, Source::Guess);
}
