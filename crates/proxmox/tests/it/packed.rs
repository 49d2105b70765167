//! Which CPUs an instance gets for itself. The table was made by the kubelet's own algorithm.

use joiner_proxmox::{
    capacity::{
        cpu_set::CpuSet,
        packed,
        topology::{Processors, Topology},
    },
    configuration::node_settings::{HostSettings, NumaNode},
};

/// A host of the table: counts, then the CPUs of each NUMA node.
fn host(line: &str) -> Topology {
    let mut settings = HostSettings::default();
    for word in line.split_whitespace() {
        match word.split_once('=') {
            Some(("sockets", count)) => settings.sockets = count.parse().ok(),
            Some(("threads", count)) => settings.threads = count.parse().ok(),
            Some(("caches", count)) => settings.uncore_caches = count.parse().ok(),
            _ => {
                let id = settings.numa_nodes.len() as u32;
                let node = NumaNode { cpus: word.parse().expect("it is a list"), memory: 1 << 30 };
                settings.numa_nodes.insert(id, node);
            }
        }
    }
    Topology::discover(&Processors::default(), 0, &settings, None)
}

#[test]
fn cpus_are_taken_as_the_kubelet_takes_them() {
    let mut topology = Topology::default();
    let mut cases = 0;
    for line in include_str!("../facts/packed.txt").lines() {
        if let Some(line) = line.strip_prefix("* ") {
            topology = host(line);
            continue;
        }
        let parts: Vec<&str> = line.split(" | ").collect();
        let [free, count, expected] = parts[..] else { continue };
        let free: CpuSet = free.parse().unwrap();
        let taken = packed::take(&topology, &free, count.parse().unwrap());
        let taken = taken.map_or_else(|| "none".to_owned(), |taken| taken.to_string());
        assert_eq!(taken, expected, "{line}");
        cases += 1;
    }
    assert!(cases > 80, "the table has {cases} cases");
}

#[test]
fn what_is_taken_was_free_and_is_as_many_as_needed() {
    let topology = host("sockets=2 threads=2 caches=4 0-3,16-19 4-7,20-23 8-11,24-27 12-15,28-31");
    let all = CpuSet::range(0, 32);
    // A few thousand sets of free CPUs, from a sequence that always is the same.
    let mut bits: u32 = 1;
    for _ in 0..3000 {
        bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let free: CpuSet = all.iter().filter(|cpu| bits.rotate_left(*cpu) & 5 != 0).collect();
        let count = bits % 33;
        match packed::take(&topology, &free, count) {
            Some(taken) => {
                assert_eq!(taken.len(), count, "{count} of {free}");
                assert!(taken.difference(&free).is_empty(), "{taken} of {free}");
            }
            None => assert!(count > free.len(), "{count} of {free}"),
        }
    }
}
