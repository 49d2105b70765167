//! The client.

use std::{collections::BTreeMap, collections::BTreeSet, sync::Arc, time::Duration};

use jiff::Timestamp;
use joiner_clock::Clock;

use crate::{
    About, Method, MoRef, Object, Observer, ServiceContent, Tags, Task, TaskFailed, TaskResult,
    Transport, VimError, VimSettings, watch::Inventory,
};

/// A vCenter to ask. Cheap to clone; all clones share one session.
#[derive(Clone)]
pub struct Vim {}

/// Which of a virtual machine's two identifiers is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Uuid {
    /// The BIOS's, `config.uuid`: what the guest sees. Copies may share it.
    Bios,
    /// The vCenter's, `config.instanceUuid`.
    Instance,
}

impl Vim {
    /// A client that has not asked anything yet.
    pub fn new(_settings: VimSettings, _transport: Arc<dyn Transport>, _clock: Clock) -> Self {
        todo!()
    }

    /// The same, with somebody who counts.
    pub fn observed(self, _observer: Arc<dyn Observer>) -> Self {
        todo!()
    }

    /// Tags, on the same credentials.
    pub fn tags(&self) -> Tags {
        todo!()
    }

    /// Which server this is.
    pub async fn about(&self) -> Result<About, VimError> {
        todo!()
    }

    /// Where everything is found; asked once.
    pub async fn service_content(&self) -> Result<Arc<ServiceContent>, VimError> {
        todo!()
    }

    /// The server's time.
    pub async fn current_time(&self) -> Result<Timestamp, VimError> {
        todo!()
    }

    /// Keeps the sessions alive; never ends. Whoever owns the client runs this beside its work.
    pub async fn keep_alive(&self) {
        todo!()
    }

    /// Ends the sessions. Best effort: a session that is not ended ends by itself later.
    pub async fn logout(&self) {
        todo!()
    }

    /// Reads properties of objects. All or an error: an object that is gone is a
    /// `ManagedObjectNotFound` for the whole question.
    pub async fn read(&self, _objects: &[MoRef], _paths: &[&str]) -> Result<Vec<Object>, VimError> {
        todo!()
    }

    /// Reads properties of all objects of a kind in a container and everything below it. The
    /// whole list or an error, never a part.
    pub async fn list(
        &self,
        _container: &MoRef,
        _kind: &str,
        _paths: &[&str],
    ) -> Result<Vec<Object>, VimError> {
        todo!()
    }

    /// Follows properties of all objects of a kind in a container and everything below it.
    pub fn watch(&self, _container: &MoRef, _kind: &str, _paths: &[&str]) -> Inventory {
        todo!()
    }

    /// The virtual machine with an identifier; the first the server finds, in a datacenter or
    /// anywhere.
    pub async fn find_by_uuid(
        &self,
        _datacenter: Option<&MoRef>,
        _uuid: &str,
        _which: Uuid,
    ) -> Result<Option<MoRef>, VimError> {
        todo!()
    }

    /// All virtual machines with an identifier.
    pub async fn find_all_by_uuid(
        &self,
        _datacenter: Option<&MoRef>,
        _uuid: &str,
        _which: Uuid,
    ) -> Result<Vec<MoRef>, VimError> {
        todo!()
    }

    /// What is at an inventory path, `DC0/vm/folder/name`; names in it are escaped already.
    pub async fn find_by_path(&self, _path: &str) -> Result<Option<MoRef>, VimError> {
        todo!()
    }

    /// Starts a task. Never repeated after an answer was lost: whether it runs is then unknown.
    pub async fn start(&self, _object: &MoRef, _method: Method) -> Result<Task, VimError> {
        todo!()
    }

    /// Waits for a task. The time counts from when the task leaves the server's queue.
    pub async fn wait(&self, _task: &Task, _limit: Duration) -> Result<TaskResult, TaskFailed> {
        todo!()
    }

    /// Asks the server to give a task up. A task that cannot be, or is over, is a fault.
    pub async fn cancel(&self, _task: &Task) -> Result<(), VimError> {
        todo!()
    }

    /// Asks a guest operating system to shut down; returns before it does.
    pub async fn shutdown_guest(&self, _machine: &MoRef) -> Result<(), VimError> {
        todo!()
    }

    /// What we may do with objects: the ids of the privileges that the account has.
    pub async fn privileges(
        &self,
        _objects: &[MoRef],
    ) -> Result<BTreeMap<MoRef, BTreeSet<String>>, VimError> {
        todo!()
    }
}
