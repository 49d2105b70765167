//! The trait.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use joiner_core::{
    evenness::ZoneRoom,
    instance_type::InstanceType,
    label::{Labels, WellKnown},
};

use crate::{
    CloudError,
    adoption::Adoption,
    class::{ClassKind, ClassStatus, NodeClass, SpecHash},
    doctor::{Finding, Patient},
    inputs::ClassInputs,
    instance::{Instance, Measured},
    needs::Needs,
    notes::Notes,
    order::{ClaimId, Order},
};

/// The instance types of a class, shared by everybody who looks at them.
pub type InstanceTypes = Arc<[Arc<InstanceType>]>;

/// One cloud.
///
/// Every call may be repeated at any time, by a process that knows nothing of the calls before: a
/// program can be killed between any two of them. Every call has a deadline of its own and answers
/// [`CloudError::Unknown`] when it has passed.
#[async_trait]
pub trait CloudProvider: std::fmt::Debug + Send + Sync {
    /// The name that metrics and messages call it by.
    fn name(&self) -> &'static str;

    /// The kinds of `NodeClass` it serves, the default one first.
    fn class_kinds(&self) -> &'static [ClassKind];

    /// The labels it fills in besides Karpenter's own, and what it does not let users set.
    fn well_known(&self) -> WellKnown;

    /// Hears which cluster it acts for, before anything else is asked of it: the UID of the namespace
    /// `kube-system`, which no other cluster has. Names of clusters may be given twice.
    fn acts_for(&self, _cluster_uid: &str) {}

