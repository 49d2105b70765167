use joiner_vim::spec::Backing;

use super::*;
use crate::inventory::{Details, Pool};

fn reference(id: &str) -> MoRef {
    MoRef::new("ManagedObject", id)
}

fn named(path: &str) -> Named {
    let name = path.rsplit('/').next().unwrap_or_default().to_owned();
    Named { reference: reference(path), name, path: path.to_owned() }
}

/// A cluster that mounts and sees everything that is named after it.
fn cluster(path: &str) -> Cluster {
    let of = |kind: &str| {
        ["a", "b", "shared"].map(|own| reference(&format!("/DC0/{kind}/{own}"))).to_vec()
    };
    Cluster {
        named: named(path),
        root_pool: reference(&format!("{path}/Resources")),
        datastores: of("datastore"),
        networks: of("network"),
        hosts: Vec::new(),
        lineage: Vec::new(),
    }
}

fn pool(path: &str, owner: &str) -> Pool {
    Pool { named: named(path), owner: reference(owner), lineage: Vec::new() }
}

fn datastore(name: &str, free: u64) -> Datastore {
    let named = named(&format!("/DC0/datastore/{name}"));
    Datastore { named, usable: true, free, capacity: 1000, pod: None }
}

fn network(name: &str) -> Network {
    let named = named(&format!("/DC0/network/{name}"));
    Network { backing: Some(Backing::Network { device_name: name.to_owned() }), named }
}

fn template(path: &str, created: &str) -> Template {
    Template {
        named: named(path),
        is_marked: true,
        created: created.parse().ok(),
        instance_uuid: path.to_owned(),
        details: Details::default(),
    }
}

fn inventory() -> Inventory {
    Inventory {
        clusters: vec![cluster("/DC0/host/C0"), cluster("/DC0/host/C1")],
        pools: vec![
            pool("/DC0/host/C0/Resources", "/DC0/host/C0"),
            pool("/DC0/host/C0/Resources/nodes", "/DC0/host/C0"),
            pool("/DC0/host/C1/Resources/nodes", "/DC0/host/C1"),
            pool("/DC0/host/C1/Resources/only", "/DC0/host/C1"),
        ],
        datastores: vec![datastore("a", 10), datastore("b", 30), datastore("far", 99)],
        networks: vec![network("a"), network("b"), network("far")],
        templates: vec![
            template("/DC0/vm/ubuntu-1", "2026-01-01T00:00:00Z"),
            template("/DC0/vm/ubuntu-2", "2026-03-01T00:00:00Z"),
            template("/DC0/vm/old/ubuntu-3", "2026-02-01T00:00:00Z"),
            template("/DC0/vm/twin", "2026-02-01T00:00:00Z"),
            template("/DC0/vm/old/twin", "2026-02-01T00:00:00Z"),
            Template { is_marked: false, ..template("/DC0/vm/instance", "2026-09-01T00:00:00Z") },
        ],
    }
}

fn tags(tag: &str) -> BTreeMap<String, String> {
    [("karpenter".to_owned(), tag.to_owned())].into()
}

/// Who carries `karpenter=true`.
fn tagged(paths: &[&str]) -> Tagged {
    let mut tagged = Tagged::default();
    tagged.learn(&tags("true"), paths.iter().map(|path| reference(path)).collect());
    tagged
}

fn computed(name: &str) -> Result<String, String> {
    let found =
        compute("spec.computeSelector", Wanted::Name(name), &Tagged::default(), &inventory());
    found.map(|own| own.pool.id).map_err(|error| format!("{}: {}", error.reason, error.message))
}

fn c0() -> Compute {
    compute("f", Wanted::Name("C0"), &Tagged::default(), &inventory()).unwrap()
}

#[test]
fn a_compute_selector_takes_pools_by_path_then_clusters_then_pools_by_name() {
    let root = Ok("/DC0/host/C0/Resources".to_owned());
    assert_eq!(computed("C0"), root);
    assert_eq!(computed("/DC0/host/C0"), root);
    assert_eq!(computed("C0/Resources"), root);
    assert_eq!(
        computed("/DC0/host/C1/Resources/nodes"),
        Ok("/DC0/host/C1/Resources/nodes".to_owned())
    );
    assert_eq!(computed("only"), Ok("/DC0/host/C1/Resources/only".to_owned()));
}

