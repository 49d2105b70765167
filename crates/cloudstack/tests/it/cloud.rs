//! What a small cloud lists, and a class that suits it.

use joiner_cloudstack::{
    NodeClass,
    resolve::{Listed, Resolution, resolve},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

pub(crate) const ZONE_A: &str = "aaaaaaaa-0000-4000-8000-000000000001";
pub(crate) const ZONE_B: &str = "bbbbbbbb-0000-4000-8000-000000000002";

/// Lists of objects, as a server answers them.
pub(crate) struct Cloud {
    pub(crate) zones: Value,
    pub(crate) networks: Value,
    pub(crate) templates: Value,
    pub(crate) offerings: Value,
    pub(crate) more: Value,
}

/// Fields of an object, with others that a test changes.
pub(crate) fn with(mut object: Value, more: Value) -> Value {
    let Value::Object(more) = more else { return object };
    for (field, value) in more {
        object[field] = value;
    }
    object
}

pub(crate) fn zone(id: &str, name: &str) -> Value {
    json!({"id": id, "name": name, "allocationstate": "Enabled"})
}

pub(crate) fn network(id: &str, name: &str, zone: &str) -> Value {
    json!({
        "id": id, "name": name, "zoneid": zone, "type": "Isolated", "state": "Implemented",
        "canusefordeploy": true, "service": [{"name": "Dhcp"}, {"name": "UserData"}],
        "tags": [{"key": "use", "value": "nodes"}],
    })
}

pub(crate) fn template(id: &str, name: &str, zone: &str) -> Value {
    json!({
        "id": id, "name": name, "zoneid": zone, "isready": true, "size": 10_i64 << 30,
        "created": "2026-01-01T00:00:00+0000", "ostypename": "Debian GNU/Linux 13 (64-bit)",
        "tags": [{"key": "use", "value": "nodes"}],
    })
}

pub(crate) fn offering(id: &str, name: &str) -> Value {
    json!({
        "id": id, "name": name, "state": "Active", "cpunumber": 2, "cpuspeed": 2000,
        "memory": 4096, "serviceofferingdetails": {"use": "nodes"},
    })
}

impl Cloud {
    /// A zone with a network, a template and a service offering.
    pub(crate) fn small() -> Self {
        Self {
            zones: json!([zone(ZONE_A, "zone-a")]),
            networks: json!([network("n1", "guests", ZONE_A)]),
            templates: json!([template("t1", "debian-13", ZONE_A)]),
            offerings: json!([offering("o1", "m1.medium")]),
            more: json!({}),
        }
    }

    /// The same in two zones.
    pub(crate) fn of_two_zones() -> Self {
        Self {
            zones: json!([zone(ZONE_A, "zone-a"), zone(ZONE_B, "zone-b")]),
            networks: json!([network("n1", "guests", ZONE_A), network("n2", "guests", ZONE_B)]),
            templates: json!([
                template("t1", "debian-13", ZONE_A),
                template("t1", "debian-13", ZONE_B),
            ]),
            ..Self::small()
        }
    }

    pub(crate) fn listed(&self) -> Listed {
        let more = |field: &str| match &self.more[field] {
            Value::Null => json!([]),
            list => list.clone(),
        };
        Listed {
            zones: read(&self.zones),
            networks: read(&self.networks),
            templates: read(&self.templates),
            offerings: read(&self.offerings),
            disk_offerings: read(&more("diskOfferings")),
            key_pairs: read(&more("keyPairs")),
            affinity_groups: read(&more("affinityGroups")),
            security_groups: read(&more("securityGroups")),
            projects: read(&more("projects")),
        }
    }

    pub(crate) fn resolve(&self, class: &NodeClass) -> Resolution {
        resolve(class, &self.listed())
    }
}

/// A list; a text is why it could not be read.
fn read<T: DeserializeOwned>(list: &Value) -> Result<Vec<T>, String> {
    match list {
        Value::String(why) => Err(why.clone()),
        list => Ok(serde_json::from_value(list.clone()).expect("the test's objects can be read")),
    }
}

/// A class that suits the small cloud, with what a test changes.
pub(crate) fn class(more: Value) -> NodeClass {
    let by_use = json!([{"tags": {"use": "nodes"}}]);
    let spec = json!({
        "zone": "zone-a",
        "networkSelectorTerms": by_use,
        "serviceOfferingSelectorTerms": by_use,
        "templateSelectorTerms": by_use,
        "userData": "#!/bin/sh\n",
    });
    read_class(json!({"metadata": {"name": "general"}, "spec": with(spec, more)}))
}

pub(crate) fn read_class(object: Value) -> NodeClass {
    NodeClass::read(&object).expect("the schema accepts it")
}

/// The conditions of a class, a line each.
pub(crate) fn conditions(resolution: &Resolution) -> String {
    let lines: Vec<String> = resolution
        .conditions
        .iter()
        .map(|own| {
            let holds = match own.holds {
                Some(true) => "True",
                Some(false) => "False",
                None => "Unknown",
            };
            format!("{} {holds} {} {}", own.type_, own.reason, own.message).trim().to_owned()
        })
        .collect();
    lines.join("\n")
}

/// The names of what a resolution has in each zone.
pub(crate) fn found(resolution: &Resolution) -> String {
    let lines: Vec<String> = resolution
        .zones
        .iter()
        .map(|own| {
            let join = |names: Vec<&str>| names.join(" ");
            format!(
                "{}: {} | {} | {}",
                own.zone.name,
                join(own.networks.iter().map(|own| own.name.as_str()).collect()),
                join(own.templates.iter().map(|own| own.name.as_str()).collect()),
                join(own.offerings.iter().map(|own| own.name.as_str()).collect()),
            )
        })
        .collect();
    lines.join("\n")
}
