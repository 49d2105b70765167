//! Instances of a class that a cluster keeps on different hosts where it can.
//!
//! A cluster module has neither a name nor anything else that says whose it is. So each instance
//! carries the id of its module in its mark. A module that our instance names is ours, and the other
//! instances of its class join it. An unnamed module may have any owner. A process that dies too
//! early may leave an empty module, which is harmless. Separation is only preferred, so errors go to
//! the log and instances still start.

use std::time::Duration;

use joiner_vim::{
    Method, MoRef, TaskFailed, VimError,
    spec::{ConfigSpec, ExtraConfig},
    tags::TagError,
};

use super::Inner;
use crate::{
    marks,
    vm::{self, Vm},
};

/// How long writing down a module may take.
const WITHIN: Duration = Duration::from_mins(2);
/// The number of tries while another program changes the instance, and the delay between them.
const TRIES: usize = 3;
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(2);

/// Why an instance could not be separated.
#[derive(Debug, thiserror::Error)]
enum NotApart {
    #[error("{0}")]
    Modules(#[from] TagError),
    #[error("{0}")]
    Vim(#[from] VimError),
    #[error("its module cannot be written down: {0}")]
    Mark(#[from] TaskFailed),
    #[error("{0}")]
    Folders(#[from] joiner_cloud::CloudError),
    #[error("the cluster does not take it into its module")]
    Refused,
}

impl NotApart {
    /// Whether another program is changing the instance at the moment.
    fn is_passing(&self) -> bool {
        matches!(self, Self::Vim(error) if error.is_fault("TaskInProgress"))
    }
}

impl Inner {
    /// Has an instance kept apart from others of its class in a cluster.
    pub(super) async fn keep_apart(&self, vm: &Vm, cluster: &MoRef) {
        let _turn = self.gates.pass("cluster modules", 1).await;
        let mut joined = self.join_module(vm, cluster).await;
        for _ in 1..TRIES {
            // An earlier process may still be writing its module.
            if !joined.as_ref().is_err_and(NotApart::is_passing) {
                break;
            }
            self.clock.sleep(LOOK_AGAIN_AFTER).await;
            let read = self.read_instances(std::slice::from_ref(&vm.reference)).await;
            joined = match read.map(|all| all.into_iter().next()) {
                Ok(Some(vm)) => self.join_module(&vm, cluster).await,
                Ok(None) => return,
                Err(error) => Err(error.into()),
            };
        }
        if let Err(error) = joined {
            tracing::warn!(
                instance = vm.name,
                "an instance is not kept apart from others: {error}"
            );
        }
    }

    async fn join_module(&self, vm: &Vm, cluster: &MoRef) -> Result<(), NotApart> {
        let modules = self.vim.modules();
        let there: Vec<String> = modules
            .all()
            .await?
            .into_iter()
            .filter(|own| own.cluster == cluster.id)
            .map(|own| own.id)
            .collect();
        let mark = vm.mark.clone().unwrap_or_default();
        let known = match vm.module.clone().filter(|own| there.contains(own)) {
            Some(own) => own,
            None => {
                let others = self.module_of_others(&mark.class, &there).await?;
                let is_new = others.is_none();
                let module = match others {
                    Some(module) => module,
                    None => modules.create(cluster).await?,
                };
                // Written before use, so that a later process knows the owner of the module.
                let written = self.write_module(vm, &module).await;
                if let Err(error) = written {
                    if is_new {
                        modules.remove(&module).await?;
                    }
                    return Err(error);
                }
                module
            }
        };
        let is_in = modules.add(&known, &vm.reference).await?
            || modules.members(&known).await?.contains(&vm.reference);
        if is_in { Ok(()) } else { Err(NotApart::Refused) }
    }

    async fn write_module(&self, vm: &Vm, module: &str) -> Result<(), NotApart> {
        let spec = ConfigSpec {
            extra_config: vec![ExtraConfig::new(marks::module(), module)],
            ..ConfigSpec::default()
        };
        let task = self.vim.start(&vm.reference, Method::Reconfigure(Box::new(spec))).await?;
        self.vim.wait(&task, WITHIN).await?;
        Ok(())
    }

    /// The module that another instance of the class names, among those that are there.
    async fn module_of_others(
        &self,
        class: &str,
        there: &[String],
    ) -> Result<Option<String>, NotApart> {
        let properties = vm::properties();
        let paths: Vec<&str> = properties.iter().map(String::as_str).collect();
        for folder in self.own_folders().await? {
            let all = self.vim.list(&folder, "VirtualMachine", &paths).await?;
            let ours = all.iter().map(Vm::read);
            let ours = ours.filter(|vm| vm.is_of(self.cluster()) && vm.stray().is_none());
            let is_of_class = |vm: &Vm| vm.mark.as_ref().is_some_and(|mark| mark.class == class);
            let modules = ours.filter(is_of_class).filter_map(|vm| vm.module);
            let found = modules.into_iter().find(|module| there.contains(module));
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Takes an instance that is about to go out of its module, and ends the module with its last
    /// instance.
    pub(super) async fn leave_module(&self, vm: &Vm) {
        let Some(module) = vm.module.as_deref() else { return };
        let _turn = self.gates.pass("cluster modules", 1).await;
        let modules = self.vim.modules();
        let left = async {
            modules.take_out(module, &vm.reference).await?;
            if modules.members(module).await?.is_empty() {
                modules.remove(module).await?;
            }
            Ok(())
        };
        match left.await {
            // Another process was faster.
            Ok(()) | Err(TagError::NotFound) => {}
            Err(error) => {
                tracing::info!(instance = vm.name, "an instance is left in its module: {error}");
            }
        }
    }
}