    /// The label that tells reservations apart, where it has reservations.
    fn reservation_id_label(&self) -> Option<&'static str> {
        None
    }

    /// The lease that its predecessor holds while it acts; Joiner acts only while it holds it too.
    fn predecessor_lease(&self) -> Option<&'static str> {
        None
    }

    /// What its predecessor wrote into labels of claims and nodes that means something else to
    /// everybody but it.
    fn label_corrections(&self) -> &'static [LabelCorrection] {
        &[]
    }

    /// What happens between questions and answers, where it says such things.
    fn notes(&self) -> Option<&Notes> {
        None
    }

    /// Keeps what it has open in the cloud, such as a session, for as long as this process acts.
    /// Never ends; is dropped.
    async fn keep_alive(&self) {
        std::future::pending::<()>().await;
    }

    /// Ends what it has open in the cloud. The process is about to end.
    async fn close(&self) {}

    /// How long a launch may take where nobody says otherwise.
    fn launch_timeout(&self) -> Duration;

    /// The finalizer that keeps a class until no claim refers to it any more.
    fn class_finalizer(&self) -> Option<&'static str> {
        None
    }

    /// What instances of a class are made from, in a number.
    fn class_hash(&self, _class: &NodeClass) -> Option<SpecHash> {
        None
    }

    /// What it needs of the cluster for a class. Asked before each judgement of the class and each
    /// order, so it has to be cheap.
    fn needs(&self, _class: &NodeClass) -> Needs {
        Needs::default()
    }

    /// What a claim's instance, its guest and its node are called.
    fn instance_name(&self, claim: &ClaimId) -> String {
        claim.name.clone()
    }

    /// What is wrong with a class, and what its status should say. The spec goes in, conditions
    /// come out. There are no inputs while something that it [needs](Self::needs) is missing; the
    /// operator says what, in the condition
    /// [`BootstrapReady`](crate::class::BOOTSTRAP_READY).
    async fn resolve_class(
        &self,
        class: &NodeClass,
        inputs: Option<&ClassInputs>,
    ) -> Result<ClassStatus, CloudError>;

    /// Every type that instances of a pool and its class can have, also those that cannot be had now.
    /// Cheap: it is asked several times for each plan.
    fn instance_types(&self, pool: &str, class: &NodeClass) -> Result<InstanceTypes, CloudError>;

    /// The free room of a class's zones, as far as it is known; a zone that is not there is unknown.
    /// It decides among zones that cost the same. Cheap: it is asked for each plan.
    fn room(&self, _class: &NodeClass) -> ZoneRoom {
        ZoneRoom::new()
    }

    /// Makes an instance, or finds the one that was made for this claim before.
    ///
    /// Of several zones that cost the same it goes to the first in the order of
    /// [`joiner_core::evenness`].
    ///
    /// The claim's mark is written in the same step that makes the instance. Answers as soon as the
    /// provider's name of the instance is final, which may be long before it runs.
    async fn create(&self, order: &Order) -> Result<Instance, CloudError>;

    /// Has an instance removed. Never touches an instance that does not carry this cluster's mark.
    ///
    /// The provider's name may be unknown: a claim can be deleted before an answer to
    /// [`create`](Self::create) was written down. The instance is then found by the claim's mark.
    async fn delete(
        &self,
        claim: &ClaimId,
        provider_id: Option<&str>,
    ) -> Result<Deletion, CloudError>;

    /// The instance of this name; none only when the cloud is sure that it is gone.
    async fn get(&self, provider_id: &str) -> Result<Option<Instance>, CloudError>;

    /// Every instance that carries this cluster's mark. Whole, or an error. What another cluster of
    /// the same name has is not among them.
    async fn list(&self) -> Result<Vec<Instance>, CloudError>;

    /// Why an instance is not as its class now wants it, in one `CamelCase` word.
    async fn drift(
        &self,
        instance: &Instance,
        class: &NodeClass,
    ) -> Result<Option<String>, CloudError>;

    /// Marks an instance that its predecessor made, and that has no mark of ours, as a claim's, or
    /// completes a mark that does not say which cluster of the name it is of. Changes nothing else
    /// about it. Answers whether it carries the mark now.
    async fn adopt(&self, _instance: &Instance, _by: &Adoption) -> Result<bool, CloudError> {
        Ok(false)
    }

    /// Empties what an instance's guest was given to join with: its node has joined, and everybody
    /// who may look at the instance could read it. It can be repeated at any time, and does nothing
    /// where the cloud keeps no such data.
    async fn empty_join_data(
        &self,
        _claim: &ClaimId,
        _provider_id: &str,
    ) -> Result<(), CloudError> {
        Ok(())
    }

    /// Hears what the guest of an instance really sees, where types only promise a guess. Answers
    /// whether that was of use, or never will be; otherwise it is told again.
    fn measured(&self, _measured: &Measured<'_>) -> bool {
        true
    }

    /// Brings an instance up to date in place, as far as it can be.
    async fn update(
        &self,
        _instance: &Instance,
        _class: &NodeClass,
    ) -> Result<Updated, CloudError> {
        Ok(Updated::Nothing)
    }

    /// Examines everything that instances depend on, for `joiner doctor`. Changes nothing, and ends
    /// its sessions.
    async fn examine(&self, _patient: &Patient) -> Vec<Finding> {
        Vec::new()
    }

    /// Which conditions of a node mean that its instance should be replaced.
    fn repair_policies(&self) -> &'static [RepairPolicy] {
        &[]
    }
}

/// How far a deletion has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// It is under way; ask again.
    Requested,
    /// The cloud is sure that there is no such instance.
    Gone,
}

/// What an update in place came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Updated {
    /// There was nothing to do.
    Nothing,
    /// The instance was changed; the claim gets these annotations.
    Changed(Labels),
}

/// A condition of a node that means that its instance should be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairPolicy {
    /// The node condition.
    pub condition: &'static str,
    /// Its status.
    pub status: &'static str,
    /// For how long it is tolerated.
    pub toleration: Duration,
}

/// A value of a label that a predecessor wrote, and what it should have written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LabelCorrection {
    /// The label.
    pub key: &'static str,
    /// What is there.
    pub wrong: &'static str,
    /// What it means.
    pub right: &'static str,
}
