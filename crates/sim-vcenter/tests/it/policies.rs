//! Storage policies, which another service tells of.

use bytes::Bytes;
use http::Request;
use joiner_sim_vcenter::Inventory;

use crate::support::{Client, Reply, all_inside, inside};

impl Client {
    /// The session's key, which the cookie has between quotes.
    fn key(&self) -> Option<&str> {
        self.cookie.as_deref()?.split('"').nth(1)
    }

    /// Asks the service, with a session in the envelope or without one.
    async fn ask_policies(&self, session: Option<&str>, body: &str) -> Reply {
        let header = session
            .map(|key| format!("<e:Header><vcSessionCookie>{key}</vcSessionCookie></e:Header>"));
        let document = format!(
            "<e:Envelope xmlns:e=\"http://schemas.xmlsoap.org/soap/envelope/\" \
             xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xmlns=\"urn:pbm\">{}\
             <e:Body>{body}</e:Body></e:Envelope>",
            header.unwrap_or_default()
        );
        let request = Request::post("/pbm").body(Bytes::from(document)).unwrap();
        self.raw(request).await.unwrap()
    }
}

const QUERY: &str = "<PbmQueryProfile><_this type=\"PbmProfileProfileManager\">ProfileManager\
                     </_this><resourceType><resourceType>STORAGE</resourceType></resourceType>\
                     </PbmQueryProfile>";

#[tokio::test(start_paused = true)]
async fn a_session_has_to_stand_in_the_envelope() {
    let client = Client::small().await;
    assert_eq!(client.ask_policies(None, QUERY).await.fault(), "NotAuthenticated");
    let told = client.ask_policies(client.key(), QUERY).await.ok();
    assert_eq!(all_inside(&told, "uniqueId").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn datastores_that_do_not_meet_a_policy_are_told_with_an_error() {
    let client = Client::small().await;
    let session = client.key();
    let told = client.ask_policies(session, QUERY).await.ok();
    let id = inside(&told, "uniqueId").unwrap();
    for (path, errors) in [("/dc1/datastore/datastore1", 1), ("/dc1/datastore/datastore2", 0)] {
        let (kind, hub) = client.find(path).await;
        let body = format!(
            "<PbmCheckRequirements><_this type=\"PbmPlacementSolver\">placementSolver</_this>\
             <hubsToSearch><hubType>{kind}</hubType><hubId>{hub}</hubId></hubsToSearch>\
             <placementSubjectRequirement xsi:type=\"PbmPlacementCapabilityProfileRequirement\">\
             <profileId><uniqueId>{id}</uniqueId></profileId></placementSubjectRequirement>\
             </PbmCheckRequirements>"
        );
        let told = client.ask_policies(session, &body).await.ok();
        assert_eq!(all_inside(&told, "error").len(), errors, "{path}: {told}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_of_a_datastore_that_is_not_there_is_no_inventory() {
    let mut inventory = Inventory::small();
    inventory.storage_policies[0].datastores = vec!["nowhere".to_owned()];
    let clock = crate::support::noon();
    let error = joiner_sim_vcenter::VCenter::new(inventory, clock).unwrap_err();
    assert!(error.to_string().contains("\"nowhere\""), "{error}");
}
