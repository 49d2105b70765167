//! What is given out to claims, from before the clone until the instance is gone.

use std::collections::{BTreeMap, BTreeSet};

use expect_test::expect;
use jiff::Timestamp;
use joiner_cloud::order::ClaimId;
use joiner_proxmox::{
    capacity::{
        host::Demand,
        region::{Region, Seen},
        rows::Rows,
    },
    configuration::{node_settings::NodeSettings, settings::Policy},
    ledger::{
        ClaimRecord, Ledger, Request,
        addresses::{Addresses, Released, Subnet},
    },
};
use serde_json::{Value, json};

const GIB: u64 = 1 << 30;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("it is a time")
}

fn claim(number: u32) -> ClaimId {
    ClaimId { name: format!("general-{number}"), uid: format!("uid-{number}") }
}

/// Two hosts of 8 CPUs and 17 GiB with 100 GiB of local storage each, and 150 GiB that they share.
fn rows(guests: &[Value]) -> Vec<Value> {
    let mut rows = Vec::new();
    for host in ["pve-1", "pve-2"] {
        rows.push(json!({"type": "node", "node": host, "status": "online", "maxcpu": 8,
            "maxmem": 17 * GIB}));
        for (storage, shared, gib) in [("local-lvm", 0, 100), ("ceph", 1, 150)] {
            rows.push(json!({"type": "storage", "storage": storage, "node": host,
                "status": "available", "shared": shared, "content": "images,rootdir",
                "maxdisk": gib * GIB, "disk": 0}));
        }
        rows.push(json!({"type": "storage", "storage": "iso", "node": host,
            "status": "available", "content": "iso", "maxdisk": GIB, "disk": 0}));
    }
    rows.extend(guests.iter().cloned());
    rows
}

fn guest(vmid: u32, name: Option<&str>, host: &str, status: &str) -> Value {
    json!({"type": "qemu", "vmid": vmid, "node": host, "status": status, "name": name,
        "maxcpu": 4, "maxmem": 8 * GIB})
}

fn region(guests: &[Value]) -> Region {
    Region::new(
        "r1",
        Policy::Simple,
        &Seen {
            rows: &Rows::read(&rows(guests)).expect("rows say enough"),
            facts: &BTreeMap::new(),
            settings: &NodeSettings::default(),
            configs: &BTreeMap::new(),
        },
    )
}

/// 4 CPUs and 8 GiB, without a disk.
fn request<'r>(claim: &'r ClaimId, zone: &'r str) -> Request<'r> {
    Request { claim, zone, cpus: 4, memory: 8 * GIB, disk: None }
}

fn ledger() -> Ledger {
    Ledger::new(20000)
}

/// CPUs that are left in a zone.
fn cpus(ledger: &Ledger, region: &Region, zone: &str) -> u32 {
    ledger.room(region, zone).expect("the zone is there").cpus
}

#[test]
fn what_is_reserved_is_not_given_out_twice() {
    let (mut ledger, region) = (ledger(), region(&[]));
    for number in 1..=2 {
        ledger.reserve(&region, &request(&claim(number), "pve-1"), at(0)).unwrap();
    }
    let third = claim(3);
    let refused = ledger.reserve(&region, &request(&third, "pve-1"), at(0)).unwrap_err();
    assert_eq!(refused.to_string(), "zone \"pve-1\": 0 of 4 CPUs are free");
    assert_eq!(ledger.cpus_in_flight(&region, "pve-1"), 8);
    let entry = ledger.reserve(&region, &request(&third, "pve-2"), at(0)).unwrap();
    assert_eq!((entry.zone.as_str(), entry.vmid), ("pve-2", 20002));
}

#[test]
fn a_claim_that_has_something_keeps_it() {
    let (mut ledger, region) = (ledger(), region(&[]));
    let claim = claim(1);
    let first = ledger.reserve(&region, &request(&claim, "pve-1"), at(0)).unwrap().clone();
    let again = ledger.reserve(&region, &request(&claim, "pve-2"), at(9)).unwrap();
    assert_eq!(*again, first);
}

