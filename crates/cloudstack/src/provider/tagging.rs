//! Tags: what lists are filtered by.

use std::{collections::BTreeMap, time::Duration};

use joiner_cloud::{bootstrap, mark::Mark};

use super::Inner;
use crate::{
    client::{
        Command, JobFailed,
        objects::{VirtualMachine, Volume},
        requests::{self, Tagged},
    },
    marks::{self, missing_tags},
};

/// How often tags are written. Another process may write the same ones meanwhile.
const TRIES: u32 = 3;
/// How long tags are waited for.
const TAGGED_WITHIN: Duration = Duration::from_secs(30);
/// How many instances get their missing tags in one list.
const AGAIN_MAX: usize = 20;

impl Inner {
    /// Writes the tags that an instance lacks. Where that fails, a later list writes them: the
    /// instance is known by its details.
    pub(super) async fn tag(&self, vm: &VirtualMachine, wanted: &BTreeMap<String, String>) {
        let mut missing = missing_tags(vm, wanted);
        for _ in 0..TRIES {
            if missing.is_empty() {
                return;
            }
            let command = requests::create_tags(Tagged::Instance, &vm.id, &missing);
            let Err(why) = self.done(command).await else { return };
            tracing::info!(instance = vm.name, "tags are not written: {why}");
            match self.vm(&vm.id).await {
                Ok(Some(now)) => missing = missing_tags(&now, wanted),
                Ok(None) | Err(_) => return,
            }
        }
    }

    /// Writes the tags of instances whose creation ended before they were written.
    pub(super) async fn tag_again(&self, untagged: &[&(VirtualMachine, Mark)]) {
        for (vm, mark) in untagged.iter().take(AGAIN_MAX) {
            // One that is being made gets all of its tags from the process that makes it.
            if vm.job.is_none() {
                let mark = Mark { instance_uuid: vm.id.clone(), ..mark.clone() };
                self.tag(vm, &marks::tags(&mark, None)).await;
            }
        }
    }

    /// Marks the data disk that was made with an instance, so that it is removed with it.
    pub(super) async fn tag_data_disks(&self, vm_id: &str, claim_name: &str) {
        let disks = self.client.list::<Volume>(requests::data_disks(vm_id)).await;
        let tags: BTreeMap<String, String> =
            [(marks::CLAIM.to_owned(), claim_name.to_owned())].into();
        for disk in disks.unwrap_or_default() {
            let is_tagged = disk.tags.iter().any(|tag| tag.key == marks::CLAIM);
            if !is_tagged {
                let command = requests::create_tags(Tagged::Volume, &disk.id, &tags);
                if let Err(why) = self.done(command).await {
                    tracing::info!(volume = disk.name, "the tag is not written: {why}");
                }
            }
        }
    }

    async fn done(&self, command: Command) -> Result<(), JobFailed> {
        let submitted = self.client.submit(command).await.map_err(JobFailed::Client)?;
        self.client.wait(&submitted, TAGGED_WITHIN).await.map(drop)
    }
}

/// A text for the server, as it is written into the request.
pub(super) fn letters(text: &bootstrap::Encoded) -> bootstrap::Secret<String> {
    bootstrap::Secret::new(String::from_utf8_lossy(text.bytes.reveal()).into_owned())
}
