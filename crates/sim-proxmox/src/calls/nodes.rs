//! Nodes.

use serde_json::{Value, json};

use super::{Call, Reply};
use crate::world::World;

impl World {
    pub(super) fn call_nodes(&mut self, call: &Call) -> Reply {
        let data = match call.name.as_str() {
            "nodes" => {
                let nodes = self.estate.hosts.iter();
                nodes.map(|(node, host)| {
                    let status = if host.online { "online" } else { "offline" };
                    json!({ "id": format!("node/{node}"), "node": node, "type": "node", "status": status })
                })
                .collect()
            }
            "nodestatus" => self.node_status(call),
            _ => self.network(call),
        };
        Reply::Done(data)
    }

    fn node_status(&self, call: &Call) -> Value {
        let facts = &self.estate.hosts[call.text("node")].facts;
        let (used, _) = self.estate.load(&facts.name);
        json!({
            "cpuinfo": {
                "model": facts.model, "sockets": facts.sockets,
                "cores": facts.cores * facts.sockets, "cpus": facts.cpus,
            },
            "memory": {
                "total": facts.memory, "used": used, "free": facts.memory.saturating_sub(used),
            },
            "loadavg": ["0.10", "0.10", "0.10"],
            "uptime": self.agenda.now().as_secs(),
            "pveversion": format!("pve-manager/{}/simulated", self.behaviour.version),
        })
    }

    fn network(&self, call: &Call) -> Value {
        let shown = ["any_bridge", "any_local_bridge", "bridge", "include_sdn"];
        if call.get("type").is_some_and(|kind| !shown.contains(&kind)) {
            return json!([]);
        }
        let bridges = self.estate.hosts[call.text("node")].facts.bridges.iter();
        let seen = bridges.filter(|(bridge, _)| {
            let path = format!("/sdn/zones/localnetwork/{bridge}");
            ["SDN.Audit", "SDN.Use"].iter().any(|it| self.may(&call.caller, &path, it))
        });
        let rows = seen.map(|(bridge, network)| {
            let mut row = json!({ "iface": bridge, "type": "bridge", "active": 1, "mtu": "1500" });
            if let Some(network) = network {
                row["cidr"] = network.clone().into();
            }
            row
        });
        rows.collect()
    }
}
