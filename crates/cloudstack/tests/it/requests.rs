//! Single requests and lists: how they are sent, what is sent again and what is not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use http::Method;
use joiner_cloud::bootstrap::Secret;
use joiner_cloudstack::client::{
    Client, ClientError, Command, ErrorClass, Scope, api,
    objects::{ServiceOffering, VirtualMachine, Zone},
    requests::{self, Deploy},
};
use serde_json::json;

use crate::scripted::{ChangingKeys, Reply, Server, refusal};

fn deploy() -> Command {
    Deploy {
        zone_id: "z1".into(),
        name: "karpenter-a".into(),
        user_data: Some(Secret::new("x".repeat(40_000))),
        ..Deploy::default()
    }
    .command()
}

fn accepted() -> Reply {
    Reply::Inside(json!({"id": "v1", "jobid": "j1"}))
}

async fn zones(client: &Client) -> Result<Vec<Zone>, ClientError> {
    client.list(Command::new(api::LIST_ZONES)).await
}

#[tokio::test(start_paused = true)]
async fn questions_are_queries_and_everything_else_is_a_form() {
    let server = Server::new();
    server.reply("listZones", Reply::Inside(json!({})));
    server.reply("deployVirtualMachine", accepted());
    let client = server.client();
    assert_eq!(zones(&client).await, Ok(Vec::new()));
    let submitted = client.submit(deploy()).await.unwrap();
    assert_eq!((submitted.job.as_str(), submitted.object.as_deref()), ("j1", Some("v1")));
    let log = server.log();
    assert_eq!(log[0].method, Method::GET);
    assert_eq!(log[1].method, Method::POST);
    assert_eq!(log[1].parameters["userdata"].len(), 40_000);
    assert_eq!(log[1].parameters["signatureversion"], "3");
    assert_eq!(log[1].parameters["expires"], "2026-01-01T12:10:00Z");
}

#[tokio::test(start_paused = true)]
async fn a_question_that_is_too_long_for_a_query_is_a_form() {
    let server = Server::new();
    server.reply("listVirtualMachines", Reply::Inside(json!({})));
    let ids: Vec<String> = (0..300).map(|number| format!("{number:036}")).collect();
    let command = Command::new(api::LIST_VIRTUAL_MACHINES).with_list("ids", &ids);
    let instances: Vec<VirtualMachine> = server.client().list(command).await.unwrap();
    assert!(instances.is_empty());
    assert_eq!(server.log()[0].method, Method::POST);
}

/// Defect 21 of upstream: objects of a project are never found.
#[tokio::test(start_paused = true)]
async fn lists_and_deployments_are_of_the_project() {
    let server = Server::new();
    server.reply("listVirtualMachines", Reply::Inside(json!({})));
    server.reply("deployVirtualMachine", accepted());
    let client = server.client_with(|settings| {
        settings.scope = Scope { project: Some("p1".into()), account: None };
    });
    let _: Vec<VirtualMachine> = client.list(requests::instance("v1")).await.unwrap();
    client.submit(deploy()).await.unwrap();
    assert!(server.log().iter().all(|asked| asked.parameters["projectid"] == "p1"));
}

/// Answers pages of a list of so many offerings.
fn pages(server: &Server, count: usize, limit: usize) {
    server.decide("listServiceOfferings", move |asked| {
        let number = |name: &str| asked.parameters[name].parse::<usize>().unwrap();
        let (page, size) = (number("page"), number("pagesize"));
        if size > limit {
            let text = format!("Page size can't exceed max allowed page size value: {limit}");
            return refusal(431, &text);
        }
        let rows: Vec<_> = ((page - 1) * size..(page * size).min(count))
            .map(|index| json!({"id": format!("o{index}"), "name": "m"}))
            .collect();
        Reply::Inside(json!({"count": count, "serviceoffering": rows}))
    });
}

async fn offerings(client: &Client) -> Result<Vec<ServiceOffering>, ClientError> {
    client.list(Command::new(api::LIST_SERVICE_OFFERINGS)).await
}

