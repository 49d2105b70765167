//! Templates: one row for each zone that has them.

use serde_json::{Value, json};

use super::Call;
use crate::{
    estate::{Kind, Number, Owner, Template},
    refusal::{Refusal, code},
    world::World,
};

impl World {
    pub(super) fn list_templates(&mut self, call: &Call) -> Result<Value, Refusal> {
        let given = &call.given;
        let filter = given.text("templatefilter").unwrap_or_default().to_ascii_lowercase();
        let own = |template: &Template| call.caller.account == template.owner;
        let allowed: &dyn Fn(&Template) -> bool = match filter.as_str() {
            "featured" | "community" => &|template| template.facts.public,
            "self" | "selfexecutable" => &own,
            "executable" => &|template| template.facts.public || own(template),
            // Nothing is shared with single accounts here.
            "sharedexecutable" | "shared" => &|_| false,
            "all" if call.caller.is_root() => &|_| true,
            "all" => {
                let text = "Filter all can be specified by root admin only";
                return Err(Refusal::denied(text));
            }
            other => {
                let text = format!("{other} is no template filter");
                return Err(Refusal::plain(code::PARAMETER, text));
            }
        };
        let tags = given.pairs("tags")?;
        let all = self.estate.templates.iter();
        let rows: Vec<(&Template, Number, bool)> = all
            .filter(|(number, template)| {
                let facts = &template.facts;
                given.selects(**number)
                    && allowed(template)
                    && given.equals("name", &facts.name)
                    && given.mentions(&[&facts.name])
                    && given.equals("hypervisor", &facts.hypervisor)
                    && given.equals("arch", &facts.arch)
                    && given.equals("templatetype", &facts.kind)
                    && given.choice("isvnf").is_none_or(|vnf| vnf == (facts.kind == "VNF"))
                    && given.choice("forcks").is_none_or(|cks| cks == facts.for_cks)
                    && self.estate.tags.matches(Kind::Template, **number, &tags)
            })
            .flat_map(|(_, template)| {
                template.zones.iter().map(move |(zone, ready)| (template, *zone, *ready))
            })
            .filter(|(_, zone, ready)| {
                given.entity("zoneid").is_none_or(|wanted| wanted == *zone)
                    && given.choice("isready").is_none_or(|wanted| wanted == *ready)
            })
            .collect();
        let tells_status = |template: &Template| call.caller.is_root() || own(template);
        Ok(call.listed(&rows, |(template, zone, ready)| {
            self.template_row(template, *zone, *ready, tells_status(template))
        }))
    }

    fn template_row(&self, template: &Template, zone: Number, ready: bool, status: bool) -> Value {
        let (facts, zone) = (&template.facts, &self.estate.zones[&zone]);
        let told = if ready { "Download Complete" } else { "42% Downloaded" };
        let policy = (!facts.user_data_policy.is_empty()).then_some(&facts.user_data_policy);
        let number = self.estate.resolve(Kind::Template, &template.id).unwrap_or_default();
        let row = json!({
            "id": template.id,
            "name": facts.name,
            "displaytext": facts.name,
            "ispublic": facts.public,
            "isfeatured": facts.public,
            "isready": ready,
            "status": status.then_some(told),
            "created": self.time(template.created),
            "format": "QCOW2",
            "ostypeid": template.os_type_id,
            "ostypename": facts.os_type,
            "zoneid": zone.id,
            "zonename": zone.facts.name,
            "size": facts.size_gib << 30,
            "templatetype": facts.kind,
            "hypervisor": facts.hypervisor,
            "passwordenabled": false,
            "sshkeyenabled": true,
            "crossZones": template.zones.len() == self.estate.zones.len(),
            "isextractable": false,
            "deployasis": false,
            "directdownload": false,
            "requireshvm": true,
            "arch": facts.arch,
            "forcks": facts.for_cks,
            "userdatapolicy": policy,
            "tags": self.tag_rows(Kind::Template, number, Owner::Account(template.owner)),
        });
        self.owned(Owner::Account(template.owner), row)
    }
}