#[test]
fn a_name_that_several_have_is_told_with_all_paths() {
    assert_eq!(
        computed("nodes"),
        Err("ComputeAmbiguous: spec.computeSelector leads to several things \
             (/DC0/host/C0/Resources/nodes, /DC0/host/C1/Resources/nodes); write the whole path of \
             one cluster or resource pool, or tags that only one has"
            .to_owned())
    );
}

#[test]
fn a_name_that_nobody_has_is_told() {
    assert_eq!(
        computed("C9"),
        Err("ComputeNotFound: spec.computeSelector: there is no cluster or resource pool of the \
             name or at the path \"C9\" that the account can see; correct it, or give the account \
             the role Read-only there"
            .to_owned())
    );
}

#[test]
fn tags_lead_to_clusters_and_pools_and_never_to_one_of_several_at_random() {
    let by_tags = |paths: &[&str]| {
        let wanted = tags("true");
        compute("f", Wanted::Tags(&wanted), &tagged(paths), &inventory())
            .map(|own| own.pool.id)
            .map_err(|error| error.reason)
    };
    let root = Ok("/DC0/host/C0/Resources".to_owned());
    assert_eq!(by_tags(&["/DC0/host/C0"]), root);
    assert_eq!(by_tags(&["/DC0/host/C0", "/DC0/host/C0/Resources"]), root);
    assert_eq!(
        by_tags(&["/DC0/host/C1/Resources/only"]),
        Ok("/DC0/host/C1/Resources/only".to_owned())
    );
    assert_eq!(by_tags(&["/DC0/host/C0", "/DC0/host/C1"]), Err("ComputeAmbiguous"));
    assert_eq!(by_tags(&[]), Err("ComputeNotFound"));
}

#[test]
fn of_several_datastores_the_one_with_most_room_comes_first() {
    let wanted = tags("true");
    let all = tagged(&["/DC0/datastore/a", "/DC0/datastore/b", "/DC0/datastore/far"]);
    let found = datastores("f", Wanted::Tags(&wanted), &all, &inventory(), &c0()).unwrap();
    let names: Vec<&str> = found.usable.iter().map(|own| own.named.name.as_str()).collect();
    assert_eq!(names, ["b", "a"], "what no host of the cluster mounts is left out");
    assert_eq!(found.meant.len(), 3, "an instance may be in any of them");
}

#[test]
fn datastores_that_cannot_be_used_are_told() {
    let found = |name: &str, change: fn(&mut Datastore)| {
        let mut inventory = inventory();
        inventory.datastores.iter_mut().for_each(change);
        datastores(
            "spec.datastoreSelector",
            Wanted::Name(name),
            &Tagged::default(),
            &inventory,
            &c0(),
        )
        .map(|own| own.usable.len())
        .map_err(|error| error.reason)
    };
    assert_eq!(found("a", |_| {}), Ok(1));
    assert_eq!(found("a", |own| own.usable = false), Err("DatastoreUnusable"));
    assert_eq!(found("far", |_| {}), Err("DatastoreNotMounted"));
    assert_eq!(found("none", |_| {}), Err("DatastoreNotFound"));
}

#[test]
fn a_datastore_cluster_stands_for_its_datastores() {
    let mut inventory = inventory();
    for name in ["a", "b"] {
        let own = inventory.datastores.iter_mut().find(|own| own.named.name == name).unwrap();
        own.named.path = format!("/DC0/datastore/pod/{name}");
        own.pod = Some(reference("/DC0/datastore/pod"));
    }
    let by_name =
        datastores("f", Wanted::Name("pod"), &Tagged::default(), &inventory, &c0()).unwrap();
    assert_eq!(by_name.usable.len(), 2);
    let wanted = tags("true");
    let on_pod = tagged(&["/DC0/datastore/pod"]);
    let by_tag = datastores("f", Wanted::Tags(&wanted), &on_pod, &inventory, &c0()).unwrap();
    assert_eq!(by_tag.usable.len(), 2);
}

