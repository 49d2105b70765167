//! What selectors find, and what is said where they find nothing.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::cloud::{
    Cloud, ZONE_A, ZONE_B, class, conditions, found, network, offering, template, with, zone,
};

#[track_caller]
fn check(cloud: &Cloud, more: Value, expected: &Expect) {
    let resolution = cloud.resolve(&class(more));
    let told = format!("{}\n{}\n", found(&resolution), conditions(&resolution));
    expected.assert_eq(&told);
}

#[test]
fn a_class_that_suits_its_cloud_is_ready() {
    check(
        &Cloud::small(),
        json!({}),
        &expect![[r#"
        zone-a: guests | debian-13 | m1.medium
        ValidationSucceeded True
        ZoneReady True
        NetworksReady True
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
    check(
        &Cloud::small(),
        json!({"zone": ZONE_A.to_uppercase()}),
        &expect![[r#"
        zone-a: guests | debian-13 | m1.medium
        ValidationSucceeded True
        ZoneReady True
        NetworksReady True
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
}

/// Defects 9 and 13 of upstream: one zone only, and a disabled one as any other.
#[test]
fn a_class_may_be_in_several_zones_and_only_in_enabled_ones() {
    let mut cloud = Cloud::of_two_zones();
    check(
        &cloud,
        json!({"zones": ["zone-b"]}),
        &expect![[r#"
        zone-a: guests | debian-13 | m1.medium
        zone-b: guests | debian-13 | m1.medium
        ValidationSucceeded True
        ZoneReady True
        NetworksReady True
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
    check(
        &cloud,
        json!({"zone": null, "zones": ["zone-b", "zone-c"]}),
        &expect![[r#"
        zone-b: guests | debian-13 | m1.medium
        ValidationSucceeded True
        ZoneReady True  zone "zone-c" is not there
        NetworksReady True
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
    cloud.zones[1]["allocationstate"] = "Disabled".into();
    check(
        &cloud,
        json!({"zones": ["zone-b"]}),
        &expect![[r#"
        zone-a: guests | debian-13 | m1.medium
        ValidationSucceeded True
        ZoneReady True  zone "zone-b" is disabled
        NetworksReady True
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
    check(
        &cloud,
        json!({"zone": "zone-b"}),
        &expect![[r#"

        ValidationSucceeded True
        ZoneReady False ZoneDisabled CloudStackNodeClass general: zone "zone-b" is disabled; enable it, or name another
        NetworksReady Unknown WaitsForZone looked at once there is a zone
        ServiceOfferingsReady Unknown WaitsForZone looked at once there is a zone
        TemplatesReady Unknown WaitsForZone looked at once there is a zone
    "#]],
    );
    check(
        &cloud,
        json!({"zone": ""}),
        &expect![[r#"

        ValidationSucceeded True
        ZoneReady False ZoneNotFound CloudStackNodeClass general: spec.zone is empty; write the name or the id of a zone
        NetworksReady Unknown WaitsForZone looked at once there is a zone
        ServiceOfferingsReady Unknown WaitsForZone looked at once there is a zone
        TemplatesReady Unknown WaitsForZone looked at once there is a zone
    "#]],
    );
}

#[test]
fn a_zone_that_lacks_something_is_left_out_and_named() {
    let mut cloud = Cloud::of_two_zones();
    cloud.networks = json!([network("n1", "guests", ZONE_A)]);
    check(
        &cloud,
        json!({"zones": ["zone-b"]}),
        &expect![[r#"
        zone-a: guests | debian-13 | m1.medium
        ValidationSucceeded True
        ZoneReady True
        NetworksReady True  zone "zone-b": no network matches: of 0 seen, {tags: {use: nodes}} finds 0
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
    cloud.templates = json!([template("t1", "debian-13", ZONE_B)]);
    check(
        &cloud,
        json!({"zones": ["zone-b"]}),
        &expect![[r#"

        ValidationSucceeded True
        ZoneReady False ZoneNotFound CloudStackNodeClass general: no zone has a network, a template and a service offering at once
        NetworksReady True  zone "zone-b": no network matches: of 0 seen, {tags: {use: nodes}} finds 0
        ServiceOfferingsReady True
        TemplatesReady True  zone "zone-a": no template matches: of 0 seen, {tags: {use: nodes}} finds 0
    "#]],
    );
}

/// Defect 3 of upstream: the first field that matches counts, and the others do not.
#[test]
fn every_field_of_a_term_has_to_match_and_terms_are_alternatives() {
    let mut cloud = Cloud::small();
    cloud.networks = json!([
        network("n1", "guests", ZONE_A),
        with(network("n2", "other", ZONE_A), json!({"tags": []})),
        network("n3", "guests", ZONE_A),
    ]);
    let found_by = |terms: Value| {
        let class = class(json!({"networkSelectorTerms": terms}));
        let resolution = cloud.resolve(&class);
        let ids = resolution.zones.iter().flat_map(|own| &own.networks).map(|own| own.id.as_str());
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found_by(json!([{"name": "guests"}])), "n1 n3");
    assert_eq!(found_by(json!([{"id": "N3"}])), "n3");
    assert_eq!(found_by(json!([{"id": "n2", "name": "guests"}])), "");
    assert_eq!(found_by(json!([{"id": "gone", "name": "guests"}])), "");
    assert_eq!(found_by(json!([{"name": "other"}, {"tags": {"use": "*"}}])), "n2 n1 n3");
    assert_eq!(found_by(json!([{"tags": {"use": "nodes", "more": "*"}}])), "");
    assert_eq!(found_by(json!([{}])), "");
}

/// Defect 42 of upstream.
#[test]
fn a_network_without_instances_can_be_used() {
    let mut cloud = Cloud::small();
    for state in ["Allocated", "Setup", "Implementing"] {
        cloud.networks[0]["state"] = state.into();
        assert_eq!(cloud.resolve(&class(json!({}))).zones.len(), 1, "{state}");
    }
    cloud.networks[0]["state"] = "Shutdown".into();
    check(
        &cloud,
        json!({}),
        &expect![[r#"

        ValidationSucceeded True
        ZoneReady True
        NetworksReady False NetworkStateInvalid zone "zone-a": guests is in state "Shutdown"
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
}

#[test]
fn a_network_without_addresses_is_the_last_choice() {
    let mut cloud = Cloud::small();
    cloud.networks = json!([
        with(network("n1", "a", ZONE_A), json!({"canusefordeploy": false})),
        network("n2", "b", ZONE_A),
    ]);
    check(
        &cloud,
        json!({}),
        &expect![[r#"
        zone-a: b a | debian-13 | m1.medium
        ValidationSucceeded True
        ZoneReady True
        NetworksReady True
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
    cloud.networks[1]["canusefordeploy"] = false.into();
    check(
        &cloud,
        json!({}),
        &expect![[r#"
        zone-a: a b | debian-13 | m1.medium
        ValidationSucceeded True
        ZoneReady True
        NetworksReady True NoFreeAddresses zone "zone-a": no address is free in a, b
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
}

/// Defect 41 of upstream: CloudStack tells the state of a template's download its owner only.
#[test]
fn templates_of_others_can_be_used_and_unready_ones_not() {
    let mut cloud = Cloud::small();
    cloud.templates = json!([
        template("t1", "public", ZONE_A),
        with(
            template("t2", "own", ZONE_A),
            json!({"status": "Download Complete", "created": "2026-02-01T00:00:00+0000"})
        ),
        with(template("t3", "slow", ZONE_A), json!({"isready": false, "status": "12% Downloaded"})),
        with(template("t4", "router", ZONE_A), json!({"templatetype": "VNF"})),
        with(template("t5", "old", ZONE_A), json!({"arch": "i686"})),
        template("t6", "elsewhere", ZONE_B),
    ]);
    check(
        &cloud,
        json!({}),
        &expect![[r#"
        zone-a: guests | own public | m1.medium
        ValidationSucceeded True
        ZoneReady True
        NetworksReady True
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
    check(
        &cloud,
        json!({"templateSelectorTerms": [{"id": "t3"}]}),
        &expect![[r#"

        ValidationSucceeded True
        ZoneReady True
        NetworksReady True
        ServiceOfferingsReady True
        TemplatesReady False TemplateNotReady zone "zone-a": slow is not ready: 12% Downloaded
    "#]],
    );
    let by_id = cloud.resolve(&class(json!({"templateSelectorTerms": [{"id": "t4"}]})));
    assert_eq!(by_id.zones.len(), 1, "an appliance that is selected by its id");
}

/// Defect 1 of upstream.
#[test]
fn templates_are_found_by_their_operating_system_alone() {
    let os_type = json!({"templateSelectorTerms": [{"osType": "debian gnu/linux 13 (64-bit)"}]});
    assert_eq!(Cloud::small().resolve(&class(os_type)).zones.len(), 1);
}

/// Defects 2, 5 and 15 of upstream: tags of offerings are not looked at, and a class without
/// offerings is ready.
#[test]
fn offerings_are_found_by_details_and_by_tags_of_hosts_and_storage() {
    let mut cloud = Cloud::small();
    cloud.offerings = json!([
        offering("o1", "by-detail"),
        with(
            offering("o2", "by-hosts"),
            json!({"hosttags": "gpu, fast", "serviceofferingdetails": {}})
        ),
        with(
            offering("o3", "by-storage"),
            json!({"storagetags": "ssd", "serviceofferingdetails": {}})
        ),
    ]);
    let found_by = |tags: Value| {
        let terms = json!({"serviceOfferingSelectorTerms": [{"tags": tags}]});
        let resolution = cloud.resolve(&class(terms));
        let own = resolution.zones.iter().flat_map(|own| &own.offerings);
        own.map(|own| own.name.clone()).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(found_by(json!({"use": "nodes"})), "by-detail");
    assert_eq!(found_by(json!({"use": "*"})), "by-detail");
    assert_eq!(found_by(json!({"hosttags": "fast"})), "by-hosts");
    assert_eq!(found_by(json!({"storagetags": "*"})), "by-storage");
    check(
        &cloud,
        json!({"serviceOfferingSelectorTerms": [{"name": "gone"}]}),
        &expect![[r#"

        ValidationSucceeded True
        ZoneReady True
        NetworksReady True
        ServiceOfferingsReady False ServiceOfferingNotFound zone "zone-a": no service offering matches: of 3 seen, {name: gone} finds 0
        TemplatesReady True
    "#]],
    );
}

#[test]
fn offerings_that_no_instance_can_have_are_left_out() {
    let mut cloud = Cloud::small();
    cloud.offerings = json!([
        with(offering("o1", "inactive"), json!({"state": "Inactive"})),
        with(offering("o2", "system"), json!({"issystem": true})),
        with(offering("o3", "local"), json!({"storagetype": "local"})),
        with(offering("o4", "elsewhere"), json!({"zoneid": ZONE_B})),
        with(offering("o5", "here-too"), json!({"zoneid": format!("{ZONE_B},{ZONE_A}")})),
    ]);
    check(
        &cloud,
        json!({}),
        &expect![[r#"
        zone-a: guests | debian-13 | here-too
        ValidationSucceeded True
        ZoneReady True
        NetworksReady True
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
    cloud.zones = json!([with(zone(ZONE_A, "zone-a"), json!({"localstorageenabled": true}))]);
    check(
        &cloud,
        json!({}),
        &expect![[r#"
        zone-a: guests | debian-13 | here-too local
        ValidationSucceeded True
        ZoneReady True
        NetworksReady True
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
}

#[test]
fn customized_offerings_without_sizes_are_named() {
    let mut cloud = Cloud::small();
    let open = json!({"iscustomized": true, "cpunumber": null, "cpuspeed": null, "memory": null});
    cloud.offerings = json!([with(offering("o1", "open"), open)]);
    check(
        &cloud,
        json!({}),
        &expect![[r#"
        zone-a: guests | debian-13 | open
        ValidationSucceeded True
        ZoneReady True
        NetworksReady True
        ServiceOfferingsReady False OnlyCustomizedOfferings zone "zone-a": open is customized and says no bounds, so its sizes are not known; it is left out: list sizes in spec.customOfferingShapes
        TemplatesReady True
    "#]],
    );
    let shapes = json!([{"cpu": 4, "memoryMiB": 8192, "cpuSpeedMHz": 2000}]);
    check(
        &cloud,
        json!({"customOfferingShapes": shapes}),
        &expect![[r#"
        zone-a: guests | debian-13 | open
        ValidationSucceeded True
        ZoneReady True
        NetworksReady True
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
}

/// Defect 44 of upstream, in part: user data that no guest will get is sent all the same.
#[test]
fn user_data_that_no_guest_would_get_is_a_condition() {
    let mut cloud = Cloud::small();
    cloud.templates[0]["userdatapolicy"] = "DENYOVERRIDE".into();
    check(
        &cloud,
        json!({}),
        &expect![[r#"

            ValidationSucceeded False UserDataUnsupported CloudStackNodeClass general: template "debian-13" of zone "zone-a" has the user data policy DENYOVERRIDE, so instances get no user data of ours; use a template with another policy
            ZoneReady True
            NetworksReady True
            ServiceOfferingsReady True
            TemplatesReady True
        "#]],
    );
    let nothing = cloud.resolve(&class(json!({"userData": ""})));
    assert_eq!(nothing.zones.len(), 1, "without user data the policy does not matter");
    let mut cloud = Cloud::small();
    cloud.networks[0]["service"] = json!([{"name": "Dhcp"}]);
    check(
        &cloud,
        json!({}),
        &expect![[r#"

            ValidationSucceeded False UserDataUnsupported CloudStackNodeClass general: network "guests" of zone "zone-a" does not have the service UserData, so CloudStack refuses user data, key pairs and passwords there; use a network with it as the first one
            ZoneReady True
            NetworksReady True
            ServiceOfferingsReady True
            TemplatesReady True
        "#]],
    );
    check(
        &cloud,
        json!({"userData": null, "sshKeyPair": "operators"}),
        &expect![[r#"

            ValidationSucceeded False UserDataUnsupported CloudStackNodeClass general: network "guests" of zone "zone-a" does not have the service UserData, so CloudStack refuses user data, key pairs and passwords there; use a network with it as the first one; spec.sshKeyPair names the key pair "operators", which is not there; register it
            ZoneReady True
            NetworksReady True
            ServiceOfferingsReady True
            TemplatesReady True
        "#]],
    );
    let nothing = cloud.resolve(&class(json!({"userData": null})));
    assert_eq!(nothing.zones.len(), 1, "a network without the service, and nothing to be given");
}

/// Defect 44 of upstream, in part: the size of user data is met at the deployment only.
#[test]
fn user_data_that_is_too_large_is_a_condition() {
    let mut state = 1_u64;
    let noise: String = (0..60_000)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            char::from(b'!' + (state >> 57) as u8 % 90)
        })
        .collect();
    let text = format!("#!/bin/sh\n#{noise}\n");
    let resolution = Cloud::small().resolve(&class(json!({"userData": text})));
    let told = conditions(&resolution);
    let first = told.lines().next().unwrap_or_default();
    assert!(first.starts_with("ValidationSucceeded False UserDataTooLarge"), "{first}");
    let plain = format!("#!/bin/sh\n#{}\n", "x".repeat(40_000));
    let of = |format: &str| {
        let class = class(json!({"userData": plain, "userDataFormat": format}));
        conditions(&Cloud::small().resolve(&class)).lines().next().unwrap_or_default().to_owned()
    };
    assert_eq!(of("auto"), "ValidationSucceeded True");
    assert!(of("raw").contains("UserDataTooLarge"), "{}", of("raw"));
}

/// Defect 4 of upstream: the disk offering is never looked at.
#[test]
fn what_a_class_names_has_to_be_there() {
    let mut cloud = Cloud::small();
    let names = json!({
        "diskOffering": "Small",
        "overrideDiskOffering": "d2",
        "sshKeyPair": "operators",
        "affinityGroups": [{"name": "apart"}],
        "securityGroups": [{"id": "s1"}],
        "projectID": "p1",
    });
    check(
        &cloud,
        names.clone(),
        &expect![[r#"
        zone-a: guests | debian-13 | m1.medium
        ValidationSucceeded False DiskOfferingNotFound CloudStackNodeClass general: spec.diskOffering names "Small", which is not there; name a disk offering; spec.overrideDiskOffering names "d2", which is not there; name a disk offering; spec.sshKeyPair names the key pair "operators", which is not there; register it; spec.projectID names the project "p1", which is not there or not for this key; add its account to the project; spec.affinityGroups[0] names a group that is not there; create it, or name another; spec.securityGroups[0] names a group that is not there; create it, or name another
        ZoneReady True
        NetworksReady True
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
    cloud.more = json!({
        "diskOfferings": [{"id": "d1", "name": "Small", "disksize": 20}, {"id": "d2", "name": "x"}],
        "keyPairs": [{"name": "operators"}],
        "affinityGroups": [{"id": "a1", "name": "apart"}],
        "securityGroups": [{"id": "s1", "name": "default"}],
        "projects": [{"id": "p1", "name": "shop", "state": "Active"}],
    });
    let resolution = cloud.resolve(&class(names));
    assert_eq!(conditions(&resolution).lines().next(), Some("ValidationSucceeded True"));
    assert_eq!(resolution.disk_offering.map(|own| own.id).as_deref(), Some("d1"));
    assert_eq!(resolution.override_disk_offering.map(|own| own.id).as_deref(), Some("d2"));
    assert_eq!(resolution.affinity_group_ids, ["a1"]);
    assert_eq!(resolution.security_group_ids, ["s1"]);
}

#[test]
fn a_list_that_cannot_be_read_is_unknown_and_never_empty() {
    let mut cloud = Cloud::small();
    cloud.zones = "CloudStack did not answer".into();
    check(
        &cloud,
        json!({}),
        &expect![[r#"

        ValidationSucceeded True
        ZoneReady Unknown APIError CloudStackNodeClass general: zones cannot be listed: CloudStack did not answer
        NetworksReady Unknown WaitsForZone looked at once there is a zone
        ServiceOfferingsReady Unknown WaitsForZone looked at once there is a zone
        TemplatesReady Unknown WaitsForZone looked at once there is a zone
    "#]],
    );
    let mut cloud = Cloud::small();
    cloud.templates = "CloudStack did not answer".into();
    cloud.more = json!({"keyPairs": "the role of the key does not have listSSHKeyPairs"});
    check(
        &cloud,
        json!({"sshKeyPair": "operators"}),
        &expect![[r#"

        ValidationSucceeded Unknown APIError CloudStackNodeClass general: spec.sshKeyPair: the role of the key does not have listSSHKeyPairs
        ZoneReady True
        NetworksReady True
        ServiceOfferingsReady True
        TemplatesReady Unknown APIError templates cannot be listed: CloudStack did not answer
    "#]],
    );
}

#[test]
fn each_further_network_is_found_in_each_zone() {
    let mut cloud = Cloud::of_two_zones();
    cloud.networks = json!([
        network("n1", "guests", ZONE_A),
        network("n2", "guests", ZONE_B),
        with(network("n3", "storage", ZONE_A), json!({"tags": []})),
    ]);
    let more = json!({"zones": ["zone-b"], "additionalNetworks": [{"name": "storage"}]});
    check(
        &cloud,
        json!({"additionalNetworks": [{"name": "gone"}]}),
        &expect![[r#"

        ValidationSucceeded True
        ZoneReady True
        NetworksReady False NetworkNotFound zone "zone-a": spec.additionalNetworks[0] finds no network
        ServiceOfferingsReady True
        TemplatesReady True
    "#]],
    );
    check(
        &cloud,
        more,
        &expect![[r#"
            zone-a: guests | debian-13 | m1.medium
            ValidationSucceeded True
            ZoneReady True
            NetworksReady True  zone "zone-b": spec.additionalNetworks[0] finds no network
            ServiceOfferingsReady True
            TemplatesReady True
        "#]],
    );
}
