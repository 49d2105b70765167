//! Who calls, and what they may do.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use http::header;
use percent_encoding::percent_decode_str;

use crate::{inventory::Grant, refusal::Refusal, request::Asked, world::World};

/// The user who may do everything, and some things alone.
const ROOT: &str = "root@pam";

/// How long a ticket lives.
const TICKET_LIFE: Duration = Duration::from_hours(2);

/// A user or a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    pub(crate) user: String,
    /// The name of the token, if it is one.
    pub(crate) token: Option<String>,
}

impl Caller {
    /// As tasks name it.
    pub(crate) fn name(&self) -> String {
        match &self.token {
            Some(token) => format!("{}!{token}", self.user),
            None => self.user.clone(),
        }
    }

    /// Whether it is root with a ticket.
    pub(crate) fn is_root(&self) -> bool {
        self.user == ROOT && self.token.is_none()
    }
}

/// A ticket that was given out.
#[derive(Clone, Debug)]
pub(crate) struct Ticket {
    pub(crate) user: String,
    pub(crate) csrf: String,
    pub(crate) issued: Duration,
}

impl World {
    pub(crate) fn authenticate(&self, asked: &Asked) -> Result<Caller, Refusal> {
        if let Some(value) = asked.header(header::AUTHORIZATION) {
            let token = value.strip_prefix("PVEAPIToken=").or(value.strip_prefix("PVEAPIToken "));
            let token = token.ok_or_else(|| Refusal::unauthorized("No ticket"))?;
            return self.authenticate_token(token);
        }
        let cookie = asked.header(header::COOKIE).and_then(|cookies| {
            cookies.split(';').find_map(|cookie| cookie.trim().strip_prefix("PVEAuthCookie="))
        });
        let cookie = cookie.ok_or_else(|| Refusal::unauthorized("No ticket"))?;
        let cookie = percent_decode_str(cookie).decode_utf8_lossy().into_owned();
        let ticket = self.tickets.get(&cookie).filter(|ticket| self.is_valid(ticket));
        let ticket = ticket
            .ok_or_else(|| Refusal::unauthorized("permission denied - invalid PVE ticket"))?;
        let is_upload = asked.method == "POST" && asked.path.ends_with("/upload");
        if asked.method != "GET" && !is_upload {
            let csrf = asked.headers.get("CSRFPreventionToken").and_then(|it| it.to_str().ok());
            if csrf != Some(ticket.csrf.as_str()) {
                return Err(Refusal::unauthorized("Permission denied - invalid csrf token"));
            }
        }
        Ok(Caller { user: ticket.user.clone(), token: None })
    }

    fn authenticate_token(&self, value: &str) -> Result<Caller, Refusal> {
        let wrong = || Refusal::unauthorized("invalid token value!");
        let (id, secret) = value.split_once('=').or(value.split_once(':')).ok_or_else(wrong)?;
        let (user, name) = id.split_once('!').ok_or_else(wrong)?;
        let known = self.tokens.get(id);
        let known = known.ok_or_else(|| Refusal::unauthorized("no such token"))?;
        let ended = known.expires.is_some_and(|at| self.agenda.moment(self.agenda.now()) >= at);
        if ended {
            return Err(Refusal::unauthorized("token expired"));
        }
        if known.secret != secret {
            return Err(wrong());
        }
        Ok(Caller { user: user.to_owned(), token: Some(name.to_owned()) })
    }

    pub(crate) fn is_valid(&self, ticket: &Ticket) -> bool {
        self.agenda.now().saturating_sub(ticket.issued) < TICKET_LIFE
    }

    /// What a caller may do on a path.
    pub(crate) fn privileges(&self, caller: &Caller, path: &str) -> BTreeSet<String> {
        let of_user = self.privileges_of_user(&caller.user, path);
        let Some(token) = caller.token.as_ref().and_then(|_| self.tokens.get(&caller.name()))
        else {
            return of_user;
        };
        if !token.separated {
            return of_user;
        }
        let of_token = self.granted(&token.grants, path);
        of_user.intersection(&of_token).cloned().collect()
    }