/// Defect 17 of upstream: what is behind the first page is never seen.
#[tokio::test(start_paused = true)]
async fn a_list_of_any_length_is_read_whole() {
    let server = Server::new();
    pages(&server, 1201, 500);
    let found = offerings(&server.client()).await.unwrap();
    assert_eq!(found.len(), 1201);
    assert_eq!(server.times("listServiceOfferings"), 3);
}

/// Defect 18 of upstream: the tags of each instance are asked for one by one.
#[tokio::test(start_paused = true)]
async fn a_list_brings_tags_and_details_along() {
    let server = Server::new();
    let instances: Vec<_> = (0..400)
        .map(|index| {
            let tags = [json!({"key": "team", "value": "shop"})];
            json!({"id": format!("v{index}"), "tags": tags, "details": {"a": "b"}})
        })
        .collect();
    let answer = json!({"count": 400, "virtualmachine": instances});
    server.reply("listVirtualMachines", Reply::Inside(answer));
    let command = requests::instances_tagged("kubernetes.io/cluster/prod", "owned");
    let found: Vec<VirtualMachine> = server.client().list(command).await.unwrap();
    assert!(found.iter().all(|own| own.tags()["team"] == "shop" && own.details["a"] == "b"));
    let log = server.log();
    assert_eq!(log.len(), 1);
    assert_eq!(log[0].parameters["tags[0].key"], "kubernetes.io/cluster/prod");
}

