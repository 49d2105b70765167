//! What hosts have left, and which instances fit.

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use joiner_proxmox::{
    capacity::{
        host::{Demand, Host},
        pinning::Pinning,
        placement::{Standing, Strategy},
        region::{HostFacts, Region, Seen},
        rows::Rows,
        topology::Processors,
    },
    configuration::{node_settings::NodeSettings, settings::Policy},
    property_string::Config,
};
use serde_json::{Value, json};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// A region with one host, `pve-1`: 16 CPUs, two threads per core, 32 GiB.
struct Site {
    rows: Vec<Value>,
    settings: &'static str,
    configs: BTreeMap<u32, Config>,
    facts: HostFacts,
    policy: Policy,
}

impl Site {
    fn new(policy: Policy) -> Self {
        let host = json!({"type": "node", "node": "pve-1", "status": "online", "maxcpu": 16,
            "maxmem": 32 * GIB, "cpu": 0.256});
        let processors = Processors {
            model: "AMD Ryzen 7 5700X 8-Core Processor".to_owned(),
            sockets: 1,
            cores: 8,
            cpus: 16,
        };
        Self {
            rows: vec![host],
            settings: "{}",
            configs: BTreeMap::new(),
            facts: HostFacts { processors, memory: 32 * GIB, ..HostFacts::default() },
            policy,
        }
    }

    /// One whose topology is known: two NUMA nodes of 8 CPUs and 16 GiB.
    fn known(policy: Policy) -> Self {
        let settings = r#"{"region-1": {"*": {"threads": 2, "uncorecaches": 2, "nodes": {
            "0": {"cpus": "0-3,8-11", "memsize": 17179869184},
            "1": {"cpus": "4-7,12-15", "memsize": 17179869184}}}}}"#;
        Self { settings, ..Self::new(policy) }
    }

    fn guest(mut self, vmid: u32, kind: &str, cpus: u32, gib: u64, status: &str) -> Self {
        self.rows.push(json!({"type": kind, "vmid": vmid, "node": "pve-1", "status": status,
            "name": format!("vm-{vmid}"), "maxcpu": cpus, "maxmem": gib * GIB}));
        self
    }

    fn pinned(mut self, vmid: u32, options: &[(&str, &str)]) -> Self {
        let options = options.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        self.configs.insert(vmid, options.collect());
        self
    }

    fn host(&self) -> Host {
        let (settings, _) = NodeSettings::read(self.settings).expect("it can be meant");
        let region = Region::new(
            "region-1",
            self.policy,
            &Seen {
                rows: &Rows::read(&self.rows).expect("rows say enough"),
                facts: &[("pve-1".to_owned(), self.facts.clone())].into(),
                settings: &settings,
                configs: &self.configs,
            },
        );
        region.hosts["pve-1"].clone()
    }

    #[track_caller]
    fn left(&self, expected: &str) {
        let host = self.host();
        assert_eq!(host.told(&host.room([]), self.policy), expected);
    }

    fn place(&self, cpus: u32, gib: u64) -> Result<Demand, String> {
        let host = self.host();
        let room = host.room([]);
        host.place(&room, self.policy, cpus, gib * GIB).map_err(|why| why.to_string())
    }
}

#[test]
fn an_empty_host_keeps_a_gibibyte_for_itself() {
    Site::new(Policy::Simple)
        .left("CPU: Free: 16, Static: [], Common: [0-15], Reserved: [], Mem: 31744M");
}

#[test]
fn what_runs_is_taken_off() {
    let site = Site::new(Policy::Simple).guest(100, "qemu", 4, 8, "running");
    site.left("CPU: Free: 12, Static: [], Common: [0-15], Reserved: [], Mem: 23552M");
    site.guest(101, "qemu", 8, 8, "stopped")
        .left("CPU: Free: 12, Static: [], Common: [0-15], Reserved: [], Mem: 23552M");
}

