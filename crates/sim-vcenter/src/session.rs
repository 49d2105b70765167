//! Who is logged in, and what they may do.

mod privileges;

use std::{collections::BTreeMap, time::Duration};

pub(crate) use privileges::ALL as ALL_PRIVILEGES;

use crate::{
    estate::Estate,
    fault::Fault,
    identity::Identities,
    inventory::{Account, Behaviour, InventoryError},
    reference::Ref,
};

/// The session of the caller; an empty key means no session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Viewer {
    pub(crate) session: String,
    /// Which account it is of.
    pub(crate) account: usize,
}

/// A session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) key: String,
    pub(crate) user: String,
    pub(crate) account: usize,
    pub(crate) began: Duration,
    pub(crate) last_used: Duration,
    pub(crate) calls: u64,
    rest: bool,
}

impl Session {
    /// When it is over if nothing more is heard of it.
    fn ends(&self, behaviour: &Behaviour) -> Duration {
        if self.rest {
            self.began + behaviour.rest_session_life
        } else {
            self.last_used + behaviour.session_idle
        }
    }
}

/// The state of a presented session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is there.
    Live(Viewer),
    /// It was there.
    Expired,
    /// It is unknown, or none was presented.
    Unknown,
}

/// Why a login failed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Refused {
    Login(Fault),
    /// There are too many sessions.
    TooMany,
}

/// How many sessions that are over are remembered as such.
const REMEMBERED_MAX: usize = 10_000;

/// All accounts and sessions.
#[derive(Debug)]
pub(crate) struct Sessions {
    accounts: Vec<AccountState>,
    live: BTreeMap<String, Session>,
    over: Vec<String>,
    /// The end of a session only moves to later times, so no check is needed before.
    none_ends_before: Duration,
    /// The sessions that ended since the last call; their objects can be removed.
    ended: Vec<String>,
    identities: Identities,
}

#[derive(Debug)]
struct AccountState {
    account: Account,
    /// What is granted where; none for everything.
    grants: Option<Vec<Granted>>,
    wrong: u32,
    locked_until: Duration,
}

#[derive(Debug)]
struct Granted {
    on: Ref,
    propagate: bool,
    privileges: Vec<String>,
}

impl Sessions {
    pub(crate) fn new(accounts: &[Account], estate: &Estate) -> Result<Self, InventoryError> {
        let state = |account: &Account| {
            let grants = account.grants.as_ref().map(|all| {
                all.iter().map(|grant| resolve(account, grant, estate)).collect::<Result<_, _>>()
            });
            let grants = grants.transpose()?;
            let account = account.clone();
            Ok(AccountState { account, grants, wrong: 0, locked_until: Duration::ZERO })
        };
        let accounts = accounts.iter().map(state).collect::<Result<_, _>>()?;
        let identities = Identities::default();
        Ok(Self {
            accounts,
            live: BTreeMap::new(),
            over: Vec::new(),
            none_ends_before: Duration::MAX,
            ended: Vec::new(),
            identities,
        })
    }

    pub(crate) fn get(&self, key: &str) -> Option<&Session> {
        self.live.get(key)
    }

    pub(crate) fn count(&self) -> usize {
        self.live.len()
    }

    /// Begins a session. An account that gave a wrong password too often is locked for a while,
    /// and then the right one is wrong too.
    pub(crate) fn log_in(
        &mut self,
        user: &str,
        password: &str,
        rest: bool,
        now: Duration,
        behaviour: &Behaviour,
    ) -> Result<Session, Refused> {
        self.end_old(now, behaviour);
        let refused = || Refused::Login(Fault::invalid_login());
        let at = self.position(user).ok_or_else(refused)?;
        let state = &mut self.accounts[at];
        if now < state.locked_until {
            return Err(refused());
        }
        if state.account.password != password {
            state.wrong += 1;
            if state.wrong >= behaviour.wrong_passwords_max {
                state.wrong = 0;
                state.locked_until = now + behaviour.account_locked;
            }
            return Err(refused());
        }
        state.wrong = 0;
        if self.live.len() >= behaviour.sessions_max {
            return Err(Refused::TooMany);
        }
        let session = Session {
            key: self.identities.uuid("session"),
            user: principal(&self.accounts[at].account.user),
            account: at,
            began: now,
            last_used: now,
            calls: 0,
            rest,
        };
        self.none_ends_before = self.none_ends_before.min(session.ends(behaviour));
        self.live.insert(session.key.clone(), session.clone());
        Ok(session)
    }

    pub(crate) fn log_out(&mut self, key: &str) {
        if self.live.remove(key).is_some() {
            self.ended.push(key.to_owned());
        }
    }

    /// The sessions that ended since this was asked last.
    pub(crate) fn take_ended(&mut self) -> Vec<String> {
        std::mem::take(&mut self.ended)
    }