/// Upstream: what is being made is forgotten whenever the list is read again.
#[test]
fn an_instance_counts_once_from_before_the_clone_until_it_runs() {
    let mut ledger = ledger();
    let claim = claim(1);
    let empty = region(&[]);
    ledger.reserve(&empty, &request(&claim, "pve-1"), at(0)).unwrap();
    // Not in the list yet; there without a name; there with a name; running.
    for (seen, is_running) in [
        (region(&[]), false),
        (region(&[guest(20000, None, "pve-1", "unknown")]), false),
        (region(&[guest(20000, Some("general-1"), "pve-1", "stopped")]), false),
        (region(&[guest(20000, Some("general-1"), "pve-1", "running")]), true),
        (region(&[guest(20000, Some("general-1"), "pve-1", "running")]), true),
    ] {
        let was_running = ledger.entry(&claim).unwrap().is_running;
        assert_eq!(ledger.see(&seen), is_running && !was_running);
        assert_eq!(ledger.entry(&claim).unwrap().is_running, is_running);
        assert_eq!(cpus(&ledger, &seen, "pve-1"), 4);
    }
}

#[test]
fn cpus_of_our_own_instance_are_its_own_before_its_configuration_is_read() {
    let (settings, _) = NodeSettings::read(
        r#"{"r1": {"*": {"nodes": {"0": {"cpus": "0-7", "memsize": 18253611008}}}}}"#,
    )
    .unwrap();
    let seen = |guests: &[Value]| {
        let rows = Rows::read(&rows(guests)).unwrap();
        let (facts, configs) = (BTreeMap::new(), BTreeMap::new());
        let seen = Seen { rows: &rows, facts: &facts, settings: &settings, configs: &configs };
        Region::new("r1", Policy::Static, &seen)
    };
    let mut ledger = ledger();
    let own = claim(1);
    ledger.reserve(&seen(&[]), &request(&own, "pve-1"), at(0)).unwrap();
    let running = seen(&[guest(20000, Some("general-1"), "pve-1", "running")]);
    ledger.see(&running);
    assert_eq!(ledger.room(&running, "pve-1").unwrap().common.to_string(), "4-7");
    let second = claim(2);
    let entry = ledger.reserve(&running, &request(&second, "pve-1"), at(0)).unwrap();
    assert_eq!(entry.demand.pinning.as_ref().unwrap().cpus.to_string(), "4-7");
}

#[test]
fn an_instance_that_was_moved_counts_where_it_is() {
    let mut ledger = ledger();
    let claim = claim(1);
    ledger.reserve(&region(&[]), &request(&claim, "pve-1"), at(0)).unwrap();
    let moved = region(&[guest(20000, Some("general-1"), "pve-2", "running")]);
    ledger.see(&moved);
    assert_eq!((cpus(&ledger, &moved, "pve-1"), cpus(&ledger, &moved, "pve-2")), (8, 4));
    assert_eq!(ledger.entry(&claim).unwrap().zone, "pve-2");
}

#[test]
fn a_virtual_machine_of_another_name_is_not_ours() {
    let mut ledger = ledger();
    let claim = claim(1);
    ledger.reserve(&region(&[]), &request(&claim, "pve-1"), at(0)).unwrap();
    let foreign = region(&[guest(20000, Some("mail"), "pve-2", "running")]);
    assert!(!ledger.see(&foreign));
    assert!(!ledger.entry(&claim).unwrap().is_running);
    assert_eq!(ledger.take_next_vmid(&foreign, &claim, at(1)), Ok(Some(20001)));
    assert_eq!(ledger.entry(&claim).unwrap().vmid, 20001);
}

/// Upstream: what a failed creation had is lost until a restart.
#[test]
fn what_is_released_can_be_had_at_once() {
    let (mut ledger, region) = (ledger(), region(&[]));
    let first = claim(1);
    ledger.reserve(&region, &request(&first, "pve-1"), at(0)).unwrap();
    assert!(ledger.release(&first, at(1)));
    assert!(!ledger.release(&first, at(2)));
    assert_eq!(cpus(&ledger, &region, "pve-1"), 8);
}

