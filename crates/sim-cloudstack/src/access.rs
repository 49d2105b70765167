//! Who calls, which commands they may send, and what they see.

mod scope;
mod throttle;

pub(crate) use scope::Scope;
pub(crate) use throttle::Throttles;

use jiff::Timestamp;

use crate::{
    commands::table::Command,
    estate::{Number, Owner},
    inventory::AccountKind,
    refusal::{Refusal, code},
    request::{Asked, signature},
    world::World,
};

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) account: Number,
    pub(crate) domain: Number,
    pub(crate) kind: AccountKind,
}

impl Caller {
    /// Whose things are that the caller makes and does not give to a project.
    pub(crate) fn owner(self) -> Owner {
        Owner::Account(self.account)
    }

    pub(crate) fn is_root(self) -> bool {
        self.kind == AccountKind::RootAdmin
    }
}

impl World {
    /// The time by the server's own clock.
    pub(crate) fn server_time(&self) -> Timestamp {
        let now = self.agenda.moment(self.agenda.now());
        now.saturating_add(self.behaviour.clock_skew).unwrap_or(now)
    }

    /// Who calls, if the request proves it.
    pub(crate) fn authenticate(&self, asked: &Asked) -> Result<Caller, Refusal> {
        let key = asked.value("apikey").unwrap_or_default();
        let known = self.estate.accounts.iter().find(|(_, account)| account.api_key == key);
        let (number, account) =
            known.filter(|(_, account)| !account.disabled).ok_or_else(Refusal::unauthorized)?;
        let enforced = self.behaviour.enforce_post;
        let proven = signature::is_timely(asked, self.server_time(), enforced)
            && signature::is_valid(asked, &account.secret_key);
        if !proven {
            return Err(Refusal::unauthorized());
        }
        Ok(Caller { account: *number, domain: account.domain, kind: account.kind })
    }

    /// Whether the caller's role has a command.
    pub(crate) fn has_command(&self, caller: Caller, command: &Command) -> bool {
        let lacks = &self.estate.accounts[&caller.account].lacks;
        let is_lacking = lacks.contains(&command.name.to_ascii_lowercase());
        let is_of_admins = command.for_admins && caller.kind == AccountKind::User;
        !is_lacking && !is_of_admins
    }

    /// Refuses commands that the caller's role lacks, and calls that are too many.
    pub(crate) fn admit(&mut self, caller: Caller, command: &Command) -> Result<(), Refusal> {
        if !self.has_command(caller, command) {
            let user = &self.estate.accounts[&caller.account].user_id;
            let text = format!(
                "The API [{}] does not exist or is not available for the account for user id \
                 [{user}].",
                command.name
            );
            return Err(Refusal::plain(code::UNSUPPORTED, text));
        }
        if caller.is_root() {
            return Ok(());
        }
        let (now, limit) = (self.agenda.now(), self.behaviour.throttle);
        self.throttles.count(caller.account, now, limit)
    }
}

/// Commands that read may be GET where the server asks for POST otherwise.
const READS: [&str; 4] = ["get", "list", "query", "find"];

impl World {
    /// Refuses commands that change something and are not POST, where the server asks for that.
    pub(crate) fn refuse_wrong_method(
        &self,
        asked: &Asked,
        command: &Command,
    ) -> Result<(), Refusal> {
        let reads = READS.iter().any(|verb| command.name.starts_with(verb));
        if self.behaviour.enforce_post && asked.is_get && !reads {
            let text = format!("The command {} has to be sent with POST", command.name);
            return Err(Refusal::plain(code::BAD_REQUEST, text));
        }
        Ok(())
    }
}