#[test]
fn a_network_has_to_be_one_of_the_clusters_hosts() {
    let found = |name: &str| {
        network_of(name, &inventory()).map(|own| own.named.path).map_err(|error| error.reason)
    };
    assert_eq!(found("a"), Ok("/DC0/network/a".to_owned()));
    assert_eq!(found("far"), Err("NetworkNotReachable"));
    assert_eq!(found("none"), Err("NetworkNotFound"));
}

fn network_of(name: &str, inventory: &Inventory) -> Result<Network, Unresolved> {
    super::network("spec.networkSelector", Wanted::Name(name), &Tagged::default(), inventory, &c0())
}

#[test]
fn a_network_whose_switch_cannot_be_seen_is_told() {
    let mut inventory = inventory();
    inventory.networks[0].backing = None;
    let error = network_of("a", &inventory).unwrap_err();
    assert_eq!(error.reason, "NetworkUnreadable");
    assert!(error.message.contains("Read-only on the distributed switch"), "{}", error.message);
}

fn imaged(wanted: Wanted<'_>) -> Result<String, &'static str> {
    image("spec.imageSelector", wanted, &tagged(&["/DC0/vm/ubuntu-1"]), &inventory())
        .map(|own| own.named.path)
        .map_err(|error| error.reason)
}

#[test]
fn of_several_templates_that_a_pattern_leads_to_the_newest_is_used() {
    assert_eq!(imaged(Wanted::Pattern("ubuntu-*")), Ok("/DC0/vm/ubuntu-2".to_owned()));
    assert_eq!(imaged(Wanted::Pattern("/DC0/vm/old/*")), Ok("/DC0/vm/old/ubuntu-3".to_owned()));
    assert_eq!(imaged(Wanted::Pattern("debian-*")), Err("ImageNotFound"));
}

#[test]
fn a_template_by_name_is_exactly_that_one() {
    assert_eq!(imaged(Wanted::Name("ubuntu-1")), Ok("/DC0/vm/ubuntu-1".to_owned()));
    assert_eq!(imaged(Wanted::Name("ubuntu-*")), Err("ImageNotFound"));
    assert_eq!(imaged(Wanted::Name("twin")), Err("ImageAmbiguous"));
    assert_eq!(imaged(Wanted::Name("/DC0/vm/old/twin")), Ok("/DC0/vm/old/twin".to_owned()));
}

#[test]
fn a_template_by_tags() {
    let wanted = tags("true");
    assert_eq!(imaged(Wanted::Tags(&wanted)), Ok("/DC0/vm/ubuntu-1".to_owned()));
}

#[test]
fn an_instance_is_no_template() {
    assert_eq!(imaged(Wanted::Name("instance")), Err("ImageNotATemplate"));
    assert_eq!(imaged(Wanted::Pattern("*")), Ok("/DC0/vm/ubuntu-2".to_owned()));
}

#[test]
fn the_datacenter_is_the_classes_or_the_settings_or_the_only_one() {
    let two = [named("/DC0"), named("/DC1")];
    let found = |wanted, setting, datacenters: &[Named]| {
        datacenter(wanted, setting, &Tagged::default(), datacenters)
            .map(|own| own.path)
            .map_err(|error| error.reason)
    };
    assert_eq!(found(Some(Wanted::Name("DC1")), Some("DC0"), &two), Ok("/DC1".to_owned()));
    assert_eq!(found(None, Some("DC0"), &two), Ok("/DC0".to_owned()));
    assert_eq!(found(None, None, &two[..1]), Ok("/DC0".to_owned()));
    assert_eq!(found(None, None, &two), Err("DatacenterAmbiguous"));
    assert_eq!(found(None, None, &[]), Err("DatacenterNotFound"));
    assert_eq!(found(None, Some("DC9"), &two), Err("DatacenterNotFound"));
}
