//! The cloud for tests is a cloud, and a cloud with a flaw is found out.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use joiner_cloud::{
    bootstrap::{Distro, Facts},
    class::NodeClass,
    conformance::{self, AtOnce, Bench, Mishap, Notebooks, Process},
    inputs::OrderInputs,
    instance::{Instance, Lost},
    order::Order,
    testing::{CREATIONS_AT_ONCE, TEST_NODE_CLASS, TestCloud},
};
use serde_json::json;

use crate::flawed::{Flaw, Flawed, KEPT};

/// What the guests of the checks join with.
const TOKEN: &str = "5up3r-s3cret";
/// Places of the cloud for tests.
const PLACES: [&str; 2] = ["east", "west"];

/// The cloud for tests, as somebody with a flaw uses it.
struct Tested {
    cloud: TestCloud,
    notebooks: Notebooks,
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

    fn notebooks(&self) -> &Notebooks {
        &self.notebooks
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

    async fn without_room(&self, order: Order) -> Order {
        self.cloud.state().full = true;
        order
    }

    fn more_than_a_page(&self) -> u32 {
        3
    }

    fn inputs(&self) -> OrderInputs {
        OrderInputs::joining(Facts::given(Distro::Rke2, "https://10.0.0.10:9345", "v1.33.4", TOKEN))
    }

    fn secrets(&self) -> Vec<String> {
        vec![TOKEN.to_owned()]
    }

    async fn give_id_again(&self, provider_id: &str, order: &Order) -> bool {
        let claim = Some(order.claim.clone());
        let again = Instance { provider_id: provider_id.to_owned(), claim, ..Instance::default() };
        self.cloud.state().instances.insert(provider_id.to_owned(), again);
        true
    }

    fn in_place(&self, order: Order, place: usize) -> Option<Order> {
        self.cloud.state().place = Some(PLACES[place].to_owned());
        Some(order)
    }

    fn take_away(&self, place: usize) {
        self.cloud.state().away.insert(PLACES[place].to_owned());
    }

    async fn lose(&self, provider_id: &str) -> bool {
        let mut state = self.cloud.state();
        let instance = state.instances.get_mut(provider_id).expect("it is there");
        instance.lost = Some(Lost { why: "the host failed".to_owned(), ..Lost::default() });
        true
    }

    fn changed_class(&self) -> Option<Arc<NodeClass>> {
        Some(Arc::new(NodeClass { spec: json!({"tags": ["new"]}), ..(*self.class()).clone() }))
    }

    async fn is_up_to_date(&self, provider_id: &str, class: &NodeClass) -> bool {
        self.cloud.state().updated.get(provider_id) == Some(&class.spec)
    }

    fn calls_at_once(&self) -> Option<AtOnce> {
        let mut state = self.cloud.state();
        state.takes = Duration::from_secs(1);
        Some(AtOnce { limit: CREATIONS_AT_ONCE, most: state.under_way[1] })
    }

    fn calls(&self) -> Option<u64> {
        u64::try_from(self.cloud.state().calls.len()).ok()
    }

    async fn add_instances(&self, orders: &[Order]) {
        let mut state = self.cloud.state();
        for order in orders {
            let provider_id = format!("test://{}", order.claim.name);
            let claim = Some(order.claim.clone());
            let instance =
                Instance { provider_id: provider_id.clone(), claim, ..Instance::default() };
            state.instances.insert(provider_id, instance);
        }
    }
}

async fn check(flaw: Option<Flaw>) -> conformance::Report {
    conformance::check(async || {
        let cloud = TestCloud::new();
        // So that deletions are seen under way, too.
        cloud.state().asks_until_gone = 1;
        cloud.state().kept_first = [(KEPT.to_owned(), "1".to_owned())].into();
        Tested { cloud, flaw, notebooks: Notebooks::default() }
    })
    .await
}

#[tokio::test(start_paused = true)]
async fn the_cloud_for_tests_does_what_every_provider_has_to() {
    let report = check(None).await;
    assert!(report.is_clean(), "{report}");
    assert!(report.to_string().ends_with("31 of 31 hold"), "{report}");
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

#[tokio::test(start_paused = true)]
async fn a_flaw_that_only_one_check_can_see_is_found_by_that_check_alone() {
    for (flaw, check_of_it) in [
        (Flaw::GoesById, "an id that is used again is another instance"),
        (Flaw::HidesPlaces, "a place that is away hides no other"),
        (Flaw::OffersWithoutRoom, "a want of room is not offered again for a while"),
        (Flaw::OffersNeverAgain, "a want of room is not offered again for a while"),
        (Flaw::ForgetsNotebook, "what the notebook has is found again"),
        (Flaw::HidesLosses, "an instance lost before it joined is told"),
        (Flaw::IgnoresLosses, "an instance lost before it joined is told"),
        (Flaw::SaysUpdatedInTrouble, "an update is repeated until it is done"),
        (Flaw::PrintsTokens, "nothing secret is printed"),
        (Flaw::Floods, "200 at once exceed no limit"),
        (Flaw::LooksAtEach, "one more among 5,000 costs what it costs among 100"),
    ] {
        let report = check(Some(flaw)).await;
        assert_eq!(report.broken(), [check_of_it], "{flaw:?}\n{report}");
    }
}