    /// What became of a session, which is used by that.
    pub(crate) fn standing(
        &mut self,
        key: Option<&str>,
        rest: bool,
        now: Duration,
        behaviour: &Behaviour,
    ) -> Standing {
        self.end_old(now, behaviour);
        let Some(key) = key else { return Standing::Unknown };
        match self.live.get_mut(key) {
            Some(session) if session.rest == rest => {
                session.last_used = now;
                session.calls += 1;
                Standing::Live(Viewer { session: key.to_owned(), account: session.account })
            }
            None if self.over.iter().any(|over| over == key) => Standing::Expired,
            _ => Standing::Unknown,
        }
    }

    /// Ends all sessions at once.
    pub(crate) fn expire_all(&mut self) {
        for key in std::mem::take(&mut self.live).into_keys() {
            self.ended.push(key.clone());
            self.over.push(key);
        }
        self.forget();
    }

    fn end_old(&mut self, now: Duration, behaviour: &Behaviour) {
        // Processes that die leave sessions by the hundred; they are not gone through at every call.
        if now < self.none_ends_before {
            return;
        }
        let over = |session: &Session| now >= session.ends(behaviour);
        let ended: Vec<String> =
            self.live.values().filter(|session| over(session)).map(|s| s.key.clone()).collect();
        for key in ended {
            self.live.remove(&key);
            self.ended.push(key.clone());
            self.over.push(key);
        }
        self.forget();
        let ends = self.live.values().map(|session| session.ends(behaviour));
        self.none_ends_before = ends.min().unwrap_or(Duration::MAX);
    }

    fn forget(&mut self) {
        let too_many = self.over.len().saturating_sub(REMEMBERED_MAX);
        self.over.drain(..too_many);
    }

    /// Gives an account another password.
    pub(crate) fn set_password(&mut self, user: &str, password: &str) {
        if let Some(at) = self.position(user) {
            password.clone_into(&mut self.accounts[at].account.password);
        }
    }

    /// The account of a name.
    pub(crate) fn account(&self, user: &str) -> Option<Viewer> {
        Some(Viewer { session: String::new(), account: self.position(user)? })
    }

    /// Which account a name means, in either of its spellings and in any case.
    fn position(&self, user: &str) -> Option<usize> {
        let user = principal(user);
        let same =
            |state: &AccountState| principal(&state.account.user).eq_ignore_ascii_case(&user);
        self.accounts.iter().position(same)
    }

    /// What an account may do with an object: what is granted on it, or on the nearest that it
    /// lies in and that passes it down. `None` if it may not even see it.
    pub(crate) fn privileges(
        &self,
        viewer: &Viewer,
        estate: &Estate,
        object: Ref,
    ) -> Option<Vec<&str>> {
        let Some(grants) = &self.accounts.get(viewer.account)?.grants else {
            return Some(ALL_PRIVILEGES.to_vec());
        };
        let snapshot_of = estate.snapshots.get(&object).copied();
        let object = snapshot_of.unwrap_or(object);
        let mut above = estate.tree.upwards(object);
        let granted = above.find_map(|at| {
            let applies = |grant: &&Granted| grant.on == at && (grant.propagate || at == object);
            grants.iter().find(applies)
        })?;
        let read = ["System.Anonymous", "System.View", "System.Read"];
        Some(read.into_iter().chain(granted.privileges.iter().map(String::as_str)).collect())
    }

    /// Whether an object is there for an account at all.
    pub(crate) fn may_see(&self, viewer: &Viewer, estate: &Estate, object: Ref) -> bool {
        let limited = self.accounts.get(viewer.account).is_some_and(|state| state.grants.is_some());
        // Objects outside of the inventory are visible to every session.
        !limited
            || !(object.kind.is_entity() || estate.snapshots.contains_key(&object))
            || self.privileges(viewer, estate, object).is_some()
    }

    /// Whether an account may do something with an object, or the fault that says what it lacks.
    pub(crate) fn require(
        &self,
        viewer: &Viewer,
        estate: &Estate,
        object: Ref,
        privilege: &str,
    ) -> Result<(), Fault> {
        let has = self.privileges(viewer, estate, object);
        if has.is_some_and(|all| all.contains(&privilege)) {
            return Ok(());
        }
        Err(Fault::no_permission(object, privilege))
    }
}

/// How the server itself spells the name of an account: `user@domain` is `DOMAIN\\user`.
fn principal(user: &str) -> String {
    match user.split_once('@') {
        Some((name, domain)) => format!("{}\\{name}", domain.to_uppercase()),
        None => user.to_owned(),
    }
}

fn resolve(
    account: &Account,
    grant: &crate::inventory::Grant,
    estate: &Estate,
) -> Result<Granted, InventoryError> {
    let on = estate.tree.find(estate.root, &grant.on).ok_or_else(|| InventoryError {
        object: format!("account {:?}", account.user),
        field: "grants",
        value: grant.on.clone(),
        problem: "leads nowhere in the inventory",
        remedy: "write it as `/datacenter/vm/folder`, `/datacenter/host/cluster` and the like"
            .to_owned(),
    })?;
    Ok(Granted { on, propagate: grant.propagate, privileges: grant.privileges.clone() })
}
