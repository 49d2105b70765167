//! Asking what an account may do.

use super::Request;
use crate::{
    fault::Fault,
    methods::returned,
    reference::Ref,
    session::Viewer,
    wire::value::Value::{self, Bool, Data, List, Ref as Named},
    world::World,
};

impl World {
    fn asked_about(&self, request: &Request<'_>) -> Result<(Viewer, Vec<Ref>), Fault> {
        let user = request.call.text_of("userName").unwrap_or_default();
        let viewer = self.sessions.account(user).ok_or_else(|| {
            let message = format!("The user or group named '{user}' does not exist.");
            Fault::new("UserNotFound", message).with("principal", Value::text(user.to_owned()))
        })?;
        let entities = request.call.all("entities").map(|entity| self.present(Some(entity)));
        Ok((viewer, entities.collect::<Result<_, _>>()?))
    }

    pub(super) fn fetch_privileges(&self, request: &Request<'_>) -> Result<String, Fault> {
        let (viewer, entities) = self.asked_about(request)?;
        let results = entities.into_iter().map(|entity| {
            let has = self.sessions.privileges(&viewer, &self.estate, entity).unwrap_or_default();
            let fields = vec![("entity", Named(entity)), ("privileges", Value::texts(has))];
            returned(&Data("UserPrivilegeResult", fields))
        });
        Ok(results.collect())
    }

    pub(super) fn has_privileges(&self, request: &Request<'_>) -> Result<String, Fault> {
        let (viewer, entities) = self.asked_about(request)?;
        let asked: Vec<&str> = request.call.all("privId").map(|id| id.text.as_str()).collect();
        let results = entities.into_iter().map(|entity| {
            let has = self.sessions.privileges(&viewer, &self.estate, entity).unwrap_or_default();
            let each = asked.iter().map(|id| {
                let granted = Bool(has.contains(id));
                let fields = vec![("privId", Value::text(*id)), ("isGranted", granted)];
                Data("PrivilegeAvailability", fields)
            });
            let each = List("PrivilegeAvailability", each.collect());
            let fields = vec![("entity", Named(entity)), ("privAvailability", each)];
            returned(&Data("EntityPrivilege", fields))
        });
        Ok(results.collect())
    }
}
