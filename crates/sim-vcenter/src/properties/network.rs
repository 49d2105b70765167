//! Properties of networks and switches.

use crate::{
    estate::NetworkKind,
    reference::Ref,
    session::Viewer,
    wire::value::Value::{self, Bool, Data, Int, List, Ref as Named},
    world::World,
};

pub(super) fn network<'w>(
    world: &'w World,
    viewer: &Viewer,
    object: Ref,
    name: &str,
) -> Option<Value<'w>> {
    let estate = &world.estate;
    let own = estate.networks.get(&object)?;
    let title = || Value::text(estate.name(object));
    Some(match (name, &own.kind) {
        ("host", _) => Value::refs(own.hosts.iter().copied()),
        ("vm", _) => Value::refs(estate.vms_where(|vm| vm.nics().any(|nic| nic.network == object))),
        ("summary", NetworkKind::Opaque { id }) => Value::sub(
            "OpaqueNetworkSummary",
            vec![
                ("network", Named(object)),
                ("name", title()),
                ("accessible", Bool(true)),
                ("opaqueNetworkId", Value::text(&**id)),
                ("opaqueNetworkType", Value::text("nsx.LogicalSwitch")),
            ],
        ),
        ("summary", _) => Value::sub(
            "NetworkSummary",
            vec![("network", Named(object)), ("name", title()), ("accessible", Bool(true))],
        ),
        ("key", NetworkKind::Portgroup { key, .. }) => Value::text(&**key),
        ("config", NetworkKind::Portgroup { key, switch, uplinks }) => {
            // Who may not read the switch does not learn which one it is.
            let switch = world.sessions.may_see(viewer, &world.estate, *switch).then_some(*switch);
            Data(
                "DVPortgroupConfigInfo",
                vec![
                    ("key", Value::text(&**key)),
                    ("name", title()),
                    ("numPorts", Int(128)),
                    ("distributedVirtualSwitch", Value::maybe(switch, Named)),
                    ("type", Value::text("earlyBinding")),
                    ("backingType", Value::text("standard")),
                    ("uplink", Bool(*uplinks)),
                ],
            )
        }
        ("tag", NetworkKind::Portgroup { uplinks, .. }) => {
            let tag = Data("Tag", vec![("key", Value::text("SYSTEM/DVS.UPLINKPG"))]);
            List("Tag", if *uplinks { vec![tag] } else { Vec::new() })
        }
        _ => return None,
    })
}

pub(super) fn switch<'w>(world: &'w World, object: Ref, name: &str) -> Option<Value<'w>> {
    let estate = &world.estate;
    let own = estate.switches.get(&object)?;
    let groups = |only_uplinks: bool| {
        let of_switch = estate.networks.iter().filter(move |(_, network)| match network.kind {
            NetworkKind::Portgroup { switch, uplinks, .. } => {
                switch == object && (uplinks || !only_uplinks)
            }
            _ => false,
        });
        Value::refs(of_switch.map(|(group, _)| *group))
    };
    Some(match name {
        "uuid" => Value::text(&*own.uuid),
        "portgroup" => groups(false),
        "summary" => Data(
            "DVSSummary",
            vec![
                ("name", Value::text(estate.name(object))),
                ("uuid", Value::text(&*own.uuid)),
                ("numPorts", Int(1024)),
            ],
        ),
        "config" => Value::sub(
            "VMwareDVSConfigInfo",
            vec![
                ("uuid", Value::text(&*own.uuid)),
                ("name", Value::text(estate.name(object))),
                ("uplinkPortgroup", groups(true)),
            ],
        ),
        _ => return None,
    })
}
