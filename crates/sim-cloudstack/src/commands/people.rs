//! Users.

use serde_json::{Value, json};

use super::{Call, page::without_nulls};
use crate::{
    estate::{Account, Owner},
    inventory::AccountKind,
    refusal::Refusal,
    world::World,
};

impl World {
    pub(super) fn list_users(&mut self, call: &Call) -> Result<Value, Refusal> {
        let (given, scope) = (&call.given, self.scope(call.caller, &call.given)?);
        let user = given.entity("id");
        let all = self.estate.accounts.iter();
        let rows: Vec<&Account> = all
            .filter(|(number, account)| {
                let named = user.and_then(|user| self.estate.id(crate::estate::Kind::User, user));
                self.shows(&scope, Owner::Account(**number))
                    && named.is_none_or(|id| id == account.user_id)
                    && given.equals("username", &account.name)
                    && given.equals("state", state(account))
                    && given.mentions(&[&account.name])
            })
            .map(|(_, account)| account)
            .collect();
        Ok(call.listed(&rows, |account| self.user_row(account)))
    }

    pub(super) fn get_user(&mut self, call: &Call) -> Result<Value, Refusal> {
        let key = call.given.text("userapikey").unwrap_or_default();
        let found = self.estate.accounts.values().find(|account| account.api_key == key);
        let Some(account) = found else {
            return Err(Refusal::value("User does not exist in the system"));
        };
        Ok(json!({ "user": self.user_row(account) }))
    }

    fn user_row(&self, account: &Account) -> Value {
        let (kind, role) = match account.kind {
            AccountKind::User => (0, "User"),
            AccountKind::RootAdmin => (1, "Root Admin"),
            AccountKind::DomainAdmin => (2, "Domain Admin"),
        };
        let domain = &self.estate.domains[&account.domain];
        without_nulls(json!({
            "id": account.user_id,
            "username": account.name,
            "account": account.name,
            "accountid": account.id,
            "accounttype": kind,
            "rolename": role,
            "roletype": role.replace("Root ", "").replace(' ', ""),
            "domainid": domain.id,
            "domain": domain.name,
            "state": state(account),
            "apikey": account.api_key,
        }))
    }
}

fn state(account: &Account) -> &'static str {
    if account.disabled { "disabled" } else { "enabled" }
}
