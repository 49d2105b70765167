//! What a list shows to its caller: the account's own objects, those of a project, or more.

use std::collections::BTreeSet;

use super::Caller;
use crate::{
    commands::call::Given,
    estate::{Number, Owner},
    inventory::AccountKind,
    refusal::{Refusal, code},
    world::World,
};

/// The owners whose objects a list shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// All accounts, and no project.
    Accounts,
    /// Everything, because an administrator asks for an id.
    Everything,
    /// Accounts of a domain.
    Domain(Number),
    /// These owners.
    Owners(BTreeSet<Owner>),
}

impl World {
    /// What a list shows, by the parameters that choose it.
    pub(crate) fn scope(&self, caller: Caller, given: &Given) -> Result<Scope, Refusal> {
        if given.is_all_projects() {
            let mine = self.estate.projects.iter().filter(|(_, project)| {
                caller.is_root() || project.members.contains(&caller.account)
            });
            return Ok(Scope::Owners(mine.map(|(number, _)| Owner::Project(*number)).collect()));
        }
        if let Some(project) = given.entity("projectid") {
            let owner = self.project_of(caller, project)?;
            return Ok(Scope::Owners(BTreeSet::from([owner])));
        }
        if let Some(owner) = self.named_account(caller, given)? {
            return Ok(Scope::Owners(BTreeSet::from([owner])));
        }
        let by_id = given.entity("id").is_some() || given.entities("ids").is_some();
        Ok(match caller.kind {
            AccountKind::RootAdmin if by_id => Scope::Everything,
            AccountKind::RootAdmin if given.flag("listall") => Scope::Accounts,
            AccountKind::DomainAdmin if given.flag("listall") || by_id => {
                Scope::Domain(caller.domain)
            }
            _ => Scope::Owners(BTreeSet::from([caller.owner()])),
        })
    }

    /// Whose something is that a command makes.
    pub(crate) fn owner(&self, caller: Caller, given: &Given) -> Result<Owner, Refusal> {
        match given.entity("projectid") {
            Some(project) => self.project_of(caller, project),
            None => Ok(self.named_account(caller, given)?.unwrap_or(caller.owner())),
        }
    }

    fn project_of(&self, caller: Caller, project: Number) -> Result<Owner, Refusal> {
        let found = &self.estate.projects[&project];
        if caller.is_root() || found.members.contains(&caller.account) {
            return Ok(Owner::Project(project));
        }
        let account = &self.estate.accounts[&caller.account].name;
        Err(Refusal::denied(format!(
            "The account {account} does not have permission to operate with project {}",
            found.id
        )))
    }

    fn named_account(&self, caller: Caller, given: &Given) -> Result<Option<Owner>, Refusal> {
        let (account, domain) = (given.text("account"), given.entity("domainid"));
        let (Some(account), domain) = (account, domain) else {
            return Ok(None);
        };
        let Some(domain) = domain else {
            let text = "The parameter account was specified without domainid";
            return Err(Refusal::plain(code::PARAMETER, text));
        };
        let named = |(_, known): &(&Number, &crate::estate::Account)| {
            known.name == account && known.domain == domain
        };
        let Some((number, _)) = self.estate.accounts.iter().find(named) else {
            let text = format!("Unable to find account {account} in the domain that was given");
            return Err(Refusal::value(text));
        };
        let may = match caller.kind {
            AccountKind::RootAdmin => true,
            AccountKind::DomainAdmin => caller.domain == domain,
            AccountKind::User => caller.account == *number,
        };
        if !may {
            let text = format!("The caller does not have permission to use account {account}");
            return Err(Refusal::denied(text));
        }
        Ok(Some(Owner::Account(*number)))
    }

    /// Whether a scope has the objects of an owner.
    pub(crate) fn shows(&self, scope: &Scope, owner: Owner) -> bool {
        match (scope, owner) {
            (Scope::Everything, _) | (Scope::Accounts, Owner::Account(_)) => true,
            (Scope::Domain(domain), Owner::Account(account)) => {
                self.estate.accounts[&account].domain == *domain
            }
            (Scope::Accounts | Scope::Domain(_), Owner::Project(_)) => false,
            (Scope::Owners(owners), owner) => owners.contains(&owner),
        }
    }

    /// Refuses what the caller may not act on.
    pub(crate) fn may_operate(&self, caller: Caller, owner: Owner) -> Result<(), Refusal> {
        let may = match (caller.kind, owner) {
            (AccountKind::RootAdmin, _) => true,
            (_, Owner::Project(project)) => {
                self.estate.projects[&project].members.contains(&caller.account)
            }
            (AccountKind::DomainAdmin, Owner::Account(account)) => {
                self.estate.accounts[&account].domain == caller.domain
            }
            (AccountKind::User, owner) => owner == caller.owner(),
        };
        if may {
            return Ok(());
        }
        let account = &self.estate.accounts[&caller.account].name;
        Err(Refusal::denied(format!(
            "Acct {account} does not have permission to operate with this resource"
        )))
    }
}