    fn privileges_of_user(&self, user: &str, path: &str) -> BTreeSet<String> {
        if user == ROOT {
            return ALL.iter().map(|&privilege| privilege.to_owned()).collect();
        }
        let grants = self.users.get(user).map(|user| user.grants.as_slice()).unwrap_or_default();
        self.granted(grants, path)
    }

    fn granted(&self, grants: &[Grant], path: &str) -> BTreeSet<String> {
        let mut found = granted_on(grants, path);
        if let Some(vmid) = path.strip_prefix("/vms/").and_then(|vmid| vmid.parse().ok())
            && let Some(pool) = self.pool_of(vmid)
        {
            found.extend(granted_on(grants, &format!("/pool/{pool}")));
        }
        found
    }

    pub(crate) fn may(&self, caller: &Caller, path: &str, privilege: &str) -> bool {
        self.privileges(caller, path).contains(privilege)
    }

    /// Refuses a caller without one of these privileges.
    pub(crate) fn demand(
        &self,
        caller: &Caller,
        path: &str,
        privileges: &[&str],
    ) -> Result<(), Refusal> {
        if privileges.iter().any(|privilege| self.may(caller, path, privilege)) {
            return Ok(());
        }
        Err(Refusal::permission(path, &privileges.join("|")))
    }

    /// The paths on which a caller has privileges, as `GET /access/permissions` tells them.
    pub(crate) fn permissions(&self, caller: &Caller) -> BTreeMap<String, BTreeSet<String>> {
        const ROOTS: [&str; 8] =
            ["/", "/access", "/mapping", "/nodes", "/pool", "/sdn", "/storage", "/vms"];
        let mut paths: BTreeSet<String> = ROOTS.iter().map(|&path| path.to_owned()).collect();
        let users = self.users.get(&caller.user).into_iter().flat_map(|user| &user.grants);
        let tokens = self.tokens.get(&caller.name()).into_iter().flat_map(|it| &it.grants);
        paths.extend(users.chain(tokens).map(|grant| grant.path.clone()));
        let privileges = |path: String| {
            let found = self.privileges(caller, &path);
            (path, found)
        };
        paths.into_iter().map(privileges).filter(|(_, found)| !found.is_empty()).collect()
    }
}

/// The grants on a path: those of the deepest path that has any.
fn granted_on(grants: &[Grant], path: &str) -> BTreeSet<String> {
    let covers = |grant: &&Grant| {
        let inside = grant.path == "/" || path.starts_with(&format!("{}/", grant.path));
        grant.path == path || (grant.propagates && inside)
    };
    let deepest = grants.iter().filter(covers).map(|grant| grant.path.len()).max();
    let fitting = grants.iter().filter(covers).filter(|it| Some(it.path.len()) == deepest);
    fitting.flat_map(|grant| grant.privileges.iter().cloned()).collect()
}

/// All privileges.
pub(crate) const ALL: [&str; 40] = [
    "Datastore.Allocate",
    "Datastore.AllocateSpace",
    "Datastore.AllocateTemplate",
    "Datastore.Audit",
    "Group.Allocate",
    "Mapping.Audit",
    "Mapping.Modify",
    "Mapping.Use",
    "Permissions.Modify",
    "Pool.Allocate",
    "Pool.Audit",
    "Realm.Allocate",
    "Realm.AllocateUser",
    "SDN.Allocate",
    "SDN.Audit",
    "SDN.Use",
    "Sys.AccessNetwork",
    "Sys.Audit",
    "Sys.Console",
    "Sys.Incoming",
    "Sys.Modify",
    "Sys.PowerMgmt",
    "Sys.Syslog",
    "User.Modify",
    "VM.Allocate",
    "VM.Audit",
    "VM.Backup",
    "VM.Clone",
    "VM.Config.CDROM",
    "VM.Config.CPU",
    "VM.Config.Cloudinit",
    "VM.Config.Disk",
    "VM.Config.HWType",
    "VM.Config.Memory",
    "VM.Config.Network",
    "VM.Config.Options",
    "VM.Console",
    "VM.Migrate",
    "VM.PowerMgmt",
    "VM.Snapshot",
];
