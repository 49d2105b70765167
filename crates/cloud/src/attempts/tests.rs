use std::sync::{Arc, Mutex};

use joiner_core::{instance_type::InstanceType, label::WellKnown, testing::instance_type};

use super::*;
use crate::{
    choice::every,
    class::NodeClass,
    order::{ClaimId, Order},
};

/// A cloud with two storages in each zone that answers what it is told.
struct Script {
    refusals: Mutex<Vec<Refused>>,
    tried: Mutex<Vec<String>>,
    remembered: Mutex<Vec<Scarce>>,
}

#[async_trait]
impl Ways for Script {
    type Storage = &'static str;

    async fn storages(&self, choice: &Choice<'_>) -> Result<Option<Vec<&'static str>>, CloudError> {
        Ok((choice.zone() != "unknown").then(|| vec!["ds-1", "ds-2"]))
    }

    async fn make(&self, choice: &Choice<'_>, storage: &&'static str) -> Result<Instance, Refused> {
        self.tried.lock().unwrap().push(format!("{} {storage}", choice.zone()));
        let mut refusals = self.refusals.lock().unwrap();
        if refusals.is_empty() { Ok(Instance::default()) } else { Err(refusals.remove(0)) }
    }

    fn remember(&self, scarce: Scarce) {
        self.remembered.lock().unwrap().push(scarce);
    }

    fn space(&self, storage: &&'static str) -> Scarce {
        Scarce::Space((*storage).to_owned())
    }

    fn remedy_for_room(&self, choice: &Choice<'_>) -> String {
        format!("add hosts to {}", choice.zone())
    }

    fn remedy_for_space(&self, storage: &&'static str) -> String {
        format!("add space to {storage}")
    }

    fn no_choice(&self) -> String {
        "no type serves the claim".to_owned()
    }
}

/// What was tried, and what came of it.
async fn check<const N: usize>(
    zones: [&str; N],
    refusals: Vec<Refused>,
) -> (Vec<String>, Vec<Scarce>, String) {
    let small = Arc::new(instance_type("small").zones(zones).build());
    let types: Vec<Arc<InstanceType>> = if N == 0 { Vec::new() } else { vec![small] };
    let claim = ClaimId { name: "web-1".to_owned(), uid: "uid-1".to_owned() };
    let class = NodeClass { name: "general".to_owned(), ..NodeClass::default() };
    let order = Order::plain(claim, "p", Arc::new(class));
    let well_known = WellKnown::default();
    let choices: Vec<Choice<'_>> = every(&order, &types, &well_known).collect();
    let script = Script {
        refusals: Mutex::new(refusals),
        tried: Mutex::default(),
        remembered: Mutex::default(),
    };
    let notes = Notes::default();
    let answer = first_that_works(&script, &order, "Class \"general\"", &choices, &notes).await;
    let answer = match answer {
        Ok(_) => "made".to_owned(),
        Err(refused) => refused.into_error().to_string(),
    };
    (script.tried.into_inner().unwrap(), script.remembered.into_inner().unwrap(), answer)
}

#[tokio::test]
async fn a_full_storage_is_followed_by_the_next_storage() {
    let refusals = vec![Refused::NoSpace("ds-1 is full".to_owned())];
    let (tried, remembered, answer) = check(["a"], refusals).await;
    assert_eq!(tried, ["a ds-1", "a ds-2"]);
    assert_eq!(remembered, [Scarce::Space("ds-1".to_owned())]);
    assert_eq!(answer, "made");
}

#[tokio::test]
async fn a_full_zone_is_followed_by_the_next_zone() {
    let refusals = vec![Refused::NoRoom("a is full".to_owned())];
    let (tried, remembered, answer) = check(["a", "b"], refusals).await;
    assert_eq!(tried, ["a ds-1", "b ds-1"]);
    assert_eq!(remembered, [Scarce::room("general", "small", Some("a"))]);
    assert_eq!(answer, "made");
}

#[tokio::test]
async fn the_last_refusal_is_a_lack_of_capacity_with_every_reason_and_remedy() {
    let refusals = vec![Refused::NoRoom("a is full".to_owned())];
    let (_, _, answer) = check(["a", "unknown"], refusals).await;
    assert_eq!(
        answer,
        "NodeClaim web-1 has no place in Class \"general\": a is full; zone Some(\"unknown\") is \
         not among spec.zones; add hosts to a"
    );
    let (_, _, answer) = check([], Vec::new()).await;
    assert!(answer.ends_with(": no type serves the claim"), "{answer}");
}

#[tokio::test]
async fn a_final_refusal_ends_the_search() {
    let refusals = vec![Refused::Final(CloudError::Unknown("no answer".to_owned()))];
    let (tried, _, answer) = check(["a", "b"], refusals).await;
    assert_eq!((tried.len(), answer.as_str()), (1, "no answer"));
}

#[test]
fn tries_are_counted_by_claim() {
    let mut tries = Tries::default();
    assert_eq!([tries.count("a"), tries.count("a"), tries.count("b")], [1, 2, 1]);
    tries.forget("a");
    assert_eq!((tries.of("a"), tries.of("b")), (0, 1));
}
