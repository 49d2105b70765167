//! The trait.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use joiner_core::{evenness::ZoneRoom, instance_type::InstanceType, label::WellKnown};

use crate::{
    CloudError,
    adoption::Adoption,
    class::{ClassKind, ClassStatus, NodeClass, SpecHash},
    cluster::{Cluster, ClusterChange},
    doctor::{Finding, Patient},
    inputs::{ClassInputs, SecretData},
    instance::{Instance, Lost, Measured},
    listing::Listing,
    needs::{JoinNeeds, Needs, SecretName},
    notes::Notes,
    order::{ClaimId, Order},
    progress::Progress,
    registration::RegistrationHook,
};

/// The instance types of a class. Readers share them.
pub type InstanceTypes = Arc<[Arc<InstanceType>]>;

/// One cloud.
///
/// Every call may be repeated at any time, by a process that knows nothing of the calls before: a
/// program can be killed between any two of them. Every call has a deadline of its own and answers
/// [`CloudError::Unknown`] when it has passed.
///
/// A simple cloud implements the methods without a default. The others are for clouds that have more
/// to do: regions, several forms of provider ids, changes in place, templates as objects.
#[async_trait]
pub trait CloudProvider: std::fmt::Debug + Send + Sync {
    /// The name that metrics and messages call it by.
    fn name(&self) -> &'static str;

    /// The kinds that it serves: `NodeClass`es, the default one first, and what they are made of.
    fn class_kinds(&self) -> &'static [ClassKind];

    /// The labels it fills in besides Karpenter's own, and what it does not let users set.
    fn well_known(&self) -> WellKnown;

    /// The labels that the class defines on these types, so that pods may select them.
    fn labels_of(&self, _types: &[Arc<InstanceType>]) -> Vec<String> {
        Vec::new()
    }

    /// Receives the cluster and its objects before any other call.
    fn begin(&self, _cluster: &Cluster) {}

    /// Receives a change of the cluster. The caller holds locks, so this call only records the
    /// change.
    fn changed(&self, _change: &ClusterChange) {}

