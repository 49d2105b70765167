//! Cluster modules: instances that a cluster keeps apart where it can, over
//! `/rest/vcenter/cluster/modules`.

use std::{
    collections::BTreeSet,
    fmt::{self, Debug, Formatter},
};

use http::Method;
use serde::Deserialize;
use serde_json::json;

use crate::{
    MoRef, Tags, Vim,
    tags::{Again, Question, TagError, list},
};

const ROOT: &str = "/rest/vcenter/cluster/modules";

/// Cluster modules of a vCenter. They have no names, only identifiers.
#[derive(Clone)]
pub struct Modules {
    rest: Tags,
}

/// A cluster module.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Module {
    /// Its identifier.
    #[serde(rename = "module")]
    pub id: String,
    /// Its cluster's id.
    pub cluster: String,
}

#[derive(Deserialize)]
struct Summaries {
    #[serde(default, deserialize_with = "list")]
    summaries: Vec<Module>,
}

#[derive(Deserialize)]
struct Members {
    #[serde(default, deserialize_with = "list")]
    vms: Vec<String>,
}

#[derive(Deserialize)]
struct Changed {
    success: bool,
}

impl Vim {
    /// Cluster modules, on the same credentials and limits.
    pub fn modules(&self) -> Modules {
        Modules { rest: self.tags() }
    }
}

impl Modules {
    /// All modules.
    pub async fn all(&self) -> Result<Vec<Module>, TagError> {
        let question = Question::get("module.list", ROOT);
        self.rest.ask::<Summaries>(&question).await.map(|answer| answer.summaries)
    }

    /// A new module of a cluster, without members.
    pub async fn create(&self, cluster: &MoRef) -> Result<String, TagError> {
        let body = json!({"spec": {"cluster": cluster.id}});
        self.rest.ask(&Question::post("module.create", ROOT, body, Again::No)).await
    }

    /// Removes a module. Its members stay as they are.
    pub async fn remove(&self, module: &str) -> Result<(), TagError> {
        let question = Question {
            method: Method::DELETE,
            ..Question::get("module.delete", format!("{ROOT}/{module}"))
        };
        self.rest.ask(&question).await
    }

    /// The instances in a module.
    pub async fn members(&self, module: &str) -> Result<BTreeSet<MoRef>, TagError> {
        let question = Question::get("module.members", members(module));
        let answer: Members = self.rest.ask(&question).await?;
        Ok(answer.vms.into_iter().map(|id| MoRef::new("VirtualMachine", id)).collect())
    }

    /// Puts an instance into a module; false if it is there already, or not in the module's cluster.
    pub async fn add(&self, module: &str, vm: &MoRef) -> Result<bool, TagError> {
        self.change("module.add", module, "add", vm).await
    }

    /// Takes an instance out of a module; false if it is not in it.
    pub async fn take_out(&self, module: &str, vm: &MoRef) -> Result<bool, TagError> {
        self.change("module.takeOut", module, "remove", vm).await
    }

    async fn change(
        &self,
        name: &'static str,
        module: &str,
        action: &str,
        vm: &MoRef,
    ) -> Result<bool, TagError> {
        let path = format!("{}?action={action}", members(module));
        let question = Question::post(name, path, json!({"vms": [vm.id]}), Again::Yes);
        self.rest.ask::<Changed>(&question).await.map(|answer| answer.success)
    }
}

fn members(module: &str) -> String {
    format!("{ROOT}/vm/{module}/members")
}

impl Debug for Modules {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Modules").finish_non_exhaustive()
    }
}
