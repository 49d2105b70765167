//! Providers with one flaw each.

use std::time::Duration;

use async_trait::async_trait;
use joiner_cloud::{
    CloudError, CloudProvider, Deletion, InstanceTypes,
    bootstrap::token::Token,
    class::{ClassKind, ClassStatus, NodeClass},
    inputs::ClassInputs,
    instance::{Instance, Lost},
    listing::Listing,
    notes::Notes,
    order::{ClaimId, Order},
    progress::Progress,
    testing::TestCloud,
};
use joiner_core::label::{Labels, WellKnown};
use tokio::time::Instant;

/// What is written into notebooks.
pub(crate) const KEPT: &str = "karpenter.test.sh/id";

/// What a provider does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// It never looks for an instance that it has made.
    MakesAnotherEachTime,
    /// It makes an instance, and says in another call whom it is for.
    MarksAfterwards,
    /// It knows claims by their names.
    SharesByName,
    /// It takes trouble for a want of room.
    GivesUpInTrouble,
    /// It takes a want of room for trouble.
    HidesWantOfRoom,
    /// It takes trouble for an instance that is gone.
    SaysGoneInTrouble,
    /// It goes on for ever with what is gone.
    NeverSaysGone,
    /// It finds no instance without its name.
    ForgetsClaims,
    /// It removes whatever it is given the name of.
    DeletesForAnybody,
    /// It takes trouble for an instance that is not there.
    SaysAbsentInTrouble,
    /// It has no deadline.
    WaitsForEver,
    /// It lists what it got before something went wrong.
    ListsWhatItGot,
    /// It takes every instance for its own.
    ListsOthers,
    /// It takes an instance of others for the one that it wanted to make.
    TakesOver,
    /// It takes clusters of one name for one cluster.
    GoesByName,
    /// It leaves what guests joined with where it is.
    KeepsJoinData,
    /// It empties what it is given the name of.
    EmptiesForAnybody,
    /// It takes what carries a claim's mark for its instance when it lists.
    ListsCopies,
    /// The same once the instance is gone.
    AnswersCopies,
    /// The same when it removes.
    RemovesCopies,
    /// It knows instances by their ids alone.
    GoesById,
    /// It lists the places that answer, and says nothing of the others.
    HidesPlaces,
    /// It offers at once again what it had no room for.
    OffersWithoutRoom,
    /// It never offers again what it had no room for once.
    OffersNeverAgain,
    /// It writes something else into the notebook each time.
    ForgetsNotebook,
    /// It takes a lost instance for one that is on its way.
    HidesLosses,
    /// It does not hear that an instance was lost.
    IgnoresLosses,
    /// It takes trouble with an update for its end.
    SaysUpdatedInTrouble,
    /// It says in its errors what guests are given.
    PrintsTokens,
    /// It makes as many instances at once as are asked for.
    Floods,
    /// It looks at every instance before it makes one.
    LooksAtEach,
}

/// The cloud for tests, used in a flawed way.
#[derive(Debug)]
pub(crate) struct Flawed {
    pub(crate) cloud: TestCloud,
    pub(crate) flaw: Option<Flaw>,
}

impl Flawed {
    fn is(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    /// Somebody whom no other order is like.
    fn unlike(&self, claim: &ClaimId) -> ClaimId {
        let number = self.cloud.state().calls.len();
        ClaimId { name: format!("{}-{number}", claim.name), uid: format!("{}-{number}", claim.uid) }
    }

    /// Writes the mark that says whom an instance is for.
    async fn mark(&self, mut instance: Instance, claim: &ClaimId) -> Result<Instance, CloudError> {
        instance.claim = Some(claim.clone());
        // A call of its own, with which something can go wrong.
        self.cloud.get(claim, &instance.provider_id).await?;
        self.cloud.state().instances.insert(instance.provider_id.clone(), instance.clone());
        Ok(instance)
    }

    async fn create_marking_afterwards(&self, order: &Order) -> Result<Instance, CloudError> {
        let known = self.cloud.list().await?.instances;
        if let Some(own) = known.into_iter().find(|own| own.claim.as_ref() == Some(&order.claim)) {
            return Ok(own);
        }
        let claim = self.unlike(&order.claim);
        let instance = self.cloud.create(&Order { claim, ..order.clone() }).await?;
        self.mark(instance, &order.claim).await
    }
}

#[async_trait]
impl CloudProvider for Flawed {
    fn name(&self) -> &'static str {
        "flawed"
    }