#[test]
fn cpus_that_a_guest_has_for_itself_are_counted_once() {
    let affinity = [("affinity", "0,1,8,9")];
    Site::new(Policy::Simple)
        .guest(100, "qemu", 4, 4, "running")
        .guest(101, "qemu", 4, 4, "running")
        .guest(102, "qemu", 4, 4, "running")
        .pinned(100, &affinity)
        .pinned(101, &affinity)
        .left("CPU: Free: 8, Static: [0-1,8-9], Common: [2-7,10-15], Reserved: [], Mem: 19456M");
}

/// Upstream: containers are not counted.
#[test]
fn containers_take_room_too() {
    Site::new(Policy::Simple)
        .guest(200, "lxc", 2, 4, "running")
        .left("CPU: Free: 14, Static: [], Common: [0-15], Reserved: [], Mem: 27648M");
}

/// Upstream: guests that do not fit are left out, with their memory.
#[test]
fn a_host_that_has_given_out_too_much_has_nothing_left_and_counts_all_memory() {
    let site = Site::new(Policy::Simple)
        .guest(100, "qemu", 12, 8, "running")
        .guest(101, "qemu", 12, 8, "running");
    site.left("CPU: Free: 0, Static: [], Common: [0-15], Reserved: [], Mem: 15360M");
    site.guest(102, "qemu", 1, 64, "running")
        .left("CPU: Free: 0, Static: [], Common: [0-15], Reserved: [], Mem: 0M");
}

#[test]
fn an_instance_fits_or_the_reason_is_told() {
    let site = Site::new(Policy::Simple).guest(100, "qemu", 10, 8, "running");
    assert!(site.place(6, 23).is_ok());
    let told = |cpus, gib| site.place(cpus, gib).unwrap_err();
    assert_eq!(told(7, 1), "6 of 7 CPUs are free");
    assert_eq!(told(1, 24), "23552 of 24576 MiB of memory are free");
    assert_eq!(told(17, 1), "an instance has 17 CPUs, and the host has 16");
}

#[test]
fn a_host_that_is_offline_or_in_maintenance_takes_nothing() {
    for (change, expected) in [
        (json!({"status": "offline"}), "the host is offline"),
        (json!({"status": "unknown"}), "the host is offline"),
        (json!({"hastate": "maintenance"}), "the host is in maintenance"),
    ] {
        let mut site = Site::new(Policy::Simple);
        for (key, value) in change.as_object().unwrap() {
            site.rows[0][key] = value.clone();
        }
        assert_eq!(site.place(1, 1).unwrap_err(), expected);
    }
}

#[test]
fn settings_reserve_and_stretch() {
    let mut site = Site::new(Policy::Simple);
    site.settings = r#"{"region-1": {"pve-1": {"reservedcpus": [0, 8], "reservedmemory": "50%"}}}"#;
    site.left("CPU: Free: 14, Static: [], Common: [1-7,9-15], Reserved: [0,8], Mem: 16384M");
    site.settings = r#"{"region-1": {"pve-1": {"cpuovercommit": 2.0, "memoryovercommit": 1.5,
        "reservedmemory": 2147483648}}}"#;
    site.left("CPU: Free: 32, Static: [], Common: [0-15], Reserved: [], Mem: 46080M");
    assert_eq!(site.place(17, 1).unwrap_err(), "an instance has 17 CPUs, and the host has 16");
}

#[test]
fn what_zfs_caches_is_reserved_where_the_host_tells() {
    let mut site = Site::new(Policy::Simple);
    site.settings = r#"{"region-1": {"pve-1": {"arc": "auto"}}}"#;
    site.left("CPU: Free: 16, Static: [], Common: [0-15], Reserved: [], Mem: 31744M");
    site.facts.arc_max = Some(8 * GIB);
    site.left("CPU: Free: 16, Static: [], Common: [0-15], Reserved: [], Mem: 23552M");
}

