//! What the server says of itself: commands and capabilities.

use serde_json::{Value, json};

use super::{
    Call,
    page::without_nulls,
    table::{Command, Execution, Type},
};
use crate::{refusal::Refusal, world::World};

impl World {
    pub(super) fn list_apis(&mut self, call: &Call) -> Result<Value, Refusal> {
        let rows: Vec<&Command> = self
            .commands
            .all()
            .filter(|command| self.has_command(call.caller, command))
            .filter(|command| call.given.equals("name", &command.name))
            .collect();
        Ok(call.listed(&rows, |command| {
            let parameter = |parameter: &super::table::Parameter| {
                without_nulls(json!({
                    "name": parameter.name,
                    "type": word(parameter.kind),
                    "required": parameter.required,
                    "length": match parameter.kind {
                        Type::Text { max } => Some(max),
                        _ => None,
                    },
                }))
            };
            json!({
                "name": command.name,
                "isasync": command.execution != Execution::Sync,
                "params": command.parameters.iter().map(parameter).collect::<Vec<_>>(),
            })
        }))
    }

    pub(super) fn list_capabilities(&mut self, call: &Call) -> Result<Value, Refusal> {
        let behaviour = &self.behaviour;
        let admin = call.caller.kind != crate::inventory::AccountKind::User;
        let throttle = behaviour.throttle;
        let security_groups = self.estate.zones.values().any(|zone| zone.facts.security_groups);
        let capability = json!({
            "cloudstackversion": behaviour.version,
            "allowuserexpungerecovervm": behaviour.users_may_expunge || admin,
            "allowuserviewdestroyedvm": behaviour.users_see_destroyed || admin,
            "allowuserforcestopvm": true,
            "apilimitmax": throttle.map(|throttle| throttle.calls),
            "apilimitinterval": throttle.map(|throttle| throttle.interval.as_secs()),
            "securitygroupsenabled": security_groups,
            "kubernetesserviceenabled": false,
            "customdiskofferingminsize": 1,
            "customdiskofferingmaxsize": 1024,
            "defaultuipagesize": 20,
            "instanceleaseenabled": false,
            "dynamicrolesenabled": true,
        });
        Ok(json!({ "capability": without_nulls(capability) }))
    }
}

fn word(kind: Type) -> &'static str {
    match kind {
        Type::Text { .. } => "string",
        Type::Int => "integer",
        Type::Long => "long",
        Type::Flag => "boolean",
        Type::Date => "date",
        Type::Map => "map",
        Type::Entity(_) => "uuid",
        Type::List | Type::Entities(_) => "list",
    }
}