    fn class_kinds(&self) -> &'static [ClassKind] {
        self.cloud.class_kinds()
    }

    fn well_known(&self) -> WellKnown {
        self.cloud.well_known()
    }

    fn launch_timeout(&self) -> Duration {
        self.cloud.launch_timeout()
    }

    async fn resolve_class(
        &self,
        class: &NodeClass,
        inputs: Option<&ClassInputs>,
    ) -> Result<ClassStatus, CloudError> {
        self.cloud.resolve_class(class, inputs).await
    }

    fn place_of(&self, provider_id: &str) -> Option<String> {
        self.cloud.place_of(provider_id)
    }

    fn notes(&self) -> Option<&Notes> {
        self.cloud.notes()
    }

    fn lost_before_it_joined(&self, class: &NodeClass, lost: &Lost) {
        if !self.is(Flaw::IgnoresLosses) {
            self.cloud.lost_before_it_joined(class, lost);
        }
    }

    async fn update(&self, instance: &Instance, class: &NodeClass) -> Result<Progress, CloudError> {
        match self.cloud.update(instance, class).await {
            Err(_) if self.is(Flaw::SaysUpdatedInTrouble) => Ok(Progress::done()),
            answer => answer,
        }
    }

    fn instance_types(&self, pool: &str, class: &NodeClass) -> Result<InstanceTypes, CloudError> {
        if self.is(Flaw::OffersNeverAgain) {
            let ever = Instant::now() + Duration::from_hours(1000);
            self.cloud.state().unavailable.values_mut().for_each(|until| *until = ever);
        }
        self.cloud.instance_types(pool, class)
    }

    async fn create(&self, order: &Order) -> Result<Instance, CloudError> {
        match self.flaw {
            Some(Flaw::ForgetsNotebook) => {
                let number = self.cloud.state().calls.len() + order.kept.len();
                let id = Labels::from([(KEPT.to_owned(), number.to_string())]);
                order.notebook.keep(id).await?;
                self.cloud.create(order).await
            }
            Some(Flaw::PrintsTokens) => self.cloud.create(order).await.map_err(|error| {
                let token = match &order.inputs.token {
                    Some(Token::Given(text)) => text.reveal().clone(),
                    _ => String::new(),
                };
                match error {
                    CloudError::Unknown(why) => CloudError::Unknown(format!("{why}: {token}")),
                    other => other,
                }
            }),
            Some(Flaw::OffersWithoutRoom) => {
                let made = self.cloud.create(order).await;
                self.cloud.state().unavailable.clear();
                made
            }
            Some(Flaw::Floods) => {
                // Each has a turn of its own.
                let another = self.cloud.with_turns_of_its_own();
                another.create(order).await
            }
            Some(Flaw::LooksAtEach) => {
                {
                    let mut state = self.cloud.state();
                    let looks: Vec<_> =
                        state.instances.keys().map(|id| format!("get {id}")).collect();
                    state.calls.extend(looks);
                }
                self.cloud.create(order).await
            }
            Some(Flaw::MakesAnotherEachTime) => {
                let claim = self.unlike(&order.claim);
                let instance = self.cloud.create(&Order { claim, ..order.clone() }).await?;
                self.mark(instance, &order.claim).await
            }
            Some(Flaw::MarksAfterwards) => self.create_marking_afterwards(order).await,
            Some(Flaw::SharesByName) => {
                let known = self
                    .cloud
                    .get(&ClaimId::default(), &format!("test://{}", order.claim.name))
                    .await?;
                match known {
                    Some(instance) => self.mark(instance, &order.claim).await,
                    None => self.cloud.create(order).await,
                }
            }
            Some(Flaw::GivesUpInTrouble) => self
                .cloud
                .create(order)
                .await
                .map_err(|error| CloudError::InsufficientCapacity(error.to_string())),
            Some(Flaw::HidesWantOfRoom) => self
                .cloud
                .create(order)
                .await
                .map_err(|error| CloudError::Unknown(error.to_string())),
            Some(Flaw::TakesOver) => {
                let id = format!("test://{}", order.claim.name);
                let others = self.cloud.state().foreign.remove(&id);
                match others {
                    Some(instance) => self.mark(instance, &order.claim).await,
                    None => self.cloud.create(order).await,
                }
            }
            Some(Flaw::AnswersCopies) => {
                let is_there =
                    self.cloud.list().await?.instances.iter().any(|own| own.claim.is_some());
                let copy = self.cloud.state().copies.values().next().cloned();
                match copy.filter(|_| !is_there) {
                    Some(copy) => Ok(copy),
                    None => self.cloud.create(order).await,
                }
            }
            _ => self.cloud.create(order).await,
        }
    }

    async fn delete(
        &self,
        claim: &ClaimId,
        provider_id: Option<&str>,
    ) -> Result<Deletion, CloudError> {
        let answer = match (self.flaw, provider_id) {
            (Some(Flaw::ForgetsClaims), None) => return Ok(Deletion::Gone),
            (Some(Flaw::DeletesForAnybody), Some(id)) => {
                let known = self.cloud.state().instances.get(id).cloned();
                let own = known.and_then(|instance| instance.claim);
                self.cloud.delete(own.as_ref().unwrap_or(claim), provider_id).await
            }
            (Some(Flaw::RemovesCopies), Some(id)) => {
                let removed = self.cloud.state().copies.remove(id);
                match removed {
                    Some(_) => Ok(Deletion::Requested),
                    None => self.cloud.delete(claim, provider_id).await,
                }
            }
            _ => self.cloud.delete(claim, provider_id).await,
        };
        match answer {
            Err(_) if self.is(Flaw::SaysGoneInTrouble) => Ok(Deletion::Gone),
            Ok(_) if self.is(Flaw::NeverSaysGone) => Ok(Deletion::Requested),
            answer => answer,
        }
    }

    async fn empty_join_data(&self, claim: &ClaimId, provider_id: &str) -> Result<(), CloudError> {
        match self.flaw {
            Some(Flaw::KeepsJoinData) => Ok(()),
            Some(Flaw::EmptiesForAnybody) => {
                if let Some(instance) = self.cloud.state().instances.get_mut(provider_id) {
                    instance.holds_join_data = false;
                }
                Ok(())
            }
            _ => self.cloud.empty_join_data(claim, provider_id).await,
        }
    }

    async fn get(
        &self,
        claim: &ClaimId,
        provider_id: &str,
    ) -> Result<Option<Instance>, CloudError> {
        let anyone = ClaimId::default();
        let claim = if self.is(Flaw::GoesById) { &anyone } else { claim };
        match self.cloud.get(claim, provider_id).await {
            Ok(found) if self.is(Flaw::HidesLosses) => {
                Ok(found.map(|own| Instance { lost: None, ..own }))
            }
            Err(_) if self.is(Flaw::SaysAbsentInTrouble) => Ok(None),
            Err(_) if self.is(Flaw::WaitsForEver) => std::future::pending().await,
            answer => answer,
        }
    }

    async fn list(&self) -> Result<Listing, CloudError> {
        let mut listing = match self.cloud.list().await {
            Err(_) if self.is(Flaw::ListsWhatItGot) => Listing::default(),
            answer => answer?,
        };
        if self.is(Flaw::HidesPlaces) {
            listing.away.clear();
        }
        if self.is(Flaw::ListsOthers) {
            listing.instances.extend(self.cloud.state().foreign.values().cloned());
        }
        if self.is(Flaw::ListsCopies) {
            listing.instances.extend(self.cloud.state().copies.values().cloned());
        }
        Ok(listing)
    }

    async fn drift(
        &self,
        instance: &Instance,
        class: &NodeClass,
    ) -> Result<Option<String>, CloudError> {
        self.cloud.drift(instance, class).await
    }
}
