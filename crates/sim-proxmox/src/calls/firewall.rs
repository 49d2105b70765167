//! Firewalls of VMs: options, rules in their order, sets of addresses.

use std::collections::BTreeMap;

use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::{Map, Value, json};

use super::{Call, Reply};
use crate::{
    estate::vm::{Firewall, IpSet, hex},
    refusal::Refusal,
    world::World,
};

/// Parameters that are no part of a rule or an option.
const CONTROLS: [&str; 8] = ["node", "vmid", "pos", "moveto", "delete", "digest", "name", "cidr"];

impl World {
    pub(super) fn call_firewall(&mut self, call: &Call) -> Result<Reply, Refusal> {
        let firewall = &self.vm(call)?.firewall;
        match call.name.as_str() {
            "fwoptions" => {
                let mut options = shown(&firewall.options);
                options.insert("digest".to_owned(), sum(&firewall.options).into());
                return Ok(Reply::Done(options.into()));
            }
            "fwrules" => return Ok(Reply::Done(rules(firewall))),
            "ipsets" => {
                let sets = firewall.ip_sets.iter();
                let rows = sets.map(|(name, set)| {
                    json!({ "name": name, "comment": set.comment, "digest": "0".repeat(40) })
                });
                return Ok(Reply::Done(rows.collect()));
            }
            "ipsetmembers" => {
                let set = firewall.ip_sets.get(call.text("name")).ok_or_else(|| absent(call))?;
                let rows = set.members.iter().map(|(cidr, more)| {
                    let mut row = shown(more);
                    row.insert("cidr".to_owned(), cidr.clone().into());
                    Value::from(row)
                });
                return Ok(Reply::Done(rows.collect()));
            }
            _ => {}
        }
        let vm = self.vm_mut(call.vmid()).map_err(Refusal::failed)?;
        if call.name.starts_with("fw") {
            change_rules(&mut vm.firewall, call)?;
        } else {
            change_sets(&mut vm.firewall.ip_sets, call)?;
        }
        // A rule for a group that does not exist is kept, as a real server keeps it.
        self.changes += 1;
        Ok(Reply::Done(Value::Null))
    }
}

fn change_rules(firewall: &mut Firewall, call: &Call) -> Result<(), Refusal> {
    let given = call.given.iter().filter(|(key, _)| !CONTROLS.contains(&key.as_str()));
    let given: BTreeMap<String, String> =
        given.map(|(key, value)| (key.clone(), value.clone())).collect();
    let now = if call.name == "fwset" { sum(&firewall.options) } else { sum(&firewall.rules) };
    if call.get("digest").is_some_and(|digest| digest != now) {
        return Err(Refusal::failed(
            "detected modified configuration - file changed by other user? Try again.",
        ));
    }
    let deleted: Vec<&str> = call.text("delete").split([',', ';', ' ']).collect();
    if call.name == "fwset" {
        firewall.options.extend(given);
        firewall.options.retain(|key, _| !deleted.contains(&key.as_str()));
        return Ok(());
    }
    if call.name == "fwadd" {
        // A new rule is the first one, wherever the caller wants it.
        firewall.rules.insert(0, given);
        return Ok(());
    }
    let at: usize = call.number("pos").unwrap_or(usize::MAX);
    if at >= firewall.rules.len() {
        return Err(Refusal::failed(format!("no rule at position {}", call.text("pos"))));
    }
    if call.name == "fwdelete" {
        firewall.rules.remove(at);
        return Ok(());
    }
    if let Some(to) = call.number::<usize>("moveto") {
        let rule = firewall.rules.remove(at);
        // Positions are those before the rule was taken out.
        let to = if to > at { to - 1 } else { to };
        firewall.rules.insert(to.min(firewall.rules.len()), rule);
        return Ok(());
    }
    let rule = &mut firewall.rules[at];
    rule.extend(given);
    rule.retain(|key, _| !deleted.contains(&key.as_str()));
    Ok(())
}

fn change_sets(sets: &mut BTreeMap<String, IpSet>, call: &Call) -> Result<(), Refusal> {
    let name = call.text("name");
    if call.name == "ipsetadd" {
        if sets.contains_key(name) && call.get("rename").is_none() {
            return Err(Refusal::failed(format!("IPSet '{name}' already exists")));
        }
        let old = call.get("rename").and_then(|old| sets.remove(old));
        let mut set = old.unwrap_or_default();
        set.comment = call.get("comment").map(str::to_owned).or(set.comment);
        sets.insert(name.to_owned(), set);
        return Ok(());
    }
    let set = sets.get_mut(name).ok_or_else(|| absent(call))?;
    let cidr = call.text("cidr");
    match call.name.as_str() {
        "ipsetdelete" => {
            if !set.members.is_empty() && !call.flag("force") {
                return Err(Refusal::failed(format!("IPSet '{name}' is not empty")));
            }
            sets.remove(name);
        }
        "ipsetput" => {
            let more = call.given.iter().filter(|(key, _)| !CONTROLS.contains(&key.as_str()));
            let more = more.map(|(key, value)| (key.clone(), value.clone())).collect();
            if set.members.contains_key(cidr) {
                return Err(Refusal::parameter(
                    "cidr",
                    &format!("address '{cidr}' already exists"),
                ));
            }
            set.members.insert(cidr.to_owned(), more);
        }
        _ => {
            let taken = set.members.remove(cidr);
            taken.ok_or_else(|| Refusal::failed(format!("no such address '{cidr}'")))?;
        }
    }
    Ok(())
}

fn absent(call: &Call) -> Refusal {
    Refusal::failed(format!("no such IPSet '{}'", call.text("name")))
}

fn sum(what: &impl std::fmt::Debug) -> String {
    hex(digest(&SHA1_FOR_LEGACY_USE_ONLY, format!("{what:?}").as_bytes()).as_ref())
}

/// Options or a rule: whole numbers are numbers.
fn shown(pairs: &BTreeMap<String, String>) -> Map<String, Value> {
    let value = |value: &String| match value.parse::<i64>() {
        Ok(number) => Value::from(number),
        Err(_) => value.clone().into(),
    };
    pairs.iter().map(|(key, text)| (key.clone(), value(text))).collect()
}

fn rules(firewall: &Firewall) -> Value {
    let digest = sum(&firewall.rules);
    let rows = firewall.rules.iter().enumerate().map(|(pos, rule)| {
        let mut row = shown(rule);
        row.insert("pos".to_owned(), pos.into());
        row.insert("digest".to_owned(), digest.clone().into());
        Value::from(row)
    });
    rows.collect()
}
