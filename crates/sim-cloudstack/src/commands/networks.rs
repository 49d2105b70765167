//! Guest networks.

use serde_json::{Value, json};

use super::Call;
use crate::{
    access::Scope,
    estate::{Kind, Network, Number},
    refusal::Refusal,
    world::World,
};

impl World {
    pub(super) fn list_networks(&mut self, call: &Call) -> Result<Value, Refusal> {
        let given = &call.given;
        let scope = self.scope(call.caller, given)?;
        let tags = given.pairs("tags")?;
        let all_guests = given.text("networkfilter").is_none_or(|filter| filter != "account");
        let shown = |number: &Number, network: &Network| {
            let visible = match network.owner {
                Some(owner) => self.shows(&scope, owner),
                // Networks of everybody show in lists of accounts, and not in those of projects.
                None => all_guests && !is_of_project(&scope),
            };
            let facts = &network.facts;
            visible
                && given.selects(*number)
                && given.equals("name", &facts.name)
                && given.mentions(&[&facts.name])
                && given.equals("type", &facts.kind)
                && given.equals("traffictype", "Guest")
                && given.entity("zoneid").is_none_or(|zone| zone == network.zone)
                && given
                    .choice("canusefordeploy")
                    .is_none_or(|wanted| wanted == self.estate.has_addresses(*number))
                && given.texts("supportedservices").iter().all(|wanted| {
                    services(network).iter().any(|name| name.eq_ignore_ascii_case(wanted))
                })
                && self.estate.tags.matches(Kind::Network, *number, &tags)
        };
        let all = self.estate.networks.iter();
        let rows: Vec<_> = all.filter(|(number, network)| shown(number, network)).collect();
        Ok(call.listed(&rows, |(number, network)| self.network_row(**number, network)))
    }

    fn network_row(&self, number: Number, network: &Network) -> Value {
        let (facts, zone) = (&network.facts, &self.estate.zones[&network.zone]);
        let services: Vec<Value> =
            services(network).into_iter().map(|name| json!({ "name": name })).collect();
        let mut row = json!({
            "id": network.id,
            "name": facts.name,
            "displaytext": facts.name,
            "zoneid": zone.id,
            "zonename": zone.facts.name,
            "type": facts.kind,
            "state": network.state,
            "traffictype": "Guest",
            "acltype": if network.owner.is_some() { "Account" } else { "Domain" },
            "canusefordeploy": self.estate.has_addresses(number),
            "ispersistent": false,
            "restartrequired": false,
            "specifyipranges": facts.kind == "Shared",
            "service": services,
            "tags": [],
        });
        if facts.kind != "L2" {
            row["cidr"] = format!("{}.0/24", facts.prefix).into();
            row["gateway"] = format!("{}.1", facts.prefix).into();
            row["netmask"] = "255.255.255.0".into();
            row["networkdomain"] = "cs.internal".into();
        }
        match network.owner {
            Some(owner) => {
                row["tags"] = self.tag_rows(Kind::Network, number, owner).into();
                self.owned(owner, row)
            }
            None => row,
        }
    }
}

fn is_of_project(scope: &Scope) -> bool {
    match scope {
        Scope::Owners(owners) => {
            owners.iter().any(|owner| matches!(owner, crate::estate::Owner::Project(_)))
        }
        _ => false,
    }
}

/// The services that a network offers.
fn services(network: &Network) -> Vec<&'static str> {
    let mut services = Vec::new();
    if network.facts.kind != "L2" {
        services.extend(["Dhcp", "Dns"]);
    }
    if network.facts.user_data {
        services.push("UserData");
    }
    services
}
