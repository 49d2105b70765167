//! The file with what is known of hosts.

use expect_test::{Expect, expect};
use joiner_proxmox::configuration::node_settings::{NodeSettings, Reserved};

fn read(json: &str) -> NodeSettings {
    NodeSettings::read(json).expect("it can be meant").0
}

#[track_caller]
fn refused(of_host: &str, expected: &Expect) {
    let json = format!(r#"{{"region-1": {{"pve-1": {of_host}}}}}"#);
    expected.assert_eq(&NodeSettings::read(&json).expect_err("it cannot be meant").to_string());
}

#[test]
fn a_host_that_is_named_wins_over_every_host() {
    let settings = read(
        r#"{"region-1": {"*": {"reservedcpus": [0, 1]}, "pve-1": {"reservedcpus": [4]}},
            "region-2": {}}"#,
    );
    assert_eq!(settings.of("region-1", "pve-1").reserved_cpus.to_string(), "4");
    assert_eq!(settings.of("region-1", "pve-2").reserved_cpus.to_string(), "0-1");
    assert!(settings.of("region-2", "pve-1").reserved_cpus.is_empty());
    assert_eq!(settings.of("region-3", "pve-1").reserved_memory, Reserved::Bytes(1 << 30));
}

#[test]
fn reserved_memory_is_an_amount_or_a_share() {
    let reserved = |written: &str| {
        let json = format!(r#"{{"r": {{"z": {{"reservedmemory": {written}}}}}}}"#);
        read(&json).of("r", "z").reserved_memory.of(64 << 30)
    };
    assert_eq!(reserved("4294967296"), 4 << 30);
    assert_eq!(reserved("\"12.5%\""), 8 << 30);
    assert_eq!(reserved("0"), 1 << 30);
    assert_eq!(reserved("null"), 1 << 30);
}

/// Upstream: its pages say `memory`, and its program reads `memsize`.
#[test]
fn the_memory_of_a_numa_node_has_two_names() {
    let settings = read(
        r#"{"r": {"z": {"nodes": {"0": {"cpus": "0-7,16-23", "memsize": 5},
                                  "1": {"CPUs": "8-15,24-31", "memory": 6}}}}}"#,
    );
    let nodes: Vec<(String, u64)> = settings
        .of("r", "z")
        .numa_nodes
        .values()
        .map(|node| (node.cpus.to_string(), node.memory))
        .collect();
    assert_eq!(nodes, [("0-7,16-23".to_owned(), 5), ("8-15,24-31".to_owned(), 6)]);
}

#[test]
fn what_cannot_be_meant_is_told_with_its_place() {
    refused(
        r#"{"nodes": {"0": {"cpus": "0-x"}}}"#,
        &expect![[
            r#"region-1.pve-1.nodes.0: cpus: "0-x" is no list of CPUs; write it as 0-7,16-23"#
        ]],
    );
    refused(
        r#"{"nodes": {"a": {"cpus": "0-1"}}}"#,
        &expect!["region-1.pve-1.nodes.a: is no number of a NUMA node"],
    );
    refused(
        r#"{"nodes": {"0": {"memsize": 1}}}"#,
        &expect!["region-1.pve-1.nodes.0: missing field `cpus`; add it"],
    );
    refused(
        r#"{"reservedmemory": "much"}"#,
        &expect![[
            r#"region-1.pve-1.reservedmemory: "much" is no amount of memory; write bytes as a number, or a share such as "5%""#
        ]],
    );
    refused(
        r#"{"reservedmemory": -1}"#,
        &expect![[
            r#"region-1.pve-1.reservedmemory: -1 is no amount of memory; write bytes as a number, or a share such as "5%""#
        ]],
    );
    refused(
        r#"{"sockets": "2"}"#,
        &expect![[
            r#"region-1.pve-1.sockets: invalid type: string "2"; write a whole number of 0 or more"#
        ]],
    );
    refused(
        r#"{"arc": "half"}"#,
        &expect![[r#"region-1.pve-1.arc: "half" is not known; write auto, or leave it out"#]],
    );
    refused(
        r#"{"cpuovercommit": 0.5}"#,
        &expect!["region-1.pve-1.cpuovercommit: 0.5 is out of bounds; write 1 to 1000"],
    );
    refused("5", &expect!["region-1.pve-1: invalid type: integer `5`; write an object"]);
    let problem = NodeSettings::read("{").unwrap_err().to_string();
    expect!["is not valid JSON: EOF while parsing an object at line 1 column 1"]
        .assert_eq(&problem);
    let (_, warnings) = NodeSettings::read(r#"{"r": {"z": {"core": 1}}}"#).unwrap();
    assert_eq!(warnings, ["r.z.core: is no key, and is not used"]);
}
