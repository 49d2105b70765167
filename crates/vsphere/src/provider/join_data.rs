//! What guests are given to join with, once they have joined.

use joiner_cloud::{CloudError, order::ClaimId};
use joiner_vim::{
    Method, TaskFailed, VimError,
    spec::{ConfigSpec, ExtraConfig},
};

use super::{Inner, delete::CHANGE_WITHIN, troubles::unanswered};
use crate::{marks, user_data::text_settings, vm::Vm};

impl Inner {
    /// Empties the texts of a claim's instance, and writes down in the same call that it is done.
    pub(super) async fn empty_join_data(
        &self,
        claim: &ClaimId,
        provider_id: &str,
    ) -> Result<(), CloudError> {
        let found = self.with_id(provider_id).await;
        for vm in found.map_err(unanswered("looking for an instance whose node has joined"))? {
            let Some(mark) = &vm.mark else { continue };
            let is_meant = self.is_ours(&vm).await? && mark.claim.uid == claim.uid;
            let is_surely_it = !self.is_stray(&vm) && !vm.may_be_copy();
            if !is_surely_it || mark.join_data_emptied || !is_meant {
                continue;
            }
            let (key, emptied) = marks::join_data_emptied();
            let texts = text_settings().map(|key| ExtraConfig::new(key, ""));
            let settings = texts.chain([ExtraConfig::new(key, emptied)]).collect();
            let what = format!("emptying what virtual machine {:?} joined with", vm.name);
            self.write_settings(&vm, settings, &what).await?;
        }
        Ok(())
    }

    /// Writes settings of a virtual machine, which may run meanwhile.
    pub(super) async fn write_settings(
        &self,
        vm: &Vm,
        extra_config: Vec<ExtraConfig>,
        what: &str,
    ) -> Result<(), CloudError> {
        let spec = ConfigSpec { extra_config, ..ConfigSpec::default() };
        let method = Method::Reconfigure(Box::new(spec));
        let done = match self.vim.start(&vm.reference, method).await {
            Ok(task) => self.vim.wait(&task, CHANGE_WITHIN).await.map(|_| ()),
            Err(VimError::Fault(fault)) => Err(TaskFailed::Fault(fault)),
            Err(error) => return Err(unanswered(what)(error)),
        };
        done.map_err(|error| CloudError::Unknown(format!("{what}: {error}; it is tried again")))
    }
}