#[test]
fn a_host_of_which_only_its_row_is_known_is_counted_with() {
    let site = Site::new(Policy::Static).guest(100, "qemu", 4, 8, "running");
    let region = Region::new(
        "region-1",
        Policy::Static,
        &Seen {
            rows: &Rows::read(&site.rows).unwrap(),
            facts: &BTreeMap::new(),
            settings: &NodeSettings::default(),
            configs: &BTreeMap::new(),
        },
    );
    let host = &region.hosts["pve-1"];
    assert_eq!((host.room([]).cpus, host.room([]).memory), (12, 23 * GIB));
    assert_eq!(host.load_percent, 25);
}

#[track_caller]
fn pinned(demand: &Demand, expected: &Expect) {
    let options = demand.pinning.as_ref().map(Pinning::options).unwrap_or_default();
    let lines: Vec<String> = options.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    expected.assert_eq(&lines.join("\n"));
}

#[test]
fn with_the_policy_static_an_instance_has_cpus_and_memory_of_its_own() {
    let site = Site::known(Policy::Static);
    site.left("CPU: Free: 16, Static: [], Common: [0-15], Reserved: [], Mem: 31744M, N0:16384M, N1:16384M");
    pinned(
        &site.place(4, 4).unwrap(),
        &expect![[r#"
        affinity: 0-1,8-9
        numa: 1
        numa0: cpus=0-3,hostnodes=0,memory=4096,policy=bind"#]],
    );
    pinned(
        &site.place(1, 1).unwrap(),
        &expect![[r#"
        affinity: 0
        numa: 1
        numa0: cpus=0,hostnodes=0,memory=1024,policy=bind"#]],
    );
}

#[test]
fn an_instance_goes_to_a_numa_node_that_has_its_memory() {
    let site = Site::known(Policy::Static).guest(100, "qemu", 4, 12, "running").pinned(
        100,
        &[("affinity", "0-1,8-9"), ("numa0", "cpus=0-3,hostnodes=0,memory=12288,policy=bind")],
    );
    site.left("CPU: Free: 12, Static: [0-1,8-9], Common: [2-7,10-15], Reserved: [], Mem: 19456M, N0:4096M, N1:16384M");
    pinned(
        &site.place(4, 8).unwrap(),
        &expect![[r#"
        affinity: 4-5,12-13
        numa: 1
        numa0: cpus=0-3,hostnodes=1,memory=8192,policy=bind"#]],
    );
    assert_eq!(
        site.place(2, 17).unwrap_err(),
        "no NUMA node has 17408 MiB of memory, the most that one has is 16384 MiB"
    );
    assert_eq!(site.place(10, 8).unwrap_err(), "NUMA nodes with enough memory have 8 of 10 CPUs");
}

/// Upstream: each NUMA node gets all of the memory, and the instance never starts.
#[test]
fn memory_is_shared_among_numa_nodes_by_cpus() {
    let site = Site::known(Policy::Static);
    let demand = site.place(12, 10).unwrap();
    pinned(
        &demand,
        &expect![[r#"
        affinity: 0-5,8-13
        numa: 1
        numa0: cpus=0-7,hostnodes=0,memory=6826,policy=bind
        numa1: cpus=8-11,hostnodes=1,memory=3414,policy=bind"#]],
    );
    for mib in [1, 2047, 4098, 10_241] {
        let host = site.host();
        let demand = host.place(&host.room([]), Policy::Static, 12, mib * MIB).unwrap();
        let shares = demand.pinning.unwrap().numa;
        let sum: u64 = shares.iter().map(|binding| binding.memory_mib).sum();
        assert_eq!(sum, mib, "{shares:?}");
        assert_eq!(shares[0].memory_mib % 2, 0, "{shares:?}");
    }
}

#[test]
fn nothing_is_pinned_while_it_is_not_known_what_others_have() {
    let site = Site::known(Policy::Static).guest(100, "qemu", 4, 4, "running");
    assert_eq!(
        site.place(2, 2).unwrap_err(),
        "the configuration of 1 running virtual machines is not known yet"
    );
    assert!(site.pinned(100, &[("cores", "4")]).place(2, 2).is_ok());
    assert!(Site::known(Policy::Static).guest(200, "lxc", 4, 4, "running").place(2, 2).is_ok());
}

/// Upstream: binds to NUMA nodes that the host may not have.
#[test]
fn nothing_is_pinned_by_a_guess() {
    let demand = Site::new(Policy::Static).place(4, 4).unwrap();
    assert_eq!(demand, Demand { cpus: 4, memory: 4 * GIB, pinning: None });
}

#[test]
fn what_is_released_can_be_had_again() {
    let host = Site::known(Policy::Static).host();
    let empty = host.room([]);
    let demand = host.place(&empty, Policy::Static, 8, 8 * GIB).unwrap();
    let room = host.room([&demand]);
    assert_eq!((room.cpus, room.memory), (8, 23 * GIB));
    assert_eq!(room.numa[&0], 8 * GIB);
    assert_eq!(host.room([]), empty);
}

#[test]
fn a_row_that_says_too_little_is_not_passed_over() {
    let error = Rows::read(&[json!({"type": "qemu", "id": "qemu/100", "node": "pve-1"})]);
    expect![[
        r#"row 1 of the resource list, "qemu/100": has no usable vmid; Proxmox VE may be newer"#
    ]]
    .assert_eq(&error.unwrap_err().to_string());
    let rows = Rows::read(&[
        json!({"type": "qemu", "vmid": "100", "node": "pve-1", "status": "unknown", "tags": "a;b"}),
        json!({"type": "sdn", "id": "sdn/localnetwork"}),
        json!({"type": "lxc", "vmid": 101, "node": "pve-1", "status": "running", "maxcpu": "0.5"}),
    ])
    .unwrap();
    assert_eq!(rows.guests.len(), 2);
    assert_eq!(rows.guest(100).unwrap().tags, ["a", "b"]);
    assert_eq!(rows.guest(100).unwrap().name, None);
    assert_eq!(rows.guest(101).unwrap().cpus, 1);
}

fn zone(name: &str, load: u32, in_flight: u32, instances: usize, free_gib: u64) -> Standing {
    Standing {
        region: "r".to_owned(),
        zone: name.to_owned(),
        load_percent: load,
        cpus_in_flight: in_flight,
        cpus: 100,
        instances,
        free_memory: free_gib * GIB,
    }
}

fn ordered(strategy: Strategy, zones: &[Standing], seed: &str) -> Vec<String> {
    let mut zones = zones.to_vec();
    strategy.order(&mut zones, seed);
    zones.into_iter().map(|zone| zone.zone).collect()
}

#[test]
fn the_zone_with_the_least_load_comes_first() {
    let order = |zones: &[Standing]| ordered(Strategy::Balanced, zones, "");
    assert_eq!(order(&[zone("a", 50, 0, 0, 9), zone("b", 10, 0, 9, 1)]), ["b", "a"]);
    // What is being made counts as load already.
    assert_eq!(order(&[zone("a", 10, 0, 0, 9), zone("b", 5, 20, 0, 9)]), ["a", "b"]);
    assert_eq!(order(&[zone("a", 5, 0, 3, 9), zone("b", 5, 0, 2, 1)]), ["b", "a"]);
    assert_eq!(order(&[zone("a", 5, 0, 2, 1), zone("b", 5, 0, 2, 9)]), ["b", "a"]);
    assert_eq!(order(&[zone("b", 5, 0, 2, 1), zone("a", 5, 0, 2, 1)]), ["a", "b"]);
}

#[test]
fn availability_first_spreads_claims_over_zones_and_repeats_itself() {
    let zones = ["a", "b", "c", "d"].map(|name| zone(name, 0, 0, 0, 0));
    let order = |seed: &str| ordered(Strategy::AvailabilityFirst, &zones, seed);
    assert_eq!(order("uid-1"), order("uid-1"));
    let first: std::collections::BTreeSet<String> =
        (0..40).map(|seed| order(&seed.to_string()).remove(0)).collect();
    assert_eq!(first.len(), 4);
}
