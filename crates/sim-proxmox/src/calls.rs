//! What endpoints do.

mod cluster;
pub(crate) mod config;
mod create;
mod firewall;
mod guests;
mod nodes;
mod people;
mod pools;
mod power;
pub(crate) mod storage;
mod tasks;

use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use serde_json::Value;

use crate::{
    access::Caller,
    cloud::Complaint,
    estate::vm::Vm,
    refusal::Refusal,
    request::Asked,
    schema::{Permission, check},
    task::{NewTask, Step, TaskNumber},
    trouble::{ProxmoxTrouble, TaskTrouble},
    world::World,
};

/// What comes of a call.
#[derive(Debug)]
pub(crate) enum Reply {
    Done(Value),
    /// A task, whose id is the answer.
    Task(TaskNumber),
    /// A task that is waited for.
    Await {
        task: TaskNumber,
        limit: Option<Duration>,
    },
}

/// A call whose parameters are right.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) caller: Caller,
    /// All parameters, those in the path too.
    pub(crate) given: BTreeMap<String, String>,
    pub(crate) file: Option<Bytes>,
    trouble: Option<TaskTrouble>,
}

impl Call {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.given.get(name).map(String::as_str)
    }

    /// A parameter that the table requires.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).and_then(check::flag).unwrap_or(false)
    }

    pub(crate) fn number<N: std::str::FromStr>(&self, name: &str) -> Option<N> {
        self.get(name)?.parse().ok()
    }

    pub(crate) fn vmid(&self) -> u32 {
        self.number("vmid").unwrap_or_default()
    }

    /// A task of this call on the node of its path.
    pub(crate) fn task(&self, kind: &'static str, id: &str, steps: Vec<Step>) -> NewTask {
        NewTask {
            node: self.text("node").to_owned(),
            kind,
            id: id.to_owned(),
            user: self.caller.name(),
            steps,
            makes: None,
            hidden: false,
            trouble: self.trouble.clone(),
        }
    }
}

impl World {
    pub(crate) fn answer(
        &mut self,
        asked: &Asked,
        trouble: Option<ProxmoxTrouble>,
    ) -> Result<Reply, Refusal> {
        let Some((endpoint, in_path)) = self.schema.find(&asked.method, &asked.path) else {
            let text = format!("Method '{} {}' not implemented", asked.method, asked.path);
            return Err(Refusal::new(501, text));
        };
        let mut names = BTreeMap::new();
        for (name, value) in in_path {
            let value = percent_encoding::percent_decode_str(&value).decode_utf8_lossy();
            names.insert(name, value.into_owned());
        }
        let endpoint = endpoint.clone();
        let caller = match endpoint.permission {
            Permission::Open => Caller { user: String::new(), token: None },
            _ => self.authenticate(asked)?,
        };
        let problems = check::problems(&self.schema, &endpoint, &asked.parameters, &names);
        if !problems.is_empty() {
            let title = format!("{} {}", endpoint.method, endpoint.path);
            self.complaints.extend(problems.iter().map(|(parameter, problem)| Complaint {
                endpoint: title.clone(),
                parameter: parameter.clone(),
                problem: problem.clone(),
            }));
            return Err(Refusal::parameters(problems));
        }
        let mut given = asked.parameters.clone();
        given.extend(names);
        self.reach(&given)?;
        if let Permission::Any { path, privileges } = &endpoint.permission {
            let path = given.iter().fold(path.clone(), |path, (name, value)| {
                path.replace(&format!("{{{name}}}"), value)
            });
            let privileges: Vec<&str> = privileges.iter().map(String::as_str).collect();
            self.demand(&caller, &path, &privileges)?;
        }
        let trouble = match trouble {
            Some(ProxmoxTrouble::Fail { status, text }) => return Err(Refusal::new(status, text)),
            Some(ProxmoxTrouble::Task(trouble)) => Some(trouble),
            None => None,
        };
        let writes = endpoint.method != "GET" && endpoint.name != "ticket";
        if writes && !self.estate.quorate {
            return Err(Refusal::failed("cluster not ready - no quorum?"));
        }
        let file = asked.file.clone();
        self.call(&Call { name: endpoint.name, caller, given, file, trouble })
    }

