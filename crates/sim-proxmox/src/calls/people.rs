//! Users, tokens and tickets.

use serde_json::{Map, Value, json};

use super::{Call, Reply};
use crate::{
    access::{Caller, Ticket},
    refusal::Refusal,
    world::World,
};

impl World {
    pub(super) fn call_people(&mut self, call: &Call) -> Result<Reply, Refusal> {
        let data = match call.name.as_str() {
            "ticket" => self.ticket(call)?,
            "permissions" => self.own_permissions(call)?,
            _ => {
                let user = call.text("userid");
                if call.caller.user != user {
                    self.demand(&call.caller, "/access", &["User.Modify", "Sys.Audit"])?;
                }
                let own = self.tokens.iter().filter_map(|(id, token)| {
                    let name = id.strip_prefix(user)?.strip_prefix('!')?;
                    let expires = token.expires.map_or(0, jiff::Timestamp::as_second);
                    let separated = u8::from(token.separated);
                    Some(json!({ "tokenid": name, "privsep": separated, "expire": expires }))
                });
                own.collect()
            }
        };
        Ok(Reply::Done(data))
    }

    fn ticket(&mut self, call: &Call) -> Result<Value, Refusal> {
        let failed = || Refusal::unauthorized("authentication failure");
        let (name, password) = (call.text("username"), call.text("password"));
        let user = match call.get("realm") {
            Some(realm) => format!("{name}@{realm}"),
            None => name.to_owned(),
        };
        let known = self.users.get(&user).ok_or_else(failed)?;
        let renews = self.tickets.get(password);
        let renews = renews.is_some_and(|ticket| ticket.user == user && self.is_valid(ticket));
        if !renews && (known.password.is_empty() || known.password != password) {
            return Err(failed());
        }
        let (issued, secret) = (self.agenda.now(), self.estate.uuid());
        let time = format!("{:08X}", self.seconds(issued));
        let ticket = format!("PVE:{user}:{time}::{secret}");
        let csrf = format!("{time}:{secret}");
        let known = Ticket { user: user.clone(), csrf: csrf.clone(), issued };
        self.tickets.insert(ticket.clone(), known);
        Ok(json!({
            "username": user, "ticket": ticket, "CSRFPreventionToken": csrf,
            "clustername": self.estate.cluster,
        }))
    }

    fn own_permissions(&self, call: &Call) -> Result<Value, Refusal> {
        let caller = match call.get("userid") {
            Some(id) if id != call.caller.name() => {
                self.demand(&call.caller, "/access", &["Sys.Audit"])?;
                let (user, token) =
                    id.split_once('!').map_or((id, None), |(user, token)| (user, Some(token)));
                Caller { user: user.to_owned(), token: token.map(str::to_owned) }
            }
            _ => call.caller.clone(),
        };
        let told = |privileges: std::collections::BTreeSet<String>| -> Value {
            privileges.into_iter().map(|name| (name, Value::from(1))).collect::<Map<_, _>>().into()
        };
        if let Some(path) = call.get("path") {
            let privileges = self.privileges(&caller, path);
            return Ok(json!({ path: told(privileges) }));
        }
        let all = self.permissions(&caller).into_iter();
        Ok(all.map(|(path, privileges)| (path, told(privileges))).collect::<Map<_, _>>().into())
    }
}