    /// The label that tells reservations apart, where it has reservations.
    fn reservation_id_label(&self) -> Option<&'static str> {
        None
    }

    /// The lease that its predecessor holds while it acts; Joiner acts only while it holds it too.
    fn predecessor_lease(&self) -> Option<&'static str> {
        None
    }

    /// The correct value of a label of a claim or node, where another program wrote a wrong one; none
    /// if the value is right.
    fn corrected_label(&self, _key: &str, _value: &str) -> Option<String> {
        None
    }

    /// The one form of a provider id by which nodes and claims are compared. Owned, where it differs
    /// from the form that is given. Ids of other clouds stay as they are.
    fn canonical<'i>(&self, provider_id: &'i str) -> Cow<'i, str> {
        Cow::Borrowed(provider_id)
    }

    /// The place that an instance with this provider id is in, such as its region; none where the id
    /// does not tell, or the cloud is one place.
    fn place_of(&self, _provider_id: &str) -> Option<String> {
        None
    }

    /// Parts of the names of container images by which the cloud's own controller is recognized. While
    /// one of them runs in the cluster, provider ids of nodes are left to it.
    fn cloud_controllers(&self) -> &'static [&'static str] {
        &[]
    }

    /// The steps between the join of a node and its use.
    fn registration_hooks(&self) -> Vec<Arc<dyn RegistrationHook>> {
        Vec::new()
    }

    /// The provider's reports about work in progress, where it makes them.
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

    /// The default deadline of a launch.
    fn launch_timeout(&self) -> Duration;

    /// The finalizer that keeps a class while claims refer to it, and an ingredient while classes do.
    fn class_finalizer(&self, _class: &NodeClass) -> Option<&'static str> {
        None
    }

    /// Removes the cloud's data of an unreferenced object, such as a template. Its finalizer stays
    /// until the answer is [`Deletion::Gone`].
    async fn dispose(&self, _class: &NodeClass) -> Result<Deletion, CloudError> {
        Ok(Deletion::Gone)
    }

    /// Hashes of what instances of a class are made from, or of what a template is made from, in the
    /// order in which they decide. None of a class that cannot be hashed now.
    fn hashes(&self, _class: &NodeClass) -> Vec<SpecHash> {
        Vec::new()
    }

    /// The cluster data that a class needs. Called before each judgement and each order, so it must
    /// be fast.
    fn needs(&self, _class: &NodeClass) -> Needs {
        Needs::default()
    }

    /// How instances join, once the Secrets that the class [needs](Self::needs) are read. Only then
    /// is it known whether a text in a Secret uses a token.
    fn join_needs(
        &self,
        class: &NodeClass,
        _secrets: &BTreeMap<SecretName, SecretData>,
    ) -> Option<JoinNeeds> {
        self.needs(class).joining
    }

    /// The name of a claim's instance, its guest and its node.
    fn instance_name(&self, claim: &ClaimId) -> String {
        claim.name.clone()
    }

    /// Judges a class, or an ingredient of classes, and returns its status. There are no inputs while
    /// an object that it [needs](Self::needs) is missing. The operator names that object in the
    /// condition [`BootstrapReady`](crate::class::BOOTSTRAP_READY).
    async fn resolve_class(
        &self,
        class: &NodeClass,
        inputs: Option<&ClassInputs>,
    ) -> Result<ClassStatus, CloudError>;

    /// Every type of a pool and its class, including types that are unavailable now. Called several
    /// times for each plan, so it must be fast.
    fn instance_types(&self, pool: &str, class: &NodeClass) -> Result<InstanceTypes, CloudError>;

    /// The free room of a class's zones, as far as it is known; the room of a missing zone is
    /// unknown. It decides among zones of the same price. Called for each plan, so it must be fast.
    fn room(&self, _class: &NodeClass) -> ZoneRoom {
        ZoneRoom::new()
    }

    /// Makes an instance, or finds the one that was made for this claim before.
    ///
    /// Of several zones that cost the same it goes to the first in the order of
    /// [`joiner_core::evenness`].
    ///
    /// The claim's mark is written in the same step that makes the instance. A cloud that cannot do so
    /// writes the instance's id into the order's [notebook](Order::notebook) first. Answers as soon as
    /// the provider id of the instance is final, which may be long before it runs.
    async fn create(&self, order: &Order) -> Result<Instance, CloudError>;

    /// Removes an instance. Instances without this cluster's mark stay untouched.
    ///
    /// The provider's name may be unknown: a claim can be deleted before an answer to
    /// [`create`](Self::create) was written down. The instance is then found by the claim's mark.
    async fn delete(
        &self,
        claim: &ClaimId,
        provider_id: Option<&str>,
    ) -> Result<Deletion, CloudError>;

    /// The claim's instance, by its provider id in any form; none only when the cloud is sure that it
    /// is gone. Clouds reuse the ids of removed instances, so an instance of another claim does not
    /// count. A claim without UID stands for any claim of this cluster.
    async fn get(&self, claim: &ClaimId, provider_id: &str)
    -> Result<Option<Instance>, CloudError>;

    /// Every instance that carries this cluster's mark, and the places that could not be listed. Each
    /// place is listed whole or not at all. An error where no place can be listed. Instances of
    /// another cluster with the same name are excluded.
    async fn list(&self) -> Result<Listing, CloudError>;

    /// Why an instance differs from its class, in one `CamelCase` word.
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

    /// Empties the join data of an instance whose node has joined. Until then, every user with read
    /// access to the instance can read it. The call can be repeated, and does nothing where the cloud
    /// stores no such data.
    async fn empty_join_data(
        &self,
        _claim: &ClaimId,
        _provider_id: &str,
    ) -> Result<(), CloudError> {
        Ok(())
    }

    /// Receives the capacity that a guest reports, where types only have an estimate. Returns whether
    /// the report was handled; otherwise it is repeated.
    fn measured(&self, _measured: &Measured<'_>) -> bool {
        true
    }

    /// Updates an instance in place, after a [hash](Self::hashes) of its class has changed with that
    /// meaning. Repeated with current data until it is done. The claim gets the annotations that come
    /// back, and the class's hash.
    async fn update(
        &self,
        _instance: &Instance,
        _class: &NodeClass,
    ) -> Result<Progress, CloudError> {
        Ok(Progress::done())
    }

    /// Examines everything that instances depend on, for `joiner doctor`. Changes nothing, and ends
    /// its sessions.
    async fn examine(&self, _patient: &Patient) -> Vec<Finding> {
        Vec::new()
    }

    /// The annotation of claims for which [`settled`](Self::settled) is done; none where nothing has
    /// to be done once a node is initialized.
    fn settled_mark(&self) -> Option<&'static str> {
        None
    }

    /// Completes the work for an initialized node, such as removing the image that configured its
    /// guest. Repeated until it is done. The claim gets the annotations that come back.
    async fn settled(&self, _claim: &ClaimId, _provider_id: &str) -> Result<Progress, CloudError> {
        Ok(Progress::done())
    }

    /// Receives the loss of an instance before its node registered, so that its offering becomes
    /// unavailable for a while. May be repeated.
    fn lost_before_it_joined(&self, _class: &NodeClass, _lost: &Lost) {}

    /// Which conditions of a node mean that its instance should be replaced.
    fn repair_policies(&self) -> &'static [RepairPolicy] {
        &[]
    }
}

/// How far a deletion has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// The deletion is in progress; repeat the call.
    Requested,
    /// The cloud is sure that there is no such instance.
    Gone,
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