    /// Whether the node of a call answers.
    fn reach(&self, given: &BTreeMap<String, String>) -> Result<(), Refusal> {
        let Some(node) = given.get("node") else { return Ok(()) };
        match self.estate.hosts.get(node) {
            None => Err(Refusal::failed(format!(
                "hostname lookup '{node}' failed - failed to get address info for: {node}: Name or service not known"
            ))),
            Some(host) if !host.online => Err(Refusal::new(595, "No route to host")),
            Some(_) => Ok(()),
        }
    }

    fn call(&mut self, call: &Call) -> Result<Reply, Refusal> {
        match call.name.as_str() {
            "version" | "nextid" | "resources" | "clusterstatus" | "options" | "groups" | "pci"
            | "clusteripsets" | "haresources" | "haadd" | "haremove" => self.call_cluster(call),
            "ticket" | "permissions" | "tokens" => self.call_people(call),
            "nodes" | "nodestatus" | "network" => Ok(self.call_nodes(call)),
            "tasks" | "clustertasks" | "taskstatus" | "tasklog" | "taskstop" => {
                self.call_tasks(call)
            }
            "storages" | "storagestatus" | "content" | "upload" | "download" | "contentdelete" => {
                self.call_storage(call)
            }
            "create" | "clone" | "template" => self.call_create(call),
            "start" | "stop" | "shutdown" | "destroy" => self.call_power(call),
            "change" | "changesync" | "resize" | "unlink" | "cloudinitrun" => {
                self.call_config(call)
            }
            "pools" | "pool" | "poolchange" | "poolwrite" => self.call_pools(call),
            name if name.starts_with("fw") || name.starts_with("ipset") => self.call_firewall(call),
            _ => self.call_guests(call),
        }
    }

    /// The VM of a call, if it is on the node of the call.
    pub(crate) fn vm(&self, call: &Call) -> Result<&Vm, Refusal> {
        let (node, vmid) = (call.text("node"), call.vmid());
        let kind = if call.name.starts_with("lxc") { "lxc" } else { "qemu" };
        let found = self.estate.vms.get(&vmid);
        found.filter(|vm| vm.node == node && vm.kind() == kind).ok_or_else(|| {
            let kind = if kind == "lxc" { "lxc" } else { "qemu-server" };
            let file = format!("nodes/{node}/{kind}/{vmid}.conf");
            Refusal::failed(format!("Configuration file '{file}' does not exist"))
        })
    }

    /// The same, refused if its configuration is locked.
    pub(crate) fn unlocked_vm(&self, call: &Call) -> Result<&Vm, Refusal> {
        check_skiplock(call)?;
        let vm = self.vm(call)?;
        match vm.lock() {
            Some(lock) if !call.flag("skiplock") => {
                Err(Refusal::failed(format!("VM is locked ({lock})")))
            }
            _ => Ok(vm),
        }
    }

    /// Begins a task and answers with its id.
    pub(crate) fn begin_reply(&mut self, new: NewTask) -> Reply {
        Reply::Task(self.begin(new))
    }

    /// Does the work of a call that is waited for.
    pub(crate) fn await_reply(&mut self, mut new: NewTask) -> Reply {
        new.hidden = true;
        Reply::Await { task: self.begin(new), limit: None }
    }
}

/// Refuses to pass over a lock for all but root.
fn check_skiplock(call: &Call) -> Result<(), Refusal> {
    if call.flag("skiplock") && !call.caller.is_root() {
        return Err(Refusal::parameter("skiplock", "Only root may use this option."));
    }
    Ok(())
}
