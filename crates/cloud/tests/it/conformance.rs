//! The cloud for tests is a cloud, and a cloud with a flaw is found out.

use std::{collections::BTreeMap, sync::Arc};

use async_trait::async_trait;
use joiner_cloud::{
    class::NodeClass,
    conformance::{self, Bench, Mishap, Process},
    instance::Instance,
    order::Order,
    testing::{TEST_NODE_CLASS, TestCloud},
};
use joiner_core::{quantity::Quantity, resources::CPU};

use crate::flawed::{Flaw, Flawed};

/// The cloud for tests, as somebody with a flaw uses it.
struct Tested {
    cloud: TestCloud,
    flaw: Option<Flaw>,
}

#[async_trait(?Send)]
impl Bench for Tested {
    fn start(&self) -> Process {
        let cloud = self.cloud.clone();
        let provider = Arc::new(Flawed { cloud: cloud.clone(), flaw: self.flaw });
        Process { provider, killed: Box::pin(async move { cloud.killed().await }) }
    }

    fn start_elsewhere(&self) -> Option<Process> {
        let shares = self.flaw == Some(Flaw::GoesByName);
        let cloud = if shares { self.cloud.clone() } else { TestCloud::new() };
        let provider = Arc::new(Flawed { cloud: cloud.clone(), flaw: self.flaw });
        Some(Process { provider, killed: Box::pin(async move { cloud.killed().await }) })
    }

    fn class(&self) -> Arc<NodeClass> {
        Arc::new(NodeClass {
            group: TEST_NODE_CLASS.group.to_owned(),
            kind: TEST_NODE_CLASS.kind.to_owned(),
            name: "default".to_owned(),
            ..NodeClass::default()
        })
    }

    fn arm(&self, mishap: Mishap, after: u32) {
        self.cloud.state().mishap = Some((mishap, after));
    }

    fn disarm(&self) -> bool {
        self.cloud.state().mishap.take().is_none()
    }

    async fn instances(&self) -> BTreeMap<String, String> {
        let state = self.cloud.state();
        let all = state.instances.iter().chain(&state.foreign).chain(&state.copies);
        all.map(|(id, instance)| (id.clone(), format!("{instance:?}"))).collect()
    }

    async fn add_foreign(&self, order: &Order) -> Vec<String> {
        let ids = vec![format!("test://{}", order.claim.name), "test://of-others".to_owned()];
        for id in &ids {
            let instance = Instance { provider_id: id.clone(), ..Instance::default() };
            self.cloud.state().foreign.insert(id.clone(), instance);
        }
        ids
    }

    async fn add_copy(&self, provider_id: &str) -> String {
        let mut state = self.cloud.state();
        let original = state.instances.get(provider_id).expect("it is there").clone();
        let id = format!("{provider_id}-copy");
        let copy = Instance { provider_id: id.clone(), ..original };
        state.copies.insert(id.clone(), copy);
        id
    }

    async fn without_room(&self, mut order: Order) -> Order {
        order.requests.set(CPU, Quantity::whole(1000));
        order
    }

    fn more_than_a_page(&self) -> u32 {
        3
    }
}

async fn check(flaw: Option<Flaw>) -> conformance::Report {
    conformance::check(async || {
        let cloud = TestCloud::new();
        // So that deletions are seen under way, too.
        cloud.state().asks_until_gone = 1;
        Tested { cloud, flaw }
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn the_cloud_for_tests_does_what_every_provider_has_to() {
    let report = check(None).await;
    assert!(report.is_clean(), "{report}");
    assert!(report.to_string().ends_with("22 of 22 hold"), "{report}");
}

#[tokio::test(start_paused = true)]
async fn every_flaw_is_found_by_the_check_that_is_for_it() {
    for (flaw, check_of_it) in [
        (Flaw::MakesAnotherEachTime, "the same order again is the same instance"),
        (Flaw::MarksAfterwards, "a creation may be killed at any call"),
        (Flaw::MarksAfterwards, "a creation that was killed leaves nothing behind"),
        (Flaw::SharesByName, "claims of one name share no instance"),
        (Flaw::GivesUpInTrouble, "a creation in trouble is not given up"),
        (Flaw::HidesWantOfRoom, "a want of room is told and leaves nothing"),
        (Flaw::SaysGoneInTrouble, "a deletion in trouble is not done"),
        (Flaw::NeverSaysGone, "a deletion may be asked for again and again"),
        (Flaw::ForgetsClaims, "an instance is removed by its claim alone"),
        (Flaw::DeletesForAnybody, "the instance of another claim stays"),
        (Flaw::SaysAbsentInTrouble, "an instance in trouble is not absent"),
        (Flaw::WaitsForEver, "an instance in trouble is not absent"),
        (Flaw::ListsWhatItGot, "a list has every page or is none"),
        (Flaw::ListsOthers, "instances of others are not seen"),
        (Flaw::TakesOver, "instances of others are not touched"),
        (Flaw::KeepsJoinData, "what a guest joined with is emptied again and again"),
        (Flaw::GoesByName, "a cluster of the same name is another cluster"),
        (Flaw::EmptiesForAnybody, "what the guest of another claim joins with stays"),
        (Flaw::ListsCopies, "a copy that carries the mark is not the instance"),
        (Flaw::AnswersCopies, "a copy that carries the mark is not the instance"),
        (Flaw::RemovesCopies, "a copy that carries the mark is not the instance"),
    ] {
        let report = check(Some(flaw)).await;
        assert!(report.broken().contains(&check_of_it), "{flaw:?}: {check_of_it}\n{report}");
    }
}