#[tokio::test(start_paused = true)]
async fn the_size_of_a_page_is_learnt_from_the_refusal_and_kept() {
    let server = Server::new();
    pages(&server, 250, 100);
    let client = server.client();
    assert_eq!(offerings(&client).await.unwrap().len(), 250);
    assert_eq!(server.times("listServiceOfferings"), 1 + 3);
    assert_eq!(offerings(&client).await.unwrap().len(), 250);
    assert_eq!(server.times("listServiceOfferings"), 1 + 3 + 3);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_that_names_no_smaller_page_is_not_tried_for_ever() {
    for limit in ["500", "0", "many", "-1"] {
        let server = Server::new();
        let text = format!("Page size can't exceed max allowed page size value: {limit}");
        server.reply("listServiceOfferings", refusal(431, &text));
        assert!(offerings(&server.client()).await.is_err(), "{limit}");
        assert_eq!(server.times("listServiceOfferings"), 1, "{limit}");
    }
}

/// Answers with lists of these lengths, one for each question of a first page, and one page each.
#[tokio::test(start_paused = true)]
async fn a_list_that_shrinks_between_pages_is_read_again() {
    let server = Server::new();
    let asked = Arc::new(AtomicUsize::new(0));
    server.decide("listServiceOfferings", move |question| {
        // The first attempt loses a row between its two pages, and with it sight of another.
        let count = if asked.fetch_add(1, Ordering::SeqCst) == 0 { 502 } else { 501 };
        let first: usize = if question.parameters["page"] == "1" { 0 } else { 500 };
        let rows: Vec<_> = (first..(first + 500).min(count))
            .map(|index| json!({"id": format!("o{index}")}))
            .collect();
        Reply::Inside(json!({"count": count, "serviceoffering": rows}))
    });
    assert_eq!(offerings(&server.client()).await.unwrap().len(), 501);
    assert_eq!(server.times("listServiceOfferings"), 4);
}

#[tokio::test(start_paused = true)]
async fn a_list_that_shrinks_again_and_again_is_no_list() {
    let server = Server::new();
    let count = Arc::new(AtomicUsize::new(10_000));
    server.decide("listServiceOfferings", move |question| {
        let left = count.fetch_sub(1, Ordering::SeqCst);
        let page: usize = question.parameters["page"].parse().unwrap();
        let rows: Vec<_> =
            (0..500).map(|index| json!({"id": format!("o{page}-{index}")})).collect();
        Reply::Inside(json!({"count": left, "serviceoffering": rows}))
    });
    let error = offerings(&server.client()).await.unwrap_err();
    assert!(matches!(error, ClientError::Unsettled { .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_list_with_an_object_that_cannot_be_read_is_no_list() {
    let server = Server::new();
    server.reply("listZones", Reply::Inside(json!({"count": 1, "zone": [{"id": 7}]})));
    let error = zones(&server.client()).await.unwrap_err();
    assert!(matches!(error, ClientError::Malformed(_)), "{error}");
}

/// Defect 20 of upstream: nothing is asked again, and 429 is an error like any other.
#[tokio::test(start_paused = true)]
async fn a_question_is_asked_again_while_what_is_in_the_way_may_pass() {
    for passing in [
        Reply::NotSent,
        Reply::Broken,
        Reply::Status(502, "<html>bad gateway</html>".into()),
        Reply::Status(503, "<html>".into()),
        refusal(503, "The server is in maintenance"),
        refusal(429, "The given user has reached his/her account api limit"),
    ] {
        let server = Server::new();
        server.reply("listZones", passing.clone());
        server.reply("listZones", Reply::Inside(json!({})));
        assert_eq!(zones(&server.client()).await, Ok(Vec::new()), "{passing:?}");
        assert_eq!(server.times("listZones"), 2, "{passing:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_question_is_not_asked_for_ever() {
    let server = Server::new();
    server.reply("listZones", Reply::Broken);
    assert!(zones(&server.client()).await.is_err());
    assert_eq!(server.times("listZones"), 5);
}

#[tokio::test(start_paused = true)]
async fn a_question_without_an_answer_ends() {
    let server = Server::new();
    server.reply("listZones", Reply::Silence);
    let error = zones(&server.client()).await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { sent: true, .. }), "{error}");
}

#[tokio::test(start_paused = true)]
async fn what_changes_something_is_sent_again_only_where_it_was_not_begun() {
    for (reply, times) in [
        (Reply::NotSent, 2),
        (refusal(503, "The server is in maintenance"), 2),
        (refusal(429, "The given user has reached his/her account api limit"), 2),
        (Reply::Broken, 1),
        (Reply::Status(503, "<html>".into()), 1),
        (Reply::Status(502, "<html>".into()), 1),
        (Reply::Status(200, "{\"deployvirtualmachineresponse\":{\"id\":".into()), 1),
        (refusal(530, "Failed to deploy VM"), 1),
        (Reply::Silence, 1),
    ] {
        let server = Server::new();
        server.reply("deployVirtualMachine", reply.clone());
        server.reply("deployVirtualMachine", accepted());
        let result = server.client().submit(deploy()).await;
        assert_eq!(server.times("deployVirtualMachine"), times, "{reply:?}");
        assert_eq!(result.is_ok(), times == 2, "{reply:?}");
        if let (Err(error), false) = (&result, matches!(reply, Reply::Status(..) | Reply::Silence))
        {
            assert_eq!(error.leaves_unknown(), matches!(reply, Reply::Broken), "{reply:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_deployment_has_more_time_for_its_answer() {
    let server = Server::new();
    server.reply("deployVirtualMachine", accepted().after(100));
    server.client().submit(deploy()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn requests_are_spaced_and_few_are_under_way() {
    let server = Server::new();
    server.decide("listZones", |_| Reply::Inside(json!({})).after(1));
    let client = server.client();
    let client = &client;
    let results = join_all((0..100).map(|_| zones(client))).await;
    assert!(results.iter().all(Result::is_ok));
    assert_eq!(server.most_in_flight(), 10);
    let log = server.log();
    let gaps = log.windows(2).map(|pair| pair[1].at.saturating_sub(pair[0].at));
    assert!(gaps.min() >= Some(Duration::from_millis(50)));
}

#[tokio::test(start_paused = true)]
async fn the_servers_own_limit_is_kept() {
    let server = Server::new();
    let capability = json!({"capability": {"apilimitmax": 5, "apilimitinterval": 1}});
    server.reply("listCapabilities", Reply::Inside(capability));
    server.decide("listZones", |_| Reply::Inside(json!({})));
    let client = server.client();
    client.capabilities().await.unwrap();
    let client = &client;
    join_all((0..20).map(|_| zones(client))).await;
    let log = server.log();
    let within_a_second = |first: usize| {
        log.iter()
            .skip(first)
            .filter(|asked| asked.at.saturating_sub(log[first].at) < Duration::from_secs(1))
            .count()
    };
    assert!((2..log.len()).all(|first| within_a_second(first) <= 4), "{log:?}");
}

/// A server that takes one key only.
fn takes_only(server: &Server, api_key: &'static str) {
    server.decide("listZones", move |asked| {
        if asked.parameters["apikey"] == api_key {
            Reply::Inside(json!({}))
        } else {
            refusal(401, "unable to verify user credentials and/or request signature")
        }
    });
}

#[tokio::test(start_paused = true)]
async fn refused_keys_are_not_tried_again_at_once() {
    let server = Server::new();
    takes_only(&server, "other");
    let client = server.client();
    for second in 0..180 {
        let error = zones(&client).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Authentication, "{second}");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    // At once, after a minute, and then after two.
    assert_eq!(server.times("listZones"), 2);
}

#[tokio::test(start_paused = true)]
async fn keys_that_have_changed_are_used_right_after_a_refusal() {
    let server = Server::new();
    takes_only(&server, "new");
    let keys = ChangingKeys::new("old");
    let client = server.client_with(|settings| settings.keys = keys.source());
    zones(&client).await.unwrap_err();
    keys.set("new");
    assert_eq!(zones(&client).await, Ok(Vec::new()));
    takes_only(&server, "newer");
    keys.set("newer");
    assert_eq!(zones(&client).await, Ok(Vec::new()), "within the same question");
}

#[tokio::test(start_paused = true)]
async fn what_changes_something_is_not_sent_again_with_other_keys() {
    let server = Server::new();
    let text = "unable to verify user credentials and/or request signature";
    server.reply("deployVirtualMachine", refusal(401, text));
    server.reply("deployVirtualMachine", accepted());
    let keys = ChangingKeys::new("old");
    let client = server.client_with(|settings| settings.keys = keys.source());
    client.submit(deploy()).await.unwrap_err();
    assert_eq!(server.times("deployVirtualMachine"), 1);
    keys.set("new");
    client.submit(deploy()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_off_is_told_with_the_refusal() {
    let server = Server::new();
    takes_only(&server, "other");
    server.set_date("Thu, 01 Jan 2026 12:30:00 GMT");
    let client = server.client();
    let error = zones(&client).await.unwrap_err().to_string();
    assert!(error.contains("its clock is 1800 s ahead of ours"), "{error}");
    assert_eq!(client.skew().map(|skew| skew.as_secs()), Some(1800));
}

#[tokio::test(start_paused = true)]
async fn a_role_that_lacks_a_command_leaves_the_keys_alone() {
    let server = Server::new();
    let text = "The API [listZones] does not exist or is not available for the account for user id";
    let error = json!({"errorcode": 432, "cserrorcode": 9999, "errortext": text});
    server.reply("listZones", Reply::Status(432, json!({"errorresponse": error}).to_string()));
    server.reply("listServiceOfferings", Reply::Inside(json!({})));
    let client = server.client();
    let error = zones(&client).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Permission);
    assert!(error.to_string().contains("does not have listZones; add it to the role"), "{error}");
    assert!(offerings(&client).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn no_error_shows_what_was_sent() {
    for reply in [Reply::NotSent, Reply::Broken, Reply::Status(500, "<html>".into())] {
        let server = Server::new();
        server.reply("listZones", reply);
        let keys = ChangingKeys::new("hunter1");
        let client = server.client_with(|settings| settings.keys = keys.source());
        let shown = format!("{client:?} {:?}", zones(&client).await.unwrap_err());
        assert!(!shown.contains("hunter1"), "{shown}");
    }
}