#[test]
fn a_number_is_not_given_out_again_for_five_minutes() {
    let (mut ledger, region) = (ledger(), region(&[guest(20001, Some("x"), "pve-2", "stopped")]));
    let mut next = |now: i64, number: u32| {
        let claim = claim(number);
        let vmid = ledger.reserve(&region, &request(&claim, "pve-1"), at(now)).unwrap().vmid;
        ledger.release(&claim, at(now));
        vmid
    };
    assert_eq!([next(0, 1), next(1, 2), next(299, 3)], [20000, 20002, 20003]);
    assert_eq!(next(300, 4), 20000);
}

#[test]
fn numbers_of_containers_and_templates_are_taken_too() {
    let mut taken = vec![
        json!({"type": "lxc", "vmid": 20000, "node": "pve-1", "status": "stopped"}),
        json!({"type": "qemu", "vmid": 20001, "node": "pve-1", "status": "stopped", "template": 1}),
    ];
    taken.push(guest(20002, None, "pve-1", "unknown"));
    let (mut ledger, region) = (ledger(), region(&taken));
    let claim = claim(1);
    assert_eq!(ledger.reserve(&region, &request(&claim, "pve-1"), at(0)).unwrap().vmid, 20003);
}

/// Upstream: storages are filled until a clone fails.
#[test]
fn disks_are_counted_by_host_or_once_for_all_that_share_them() {
    let (mut ledger, region) = (ledger(), region(&[]));
    let mut reserve = |number: u32, zone: &str, storage: &str, gib: u64| {
        let claim = claim(number);
        let request =
            Request { claim: &claim, zone, cpus: 1, memory: GIB, disk: Some((storage, gib * GIB)) };
        let reserved = ledger.reserve(&region, &request, at(0));
        reserved.map(|_| ()).map_err(|why| why.to_string())
    };
    assert_eq!(reserve(1, "pve-1", "local-lvm", 60), Ok(()));
    assert!(reserve(2, "pve-1", "local-lvm", 60).is_err());
    assert_eq!(reserve(3, "pve-2", "local-lvm", 60), Ok(()));
    assert_eq!(reserve(4, "pve-1", "ceph", 100), Ok(()));
    expect![[r#"zone "pve-2": storage "ceph" has 53687091200 of 64424509440 bytes free"#]]
        .assert_eq(&reserve(5, "pve-2", "ceph", 60).unwrap_err());
    expect![[
        r#"zone "pve-2": storage "iso" does not take disks; add the content type images to it"#
    ]]
    .assert_eq(&reserve(6, "pve-2", "iso", 1).unwrap_err());
    expect![[
        r#"zone "pve-2": storage "nfs" is not on the host; correct the name, or add it there"#
    ]]
    .assert_eq(&reserve(7, "pve-2", "nfs", 1).unwrap_err());
}

#[test]
fn after_a_restart_claims_still_have_what_they_had() {
    let record = |number: u32, vmid: u32, region: &str| ClaimRecord {
        claim: claim(number),
        region: region.to_owned(),
        zone: "pve-1".to_owned(),
        vmid,
        demand: Demand { cpus: 4, memory: 8 * GIB, pinning: None },
        disk: None,
        addresses: vec!["10.0.0.9".parse().unwrap()],
    };
    let seen = region(&[guest(20000, Some("general-1"), "pve-1", "running")]);
    let claims = vec![record(1, 20000, "r1"), record(2, 20001, "r1"), record(3, 20000, "r2")];
    let (ledger, lost) = Ledger::rebuilt(20000, claims, &[&seen], at(0));
    assert_eq!(cpus(&ledger, &seen, "pve-1"), 0);
    assert_eq!(ledger.entries().filter(|entry| entry.is_running).count(), 1);
    let lost: Vec<&str> = lost.iter().map(|lost| lost.region.as_str()).collect();
    assert_eq!(lost, ["r2"]);
    assert_eq!(ledger.addresses.of_claim("uid-3").count(), 1);
}

#[test]
fn two_hundred_claims_are_placed_without_a_host_that_gives_out_too_much() {
    let mut ledger = ledger();
    let region = region(&[]);
    let mut placed = 0;
    for number in 0..200 {
        let claim = claim(number);
        placed += ["pve-1", "pve-2"]
            .iter()
            .filter(|zone| {
                ledger.entry(&claim).is_none()
                    && ledger.reserve(&region, &request(&claim, zone), at(0)).is_ok()
            })
            .count();
    }
    assert_eq!(placed, 4);
    let vmids: BTreeSet<u32> = ledger.entries().map(|entry| entry.vmid).collect();
    assert_eq!(vmids.len(), 4);
    for zone in ["pve-1", "pve-2"] {
        assert_eq!(cpus(&ledger, &region, zone), 0);
    }
}

fn pool(text: &str) -> Subnet {
    Subnet::of_pool(text).expect("it is a network")
}

#[test]
fn only_the_networks_own_address_means_the_network() {
    for (text, expected) in [
        ("192.168.0.0/24", true),
        ("192.168.0.5/24", false),
        ("10.0.0.0/8", true),
        ("10.0.0.0/30", true),
        ("10.0.0.0/31", false),
        ("10.0.0.0/32", false),
        ("10.0.0.0", false),
        ("10.0.0.0/33", false),
        ("dhcp", false),
        ("fd00::/64", false),
    ] {
        assert_eq!(Subnet::of_pool(text).is_some(), expected, "{text}");
    }
    assert_eq!(pool("172.16.0.0/24").to_string(), "172.16.0.0/24");
}

/// Takes an address for each of these claims, and tells them or why there is none.
fn taken(addresses: &mut Addresses, subnet: &str, uids: &[&str], now: i64) -> Vec<String> {
    uids.iter()
        .map(|uid| match addresses.reserve(pool(subnet), None, uid, at(now)) {
            Ok(address) => address.to_string(),
            Err(exhausted) => exhausted.to_string(),
        })
        .collect()
}

/// Upstream: gives out the broadcast address, and addresses that others have once all are taken.
#[test]
fn neither_the_networks_address_nor_the_broadcast_address_is_given_out() {
    let mut addresses = Addresses::default();
    assert_eq!(
        taken(&mut addresses, "10.0.0.0/29", &["a", "b", "c", "d", "e", "f", "g"], 0),
        [
            "10.0.0.1",
            "10.0.0.2",
            "10.0.0.3",
            "10.0.0.4",
            "10.0.0.5",
            "10.0.0.6",
            "ip.exhausted: network 10.0.0.0/29 has no free address; remove instances, or give the \
             template a larger network"
        ]
    );
}

#[test]
fn a_claim_has_one_address_of_a_network() {
    let mut addresses = Addresses::default();
    assert_eq!(
        taken(&mut addresses, "10.0.0.0/24", &["a", "a", "b", "a"], 0),
        ["10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.1"]
    );
    assert_eq!(taken(&mut addresses, "10.0.1.0/24", &["a"], 0), ["10.0.1.1"]);
}

#[test]
fn hosts_begin_where_their_bridge_is_and_wrap() {
    let mut addresses = Addresses::default();
    let bridge = "10.0.0.5".parse().unwrap();
    addresses.occupy("10.0.0.5".parse().unwrap());
    let subnet = pool("10.0.0.0/29");
    let mut next =
        |uid: &str| addresses.reserve(subnet, Some(bridge), uid, at(0)).unwrap().to_string();
    assert_eq!([next("a"), next("b"), next("c")], ["10.0.0.6", "10.0.0.1", "10.0.0.2"]);
}

#[test]
fn addresses_of_others_are_not_given_out() {
    let mut addresses = Addresses::default();
    let others = ["10.0.0.1", "10.0.0.3"].map(|own| own.parse().unwrap());
    addresses.see_others(&BTreeSet::from(others), at(0));
    assert_eq!(taken(&mut addresses, "10.0.0.0/29", &["a", "b"], 0), ["10.0.0.2", "10.0.0.4"]);
    // One that is no longer seen waits like any other that was given back.
    addresses.see_others(&BTreeSet::from([others[0]]), at(10));
    assert_eq!(taken(&mut addresses, "10.0.0.0/29", &["c"], 10), ["10.0.0.5"]);
    assert_eq!(taken(&mut addresses, "10.0.0.0/29", &["d"], 310), ["10.0.0.3"]);
}

#[test]
fn an_address_waits_five_minutes_before_another_instance_has_it() {
    let mut addresses = Addresses::default();
    let own = addresses.reserve(pool("10.0.0.0/30"), None, "a", at(0)).unwrap();
    addresses.bind("a", own.into());
    addresses.release("a", at(100));
    assert_eq!(taken(&mut addresses, "10.0.0.0/30", &["b"], 101), ["10.0.0.2"]);
    assert_eq!(
        taken(&mut addresses, "10.0.0.0/30", &["c"], 399),
        ["ip.exhausted: network 10.0.0.0/30 has no free address; the next one is free at \
          2027-01-15T08:06:40Z"]
    );
    assert_eq!(taken(&mut addresses, "10.0.0.0/30", &["c"], 400), ["10.0.0.1"]);
}

/// Upstream: addresses of failed creations are lost until a restart.
#[test]
fn an_address_that_no_instance_ever_had_is_free_at_once() {
    let mut addresses = Addresses::default();
    assert_eq!(taken(&mut addresses, "10.0.0.0/30", &["a"], 0), ["10.0.0.1"]);
    assert!(addresses.release("a", at(1)));
    assert_eq!(taken(&mut addresses, "10.0.0.0/30", &["b"], 1), ["10.0.0.1"]);
}

/// Upstream: everything is forgotten by a restart.
#[test]
fn an_address_waits_across_a_restart() {
    let mut before = Addresses::default();
    let own = before.reserve(pool("10.0.0.0/30"), None, "a", at(0)).unwrap();
    before.bind("a", own.into());
    before.release("a", at(100));
    let record = before.released(at(150)).expect("it is known");
    let record = record.into_iter().map(|(own, at)| (own, Some(at))).collect();

    let restarted = |released: &Released| {
        let mut after = Addresses::default();
        after.begin(at(200));
        after.take_over(released, at(200));
        after
    };
    let known = Released::of_record(Some(record), true);
    assert_eq!(taken(&mut restarted(&known), "10.0.0.0/30", &["b"], 200), ["10.0.0.2"]);
    assert_eq!(taken(&mut restarted(&known), "10.0.0.0/30", &["b"], 400), ["10.0.0.1"]);
    // The time is not known: the start counts.
    let untimed = Released::Known(vec![(own.into(), None)]);
    assert_eq!(taken(&mut restarted(&untimed), "10.0.0.0/30", &["b"], 499), ["10.0.0.2"]);
    assert_eq!(taken(&mut restarted(&untimed), "10.0.0.0/30", &["b"], 500), ["10.0.0.1"]);
    // Nothing was written down, and there are instances: any address may be in use.
    let unknown = Released::of_record(None, true);
    assert!(taken(&mut restarted(&unknown), "10.0.0.0/30", &["b"], 499)[0].contains("free at"));
    assert_eq!(taken(&mut restarted(&unknown), "10.0.0.0/30", &["b"], 500), ["10.0.0.1"]);
    assert_eq!(restarted(&unknown).released(at(499)), None);
    assert_eq!(restarted(&unknown).released(at(500)), Some(Vec::new()));
    let never = Released::of_record(None, false);
    assert_eq!(taken(&mut restarted(&never), "10.0.0.0/30", &["b"], 200), ["10.0.0.1"]);
}

#[test]
fn what_is_bound_is_the_claims_even_if_others_were_seen_to_have_it() {
    let mut addresses = Addresses::default();
    let own = "10.0.0.1".parse().unwrap();
    addresses.occupy(own);
    addresses.bind("a", own);
    addresses.see_others(&BTreeSet::from([own]), at(0));
    addresses.see_others(&BTreeSet::new(), at(0));
    assert_eq!(addresses.of_claim("a").count(), 1);
}

#[test]
fn a_large_network_costs_no_more_than_a_small_one() {
    let mut addresses = Addresses::default();
    for number in 0..500 {
        addresses.reserve(pool("10.0.0.0/8"), None, &number.to_string(), at(0)).unwrap();
    }
    assert_eq!(taken(&mut addresses, "10.0.0.0/8", &["x"], 0), ["10.0.1.245"]);
}
